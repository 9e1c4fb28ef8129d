"""`make_private`: from a model, an optimizer and a dataset to a run, with everything checked that needs no record."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from .._cautions import warn_of_large_delta
from .._errors import InvalidInput
from .._ledger import Ledger, ledger_of
from . import _clip
from ._batches import Source
from ._plan import make_plan
from ._run import PrivateRun

#: Records of a micro-batch that is not given, at most.
MICRO_BATCH = 256


def make_private(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    dataset: Any,
    *,
    loss: Callable[[nn.Module, Any], torch.Tensor] | nn.Module,
    delta: float,
    batch_size: int,
    clip_norm: float,
    epsilon: float | None = None,
    noise_multiplier: float | None = None,
    epochs: float | None = None,
    steps: int | None = None,
    dataset_size: int | None = None,
    person: Any = None,
    ids: Any = None,
    unit: str | None = None,
    micro_batch: int | None = None,
    collate: Callable[[list[Any]], Any] | None = None,
    clipping: str = "flat",
    precision: str = "fp32",
    canaries: int | None = None,
    canary_block: int = 1,
    seed: int | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    request_id: str | None = None,
    name: str = "training records",
    resume: str | os.PathLike[str] | None = None,
) -> PrivateRun:
    """Prepare a private training of a PyTorch model.

    Nothing is charged, and no record is read, before the first batch. Under `torch.distributed`, call it in each process: each one then
    trains on its part of the records, and all of them have the same weights.

    Args:
        model: the model. Freeze the parameters that you do not train.
        optimizer: any optimizer of torch over parameters of the model.
        dataset: a map-style dataset, or tensors as a tuple or dict with one row per record.
        loss: `loss(model, batch)`, which returns one number per record, or a loss module with `reduction="none"`.
        delta: δ of the guarantee. Choose it well below 1 / (number of records).
        batch_size: the planned batch size. Batches are Poisson-sampled, so their sizes vary around it.
        clip_norm: the norm to which the gradient of each record is clipped.
        epsilon: ε of the budget, or give `noise_multiplier`.
        noise_multiplier: the standard deviation of the noise divided by `clip_norm`.
        epochs: the number of passes over `dataset_size` records, or give `steps`.
        steps: the number of steps.
        dataset_size: a public constant for the number of records (of people, with `person`). None states `len(dataset)` as public.
        person: one integer or text per record that says whose it is. One person then counts as one record: she enters a batch with
            all of her records, and their clipped gradients are averaged.
        ids: one integer or text per record, different for each. It decides about the batches instead of the order of the records.
        unit: the privacy unit in the claim. None takes "record", or "person" with `person`.
        micro_batch: the number of records that are computed at once. More records of a batch take more micro-batches.
        collate: puts a list of records together to a batch, as `collate_fn` of a DataLoader.
        clipping: "flat", "per-layer" or "automatic".
        precision: "fp32", or "bf16" for autocast.
        canaries: the number of canaries of the audit. None takes a twentieth of the trained parameters, at most 40,000, and 0 switches the audit off.
        canary_block: the number of parameters in the direction of a canary.
        seed: draw noise and batches from a seed, for tests. The claim then says that the model is not for release.
        ledger: a ledger that pays for all planned steps, before the first batch.
        request_id: a name for the request to the ledger.
        name: the name of the data in the claim.
        resume: the checkpoint of a run that was killed. All other arguments must be the same.

    Returns:
        A `PrivateRun`.

    Raises:
        InvalidInput: if an argument is out of range, or the optimizer trains nothing of the model.
        NoTheorem: if a layer mixes records.

    Example:
        >>> run = v.torch.make_private(model, optimizer, dataset, loss=loss, epsilon=3, delta=1e-5, epochs=3,
        ...                            batch_size=256, clip_norm=1.0)   # doctest: +SKIP
        >>> for batch in run.batches():                                 # doctest: +SKIP
        ...     run.step(batch)
        >>> run.save("out")                                             # doctest: +SKIP
    """
    device = _device_of(model, optimizer)
    if micro_batch is None:
        micro_batch = min(MICRO_BATCH, max(1, batch_size))
    source = Source(dataset, micro_batch=micro_batch, ids=ids, person=person, collate=collate, device=device)
    if unit is None:
        unit = "person" if source.is_by_person else "record"
    if source.is_by_person == (unit == "record"):
        raise InvalidInput("unit does not match person, expected the name of a person with person, and record without it")
    if dataset_size is None:
        dataset_size = len(source.ids)
        warn_of_large_delta(delta, dataset_size, stacklevel=2)
    plan = make_plan(
        dataset_size=dataset_size,
        batch_size=batch_size,
        clip_norm=clip_norm,
        delta=delta,
        unit=unit,
        clipping=clipping,
        epsilon=epsilon,
        noise_multiplier=noise_multiplier,
        epochs=epochs,
        steps=steps,
    )
    sums = _clip.RecordSums(
        model, loss, clip_norm=plan.clip_norm, grid=plan.grid, micro_batch=micro_batch, clipping=clipping, precision=precision
    )
    if source.is_by_person and not _takes_shares(sums):
        raise InvalidInput("person is given, but these sums clip single records")
    book = ledger_of(ledger, seed, request_id)
    path = None if resume is None else os.fspath(resume)
    return PrivateRun(model, optimizer, plan, source, sums, seed, canaries, canary_block, book, request_id, name, path)


def _device_of(model: nn.Module, optimizer: torch.optim.Optimizer) -> torch.device | None:
    """Return the device of the model, or None for the CPU."""
    devices = {parameter.device for parameter in model.parameters() if parameter.requires_grad}
    if len(devices) > 1:
        raise InvalidInput("the trainable parameters are on several devices, expected one device per process")
    found = next(iter(devices), torch.device("cpu"))
    return None if found.type == "cpu" else found


def _takes_shares(sums: Any) -> bool:
    return "shares" in sums.add.__code__.co_varnames
