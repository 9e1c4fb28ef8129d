"""Leaves and recorded micro-steps on a CUDA device. The interface and the names are those of `_sums`.

A record's product is made in registers, multiplied by its clip factor, rounded and added as an integer, so no gradient of a record is written to
memory. Its norm comes from the Gram matrices of its factors. The bounds assume of a matrix unit that an addition in it errs by at most `UNIT` of
the sum of magnitudes, which is four times the error of rounding to nearest. docs/proofs/torch-sums.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_map_only

from ._cuda_kernels import CHUNK, add_products, add_rows, gram_into, tiles
from ._sums import ROUNDED, TINY, ULP, Product, Rows, Small, Target, Tied, gamma, norm_above, without

UNIT = 4 * ULP  # largest relative error of an addition in a matrix unit
TILE = 128 * 128  # numbers that a program adds up in single precision
FINE = 21  # the sums are kept to about 2**-21 of the clip norm, so that a rounded number is below 2**22
FLAT = ""  # name of the flat buffer among the views of its parameters
LARGEST = 2.0**21.9  # largest norm of a record's integers


def in_chunks(count: int) -> float:
    """Relative error of a sum of products that stay in the matrix unit for `CHUNK` of them at most."""
    return (min(count, CHUNK) + -(-count // CHUNK) + 4) * UNIT * (1 + 2.0**-10)


def long_norm(t: Tensor) -> Tensor:
    """Upper bound of the norm over the last dimension, in double precision, of any float type."""
    count = t.shape[-1]
    norm = torch.linalg.vector_norm(t, dim=-1, dtype=torch.float32).double()
    return norm * (1 + gamma(count + 4)) + count**0.5 * TINY**0.5


class CudaSmall(Small):
    """Gradient that is kept per record."""

    def add(self, factor: Tensor, sums: dict[str, Tensor]) -> None:
        """Add the rounded contributions."""
        add_rows(sums[self.name].view(-1), self.grads, factor.float())


class CudaRows(Rows):
    """Gradient of an embedding: one row per position, rounded by itself."""

    def __init__(self, name: str, ids: Tensor, grads: Tensor) -> None:
        self.name, self.ids, self.grads = name, ids, grads

    def squares(self) -> Tensor:
        """Upper bound of the squared norm of each record's gradient."""
        steps, width = self.grads.shape[1:]
        self.same = self.ids.unsqueeze(2) == self.ids.unsqueeze(1)
        rows = norm_above(self.grads)
        products = torch.bmm(self.grads, self.grads.transpose(1, 2)).double()
        error = gamma(width + 2) * rows.sum(1).square() + 2 * width * steps**2 * TINY
        total = (products * self.same).sum((1, 2)) + error
        self.norm = total.clamp(min=0).sqrt() * (1 + 2.0**-30)
        return self.norm.square()

    def spread(self, factor: Tensor) -> Tensor:
        """Upper bound of the rounding of each record's contribution: rows of one id add up."""
        together = self.same.sum((1, 2)).double().sqrt()
        rows = norm_above(self.grads).sum(1)
        return ROUNDED * together * self.grads.shape[2] ** 0.5 + 4 * ULP * factor * rows

    def add(self, factor: Tensor, sums: dict[str, Tensor]) -> None:
        """Add the rounded contributions."""
        whole = torch.mul(self.grads, factor.float()[:, None, None]).round_().to(torch.int64)
        sums[self.name].index_add_(0, self.ids.flatten(), whole.flatten(0, 1))


class CudaProduct(Product):
    """Gradient that is a product over the positions of a record, for layers that read one input."""

    def __init__(self, x: Tensor, targets: list[Target]) -> None:
        self.x, self.targets = x, targets

    def squares(self) -> Tensor:
        """Upper bound of the squared norm of each record's gradient."""
        if self.x.shape[1] == 1:
            self.x_norm = long_norm(self.x)[:, 0]
            self.g_norm = torch.stack([long_norm(t.grads)[:, 0] for t in self.targets]).square().sum(0).sqrt() * (1 + 2.0**-30)
            return (self.x_norm * self.g_norm).square() * (1 + 2.0**-30)
        # A product of its own for every three targets: the kernel takes no more.
        parts = [CudaProduct(self.x, self.targets[start : start + 3]) for start in range(0, len(self.targets), 3)]
        found, x_norms, g_norms = gram_bounds(parts)
        self.x_norm, self.g_norm = x_norms[0], g_norms.square().sum(0).sqrt() * (1 + 2.0**-30)
        return found.sum(0) * (1 + 2.0**-30)

    def drop(self, records: Tensor) -> None:
        """Leave these records out: their factor is zero, and the kernel takes zero for them whatever their gradient is."""
        self.x_norm, self.g_norm = self.x_norm.masked_fill(records, 0.0), self.g_norm.masked_fill(records, 0.0)

    def spread(self, factor: Tensor) -> Tensor:
        """Upper bound of the rounding of each record's contribution, and of the error of its product."""
        steps, inputs = self.x.shape[1:]
        outputs = sum(t.grads.shape[2] for t in self.targets)
        product = (steps + 8) * UNIT * self.x_norm * self.g_norm + 2 * steps * (inputs * outputs) ** 0.5 * TINY
        return ROUNDED * (inputs * outputs) ** 0.5 + factor * product * (1 + 2.0**-10)

    def limit(self, factor: Tensor) -> Tensor:
        """Largest factors at which the sum stays exact."""
        return factor

    def add(self, factor: Tensor, sums: dict[str, Tensor]) -> None:
        """Add the rounded contributions."""
        factor = factor.float()
        for target in self.targets:
            into = target.part(sums)
            if into.stride(1) == 1:
                add_products(into, target.grads, self.x, factor)
            else:
                add_products(into.t(), self.x, target.grads, factor)


class CudaProducts(CudaProduct):
    """Products of several positions as one leaf: their bounds are computed together, in few launches."""

    def __init__(self, parts: list[CudaProduct]) -> None:
        self.parts, self.targets = parts, [target for part in parts for target in part.targets]
        shapes = [(p.x.shape[1], p.x.shape[2], sum(t.grads.shape[2] for t in p.targets)) for p in parts]
        device = parts[0].x.device
        self.steps, inputs, outputs = constants(device, [tuple(s) for s in zip(*shapes)])
        self.sizes = (inputs * outputs).sqrt()

    def squares(self) -> Tensor:
        """Upper bound of the squared norm of each record's gradient."""
        found, self.x_norm, self.g_norm = gram_bounds(self.parts)
        return found.sum(0) * (1 + 2.0**-30)

    def spread(self, factor: Tensor) -> Tensor:
        """Upper bound of the rounding of each record's contribution, and of the error of its products."""
        product = (self.steps + 8) * UNIT * self.x_norm * self.g_norm + 2 * self.steps * self.sizes * TINY
        each = ROUNDED * self.sizes + factor * product * (1 + 2.0**-10)
        return each.square().sum(0).sqrt() * (1 + 2.0**-30)

    def add(self, factor: Tensor, sums: dict[str, Tensor]) -> None:
        """Add the rounded contributions."""
        for part in self.parts:
            part.add(factor, sums)


class CudaSmalls(CudaSmall):
    """Gradients that are kept per record, as one leaf."""

    def __init__(self, parts: Sequence[Small], layout: Any) -> None:
        parts = sorted(parts, key=lambda part: layout.slices[part.name].start)
        super().__init__(parts[0].name, parts[0].grads if len(parts) == 1 else torch.cat([part.grads for part in parts], 1))
        self.layout = layout
        self.runs: list[slice] = []
        for part in parts:
            place = layout.slices[part.name]
            if self.runs and self.runs[-1].stop == place.start:
                self.runs[-1] = slice(self.runs[-1].start, place.stop)
            else:
                self.runs.append(place)

    def drop(self, records: Tensor) -> None:
        """Leave these records out: the kernel takes zero for them."""
        self.norm = without(self.norm, records)

    def add(self, factor: Tensor, sums: dict[str, Tensor]) -> None:
        """Add the rounded contributions."""
        at, factor = 0, factor.float()
        for run in self.runs:
            size = run.stop - run.start
            add_rows(sums[FLAT][run], self.grads[:, at : at + size], factor)
            at += size


_constants: dict[Any, list[Tensor]] = {}


def constants(device: torch.device, rows: list[tuple[float, ...]]) -> list[Tensor]:
    """Columns of numbers on a device. They are made once, before a step is recorded."""
    key = (device, tuple(rows))
    if key not in _constants:
        _constants[key] = [torch.tensor(row, dtype=torch.float64, device=device)[:, None] for row in rows]
    return _constants[key]


def gram_bounds(parts: list[CudaProduct]) -> tuple[Tensor, Tensor, Tensor]:
    """Upper bounds, products × records: the squared norm of the gradient, the norm of the inputs and that of the output gradients."""
    records, device = len(parts[0].x), parts[0].x.device
    most = max(tiles(part.x.shape[1]) for part in parts)
    out = torch.zeros(len(parts), records, most, 5, device=device)
    rows = []
    for part, here in zip(parts, out):
        steps, inputs = part.x.shape[1:]
        widths = [t.grads.shape[2] for t in part.targets]
        count = tiles(steps)
        into = here if count == most else torch.empty(records, count, 5, device=device)
        gram_into(into, part.x, [t.grads for t in part.targets])
        if into is not here:
            here[:, :count] = into
        rows.append((steps, inputs, sum(widths), in_chunks(inputs), sum(map(in_chunks, widths))))
    steps, inputs, outputs, in_a, in_b = constants(device, [tuple(column) for column in zip(*rows)])
    meet, aa, bb, a, b = out.double().sum(2).unbind(2)
    in_tile = gamma(TILE + 4)
    trace_a = a * (1 + 2 * (in_a + in_tile)) + 2 * steps * inputs * TINY
    trace_b = b * (1 + 2 * (in_b + in_tile)) + 2 * steps * outputs * TINY
    size_a, size_b = (square.sqrt() * (1 + in_tile) + steps * TINY**0.5 for square in (aa, bb))
    error_a = in_a * trace_a + 2 * inputs * steps * TINY
    error_b = in_b * trace_b + 2 * outputs * steps * TINY
    error = (size_a + error_a) * (size_b + error_b) - size_a * size_b + in_tile * size_a * size_b + steps**2 * TINY
    return (meet + error).clamp(min=0) * (1 + 2.0**-30), trace_a.sqrt() * (1 + 2.0**-30), trace_b.sqrt() * (1 + 2.0**-30)


def together(leaves: list[Any], layout: Any) -> list[Any]:
    """The same leaves, with those of a kind as one leaf: a record has one clip factor for all of them."""
    products = [leaf for leaf in leaves if type(leaf) is CudaProduct and leaf.x.shape[1] > 1 and len(leaf.targets) <= 3]
    smalls = [leaf for leaf in leaves if type(leaf) is CudaSmall]
    joined = [leaf for leaf in leaves if not any(leaf is other for other in products + smalls)]
    if products:
        joined.append(CudaProducts(products))
    if smalls:
        joined.append(CudaSmalls(smalls, layout))
    return joined


class CudaTied(Tied):
    """Gradient of a table that the model reads as an embedding and as the weight of a product."""

    table: CudaRows
    product: CudaProduct

    def squares(self) -> Tensor:
        """Upper bound of the squared norm of each record's gradient."""
        total = self.table.squares() + self.product.squares()
        x, e, g = self.product.x.float(), self.table.grads, self.product.targets[0].grads
        width = x.shape[2]
        meet = torch.bmm(x, e.transpose(1, 2))
        picked = g.gather(2, self.table.ids[:, None, :].expand(-1, g.shape[1], -1)).float()
        meet_size, picked_size = (norm_above(t).square().sum(1).sqrt() for t in (meet, picked))
        e_size = norm_above(e).square().sum(1).sqrt()
        cross = (meet.double() * picked).sum((1, 2))
        error = (gamma(width + 2) * self.product.x_norm * e_size + 2 * width * meet.shape[2] * TINY) * picked_size
        error = error + 2.0**-40 * meet_size * picked_size
        return (total + 2 * (cross + error)).clamp(min=0) * (1 + 2.0**-30)


class RecordedStep:
    """A micro-step as a CUDA graph: all its launches at once. Every micro-batch has one shape, so only its numbers change.

    Args:
        step: what is recorded: `step(batch, mask, shares)`, which returns tensors and reads nothing back from the device.
        given: the arguments of a first step, in any nesting. All later ones have the same shapes.
    """

    WARM_UPS = 3

    def __init__(self, step: Callable[..., Any], given: tuple[Any, ...]) -> None:
        self.given = tree_map_only(Tensor, torch.clone, given)
        mask = self.given[1]
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            mask.zero_()  # nothing is added
            for _ in range(self.WARM_UPS):
                step(*self.given)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.found = step(*self.given)

    def __call__(self, given: tuple[Any, ...]) -> Any:
        """Replay the step. The result is valid until the next call."""
        for mine, theirs in zip(tree_flatten(self.given)[0], tree_flatten(given)[0], strict=True):
            if isinstance(mine, Tensor):
                mine.copy_(theirs, non_blocking=True)
        self.graph.replay()
        return self.found
