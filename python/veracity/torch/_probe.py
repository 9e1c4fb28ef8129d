"""Tests at the start whether the gradient of a record depends on that record alone, on random records of the right shape.

The theorem of the sums bounds each record's contribution, whatever it is. It needs that a record changes no other record's contribution.
No proof covers the kernels that run a model, so this module compares bits: the same record beside other records, beside padding, in every
place, and run again. It also compares the sum of per-record gradients with the ordinary gradient, so that no parameter is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from .._errors import Error, InvalidInput, NoTheorem
from ._clip_bits import REMEDY
from ._clip_leaves import full_precision
from ._sums import Leaf, Product, Rows, Small, Tied

if TYPE_CHECKING:
    from ._clip import RecordSums

FAR = {"fp32": 1e-3, "bf16": 1e-1}  # relative distance of two gradients that are the same up to rounding
SEED = 20_034


@dataclass
class Findings:
    """What the probe compared."""

    records: int
    layers: int
    threads: int
    device: str
    kinds: list[str] = field(default_factory=list)

    def statement(self, clipping: str) -> dict[str, list[str]]:
        """Sentences for the claim."""
        return {
            "proved": [
                f"one record changes the integer sum by at most the clip norm ({clipping} clipping), whatever its data and for every "
                "rounding of the forward and backward pass (docs/proofs/torch-sums.md)",
                "the integer sum is the same for every order, split and number of processes",
                "masked and non-finite records contribute zero",
            ],
            "probed": [
                f"the same bits of a random record beside other records, beside padding, in all {self.records} places and in a second run",
                "the loss of a record has no gradient in another record, in each of the layers recorded",
                "the per-record gradients add up to the ordinary gradient of every trainable parameter",
            ],
            "assumed": [
                "the model treats real records as it treats the random records of the probe",
                "float matrix products and norms are sums of products in any order, each rounded to nearest (IEEE 754)"
                if self.device == "cpu"
                else "an addition in a matrix unit of the device errs by at most 2^-22 of the sum of magnitudes, and other floats are rounded to nearest",
                f"the kernels do not change during the run (device {self.device}, {self.threads} threads)",
                "random numbers of the model, such as dropout, are independent of the data and of each other",
            ],
        }


@dataclass
class Trace:
    """Numbers of one pass, with the records first."""

    losses: Tensor
    parts: list[tuple[str, Tensor]]

    def differs(self, other: Trace, here: int, there: int) -> str | None:
        """First layer in which a record has other bits than a record of another pass."""
        if not torch.equal(self.losses[here], other.losses[there]):
            return "loss"
        if len(self.parts) != len(other.parts):
            return "number of layers"
        for (name, a), (_, b) in zip(self.parts, other.parts):
            if a.shape != b.shape or not torch.equal(a[here], b[there]):
                return name
        return None


def probe(sums: RecordSums, example: Any) -> Findings:
    """Probe the model on random records of the example's shape.

    Raises:
        InvalidInput: A parameter is used where no layer shows it, or not at all.
        NoTheorem: Records depend on each other, on their place or on the run.
    """
    model, records = sums.model, sums.micro_batch
    device = [sums.device] if sums.device.type == "cuda" else []
    modes = {m: m.training for m in model.modules()}
    buffers = {n: b.clone() for n, b in model.named_buffers()}
    with torch.random.fork_rng(devices=device):
        main, other = (random_records(example, seed) for seed in (SEED, SEED + 1))
        try:
            kinds = _attribution(sums, main)
            _completeness(sums, main)
        except (Error, RuntimeError):
            if not sums.recorder.broadcasts:
                raise
            sums.recorder.broadcasts = False  # a parameter of shape (1, …) is no copy per record: make its gradients under vmap
            kinds = _attribution(sums, main)
            _completeness(sums, main)
        first = trace(sums, main)
        if not first.losses.isfinite().all():
            raise NoTheorem("the loss of random records is not finite, so the probe compares nothing; check the model and the loss")
        for record in sorted({0, records // 2, records - 1}):
            _compare(first, trace(sums, main), record, record, "differs from run to run; use torch.use_deterministic_algorithms(True)")
            if records > 1:
                mixed = _replace(main, other, record)
                message = "depends on the other records of the batch; use layers that treat each record alone"
                _compare(first, trace(sums, mixed), record, record, message)
                padded = _replace(main, tree_map_only(Tensor, torch.zeros_like, main), record)
                mask = torch.arange(records, device=sums.device) == record
                _compare(first, trace(sums, padded, mask), record, record, message)
        for name, buffer in model.named_buffers():
            if not torch.equal(buffer, buffers[name]):
                raise NoTheorem(f"buffer {name!r} changes with the records; put its layer in .eval()")
        try:
            model.eval()   # dropout may depend on the place
            copies = trace(sums, tree_map_only(Tensor, lambda t: t[:1].expand_as(t).contiguous(), main))
        finally:
            for module, training in modes.items():
                module.training = training
        for place in range(1, records):
            _compare(copies, copies, 0, place, f"depends on the place in the batch; {REMEDY}")
    return Findings(records, len(first.parts), torch.get_num_threads(), sums.device.type, kinds)


def random_records(example: Any, seed: int) -> Any:
    """Random records with the shapes and types of an example: normal floats, and integers 0 and 1."""
    generator = torch.Generator().manual_seed(seed)

    def draw(t: Tensor) -> Tensor:
        if t.is_floating_point():
            return torch.randn(t.shape, generator=generator).to(t)
        if t.dtype == torch.bool:
            return torch.ones_like(t)
        return torch.randint(0, 2, t.shape, generator=generator).to(t)

    return tree_map_only(Tensor, draw, example)


def _replace(batch: Any, others: Any, record: int) -> Any:
    """The batch with every record but one taken from another."""
    found = [t.clone() for t in _tensors(others)]
    for t, source in zip(found, _tensors(batch)):
        t[record] = source[record]
    parts = iter(found)
    return tree_map_only(Tensor, lambda t: next(parts), batch)


def _tensors(batch: Any) -> list[Tensor]:
    return [t for t in torch.utils._pytree.tree_flatten(batch)[0] if isinstance(t, Tensor)]


def trace(sums: RecordSums, batch: Any, mask: Tensor | None = None) -> Trace:
    """Losses, inputs, output gradients and norms of one pass."""
    torch.manual_seed(SEED)
    losses = sums.forward(batch)
    weights = torch.ones_like(losses) if mask is None else mask.to(losses)
    sums.recorder.backward(losses, weights)
    uses = list(sums.recorder.uses)
    parts: list[tuple[str, Tensor]] = []
    for use in uses:
        for t in [x for x in use.inputs if isinstance(x, Tensor)] + [g for g in use.grads if g is not None]:
            if t.dim() and t.shape[0] % sums.micro_batch == 0:
                parts.append((use.layer, t.reshape(sums.micro_batch, -1)))
    with torch.no_grad(), full_precision(sums.device):
        for leaf in sums.leaves():
            parts.append((f"norm of {_name(leaf)}", leaf.squares()[:, None]))
    return Trace(losses.detach(), parts)


def _name(leaf: Leaf) -> str:
    return leaf.table.name if isinstance(leaf, Tied) else leaf.targets[0].name if isinstance(leaf, Product) else leaf.name


def _compare(a: Trace, b: Trace, here: int, there: int, message: str) -> None:
    layer = a.differs(b, here, there)
    if layer is not None:
        raise NoTheorem(f"layer {layer!r}: the gradient of a record {message}")


def _attribution(sums: RecordSums, batch: Any) -> list[str]:
    """Check that the loss of one record has no gradient in another."""
    kinds: set[str] = set()
    for record in sorted({0, sums.micro_batch - 1}):
        torch.manual_seed(SEED)
        losses = sums.forward(batch)
        weights = torch.zeros_like(losses)
        weights[record] = 1
        sums.recorder.backward(losses, weights)
        uses, sums.recorder.uses = sums.recorder.uses, []
        for use in reversed(uses):
            kinds.add(use.kind)
            for g in use.grads:
                rows = None if g is None else g.reshape(sums.micro_batch, -1).ne(0).any(1)
                if rows is not None and rows.sum() > int(rows[record]):
                    raise NoTheorem(
                        f"layer {use.layer!r}: the loss of a record has a gradient in other records; "
                        "put the records first (batch_first=True) and mix none"
                    )
    return sorted(kinds)


def _completeness(sums: RecordSums, batch: Any) -> None:
    """Check that the per-record gradients add up to the ordinary gradient."""
    torch.manual_seed(SEED)
    losses = sums.forward(batch)
    sums.recorder.uses = []
    parameters = sums.layout.parameters
    expected = torch.autograd.grad(losses.sum(), list(parameters.values()), allow_unused=True)
    torch.manual_seed(SEED)
    losses = sums.forward(batch)
    sums.recorder.backward(losses, torch.ones_like(losses))
    found = {n: torch.zeros_like(p, dtype=torch.float32) for n, p in parameters.items()}
    with torch.no_grad():
        for leaf in sums.leaves():
            for name, part, value in _sums_of(leaf, found):
                assert name in found
                part += value
    for (name, p), grad in zip(parameters.items(), expected):
        if grad is None:
            raise InvalidInput(f"parameter {name!r} does not change the loss; freeze it, or use checkpoint(use_reentrant=False)")
        far = (found[name] - grad.float()).norm()
        size = grad.float().norm()
        if far > FAR[sums.precision] * size + 1e-6:
            raise InvalidInput(
                f"parameter {name!r} is used outside the forward pass of its layer; "
                "call the layer, or move the parameter into a layer of its own"
            )


def _sums_of(leaf: Leaf, found: dict[str, Tensor]) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Plain sums of a leaf: name, the part of the result that they belong to, value."""
    if isinstance(leaf, Tied):
        yield from _sums_of(leaf.table, found)
        yield from _sums_of(leaf.product, found)
    elif isinstance(leaf, Small):
        yield leaf.name, found[leaf.name].view(-1), leaf.grads.sum(0)
    elif isinstance(leaf, Rows):
        total = torch.zeros_like(found[leaf.name]).index_add_(0, leaf.ids.flatten(), leaf.grads.flatten(0, 1))
        yield leaf.name, found[leaf.name], total
    else:
        for target in leaf.targets:
            value = target.grads.flatten(0, 1).t() @ leaf.x.flatten(0, 1)
            yield target.name, target.part(found), value
