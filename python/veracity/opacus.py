"""Accountant and audits for Opacus. Call `veracity.opacus.register()`, then `PrivacyEngine(accountant="veracity")`.

`get_epsilon` returns a certified upper bound for the steps so far, `interval` returns both bounds, and `claim` makes a claim that anyone
can verify. All of them assume Poisson-sampled batches, which `make_private` draws by default. Opacus' `get_noise_multiplier` and
`make_private_with_epsilon` work with this accountant.
"""

from __future__ import annotations

import warnings
from typing import Any

from opacus.accountants import IAccountant, register_accountant

from ._cautions import warn_of_large_delta
from ._errors import InvalidInput, NoProtection, NotCertified, NoTheorem, PrivacyWarning
from ._opacus_audit import audit as audit
from ._opacus_watch import REMEDY, Setup, install
from ._kinds import composed, dp_sgd
from ._veracity import Claim, Interval, Mechanism

# A noise multiplier outside of these is one that is not accounted for: less counts as none, more counts as this.
_LEAST_NOISE, _MOST_NOISE = 1e-6, 1e9
# A rate of 1 that was computed may be a hair above it.
_HAIR = 1e-9


class VeracityAccountant(IAccountant):  # type: ignore[misc]
    """Accountant for Opacus: certified ε of the training steps, for the adjacency add-remove and Poisson-sampled batches.

    `make_private(poisson_sampling=False)` emits a `PrivacyWarning`, and such a training has no claim. If `make_private` has seen n records,
    a delta above 1/n emits a warning too.
    """

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []
        #: The class of a sampler that is none of Poisson's, where `make_private` has met one.
        self._other_sampler: str | None = None
        self._records: int | None = None

    def _observe(self, setup: Setup) -> None:
        """Note the setup of `make_private`."""
        self._records = setup.records
        if not setup.is_poisson:
            self._other_sampler = setup.sampler
            warnings.warn(
                f"batches are drawn by a {setup.sampler}, and epsilon is that of Poisson-sampled batches, which may be less; {REMEDY}",
                PrivacyWarning,
                stacklevel=3,
            )

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Record one training step. Opacus calls this for you.

        Args:
            noise_multiplier: the noise multiplier of the step.
            sample_rate: the probability with which each record enters the batch.
        """
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_epsilon(self, delta: float, **ignored: Any) -> float:
        """Compute an upper bound on ε of the steps so far.

        Args:
            delta: δ of the guarantee.
            **ignored: settings of other accountants, such as `alphas`. They have no effect.

        Returns:
            The upper bound. It is infinite if the training gives no privacy.
        """
        self._warn(delta)
        try:
            found = self._interval(delta)
        except (NoProtection, NotCertified):
            return float("inf")
        return 0.0 if found is None else float(found)

    def interval(self, delta: float) -> Interval | None:
        """Compute the certified interval of ε of the steps so far.

        Args:
            delta: δ of the guarantee.

        Returns:
            An `Interval`, or None if no step used data.

        Raises:
            NoProtection: if a step had no noise.
        """
        self._warn(delta)
        return self._interval(delta)

    def _interval(self, delta: float) -> Interval | None:
        run = self.run()
        return None if run is None else run.epsilon(delta)

    def _warn(self, delta: float) -> None:
        if self._records is not None:
            warn_of_large_delta(delta, self._records, stacklevel=3)

    def claim(self, delta: float) -> Claim:
        """Make a claim for the steps so far.

        Args:
            delta: δ of the claim.

        Returns:
            A `Claim`.

        Raises:
            NoTheorem: if batches are not Poisson-sampled.
            InvalidInput: if no step was taken yet.
        """
        if self._other_sampler is not None:
            raise NoTheorem(f"no theorem for batches of a {self._other_sampler}: the claim is for Poisson-sampled batches; {REMEDY}")
        self._warn(delta)
        run = self.run()
        if run is None:
            raise InvalidInput("no step was taken, expected a training to claim for")
        return run.claim(delta=delta)

    def run(self) -> Mechanism | None:
        """Return the steps so far as a mechanism.

        Returns:
            A `Mechanism`, or None if no step used data.
        """
        parts = [_steps(*entry) for entry in self.history if entry[1] != 0 and entry[2] != 0]
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else composed(parts)

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """Return the name under which Opacus knows this accountant.

        Returns:
            "veracity".
        """
        return "veracity"


def _steps(noise_multiplier: float, sample_rate: float, steps: int) -> Mechanism:
    if not noise_multiplier >= _LEAST_NOISE:
        raise NoProtection("noise_multiplier is below 1e-6, which gives no privacy, expected at least 1e-6")
    rate = min(sample_rate, 1.0) if sample_rate <= 1.0 + _HAIR else sample_rate
    return dp_sgd(sampling_rate=rate, noise_multiplier=min(noise_multiplier, _MOST_NOISE), steps=steps)


def register() -> None:
    """Register this accountant with Opacus under the name "veracity". You can call this again.

    Example:
        >>> v.opacus.register()
        >>> engine = PrivacyEngine(accountant="veracity")
    """
    register_accountant(VeracityAccountant.mechanism(), VeracityAccountant, force=True)


# Which data loader a training has is seen by `make_private` alone.
install()
