"""The audit of a training while it runs: canaries in the integer sum, one direction each, in or out by fair coins.

A canary is one more record of the mechanism: a vector of norm `clip_norm` that enters a step by the coin of a Poisson batch, as every
record does. It is planted before the noise and read after it. Then it is subtracted from the noisy sum.

**Why the guarantee of the records stays.** The canaries do not depend on any record. So the noisy sum with the canaries is the Gaussian
mechanism on the records, shifted by a vector that is independent of them, and what is computed from it and from the coins of the canaries
is post-processing. The subtraction is one of integers, hence exact: the model is bit for bit the one of a run without canaries.

**Why the audit is one of this run.** A canary that is in moves the sum by at most `clip_norm`, as a record does, and its batches are drawn
as those of records. So the claim bounds what the noisy sums reveal about its coin. Too little noise, noise that repeats, or a wrong rate
shows there. Errors before the sum, such as wrong clipping, are not visible to it: those are excluded by the theorem of the sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .._errors import InvalidInput
from .._veracity import _Randomness
from ._batches import FIRST_CANARY
from ._plan import Plan

#: Canaries of a run that does not say how many, if it has so many coordinates for each of them.
USUAL, ROOM = 40_000, 20
#: Readings that the declared noise counts for, beside those of a step.
PRIOR = 200


class Canaries:
    """Signed directions without a common coordinate, their coins, and the evidence so far.

    Args:
        plan: the numbers of the training.
        randomness: the root from which places, signs and coins are drawn.
        size: the length of the sum.
        count: how many canaries. None takes the usual number.
        block: the coordinates of each canary. With several, each has its own random sign.
    """

    def __init__(self, plan: Plan, randomness: _Randomness, size: int, count: int | None, block: int = 1) -> None:
        blocks = size // block
        self.count = min(USUAL, blocks // ROOM) if count is None else count
        if self.count > blocks or block < 1:
            raise InvalidInput(f"canaries is {self.count}, expected at most {blocks}: the trainable parameters divided by the block")
        self._plan, self._randomness, self.block = plan, randomness, block
        # Rounded down, so that the norm of a canary is not above the clip norm.
        self.amount = int(plan.clip_norm / plan.grid / block**0.5 * (1 - 1e-12))
        self.norm = self.amount * block**0.5 * plan.grid / plan.clip_norm
        places, signs = randomness.places(self.count, max(blocks, 1))
        self._at = torch.from_numpy((places[:, None] * block + np.arange(block)[None, :]).reshape(-1))
        self._signs = torch.from_numpy(np.where(_block_signs(randomness, self.count, block, signs), 1, -1).astype(np.int64))
        self.worlds = randomness.worlds(self.count)
        self._ids = np.arange(self.count, dtype=np.uint64) + np.uint64(FIRST_CANARY)
        self.scores = np.zeros(self.count)

    def to(self, device: torch.device) -> None:
        """Move the directions to the device of the sum."""
        self._at, self._signs = self._at.to(device), self._signs.to(device)

    def plant(self, sums: torch.Tensor, step: int) -> torch.Tensor | None:
        """Add the canaries that are in and whose coin chose this step. Return what was added at their places."""
        if self.count == 0:
            return None
        chosen = self._randomness.chosen(self._ids, self._plan.rate, step) & self.worlds
        here = torch.from_numpy(np.repeat(chosen, self.block)).to(sums.device)
        added = self._signs * self.amount * here
        sums[self._at] += added
        return added

    def read(self, sums: torch.Tensor, added: torch.Tensor | None) -> None:
        """Score the canaries by the noisy sum, and take them out of it."""
        if added is None:
            return
        along = (sums[self._at] * self._signs).view(self.count, self.block).sum(1).cpu().numpy()
        sums[self._at] -= added
        # In units of the canary: 1 with it and 0 without it.
        seen = along / (self.amount * self.block)
        self.scores += _log_ratio(seen, self._variance(seen), self._plan.rate)

    def _variance(self, seen: np.ndarray) -> float:
        """Estimate the variance of what is read of a canary that is not in the batch: the noise, and what the records do to its parameters.

        An attacker sees all readings, so she need not believe the declared noise. No coin is used, so the theorem holds as before. The
        declared variance counts as so many readings more.
        """
        declared, rate = (self._plan.noise_multiplier / self.norm) ** 2, self._plan.rate / 2
        found = float(np.square(seen - seen.mean()).sum()) - self.count * rate * (1 - rate)
        return float(max((found + PRIOR * declared) / (self.count + PRIOR), declared / 1000))

    def state(self) -> dict[str, Any]:
        """What a resumed run needs: everything else is drawn again."""
        return {"count": self.count, "block": self.block, "scores": torch.from_numpy(self.scores.copy())}

    def load(self, state: dict[str, Any]) -> None:
        """Take up the evidence of an earlier process."""
        if (state["count"], state["block"]) != (self.count, self.block):
            raise InvalidInput("canaries differ from those of the saved run, expected the same number and block")
        self.scores = state["scores"].numpy().copy()


def _block_signs(randomness: _Randomness, count: int, block: int, first: np.ndarray) -> np.ndarray:
    """Return one sign per coordinate: those that come with the places, or for longer blocks one of their own each."""
    return first if block == 1 else randomness.places(count * block, count * block)[1]


def _log_ratio(seen: np.ndarray, variance: float, rate: float) -> np.ndarray:
    """Logarithm of the likelihood ratio of "in" over "out": by Neyman and Pearson, no score separates the two better."""
    exponent = np.minimum((2.0 * seen - 1.0) / (2.0 * variance), 700.0)
    return exponent if rate >= 1.0 else np.log1p(rate * np.expm1(exponent))
