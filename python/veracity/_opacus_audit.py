"""`veracity.opacus.audit`: audit an Opacus training loop with a gradient canary.

The canary owns the first element of the last parameter or, with per-layer clipping, of every parameter. In every step, the gradients of
all other records are zero there, as they may be in the worst dataset. If the canary is included, its gradient along these elements is far
too long, so Opacus must clip it, and its norm is then the full sensitivity. The noisy sums along it are the score.

The audit tests clipping, the noise scale and the number of steps. It does not test how batches are drawn. At other parameters it
tests only that there is some noise.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from opacus.grad_sample import GradSampleHooksFastGradientClipping, GradSampleModuleFastGradientClipping
from opacus.optimizers import AdaClipDPOptimizer, DPOptimizer, DPOptimizerFastGradientClipping, DPPerLayerOptimizer
from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

from ._audit import RESERVED, further
from ._audit import audit as audit_function
from ._canary import Canary
from ._errors import CannotAudit, InvalidInput
from ._opacus_watch import REMEDY, Setup, watching
from ._trials import called, function_of, source_sha256
from ._veracity import AuditResult, Claim, Mechanism

#: How much longer than the bound the gradient of the canary is.
TOO_LONG = 1e3
#: Tells the coins of the canary from other draws by the same seed.
COINS = 0x63616E617279
#: Kinds of mechanisms in which a record is in batches otherwise than by coins of its own.
OTHER_BATCHES = ("fixed-size-sampled", "truncated-poisson-sampled", "random-allocation", "shuffled", "matrix")
#: A rate that was computed may be a hair above the same one.
HAIR = 1e-9


def audit(
    make_training: Callable[[int], tuple[Any, ...]] | str,
    *,
    claim: Any,
    trials: int = 250,
    delta: float | None = None,
    sampling_rate: float | None = None,
    **settings: Any,
) -> AuditResult:
    """Audit the privacy claim of an Opacus training loop with a gradient canary.

    The canary takes part through hooks, so the dataset, the number of steps and the sampling rate are the same with and without it. The audit
    assumes Poisson-sampled batches, as the claim does.

    Args:
        make_training: `make_training(seed)` builds a new training and returns (optimizer, train): the optimizer of
            `PrivacyEngine.make_private`, and a function without arguments that trains. With `grad_sample_mode="ghost"` it returns
            (optimizer, train, criterion) with the criterion of `make_private`. Torch is seeded before the call.
        claim: a `Claim`, a `Mechanism` (then give `delta`), or a pair (epsilon, delta).
        trials: the maximum number of training runs.
        delta: δ of the claim, if `claim` is a mechanism.
        sampling_rate: the probability with which a record enters a batch. None takes the one of the claim.
        **settings: further arguments of `veracity.audit`, such as `out`, `workers` and `require`.

    Returns:
        An `AuditResult`.

    Raises:
        CannotAudit: if the canary would not take part (the optimizer, the clipping or the loop is not supported), if batches are not
            Poisson-sampled, or if records are drawn at a higher rate than the claim states.
        TrialsFailed: if too many training runs raise an exception.

    Example:
        >>> claim = v.dp_sgd(sampling_rate=0.5, noise_multiplier=1.0, steps=8).claim(delta=1e-5)
        >>> v.opacus.audit(make_training, claim=claim, trials=120).verdict
        'not-refuted'
    """
    rate = _rate(claim, delta, sampling_rate)
    if not 0 < rate <= 1:
        raise InvalidInput(f"sampling_rate is {rate}, expected 0 < sampling_rate ≤ 1")
    make = function_of(make_training, "make_training")
    told = {"make_training": called(make), "make_training_sha256": source_sha256(make), "sampling_rate": rate}
    settings["settings"] = {**further(settings.get("settings"), (*told, *RESERVED)), **told}
    settings.setdefault("description", f"the Opacus training {called(make)}, with a gradient canary")
    return audit_function(Attack(make, rate), claim=claim, delta=delta, trials=trials, **settings)


class Attack:
    """One training run with or without the canary. The score is the log-likelihood ratio of its noisy sums."""

    def __init__(self, make_training: Callable[[int], tuple[Any, ...]], rate: float) -> None:
        self.make_training, self.rate = make_training, rate

    def __call__(self, world: bool, seed: int) -> float:
        torch.manual_seed(seed)
        with watching() as setups:
            made = self.make_training(seed)
            if not isinstance(made, tuple) or len(made) not in (2, 3):
                raise CannotAudit("make_training returned no pair, expected (optimizer, train)")
            optimizer, train, *rest = made
            canary = _canary(optimizer, *rest)(optimizer, world, self.rate, np.random.default_rng([seed, COINS]))
            train()
        for setup in setups:
            self._check(setup)
        canary.check()
        return canary.score

    def _check(self, setup: Setup) -> None:
        if not setup.is_poisson:
            raise CannotAudit(f"batches are drawn by a {setup.sampler}, expected Poisson sampling as in the claim; {REMEDY}")
        if setup.sampling_rate > self.rate * (1 + HAIR):
            raise CannotAudit(
                f"Opacus draws records at rate {setup.sampling_rate:g}, expected at most the claimed {self.rate:g}: "
                "claim the rate 1/len(data_loader) of make_private"
            )


class GradientCanary(Canary):
    """A canary among the per-sample gradients of `DPOptimizer` and of its subclasses."""

    def bounds(self) -> list[tuple[Any, float]]:
        """The parameters in which the canary owns an element, and the norm that it is clipped to in each."""
        return [(self._optimizer.params[-1], float(self._optimizer.max_grad_norm))]

    def put_in(self) -> bool:
        is_in = self.is_drawn()
        owned = {id(parameter): bound for parameter, bound in self.bounds()}
        for parameter in self._optimizer.params:
            bound = owned.get(id(parameter))
            if bound is not None or is_in:
                parameter.grad_sample = _with_row(parameter, bound, is_in)
        return is_in

    def has_entered(self) -> bool:
        return all(float(_first(parameter.summed_grad)) != 0 for parameter, _ in self.bounds())

    def read(self) -> float:
        bounds = self.bounds()
        square = sum(bound * bound for _, bound in bounds)
        return sum(bound * float(_first(parameter.grad)) for parameter, bound in bounds) / square


    def silent(self) -> list[int]:
        return [
            place
            for place, parameter in enumerate(self._optimizer.params)
            if torch.equal(parameter.grad.reshape(-1), parameter.summed_grad.reshape(-1))
        ]

    def owned(self) -> list[int]:
        own = {id(parameter) for parameter, _ in self.bounds()}
        return [place for place, parameter in enumerate(self._optimizer.params) if id(parameter) in own]


class PerLayerCanary(GradientCanary):
    """A canary in every parameter, so that its norm is the whole sensitivity, the root of the sum of the squared bounds."""

    def bounds(self) -> list[tuple[Any, float]]:
        return [(p, float(bound)) for p, bound in zip(self._optimizer.params, self._optimizer.max_grad_norms, strict=True)]


class AdaptiveCanary(GradientCanary):
    """A canary for adaptive clipping. The bound is that of the step. The noisy number of unclipped gradients is not scored."""

    def noise(self) -> float:
        # Theorem 1 of Andrew et al. 2021 (arXiv:1905.03871), as Opacus has it: less noise than this hides the sum and the number.
        declared, of_number = super().noise(), 2 * float(self._optimizer.unclipped_num_std)
        return float((declared**-2 - of_number**-2) ** -0.5) if declared > 0 else 0.0


class GhostCanary(GradientCanary):
    """A canary for ghost clipping, where the module computes norms, and the optimizer gets the gradient of a rescaled loss.

    The canary's norm is put among those that the module clips by; its clipped gradient, the coefficient that comes back for it times its
    norm, is added to what the optimizer sums.
    """

    summing = "accumulate"

    def __init__(self, module: Any, *args: Any) -> None:
        super().__init__(*args)
        self._norms, self._coefficients = module.get_norm_sample, module.get_clipping_coef
        self._is_in: bool | None = None
        self._gradient = 0.0
        module.get_norm_sample, module.get_clipping_coef = self._normed, self._clipped

    def put_in(self) -> bool:
        is_in, self._is_in = self._is_in, None
        if is_in is None:
            raise CannotAudit(
                "ghost clipping computed no clipping coefficient for a batch, expected one for each record: "
                "train with the criterion that make_private returned"
            )
        for parameter, _ in self.bounds():
            with torch.no_grad():
                parameter.grad.reshape(-1)[0] = self._gradient if is_in else 0.0
        return is_in

    def noise(self) -> float:
        return float(getattr(self._optimizer, "_adjusted_noise_multiplier", self._optimizer.noise_multiplier))

    def _length(self) -> float:
        return _too_long(float(self._optimizer.max_grad_norm), torch.float32)

    def _normed(self) -> Any:
        norms = self._norms()
        return torch.cat([norms, norms.new_full((1,), self._length())]) if self._is_in else norms

    def _clipped(self) -> Any:
        if self._is_in is None:
            self._is_in = self.is_drawn()
        found = self._coefficients()
        if not self._is_in:
            return found
        if len(found) != len(self._norms()) + 1:
            raise CannotAudit("get_clipping_coef left the canary out, expected a coefficient for each norm of get_norm_sample")
        self._gradient = float(found[-1]) * self._length()
        return found[:-1]


#: The optimizers whose trainings can be audited. A subclass that is not of Opacus itself counts as the first of these that it extends.
OPTIMIZERS: dict[type, type[GradientCanary]] = {
    DPOptimizer: GradientCanary,
    DPPerLayerOptimizer: PerLayerCanary,
    AdaClipDPOptimizer: AdaptiveCanary,
    DPOptimizerFastGradientClipping: GhostCanary,
}
#: What ghost clipping may clip by.
CLIPPING = (DPLossFastGradientClipping, GradSampleModuleFastGradientClipping, GradSampleHooksFastGradientClipping)


def _canary(optimizer: Any, criterion: Any = None) -> Callable[..., GradientCanary]:
    """The canary for an optimizer, or `CannotAudit` with the name of what is not supported."""
    name = type(optimizer).__name__
    if not isinstance(optimizer, DPOptimizer):
        raise CannotAudit(f"make_training returned a {name} in the place of an optimizer of Opacus, expected (optimizer, train)")
    kind = OPTIMIZERS.get(_of_opacus(optimizer))
    if kind is None:
        supported = ", ".join(known.__name__ for known in OPTIMIZERS)
        raise CannotAudit(f"the optimizer is a {name}, which the audit does not support, expected one of {supported}")
    if kind is not GhostCanary:
        return kind
    if criterion is None:
        raise CannotAudit(
            f"the optimizer is a {name}, which clips in its criterion, expected (optimizer, train, criterion) from make_training: "
            "the criterion that make_private returned"
        )
    if _of_opacus(criterion) not in CLIPPING:
        supported = DPLossFastGradientClipping.__name__
        raise CannotAudit(f"the criterion is a {type(criterion).__name__}, which the audit does not support, expected a {supported}")
    module = getattr(criterion, "module", criterion) if isinstance(criterion, DPLossFastGradientClipping) else criterion
    if _of_opacus(module) not in CLIPPING:
        raise CannotAudit(f"the module is a {type(module).__name__}, which the audit does not support, expected ghost clipping in one process")
    return lambda *args: GhostCanary(module, *args)


def _of_opacus(thing: Any) -> type:
    """The class of Opacus that an object is of, or extends."""
    return next((kind for kind in type(thing).__mro__ if kind.__module__.partition(".")[0] == "opacus"), type(thing))


def _first(values: Any) -> Any:
    return values.reshape(-1)[0]


def _too_long(bound: float, dtype: Any) -> float:
    """A norm far above a bound that can be squared in a number format, for Opacus computes norms in that of the gradients."""
    longest = math.sqrt(torch.finfo(dtype).max) / 4
    # Opacus adds 1e-6 to norms, which a tiny one would not outweigh.
    length = min(TOO_LONG * max(bound, 1.0), longest)
    if length < 2 * bound:
        raise CannotAudit(f"max_grad_norm is {bound:g}, expected at most {longest / 2:g}, above which {dtype} holds no gradient to clip")
    return length


def _with_row(parameter: Any, bound: float | None, is_in: bool) -> Any:
    """Per-sample gradients of a parameter without others at the canary's element, and with a row for the canary.

    Gradients that were accumulated over several backward passes are a list, and stay one: Opacus takes the scale from its length.
    """
    given = parameter.grad_sample
    parts = []
    for number, samples in enumerate(given if isinstance(given, list) else [given]):
        changed = samples.clone()
        if bound is not None:
            changed.reshape(len(changed), parameter.numel())[:, 0] = 0
        if is_in and number == 0:
            row = torch.zeros_like(changed[:1]) if len(changed) else changed.new_zeros((1, *parameter.shape))
            if bound is not None:
                row.reshape(-1)[0] = _too_long(bound, row.dtype)
            changed = torch.cat([changed, row])
        # Opacus marks gradients that were used before, so that they are not used again.
        if hasattr(samples, "_processed"):
            changed._processed = samples._processed
        parts.append(changed)
    return parts if isinstance(given, list) else parts[0]


def _rate(claim: Any, delta: float | None, given: float | None) -> float:
    """The probability of a record to be in a batch, as it is given or as the claim has it."""
    if isinstance(claim, Mechanism) and delta is not None:
        claim = claim.claim(delta=delta)
    rates: set[float] = set()
    if isinstance(claim, Claim):
        _collect(json.loads(claim.to_json())["mechanism"], rates)
    if given is not None:
        return float(given)
    if len(rates) != 1:
        named = "several" if rates else "none"
        raise InvalidInput(f"sampling_rate is missing, expected the probability of a record to be in a batch: the claim names {named}")
    return rates.pop()


def _collect(node: Any, rates: set[float]) -> None:
    """Adds the sampling rates of the Gaussian mechanisms in a mechanism; refuses batches that the canary is not drawn for."""
    kind = node["kind"]
    if kind in OTHER_BATCHES:
        raise CannotAudit(
            f"the claim is for {kind} batches, expected Poisson-sampled ones, or batches of all records: the canary is drawn by itself"
        )
    if kind == "gaussian":
        rates.add(1.0)
    elif kind == "poisson-sampled":
        inner: set[float] = set()
        _collect(node["mechanism"], inner)
        rates.update(node["rate"] * rate for rate in inner)
    elif kind == "repeated":
        _collect(node["mechanism"], rates)
    elif kind == "composed":
        for part in node["parts"]:
            _collect(part, rates)
