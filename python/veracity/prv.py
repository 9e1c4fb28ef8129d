"""The interface of prv_accountant, answered by Veracity's exact accountant.

`compute_epsilon` returns (lower, estimate, upper) as in prv_accountant. The bounds are certified and close together for every error that you
ask for. The estimate is the middle of the interval. If no lower bound is known, the lower bound is 0 and the estimate is the upper bound.

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
from ._kinds import approximate, composed, gaussian, laplace, pure
from ._veracity import Interval, Mechanism

Bounds = tuple[float, float, float]


def GaussianMechanism(noise_multiplier: float, l2_sensitivity: float = 1.0) -> Mechanism:
    """Make a Gaussian mechanism.

    Args:
        noise_multiplier: the standard deviation of the noise.
        l2_sensitivity: the ℓ2 sensitivity.

    Returns:
        A `Mechanism`.
    """
    return gaussian(sigma=noise_multiplier, sensitivity=l2_sensitivity)


def LaplaceMechanism(mu: float) -> Mechanism:
    """Make a Laplace mechanism with sensitivity 1.

    Args:
        mu: 1 divided by the scale of the noise.

    Returns:
        A `Mechanism`.
    """
    return laplace(scale=1.0, sensitivity=mu)


def PoissonSubsampledGaussianMechanism(sampling_probability: float, noise_multiplier: float) -> Mechanism:
    """Make a Gaussian mechanism on a Poisson-sampled batch, which is one step of DP-SGD.

    Args:
        sampling_probability: the probability with which each record enters the batch.
        noise_multiplier: the noise multiplier.

    Returns:
        A `Mechanism`.
    """
    return gaussian(noise_multiplier=noise_multiplier).sampled(sampling_probability)


def PureDPMechanism(eps: float) -> Mechanism:
    """Declare an ε-differentially private mechanism.

    Args:
        eps: ε.

    Returns:
        A `Mechanism`.
    """
    return pure(epsilon=eps)


def ApproximateDPMechanism(epsilon: float, delta: float) -> Mechanism:
    """Declare an (ε, δ)-differentially private mechanism.

    Args:
        epsilon: ε.
        delta: δ.

    Returns:
        A `Mechanism`.
    """
    return approximate(epsilon=epsilon, delta=delta)


class PRVAccountant:
    """Accountant for mechanisms that are composed with themselves and with each other.

    Args:
        prvs: one mechanism or several.
        eps_error: accepted for compatibility. It does not change an answer.
        delta_error: accepted for compatibility. It does not change an answer.
        max_self_compositions: the maximum number of repetitions of each mechanism.
        eps_max: accepted for compatibility. It does not change an answer.

    Raises:
        InvalidInput: if there is no mechanism, or the numbers do not match the mechanisms.
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
        """Compute ε at a given δ.

        Args:
            delta: δ.
            num_self_compositions: the number of repetitions of each mechanism. None means 1.

        Returns:
            (lower bound, estimate, upper bound).
        """
        return _bounds(self._composition(num_self_compositions).epsilon(delta))

    def compute_delta(self, epsilon: float, num_self_compositions: int | Sequence[int] | None = None) -> Bounds:
        """Compute δ at a given ε.

        Args:
            epsilon: ε.
            num_self_compositions: the number of repetitions of each mechanism. None means 1.

        Returns:
            (lower bound, estimate, upper bound).
        """
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
    """Accountant for DP-SGD on Poisson-sampled batches.

    Args:
        noise_multiplier: the noise multiplier.
        sampling_probability: the probability with which each record enters a batch.
        max_steps: the maximum number of steps.
        eps_error: accepted for compatibility. It does not change an answer.
        delta_error: accepted for compatibility. It does not change an answer.
    """

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
        """Compute ε at a given δ after a number of steps.

        Args:
            delta: δ.
            num_steps: the number of steps. None means 1.

        Returns:
            (lower bound, estimate, upper bound).
        """
        return super().compute_epsilon(delta, num_steps)


def _bounds(found: Interval) -> Bounds:
    upper = float(found)
    if found.lower is None:
        return 0.0, upper, upper
    return found.lower, 0.5 * (found.lower + upper), upper
