"""The calls of prv_accountant, answered from both sides without a grid.

`compute_epsilon` returns (lower, estimate, upper) as there, certified and close together, whatever error was asked for; the estimate is
the middle. Where no lower end is known it is 0, and the estimate is the upper end.

>>> from veracity.prv import PoissonSubsampledGaussianMechanism, PRVAccountant
>>> step = PoissonSubsampledGaussianMechanism(noise_multiplier=0.8, sampling_probability=5e-3)
>>> accountant = PRVAccountant(prvs=[step], max_self_compositions=[1000], eps_error=0.1, delta_error=1e-10)
>>> lower, estimate, upper = accountant.compute_epsilon(delta=1e-6, num_self_compositions=[1000])
>>> lower <= estimate <= upper <= lower + 1e-6
True
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, SupportsIndex, cast

from ._errors import InvalidInput
from ._veracity import Interval, Mechanism, approximate, composed, gaussian, laplace, pure

Bounds = tuple[float, float, float]


def GaussianMechanism(noise_multiplier: float, l2_sensitivity: float = 1.0) -> Mechanism:
    """Gaussian noise of standard deviation `noise_multiplier`, for this sensitivity."""
    return gaussian(sigma=noise_multiplier, sensitivity=l2_sensitivity)


def LaplaceMechanism(mu: float) -> Mechanism:
    """Laplace noise of scale 1/mu, for sensitivity 1."""
    return laplace(scale=1.0, sensitivity=mu)


def PoissonSubsampledGaussianMechanism(sampling_probability: float, noise_multiplier: float) -> Mechanism:
    """Gaussian noise on a Poisson batch."""
    return gaussian(noise_multiplier=noise_multiplier).sampled(sampling_probability)


def PureDPMechanism(eps: float) -> Mechanism:
    """Declared: ε-differential privacy."""
    return pure(epsilon=eps)


def ApproximateDPMechanism(epsilon: float, delta: float) -> Mechanism:
    """Declared: (ε, δ)-differential privacy."""
    return approximate(epsilon=epsilon, delta=delta)


class PRVAccountant:
    """Mechanisms that are composed with themselves and with each other.

    `eps_error` and `delta_error` are errors that would be allowed, `eps_max` a guess that is not needed: none of them changes an answer.
    """

    def __init__(
        self,
        prvs: Mechanism | Sequence[Mechanism],
        eps_error: float = 0.1,
        delta_error: float = 1e-9,
        max_self_compositions: int | Sequence[int] | None = None,
        eps_max: float | None = None,
    ) -> None:
        self.prvs = [prvs] if isinstance(prvs, Mechanism) else list(prvs)
        self.eps_error, self.delta_error, self.eps_max = eps_error, delta_error, eps_max
        if not self.prvs:
            raise InvalidInput("prvs is empty, expected a mechanism or several")
        self.max_self_compositions = self._counts(max_self_compositions)

    def compute_epsilon(self, delta: float, num_self_compositions: int | Sequence[int] | None = None) -> Bounds:
        """(lower, estimate, upper) of ε at this δ."""
        return _bounds(self._composition(num_self_compositions).epsilon(delta))

    def compute_delta(self, epsilon: float, num_self_compositions: int | Sequence[int] | None = None) -> Bounds:
        """(lower, estimate, upper) of δ at this ε."""
        return _bounds(self._composition(num_self_compositions).delta(epsilon))

    def _composition(self, given: int | Sequence[int] | None) -> Mechanism:
        counts = self._counts(given)
        if any(count > most for count, most in zip(counts, self.max_self_compositions)):
            raise InvalidInput("num_self_compositions is above max_self_compositions, expected at most that")
        parts = [one * count for one, count in zip(self.prvs, counts)]
        return parts[0] if len(parts) == 1 else composed(parts)

    def _counts(self, given: SupportsIndex | Sequence[SupportsIndex] | None) -> list[int]:
        if given is None:
            return [1] * len(self.prvs)
        # An array says that it is an index as well.
        counts = list(cast(Sequence[SupportsIndex], given)) if hasattr(given, "__len__") else [given]
        if len(counts) != len(self.prvs):
            raise InvalidInput(f"{len(counts)} counts are given for {len(self.prvs)} mechanisms, expected one for each")
        return [index(count) for count in counts]


class DPSGDAccountant(PRVAccountant):
    """DP-SGD, by its number of steps."""

    def __init__(
        self,
        noise_multiplier: float,
        sampling_probability: float,
        max_steps: int,
        eps_error: float = 0.1,
        delta_error: float = 1e-9,
    ) -> None:
        step = PoissonSubsampledGaussianMechanism(sampling_probability, noise_multiplier)
        super().__init__(step, eps_error, delta_error, max_steps)

    def compute_epsilon(self, delta: float, num_steps: Any = None) -> Bounds:
        """(lower, estimate, upper) of ε at this δ after so many steps."""
        return super().compute_epsilon(delta, num_steps)


def _bounds(found: Interval) -> Bounds:
    upper = float(found)
    if found.lower is None:
        return 0.0, upper, upper
    return found.lower, 0.5 * (found.lower + upper), upper
