"""Leaves of a record's gradient: upper bounds of their norms, and their exact integer sums.

A leaf takes the clip factor of each record in three calls. `squares` bounds the squared norm of the gradient. `spread` bounds what
rounding can add to the integer contribution for a factor of at most `factor`. `add` rounds and adds. The bounds hold for every value and
every order of the float operations. docs/proofs/torch-sums.md has the proof; the names below are those of the proof.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from ._sums_limbs import MOST, Scratch, add_limbs, limbs_are_exact

ULP = 2.0**-24  # unit roundoff of single precision
TINY = 2.0**-126  # below it, single precision may flush to zero
ROUNDED = 0.502  # half a step, and what two single-precision factors can add to it
EXACT = 2.0**53  # integers up to here are exact in double precision
SCRATCH = Scratch()
CHUNK = 1 << 20  # elements of a temporary that stays in the cache


def gamma(count: int) -> float:
    """Relative error of a sum of `count` products in any order: at most `count · u / (1 − count · u)`."""
    assert count * ULP < 0.5, "a sum is too long for single precision"
    return count * ULP / (1 - count * ULP)


def norm_above(t: Tensor) -> Tensor:
    """Upper bound of the norm over the last dimension, in double precision."""
    count = t.shape[-1]
    norm = torch.linalg.vector_norm(t, dim=-1).double()
    return norm * (1 + gamma(count + 4)) + count**0.5 * TINY**0.5


def squares_above(t: Tensor) -> Tensor:
    """Upper bound of the squared norm per record of a tensor of records × size."""
    width = next(w for w in (256, 128, 64, 32, 1) if t.shape[1] % w == 0)
    if width == 1 and t.shape[1] < 1 << 20:
        width = t.shape[1]
    rows = norm_above(t.reshape(t.shape[0], -1, width)).square()
    # Rows of aligned length: otherwise a device adds them up in another order in another place of the batch.
    return torch.nn.functional.pad(rows, (0, -rows.shape[1] % 16)).sum(1) * (1 + 2.0**-30)


def largest(t: Tensor) -> Tensor:
    """Largest size of the last dimension's numbers, in double precision."""
    return torch.maximum(t.amax(-1), -t.amin(-1)).double()


def scaled(t: Tensor, factor: Tensor) -> Tensor:
    """Integers nearest to factor · t, in single precision; exactly zero where the factor is zero."""
    return torch.mul(t, factor).round_()


def without(t: Tensor, records: Tensor) -> Tensor:
    """The tensor with these records set to zero."""
    return t.masked_fill(records.view(-1, *[1] * (t.dim() - 1)), 0.0)


@dataclass
class Small:
    """Gradient that is kept per record: biases, norms, layers under vmap."""

    name: str
    grads: Tensor  # records × size

    def squares(self) -> Tensor:
        """Upper bound of the squared norm of each record's gradient."""
        self.norm = squares_above(self.grads).sqrt()
        return self.norm.square()

    def drop(self, records: Tensor) -> None:
        """Set these records to zero."""
        self.grads, self.norm = without(self.grads, records), without(self.norm, records)

    def spread(self, factor: Tensor) -> Tensor:
        """Upper bound of the rounding of each record's contribution."""
        size = self.grads.shape[1]
        return ROUNDED * size**0.5 + 4 * ULP * factor * self.norm

    def limit(self, factor: Tensor) -> Tensor:
        """Largest factors at which the sum stays exact."""
        return factor

    def add(self, factor: Tensor, sums: dict[str, Tensor]) -> None:
        """Add the rounded contributions."""
        into, factor = sums[self.name].view(-1), factor.float()[:, None]
        rows = max(1, CHUNK // self.grads.shape[1])
        for start in range(0, len(factor), rows):
            part = slice(start, start + rows)
            into += scaled(self.grads[part], factor[part]).sum(0, dtype=torch.float64).long()


class Rows:
    """Gradient of an embedding: each record has one gradient for each of its distinct ids."""

    def __init__(self, name: str, ids: Tensor, grads: Tensor) -> None:
        records, steps, width = grads.shape
        order = ids.argsort(dim=1, stable=True)
        ordered = ids.gather(1, order)
        new = torch.ones_like(ordered)
        new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        slots = torch.zeros_like(ids).scatter_(1, order, new.cumsum(1) - 1)
        flat = (slots + torch.arange(records, device=ids.device)[:, None] * steps).flatten()
        self.name = name
        self.ids = torch.zeros_like(ids).view(-1).index_copy_(0, flat, ids.flatten()).view_as(ids)
        self.grads = torch.zeros_like(grads).view(-1, width).index_add_(0, flat, grads.reshape(-1, width)).view_as(grads)

    def squares(self) -> Tensor:
        """Upper bound of the squared norm of each record's gradient."""
        self.norm = norm_above(self.grads).square().sum(1).mul_(1 + 2.0**-30).sqrt()
        return self.norm.square()

    def drop(self, records: Tensor) -> None:
        """Set these records to zero."""
        self.grads, self.norm = without(self.grads, records), without(self.norm, records)

    def spread(self, factor: Tensor) -> Tensor:
        """Upper bound of the rounding of each record's contribution."""
        return ROUNDED * self.grads[0].numel() ** 0.5 + 4 * ULP * factor * self.norm

    def limit(self, factor: Tensor) -> Tensor:
        """Largest factors at which the sum stays exact."""
        return factor

    def add(self, factor: Tensor, sums: dict[str, Tensor]) -> None:
        """Add the rounded contributions."""
        into = sums[self.name]
        whole = scaled(self.grads, factor.float()[:, None, None]).long()
        into.index_add_(0, self.ids.flatten(), whole.flatten(0, 1))


@dataclass
class Target:
    """Part of a weight that a product fills, and the output gradients that do it."""

    name: str
    grads: Tensor  # records × positions × outputs
    rows: slice | None = None
    is_transposed: bool = False

    def part(self, sums: dict[str, Tensor]) -> Tensor:
        """The part of the sums, as outputs × inputs."""
        whole = sums[self.name]
        whole = whole.t() if self.is_transposed else whole.flatten(1)
        return whole if self.rows is None else whole[self.rows]


class Product:
    """Gradient that is a product over the positions of a record: output gradients × inputs, for layers that read one input.

    Both factors are rounded to integers on grids whose steps multiply to one unit of the sum. So the matrix product of the rounded
    factors over all records and positions is the exact sum of the records' integer contributions.
    """

    def __init__(self, x: Tensor, targets: list[Target]) -> None:
        self.x, self.targets = x, targets
        self.use_limbs = limbs_are_exact(x.device)

    @property
    def outputs(self) -> int:
        """Number of outputs of all targets."""
        return sum(t.grads.shape[2] for t in self.targets)

    def squares(self) -> Tensor:
        """Upper bound of the squared norm of each record's gradient."""
        self.x_norm = norm_above(self.x)
        norms = [norm_above(t.grads) for t in self.targets]
        self.g_norm = norms[0] if len(norms) == 1 else torch.stack(norms).square().sum(0).sqrt() * (1 + 2.0**-30)
        steps, inputs = self.x.shape[1:]
        if steps == 1:
            return (self.x_norm * self.g_norm).square()[:, 0] * (1 + 2.0**-30)
        if steps * (inputs + self.outputs) > inputs * self.outputs:
            return self._direct()
        return self._gram()

    def _direct(self) -> Tensor:
        steps, inputs = self.x.shape[1:]
        loose = self.x_norm.square().sum(1).sqrt()
        total = torch.zeros_like(loose)
        for target in self.targets:
            g, found = target.grads, []
            chunk = max(1, CHUNK // (inputs * g.shape[2]))
            for start in range(0, len(g), chunk):
                part = slice(start, start + chunk)
                product = torch.bmm(g[part].transpose(1, 2), self.x[part])
                found.append(norm_above(product).square().sum(1))
            size = loose * norm_above(g).square().sum(1).sqrt()
            error = gamma(steps + 2) * size + 2 * steps * (inputs * g.shape[2]) ** 0.5 * TINY
            total += (torch.cat(found).sqrt() + error).square()
        return total * (1 + 2.0**-30)

    def _gram(self) -> Tensor:
        steps, inputs = self.x.shape[1:]
        x_square, g_square = self.x_norm.square().sum(1), self.g_norm.square().sum(1)
        found = []
        for start in range(0, len(self.x), chunk := max(1, CHUNK // steps**2)):
            part = slice(start, start + chunk)
            inner = torch.bmm(self.x[part], self.x[part].transpose(1, 2))
            outer = torch.bmm(self.targets[0].grads[part], self.targets[0].grads[part].transpose(1, 2))
            for target in self.targets[1:]:
                outer.baddbmm_(target.grads[part], target.grads[part].transpose(1, 2))
            sizes = [norm_above(t).square().sum(1).sqrt() for t in (inner, outer)]
            found.append(torch.stack([inner.mul_(outer).sum(2).double().sum(1), *sizes]))
        meet, inner_size, outer_size = torch.cat(found, 1)
        inner_error = gamma(inputs + 2) * x_square + 2 * inputs * steps * TINY
        outer_error = gamma(self.outputs + 2 + len(self.targets)) * g_square + 2 * self.outputs * steps * TINY
        error = (inner_size + inner_error) * (outer_size + outer_error) - inner_size * outer_size
        error += gamma(steps + 3) * inner_size * outer_size + steps**2 * TINY
        return (meet + error).clamp_(min=0) * (1 + 2.0**-30)

    def drop(self, records: Tensor) -> None:
        """Set these records to zero."""
        self.x = without(self.x, records)
        self.x_norm, self.g_norm = (t.masked_fill(records[:, None], 1.0) for t in (self.x_norm, self.g_norm))
        for target in self.targets:
            target.grads = without(target.grads, records)

    def spread(self, factor: Tensor) -> Tensor:
        """Upper bound of the rounding of each record's contribution, and the grids of its factors."""
        inputs, outputs = self.x.shape[2], self.outputs
        x, g = self.x_norm, factor[:, None] * self.g_norm
        best = 0.5 * torch.log2((x * outputs**0.5 / (g * inputs**0.5)).clamp_(2.0**-100, 2.0**100))
        self.step = best.round_().clamp_(-60, 60).exp2_()
        if self.use_limbs:
            self.fits = self._fitting(x, g)
            if not self.fits.all():
                # The largest numbers of a row are below its norm, and may fit where the norm does not.
                x_most, g_most = self._largest(factor)
                low = torch.log2((x_most / MOST).clamp_(min=2.0**-60)).ceil_()
                high = torch.log2((MOST - 1) / g_most.clamp_(min=2.0**-60)).floor_()
                moved = torch.minimum(torch.maximum(self.step.log2(), low), high).clamp_(-60, 60).exp2_()
                self.step = torch.where(self.fits | (low > high), self.step, moved)
                self.fits = self.fits | self._fitting(x_most, g_most)
        both = 0.5 * self.step * inputs**0.5 * g + ROUNDED / self.step * outputs**0.5 * x + 0.26 * (inputs * outputs) ** 0.5
        return (both + 8 * ULP * g * x).sum(1) * (1 + 2.0**-20)

    def _fitting(self, x: Tensor, g: Tensor) -> Tensor:
        """Positions whose integers fit two limbs, for upper bounds of their inputs and clipped gradients."""
        return (x <= MOST * self.step) & (g * self.step <= MOST - 1)

    def _largest(self, factor: Tensor) -> tuple[Tensor, Tensor]:
        gradients = [largest(t.grads) for t in self.targets]
        most = gradients[0] if len(gradients) == 1 else torch.stack(gradients).amax(0)
        return largest(self.x), factor[:, None] * most

    def limit(self, factor: Tensor) -> Tensor:
        """Largest factors at which the sum over the micro-batch stays exact."""
        x, g = self.x_norm / self.step + 1, self.g_norm * self.step
        room = EXACT / 2 / len(self.x) - x.sum(1)
        most = room / (x * g).sum(1).clamp_(min=2.0**-100)
        return torch.where(room > 0, torch.minimum(factor, most), 0.0)

    def add(self, factor: Tensor, sums: dict[str, Tensor]) -> None:
        """Add the rounded contributions: one exact product for all records."""
        inputs = self.x.shape[2]
        steps_g = (factor[:, None] * self.step).float()
        steps_x = (1 / self.step).float()
        live = steps_g > 0
        rows: slice | Tensor = slice(None)
        if self.use_limbs:
            fits = self.fits & live
            add_limbs(self.x, steps_x * fits, [(t.grads, steps_g * fits, t.part(sums)) for t in self.targets], SCRATCH)
            rest = (live & ~self.fits).flatten().nonzero()[:, 0]
            if not len(rest):
                return
            rows = rest
        flat = lambda t: t.reshape(-1, t.shape[-1])[rows]
        self._add_doubles(flat(self.x), (steps_x * live).view(-1)[rows], [flat(t.grads) for t in self.targets], steps_g.view(-1)[rows], sums)

    def _add_doubles(self, x: Tensor, steps_x: Tensor, grads: list[Tensor], steps_g: Tensor, sums: dict[str, Tensor]) -> None:
        totals = [torch.zeros(g.shape[1], x.shape[1], dtype=torch.float64, device=x.device) for g in grads]
        chunk = max(1, CHUNK // max(x.shape[1], self.outputs))
        for start in range(0, len(x), chunk):
            part = slice(start, start + chunk)
            whole = scaled(x[part], steps_x[part, None]).double()
            for total, g in zip(totals, grads):
                total.addmm_(scaled(g[part], steps_g[part, None]).double().t(), whole)
        for total, target in zip(totals, self.targets):
            target.part(sums).add_(total.long())


class Tied:
    """Gradient of a table that the model reads as an embedding and as the weight of a product."""

    def __init__(self, table: Rows, product: Product) -> None:
        self.table, self.product = table, product

    def squares(self) -> Tensor:
        """Upper bound of the squared norm of each record's gradient."""
        total = self.table.squares() + self.product.squares()
        x, width = self.product.x, self.product.x.shape[2]
        g, e = self.product.targets[0].grads, self.table.grads
        meet = torch.bmm(x, e.transpose(1, 2))
        picked = g.gather(2, self.table.ids[:, None, :].expand(-1, g.shape[1], -1))
        sizes = [norm_above(t).square().sum(1).sqrt() for t in (meet, picked)]
        x_size, e_size = self.product.x_norm.square().sum(1).sqrt(), self.table.norm
        cross = meet.mul_(picked).sum(2).double().sum(1)
        error = (gamma(width + 2) * x_size * e_size + 2 * width * meet.shape[2] * TINY) * sizes[1]
        error = error + gamma(meet.shape[2] + 3) * sizes[0] * sizes[1] + meet[0].numel() * TINY
        return (total + 2 * (cross + error)).clamp_(min=0) * (1 + 2.0**-30)

    def drop(self, records: Tensor) -> None:
        """Set these records to zero."""
        self.table.drop(records)
        self.product.drop(records)

    def spread(self, factor: Tensor) -> Tensor:
        """Upper bound of the rounding of each record's contribution."""
        return self.table.spread(factor) + self.product.spread(factor)

    def limit(self, factor: Tensor) -> Tensor:
        """Largest factors at which the sum stays exact."""
        return self.product.limit(factor)

    def add(self, factor: Tensor, sums: dict[str, Tensor]) -> None:
        """Add the rounded contributions."""
        self.table.add(factor, sums)
        self.product.add(factor, sums)


Leaf: TypeAlias = Small | Rows | Product | Tied
