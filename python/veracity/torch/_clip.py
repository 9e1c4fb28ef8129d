"""Sums of clipped per-record gradients as integers, with a sensitivity that is a theorem.

    sums = RecordSums(model, loss, clip_norm=1.0, grid=noise_deviation / 2**20, micro_batch=256)
    for batch, mask in micro_batches:        # one fixed shape, padded; mask is False for padding
        sums.add(batch, mask)
    noisy = sums.totals() + integer_noise    # unit: grid
    sums.clear()

`sums.sums` is the flat int64 buffer of one process. Its unit is `grid / 2**fine_bits`, so that rounding a record costs almost
nothing. Add the buffers of all processes, in any order, and let `totals()` round the result to the public grid once.
One record changes `totals()` by at most `clip_norm` in Euclidean norm. The proof is in docs/proofs/torch-sums.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten

from .._errors import InvalidInput
from . import _clip_bits as _clip_bits  # before the first product
from ._clip_leaves import collect, first_name, full_precision
from ._layers import Recorder, refuse_layer
from ._probe import Findings, probe
from ._sums import Leaf

FINE = 33  # the sums are kept to about 2**-33 of the clip norm
FINEST = 40
AUTOMATIC = 0.01  # keeps a record without a gradient from being scaled up
SMALLEST = 2.0**-100  # a factor below it counts as zero, so that single precision holds its products


class Layout:
    """Place of each trainable parameter in one flat buffer.

    Frozen parameters have no place. A tied parameter has one, under its first name.

    Attributes:
        names: Names of the parameters, in the order of `model.named_parameters()`.
        slices: Name → slice of the flat buffer.
        shapes: Name → shape.
        size: Length of the flat buffer.
    """

    def __init__(self, model: nn.Module) -> None:
        self.parameters: dict[str, nn.Parameter] = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.names = list(self.parameters)
        self.shapes = {n: p.shape for n, p in self.parameters.items()}
        self.slices: dict[str, slice] = {}
        start = 0
        for name, parameter in self.parameters.items():
            self.slices[name] = slice(start, start + parameter.numel())
            start += parameter.numel()
        self.size = start
        self.device = next((p.device for p in self.parameters.values()), torch.device("cpu"))

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """View a flat buffer as one tensor per parameter. Nothing is copied.

        Args:
            flat: Tensor of `size` elements and any type.

        Returns:
            Name → view with the shape of the parameter.
        """
        return {n: flat[self.slices[n]].view(self.shapes[n]) for n in self.names}


class RecordNumbers(NamedTuple):
    """Losses and gradient norms per record. They are private: do not release them, and let no decision depend on them."""

    losses: Tensor
    norms: Tensor


class RecordSums:
    """Integer sum of clipped per-record gradients of any PyTorch model.

    Args:
        model: The model. Every layer must treat the first dimension of its input as the record.
        loss: `loss(model, batch)` that returns one number per record, or a loss module of torch with `reduction="none"`. For a
            loss module a batch is `(inputs, targets)` and the loss of a record is its mean over the other dimensions.
        clip_norm: One record changes `totals()` by at most this Euclidean norm.
        grid: Public unit of `totals()`, such as the standard deviation of the noise / 2**20.
        micro_batch: Number of records that `add` takes at once. Pad smaller batches and mask the padding.
        clipping: `"flat"` (one norm for all parameters), `"per-layer"` (the clip norm divided equally) or `"automatic"`
            (each record is scaled to the clip norm: `clip_norm / (norm + 0.01)`).
        precision: `"fp32"`, or `"bf16"` for forward and backward under autocast. The theorem holds for both.

    Attributes:
        layout: The `Layout` of the trainable parameters.
        sums: Flat int64 tensor of `layout.size`, in units of `grid / 2**fine_bits`. Sums of processes can be added to it.
        fine_bits: Number of bits by which `sums` is finer than `totals()`. It depends on `grid` and `clip_norm` only.
    """

    def __init__(
        self,
        model: nn.Module,
        loss: Callable[..., Tensor],
        *,
        clip_norm: float,
        grid: float,
        micro_batch: int,
        clipping: str = "flat",
        precision: str = "fp32",
    ) -> None:
        self.model, self.loss = model, loss
        for path, module in model.named_modules():
            refuse_layer(path, module)
        self.layout = Layout(model)
        if not self.layout.size:
            raise InvalidInput("the model has no trainable parameter; set requires_grad on those to train")
        if clipping not in ("flat", "per-layer", "automatic"):
            raise InvalidInput(f"clipping is {clipping!r}, expected 'flat', 'per-layer' or 'automatic'")
        if precision not in ("fp32", "bf16"):
            raise InvalidInput(f"precision is {precision!r}, expected 'fp32' or 'bf16'")
        if micro_batch < 1:
            raise InvalidInput(f"micro_batch is {micro_batch}, expected at least 1")
        if not 1e-10 <= clip_norm <= 1e10:   # single precision holds every factor in this range
            raise InvalidInput(f"clip_norm is {clip_norm}, expected 1e-10 ≤ clip_norm ≤ 1e10")
        if isinstance(loss, nn.Module) and getattr(loss, "reduction", "none") != "none":
            raise InvalidInput(f"the loss has reduction={loss.reduction!r}, expected reduction='none'")  # type: ignore[union-attr]
        self.clip_norm, self.grid, self.micro_batch = float(clip_norm), float(grid), int(micro_batch)
        self.clipping, self.precision = clipping, precision
        devices = {p.device for p in self.layout.parameters.values()}
        if len(devices) > 1:
            raise InvalidInput(f"the parameters are on {len(devices)} devices, expected one; move the model to one device")
        self.device = devices.pop()
        if not 2.0**-FINEST * clip_norm <= grid < clip_norm:
            raise InvalidInput(f"grid is {grid}, expected at least clip_norm / 2**{FINEST} and less than clip_norm")
        on_cuda = self.device.type == "cuda"
        if on_cuda and micro_batch > 512:
            raise InvalidInput(f"micro_batch is {micro_batch}, expected at most 512 on a CUDA device")
        fine, largest = _cuda_limits() if on_cuda else (FINE, math.inf)
        self.fine_bits = max(0, round(math.log2(self.grid / self.clip_norm)) + fine)
        # Rounding to the public grid can move each coordinate by one step more.
        room = self.clip_norm - (self.grid * math.sqrt(self.layout.size) if self.fine_bits else 0.0)
        if room <= 0:
            raise InvalidInput(
                f"grid is {grid}, too coarse for {self.layout.size} parameters and clip_norm {clip_norm}; choose a finer grid"
            )
        self.unit = self.grid / 2**self.fine_bits
        self.most = room / self.unit * (1 - 2.0**-40)  # largest norm of a record's integers
        if self.most >= largest:
            raise InvalidInput(f"grid is {grid}, too fine for a CUDA device, expected at least {clip_norm * 2.0**-21.8:g}: use more noise, or the CPU")
        self.is_recorded = on_cuda
        self._recorded: Callable[[Any], Any] | None = None
        self.sums = torch.zeros(self.layout.size, dtype=torch.int64, device=self.device)
        self.views = self.layout.views(self.sums)
        self.roles = {id(p): n for n, p in self.layout.parameters.items()}
        self.recorder = Recorder(model, self.roles, self.micro_batch)
        self.findings: Findings | None = None
        layers = sorted({owner(n) for n in self.layout.names})
        self.groups = {n: layers.index(owner(n)) if clipping == "per-layer" else 0 for n in self.layout.names}

    def prepare(self, example: Any) -> None:
        """Probe the model on random records with the shape of an example. The first `add` does it otherwise.

        The values of the example are not read.

        Args:
            example: A batch of the fixed shape.

        Raises:
            InvalidInput: A layer cannot be trained this way. The message names it and the remedy.
            NoTheorem: The gradient of a record depends on the other records, on its place, or differs from run to run.
        """
        self.findings = probe(self, example)

    def add(self, batch: Any, mask: Tensor, shares: Tensor | None = None) -> RecordNumbers:
        """Add the clipped gradients of one micro-batch. Masked and non-finite records contribute exactly zero.

        Args:
            batch: Tensors, in any nesting, whose first dimension is `micro_batch`.
            mask: Bool per record; False for padding.
            shares: Float64 per record, at most 1: its clipped gradient is multiplied by this, and its part of the clip norm too. A
                person with m records has shares 1 / m, so that all of them together change `totals()` by at most `clip_norm`.

        Returns:
            The loss and an upper bound of the gradient norm of each record.

        Raises:
            InvalidInput: The batch has another shape, or the loss is not one number per record.
        """
        for t in tensors_of(batch):
            if t.dim() == 0 or t.shape[0] != self.micro_batch:
                raise InvalidInput(f"the batch has a tensor of shape {tuple(t.shape)}, expected {self.micro_batch} records first; pad it")
        if mask.dtype != torch.bool or tuple(mask.shape) != (self.micro_batch,):
            raise InvalidInput(f"the mask is {mask.dtype} of shape {tuple(mask.shape)}, expected bool of shape ({self.micro_batch},)")
        if self.findings is None:
            self.prepare(batch)
        if self.is_recorded:
            from ._cuda import RecordedStep

            given = (batch, mask, shares)
            recorded = self._recorded = self._recorded or RecordedStep(self._add, given)
            return RecordNumbers(*recorded(given))
        return self._add(batch, mask, shares)

    def _add(self, batch: Any, mask: Tensor, shares: Tensor | None) -> RecordNumbers:
        losses = self.forward(batch)
        self.recorder.backward(losses, mask.to(losses))
        losses = losses.detach()
        return RecordNumbers(losses, self.clip(self.leaves(), mask & losses.isfinite(), shares))

    def forward(self, batch: Any) -> Tensor:
        """Losses of a micro-batch, with every layer recorded."""
        # A recorded step must cast the weights each time: they change between replays.
        half = torch.autocast(self.device.type, torch.bfloat16, enabled=self.precision == "bf16", cache_enabled=not self.is_recorded)
        with torch.enable_grad(), half, self.recorder.hooked():
            losses = per_record_losses(self.loss, self.model, batch)
        if tuple(losses.shape) != (self.micro_batch,):
            raise InvalidInput(f"the loss has shape {tuple(losses.shape)}, expected one number per record, ({self.micro_batch},)")
        return losses

    def leaves(self) -> list[Leaf]:
        """Leaves of the gradients that the recorder holds. The recorder then holds nothing."""
        uses, self.recorder.uses = self.recorder.uses, []
        with torch.no_grad(), torch.autocast(self.device.type, enabled=False):
            return collect(uses, self.micro_batch, self.layout, share=self.clipping != "per-layer")

    @torch.no_grad()
    def clip(self, leaves: list[Leaf], usable: Tensor, shares: Tensor | None = None) -> Tensor:
        """Clip, round and add. Returns the norms.

        For a factor c the integers of a record are c · gradient / unit + rounding, so their norm is at most c · norm + rounding.
        The rounding is bounded for the largest factor that is possible, and the factor is what remains.
        """
        with torch.autocast(self.device.type, enabled=False), full_precision(self.device):
            if self.device.type == "cuda" and self.clipping != "per-layer":
                from ._cuda import FLAT, together

                leaves, views = together(leaves, self.layout), {**self.views, FLAT: self.sums}
            else:
                views = self.views
            squares = [leaf.squares() for leaf in leaves]
            groups = [self.groups[first_name(leaf)] for leaf in leaves]
            share = self.most / math.sqrt(len(set(self.groups.values())))
            total = torch.zeros_like(squares[0])
            weight = torch.ones_like(total) if shares is None else shares.to(total).clamp(0, 1)
            for square in squares:
                total += square
            norms = total.sqrt() * (1 + 2.0**-40)
            bad = ~norms.isfinite()
            usable = usable & ~bad
            if self.is_recorded or bad.any():   # a non-finite number must not meet a zero in a product
                for leaf, square in zip(leaves, squares):
                    leaf.drop(bad)
                    square.masked_fill_(bad, 0.0)
            for group in sorted(set(groups)):
                members = [i for i, g in enumerate(groups) if g == group]
                norm = torch.stack([squares[i] for i in members]).sum(0).sqrt() * (1 + 2.0**-40)
                norm = torch.where(usable, norm, 1.0)
                goal = share / (norm + AUTOMATIC) if self.clipping == "automatic" else torch.full_like(norm, 1 / self.unit)
                first = torch.where(usable, weight * torch.minimum(goal, share / norm), 0.0)
                rounding = torch.stack([leaves[i].spread(first).square() for i in members]).sum(0).sqrt() * (1 + 2.0**-40)
                factor = torch.minimum(first, (weight * share - rounding).clamp(min=0) / norm) * (1 - 2.0**-40)
                for i in members:
                    factor = torch.minimum(factor, leaves[i].limit(first))
                factor = torch.where(usable & (factor > SMALLEST), factor, 0.0)
                for i in members:
                    leaves[i].add(factor, views)
        return norms

    def totals(self) -> Tensor:
        """Round `sums` to the public grid.

        Returns:
            Flat int64 tensor in units of `grid`. One record changes it by at most `clip_norm`.
        """
        if not self.fine_bits:
            return self.sums.clone()
        return (self.sums + (1 << (self.fine_bits - 1))) >> self.fine_bits

    def clear(self) -> None:
        """Set the sums to zero."""
        self.sums.zero_()

    def statement(self) -> dict[str, list[str]]:
        """List what the sensitivity rests on.

        Returns:
            Sentences under `proved`, `probed` and `assumed`.
        """
        if self.findings is None:
            raise InvalidInput("nothing was probed yet; call prepare(example) or add a batch first")
        return self.findings.statement(self.clipping)


def _cuda_limits() -> tuple[int, float]:
    from ._cuda import FINE as fine
    from ._cuda import LARGEST as largest

    return fine, largest


def owner(name: str) -> str:
    """Layer that a parameter belongs to."""
    return name.rpartition(".")[0]


def tensors_of(batch: Any) -> list[Tensor]:
    """Tensors of a batch, in any nesting."""
    return [t for t in tree_flatten(batch)[0] if isinstance(t, Tensor)]


def per_record_losses(loss: Callable[..., Tensor], model: nn.Module, batch: Any) -> Tensor:
    """One loss per record, from a function or a loss module of torch."""
    if not isinstance(loss, nn.Module):
        return loss(model, batch)
    inputs, targets = batch
    output = model(*inputs) if isinstance(inputs, tuple | list) else model(inputs)
    losses = loss(output, targets)
    return losses.flatten(1).mean(1) if losses.dim() > 1 else losses
