"""An accountant for Opacus: `veracity.opacus.register()`, then `PrivacyEngine(accountant="veracity")`.

`get_epsilon` is the upper end of what is certified for the steps that were taken; `interval` has both ends, and `claim` is a claim
that anyone can verify. Opacus' own search, `get_noise_multiplier`, works with it, and so does `make_private_with_epsilon`.
"""

from __future__ import annotations

from typing import Any

from opacus.accountants import IAccountant, register_accountant

from ._errors import InvalidInput, NoProtection, NotCertified
from ._opacus_audit import audit as audit
from ._veracity import Claim, Interval, Mechanism, composed, dp_sgd

# A noise multiplier outside of these is one that is not accounted for: less counts as none, more counts as this.
_LEAST_NOISE, _MOST_NOISE = 1e-6, 1e9
# A rate of 1 that was computed may be a hair above it.
_HAIR = 1e-9


class VeracityAccountant(IAccountant):  # type: ignore[misc]
    """What the steps of a training leak, for Poisson batches and the adjacency add-remove, as Opacus has it."""

    def __init__(self) -> None:
        self.history: list[tuple[float, float, int]] = []

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """One step was taken."""
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def get_epsilon(self, delta: float, **ignored: Any) -> float:
        """The ε at this δ: an upper end. It is infinite where nothing is promised.

        Settings of other accountants, such as `eps_error` or `alphas`, are taken and change nothing.
        """
        try:
            found = self.interval(delta)
        except (NoProtection, NotCertified):
            return float("inf")
        return 0.0 if found is None else float(found)

    def interval(self, delta: float) -> Interval | None:
        """The ε at this δ from both sides; None where no step leaks anything."""
        run = self.run()
        return None if run is None else run.epsilon(delta)

    def claim(self, delta: float) -> Claim:
        """The promise at this δ as a claim."""
        run = self.run()
        if run is None:
            raise InvalidInput("no step was taken, expected a training to claim for")
        return run.claim(delta=delta)

    def run(self) -> Mechanism | None:
        """The steps that were taken as a mechanism; None where none of them leaks anything."""
        parts = [_steps(*entry) for entry in self.history if entry[1] != 0 and entry[2] != 0]
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else composed(parts)

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    @classmethod
    def mechanism(cls) -> str:
        """The name that it is registered under."""
        return "veracity"


def _steps(noise_multiplier: float, sample_rate: float, steps: int) -> Mechanism:
    if not noise_multiplier >= _LEAST_NOISE:
        raise NoProtection("noise_multiplier is below 1e-6, where nobody is protected, expected more")
    rate = min(sample_rate, 1.0) if sample_rate <= 1.0 + _HAIR else sample_rate
    return dp_sgd(sampling_rate=rate, noise_multiplier=min(noise_multiplier, _MOST_NOISE), steps=steps)


def register() -> None:
    """Makes "veracity" the name of this accountant for `PrivacyEngine`. It may be called again."""
    register_accountant(VeracityAccountant.mechanism(), VeracityAccountant, force=True)
