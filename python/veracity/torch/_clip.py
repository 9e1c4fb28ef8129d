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

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn


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

    def views(self, flat: Tensor) -> dict[str, Tensor]:
        """View a flat buffer as one tensor per parameter. Nothing is copied.

        Args:
            flat: Tensor of `size` elements and any type.

        Returns:
            Name → view with the shape of the parameter.
        """
        return {n: flat[self.slices[n]].view(self.shapes[n]) for n in self.names}


class RecordNumbers(NamedTuple):
    """Losses and gradient norms per record. They are private: show them to nobody and let nothing depend on them."""

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
        clipping: `"flat"` (one norm for all parameters), `"per-layer"` (equal shares of the clip norm) or `"automatic"`
            (each record is scaled to the clip norm: `clip_norm / (norm + 0.01)`).
        precision: `"fp32"`, or `"bf16"` for forward and backward under autocast. The theorem holds for both.

    Attributes:
        layout: The `Layout` of the trainable parameters.
        sums: Flat int64 tensor of `layout.size`, in units of `grid / 2**fine_bits`. Sums of processes can be added to it.
        fine_bits: Number of bits by which `sums` is finer than `totals()`. It depends on `grid` and `clip_norm` only.
    """

    layout: Layout
    sums: Tensor
    fine_bits: int

    def prepare(self, example: Any) -> None:
        """Probe the model on random records with the shape of an example. The first `add` does it otherwise.

        The values of the example are not read.

        Args:
            example: A batch of the fixed shape.

        Raises:
            InvalidInput: A layer cannot be trained this way. The message names it and the remedy.
            NoTheorem: The gradient of a record depends on the other records, on its place, or differs from run to run.
        """
        raise NotImplementedError

    def add(self, batch: Any, mask: Tensor) -> RecordNumbers:
        """Add the clipped gradients of one micro-batch. Masked and non-finite records contribute exactly zero.

        Args:
            batch: Tensors, in any nesting, whose first dimension is `micro_batch`.
            mask: Bool per record; False for padding.

        Returns:
            The loss and an upper bound of the gradient norm of each record.

        Raises:
            InvalidInput: The batch has another shape, or the loss is not one number per record.
        """
        raise NotImplementedError

    def totals(self) -> Tensor:
        """Round `sums` to the public grid.

        Returns:
            Flat int64 tensor in units of `grid`. One record changes it by at most `clip_norm`.
        """
        raise NotImplementedError

    def clear(self) -> None:
        """Set the sums to zero."""
        raise NotImplementedError

    def statement(self) -> dict[str, list[str]]:
        """List what the sensitivity rests on.

        Returns:
            Sentences under `proved`, `probed` and `assumed`.
        """
        raise NotImplementedError
