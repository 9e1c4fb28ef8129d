"""Notes what each `PrivacyEngine.make_private` of Opacus takes from the data: the sampling rate, the batch size, how batches are drawn.

Opacus hands the data loader to the training alone, so `make_private` is wrapped, once for the process. The wrapper changes nothing. It
gives what it saw to Veracity's accountant, and to the audit that runs in the same thread.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

_seen: ContextVar[list[Setup] | None] = ContextVar("veracity_opacus_setups", default=None)

#: What to do where batches are not Poisson-sampled.
REMEDY = "leave poisson_sampling=True; `veracity batching` prints what shuffled batches leak"


@dataclass(frozen=True)
class Setup:
    """The public parameters of a private training."""

    #: The probability with which a record is in a batch: 1 over the number of batches, as Opacus has it.
    sampling_rate: float
    #: The batch size that Opacus divides summed gradients by, which is 1 where `loss_reduction` is "sum".
    batch_size: float
    #: The number of records of the dataset, which Opacus treats as public.
    records: int
    #: The class that draws the batches.
    sampler: str
    #: Whether each record is drawn by itself, which the accounting assumes.
    is_poisson: bool

    def differences(self, other: Setup) -> str:
        """The parameters that differ between two trainings, except the number of records and its consequences."""
        names = [("sampling rate", "sampling_rate"), ("batch size", "batch_size")]
        pairs = [(words, getattr(self, name), getattr(other, name)) for words, name in names]
        return " and ".join(f"{words} {ours:g} or {theirs:g}" for words, ours, theirs in pairs if ours != theirs)


@contextlib.contextmanager
def watching() -> Iterator[list[Setup]]:
    """The setups that are made in this thread for as long as the `with` lasts; none where Opacus is not loaded yet."""
    if "opacus" in sys.modules:
        install()
    seen: list[Setup] = []
    token = _seen.set(seen)
    try:
        yield seen
    finally:
        _seen.reset(token)


def install() -> None:
    """Wraps `PrivacyEngine.make_private`. It may be called again."""
    from opacus import PrivacyEngine

    inner = PrivacyEngine.make_private
    if getattr(inner, "is_watched_by_veracity", False):
        return

    @functools.wraps(inner)
    def make_private(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = inner(self, *args, **kwargs)
        setup = _setup(optimizer=made[1], loader=made[-1])
        if hasattr(self.accountant, "_observe"):
            self.accountant._observe(setup)
        seen = _seen.get()
        if seen is not None:
            seen.append(setup)
        return made

    make_private.is_watched_by_veracity = True  # type: ignore[attr-defined]
    PrivacyEngine.make_private = make_private


def _setup(optimizer: Any, loader: Any) -> Setup:
    from opacus.utils.uniform_sampler import DistributedUniformWithReplacementSampler, UniformWithReplacementSampler

    sampler = loader.batch_sampler
    batches = len(loader)
    # A batch of all records is one of Poisson sampling at rate 1.
    is_poisson = batches == 1 or isinstance(sampler, (DistributedUniformWithReplacementSampler, UniformWithReplacementSampler))
    return Setup(
        sampling_rate=1 / batches,
        batch_size=1.0 if optimizer.loss_reduction == "sum" else float(optimizer.expected_batch_size),
        records=len(loader.dataset),
        sampler=type(sampler).__name__,
        is_poisson=is_poisson,
    )
