"""`veracity.opacus.audit`: a training loop of Opacus attacked from within, by a canary that owns one parameter.

In every step the gradients of all other records are zero at that parameter, as they may be in the worst dataset. With the canary, its
gradient lies along it, far too long, so that the optimizer must clip it, in as many steps as a record takes part in. What the noisy
sums say there is the score. Clipping, noise, their scale and the number of steps are put to the test; how batches are drawn is not.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from opacus.optimizers import DPOptimizer

from ._audit import RESERVED, further
from ._audit import audit as audit_function
from ._errors import InvalidInput
from ._trials import called, function_of, source_sha256
from ._veracity import AuditResult, Claim, Mechanism

#: How much longer than the bound the gradient of the canary is.
TOO_LONG = 1e3
#: Tells the coins of the canary from other draws by the same seed.
COINS = 0x63616E617279


def audit(
    make_training: Callable[[int], tuple[Any, Callable[[], Any]]] | str,
    *,
    claim: Any,
    trials: int = 250,
    delta: float | None = None,
    sampling_rate: float | None = None,
    **settings: Any,
) -> AuditResult:
    """Attacks the claim of a training loop of Opacus by gradient canaries.

    `make_training(seed)` makes everything anew and returns (optimizer, train): the optimizer that `PrivacyEngine.make_private` gave,
    and a function without arguments that trains. Torch is seeded before it is called. `sampling_rate` is the chance with which a record
    is in a batch [default: that of the claim]. All else is as for `veracity.audit`.
    """
    rate = _rate(claim, delta) if sampling_rate is None else float(sampling_rate)
    if not 0 < rate <= 1:
        raise InvalidInput(f"sampling_rate is {rate}, expected 0 < sampling_rate ≤ 1")
    make = function_of(make_training, "make_training")
    told = {"make_training": called(make), "make_training_sha256": source_sha256(make), "sampling_rate": rate}
    settings["settings"] = {**further(settings.get("settings"), (*told, *RESERVED)), **told}
    settings.setdefault("description", f"the Opacus training {called(make)}, with a gradient canary")
    return audit_function(Attack(make, rate), claim=claim, delta=delta, trials=trials, **settings)


class Attack:
    """One training with or without the canary; the score is the logarithm of how much likelier its noisy sums are with it."""

    def __init__(self, make_training: Callable[[int], tuple[Any, Callable[[], Any]]], rate: float) -> None:
        self.make_training, self.rate = make_training, rate

    def __call__(self, world: bool, seed: int) -> float:
        torch.manual_seed(seed)
        optimizer, train = self.make_training(seed)
        if not isinstance(optimizer, DPOptimizer):
            raise TypeError("make_training returned no optimizer of Opacus, expected (optimizer, train)")
        canary = Canary(optimizer, world, self.rate, seed)
        train()
        if canary.steps == 0:
            raise RuntimeError("the training took no step")
        return canary.score


class Canary:
    """A record that owns the first element of the last parameter of an optimizer."""

    def __init__(self, optimizer: Any, world: bool, rate: float, seed: int) -> None:
        self._optimizer, self._world, self._rate = optimizer, world, rate
        self._coins = np.random.default_rng([seed, COINS])
        self._clip, self._add_noise = optimizer.clip_and_accumulate, optimizer.add_noise
        self._is_begun = False
        self.steps, self.score = 0, 0.0
        optimizer.clip_and_accumulate, optimizer.add_noise = self._clipping, self._noising

    @property
    def _parameter(self) -> Any:
        return self._optimizer.params[-1]

    @property
    def _bound(self) -> float:
        bound = self._optimizer.max_grad_norm
        return float(bound[-1] if isinstance(bound, (list, tuple)) else bound)

    def _clipping(self) -> None:
        """Before gradients are clipped and summed; a batch may come in several parts, and a record is in one of them."""
        is_in = False
        if not self._is_begun:
            self._is_begun = True
            # The coin is tossed in both worlds, so that they differ in nothing else.
            is_in = bool(self._coins.random() < self._rate) and self._world
        for parameter in self._optimizer.params:
            samples = self._optimizer._get_flat_grad_sample(parameter)
            is_own = parameter is self._parameter
            if is_own:
                samples = samples.clone()
                samples.reshape(len(samples), -1)[:, 0] = 0
            if is_in:
                row = torch.zeros_like(parameter).unsqueeze(0).to(samples.dtype)
                if is_own:
                    row.view(-1)[0] = TOO_LONG * self._bound
                samples = torch.cat([samples, row])
            if is_own or is_in:
                parameter.grad_sample = samples
        self._clip()

    def _noising(self) -> None:
        """After noise is added: the noisy sum is what everyone sees."""
        self._add_noise()
        self._is_begun = False
        self.steps += 1
        seen = float(self._parameter.grad.reshape(-1)[0]) / self._bound
        noise = max(float(self._optimizer.noise_multiplier), 1e-3)
        self.score += _log_ratio(seen, noise, self._rate)


def _log_ratio(seen: float, noise: float, rate: float) -> float:
    """ln(1 − q + q e^z), z the log-likelihood ratio of a sum of 1 against one of 0 under Gaussian noise."""
    z = (2 * seen - 1) / (2 * noise * noise)
    if rate == 1:
        return z
    return float(np.logaddexp(math.log1p(-rate), math.log(rate) + z))


def _rate(claim: Any, delta: float | None) -> float:
    """The chance of a record to be in a batch, as the claim has it."""
    if isinstance(claim, Mechanism) and delta is not None:
        claim = claim.claim(delta=delta)
    if not isinstance(claim, Claim):
        raise InvalidInput("sampling_rate is missing, expected the chance of a record to be in a batch: the claim names none")
    rates = set(_rates(json.loads(claim.to_json())["mechanism"]))
    if len(rates) > 1:
        raise InvalidInput("sampling_rate is missing, expected the chance of a record to be in a batch: the claim names several")
    return rates.pop() if rates else 1.0


def _rates(node: Any) -> list[float]:
    if isinstance(node, dict):
        own = [float(node[name]) for name in ("rate", "sampling_rate") if isinstance(node.get(name), (int, float))]
        return own + [rate for value in node.values() for rate in _rates(value)]
    return [rate for value in node for rate in _rates(value)] if isinstance(node, list) else []
