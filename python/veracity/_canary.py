"""A canary that takes part in a training through hooks on its optimizer, and the counts that prove it did.

The hooks replace two methods of the optimizer: the one that sums clipped gradients, where the canary enters, and `add_noise`, after
which the noisy sum is read. An audit whose canary never entered would print "not refuted" for any training. The hooks therefore count
their calls, and `CannotAudit` is raised where a count is not what a training with the canary must have:

- every noisy sum follows at least one clipped sum of the same step;
- every clipped sum of a batch with the canary has the canary in it;
- the parameters are never updated more often than noise was added;
- no parameter is left without noise in every step, while the canary, which is in another, sees noise.

This module does not import torch. A subclass says how the canary is put into a batch and how the noisy sum is read.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np

from ._errors import CannotAudit


class Canary:
    """One record that is in each batch with probability `rate`, where the world has it.

    Attributes:
        steps: the noisy sums that were read.
        updates: the updates of the parameters by the optimizer that the private one wraps.
        drawn: the steps in whose batch the canary is.
        entered: the clipped sums that have the canary.
        score: the logarithm of how much likelier the noisy sums are with the canary.
    """

    #: The method of the optimizer that sums clipped gradients.
    summing = "clip_and_accumulate"

    def __init__(self, optimizer: Any, world: bool, rate: float, coins: np.random.Generator) -> None:
        self._optimizer, self._world, self._rate, self._coins = optimizer, world, rate, coins
        self._is_begun = False
        self.steps = self.updates = self.drawn = self.entered = 0
        #: In how many steps each parameter got no noise, by its place.
        self._silent: Counter[int] = Counter()
        self.score = 0.0
        self._sum_clipped, self._add_noise = getattr(optimizer, self.summing), optimizer.add_noise
        setattr(optimizer, self.summing, self._summed)
        optimizer.add_noise = self._noised
        optimizer.original_optimizer.register_step_post_hook(self._updated)

    def put_in(self) -> bool:
        """Put the canary into the batch if it is drawn, before the batch is clipped; return whether it is in."""
        raise NotImplementedError

    def has_entered(self) -> bool:
        """Whether the sum of clipped gradients has the canary."""
        raise NotImplementedError

    def read(self) -> float:
        """The noisy sum along the canary, in units of the sensitivity."""
        raise NotImplementedError

    def silent(self) -> list[int]:
        """The places of the parameters whose noisy sum is the sum itself."""
        return []

    def owned(self) -> list[int]:
        """The places of the parameters that the canary is in."""
        return [0]

    def noise(self) -> float:
        """The noise multiplier of the step."""
        return float(self._optimizer.noise_multiplier)

    def is_drawn(self) -> bool:
        """Draw whether the canary is in this part of a batch. A record is in one part of a batch, here in the first."""
        if self._is_begun:
            return False
        self._is_begun = True
        # The coin is tossed in both worlds, so that they differ in nothing else.
        is_drawn = bool(self._coins.random() < self._rate) and self._world
        self.drawn += is_drawn
        return is_drawn

    def check(self) -> None:
        """Raise `CannotAudit` unless the canary took part in the training as it must."""
        if self.steps == 0 and self.updates == 0:
            raise CannotAudit("the training took no step with the optimizer that make_training returned, expected at least one")
        if self.updates > self.steps:
            raise CannotAudit(
                f"{self.updates} updates but {self.steps} calls of {self._named('add_noise')}, expected noise in every update: "
                "the step of this optimizer does not call the methods that the audit hooks"
            )
        if self.drawn != self.entered:
            raise CannotAudit(f"the canary entered {self.entered} of the {self.drawn} batches that it is in, expected all of them")
        silent = [place for place, steps in sorted(self._silent.items()) if steps == self.steps]
        # Where the canary's own have none, its score refutes the claim.
        if silent and not set(self.owned()) <= set(silent):
            raise CannotAudit(
                f"{self._named('add_noise')} left parameter {silent[0] + 1} without noise in all {self.steps} steps, expected noise in "
                "every parameter: the training is not private, and the canary is in another parameter"
            )

    def _summed(self) -> None:
        is_in = self.put_in()
        self._sum_clipped()
        if is_in and not self.has_entered():
            raise CannotAudit(
                f"{self._named(self.summing)} left the canary out of its sum, expected every record of the batch: "
                "it does not read the gradients that the audit writes"
            )
        self.entered += is_in

    def _noised(self) -> None:
        if not self._is_begun:
            raise CannotAudit(
                f"{self._named('add_noise')} was called without {self._named(self.summing)}, expected a clipped sum in every step: "
                "the canary cannot enter"
            )
        self._add_noise()
        self._is_begun = False
        self.steps += 1
        if self.noise() > 0:
            self._silent.update(self.silent())
        self.score += log_ratio(self.read(), max(self.noise(), 1e-3), self._rate)

    def _updated(self, *_: Any) -> None:
        self.updates += 1

    def _named(self, method: str) -> str:
        return f"{type(self._optimizer).__name__}.{method}"


def log_ratio(seen: float, noise: float, rate: float) -> float:
    """ln(1 − q + q e^z), z the log-likelihood ratio of a sum of 1 against one of 0 under Gaussian noise."""
    z = (2 * seen - 1) / (2 * noise * noise)
    if rate == 1:
        return z
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + z))
