"""The public numbers of a private training: population, rate, steps, noise. Nothing here depends on a record."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .._errors import InvalidInput
from .._kinds import dp_sgd
from .._veracity import Interval, Mechanism, calibrate

#: The noise has this standard deviation in units of the grid.
DEVIATION = 2**20
#: Bounds within which sums and noise fit into 64 bits and floats.
_NOISE = (1e-3, 1e6)
_CLIP = (1e-6, 1e15)


@dataclass(frozen=True)
class Plan:
    """The public settings of a training.

    Attributes:
        dataset_size: the number of records or people that the plan assumes. It is a public constant.
        batch_size: the planned batch size: the rate times `dataset_size`, and the divisor of each noisy sum.
        steps: the number of steps.
        noise_multiplier: the standard deviation of the noise divided by `clip_norm`.
        clip_norm: the norm to which the gradient of each record or person is clipped.
        delta: δ of the guarantee.
        unit: the privacy unit: "record", or the name that you give to a person.
        clipping: how gradients are clipped.
    """

    dataset_size: int
    batch_size: int
    steps: int
    noise_multiplier: float
    clip_norm: float
    delta: float
    unit: str
    clipping: str

    @property
    def rate(self) -> float:
        """The probability with which each record enters a batch."""
        return self.batch_size / self.dataset_size

    @property
    def grid(self) -> float:
        """The unit of sums and noise, rounded up, so that the noise is not below its declared standard deviation."""
        return math.nextafter(self.noise_multiplier * self.clip_norm / DEVIATION, math.inf)

    @property
    def mechanism(self) -> Mechanism:
        """All steps as one mechanism."""
        return self.mechanism_after(self.steps)

    def mechanism_after(self, steps: int) -> Mechanism:
        """Return the first so many steps as one mechanism."""
        return _mechanism(self.rate, self.noise_multiplier, steps, self.unit)

    def epsilon_after(self, steps: int) -> Interval | float:
        """Return ε of the first so many steps; 0 before the first."""
        return self.mechanism_after(steps).epsilon(self.delta) if steps else 0.0

    def noted(self) -> tuple[str, float, float, float]:
        """Return the noise call as a claim notes it."""
        whole = "sum of clipped gradients, each step"
        place = whole if self.unit == "record" else f"{whole}; all records of one {self.unit} are clipped together"
        return place, self.grid, self.clip_norm / self.grid, self.noise_multiplier


def _mechanism(rate: float, noise_multiplier: float, steps: int, unit: str) -> Mechanism:
    return dp_sgd(sampling_rate=rate, noise_multiplier=noise_multiplier, steps=steps, adjacency="add-remove", unit=unit)


def make_plan(
    *,
    dataset_size: int,
    batch_size: int,
    clip_norm: float,
    delta: float,
    unit: str,
    clipping: str,
    epsilon: float | None,
    noise_multiplier: float | None,
    epochs: float | None,
    steps: int | None,
) -> Plan:
    """Check the numbers and find the noise of a budget."""
    dataset_size = _count("dataset_size", dataset_size)
    batch_size = _count("batch_size", batch_size)
    if batch_size > dataset_size:
        raise InvalidInput(f"batch_size is {batch_size}, expected at most dataset_size = {dataset_size}")
    if (epochs is None) == (steps is None):
        raise InvalidInput("give either epochs or steps")
    if (epsilon is None) == (noise_multiplier is None):
        raise InvalidInput("give either epsilon or noise_multiplier")
    clip_norm = _number("clip_norm", clip_norm, *_CLIP)
    delta = _number("delta", delta, 1e-300, 1 - 1e-9)
    if epochs is not None:
        # As `dp_sgd` counts them: rounded up.
        steps = math.ceil(_number("epochs", epochs, 1e-9, 1e9) * dataset_size / batch_size)
    steps = _count("steps", steps)
    rate = batch_size / dataset_size
    if noise_multiplier is None:
        asked = _number("epsilon", epsilon, 1e-9, 1e9)
        noise_multiplier = calibrate(_mechanism(rate, 1.0, steps, unit), epsilon=asked, delta=delta).noise_multiplier
    noise_multiplier = _number("noise_multiplier", noise_multiplier, *_NOISE)
    return Plan(dataset_size, batch_size, steps, noise_multiplier, clip_norm, delta, unit, clipping)


def _count(name: str, given: Any) -> int:
    if isinstance(given, bool) or not hasattr(given, "__index__") or not 1 <= given.__index__() < 2**53:
        raise InvalidInput(f"{name} is not an integer in range, expected 1 ≤ {name} < 2^53")
    return int(given.__index__())


def _number(name: str, given: Any, low: float, high: float) -> float:
    number = float(given)
    if not low <= number <= high:
        raise InvalidInput(f"{name} is {number:g}, expected {low:g} ≤ {name} ≤ {high:g}")
    return number
