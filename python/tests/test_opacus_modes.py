"""Every clipping mode and loop of Opacus is attacked with the whole sensitivity, or refused by name: none is passed over in silence."""

import functools
import json

import pytest
import veracity as v

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

import numpy as np  # noqa: E402
import opacus  # noqa: E402
import opacus_modes as modes  # noqa: E402
from opacus.optimizers import DPOptimizer  # noqa: E402
from opacus.utils.adaptive_clipping.adaptive_clipping_utils import PrivacyEngineAdaptiveClipping  # noqa: E402
from veracity._opacus_audit import Attack, _canary  # noqa: E402


def claim(steps=modes.STEPS, rate=modes.RATE):
    return v.dp_sgd(sampling_rate=rate, noise_multiplier=modes.NOISE, steps=steps).claim(delta=1e-5)


def named(mode):
    return mode.__name__


# The audit errs with probability 1e-3 on an honest loop. The seeds are fixed. Training without noise is the control that must fall.
@pytest.mark.parametrize("mode", modes.SUPPORTED, ids=named)
def test_honest_noise_is_not_refuted_and_no_noise_is(mode):
    honest = v.opacus.audit(mode, claim=claim(), trials=80, significance=1e-3)
    assert (honest.verdict, honest.trials, honest.failures) == ("not-refuted", 80, 0)
    silent = v.opacus.audit(functools.partial(mode, part=0.0), claim=claim(), trials=80, significance=1e-3)
    assert (silent.verdict, silent.failures) == ("refuted", 0)


@pytest.mark.parametrize("mode", [*modes.SUPPORTED, modes.accumulation], ids=named)
def test_the_clipped_canary_has_the_whole_sensitivity_in_every_step(mode):
    """Without noise, the sum along the canary is 1 in units of the sensitivity where it is in, and 0 where it is not."""
    for world in (True, False):
        torch.manual_seed(3)
        optimizer, train, *rest = mode(3, part=0.0)
        read = []
        canary = _canary(optimizer, *rest)(optimizer, world, 1.0, np.random.default_rng(1))
        inner = canary.read
        canary.read = lambda: read.append(inner()) or read[-1]
        train()
        canary.check()
        assert len(read) == canary.steps >= modes.STEPS // 2 and canary.drawn == canary.entered == (canary.steps if world else 0)
        # bfloat16 has 8 bits.
        assert np.allclose(read, float(world), rtol=1e-2 if mode is modes.mixed_precision else 1e-5, atol=0), read


def distributed(name):
    """A training whose optimizer is of a class for several processes."""

    def make(seed):
        model, optimizer, criterion, loader = modes.made()
        optimizer.__class__ = getattr(opacus.optimizers, name, None) or getattr(opacus.optimizers.ddp_perlayeroptimizer, name)
        return optimizer, modes.loop(model, optimizer, criterion, loader)

    return make


@pytest.mark.parametrize(
    "name",
    [
        "DistributedDPOptimizer",
        "DistributedDPOptimizerFastGradientClipping",
        "FSDPOptimizerFastGradientClipping",
        "SimpleDistributedPerLayerOptimizer",
        "DistributedPerLayerOptimizer",
    ],
)
def test_an_optimizer_for_several_processes_is_refused_by_name(name):
    with pytest.raises(v.CannotAudit, match=f"^the optimizer is a {name}, which the audit does not support, expected one of DPOptimizer, ") as told:
        v.opacus.audit(distributed(name), claim=claim(), trials=20)
    assert "\n" not in str(told.value)


def test_every_optimizer_of_opacus_is_supported_or_refused():
    from veracity._opacus_audit import OPTIMIZERS

    def below(kind):
        return {kind}.union(*(below(one) for one in kind.__subclasses__()))

    found = {kind.__name__ for kind in below(DPOptimizer) if kind.__module__.startswith("opacus.")}
    refused = {
        "DistributedDPOptimizer",
        "DistributedDPOptimizerFastGradientClipping",
        "FSDPOptimizerFastGradientClipping",
        "SimpleDistributedPerLayerOptimizer",
        "DistributedPerLayerOptimizer",
    }
    assert {kind.__name__ for kind in OPTIMIZERS} | refused == found


def ghost_without_criterion(seed):
    return modes.ghost(seed)[:2]


def ghost_unclipped(seed):
    """The criterion that make_private returned is not used, so that nothing is clipped: a common mistake."""
    model, optimizer, criterion, loader = modes.made(grad_sample_mode="ghost")
    return optimizer, modes.loop(model, optimizer, torch.nn.BCEWithLogitsLoss(), loader), criterion


def ghost_adaptive(seed):
    model, optimizer, criterion, loader = modes.made(grad_sample_mode="ghost", engine=PrivacyEngineAdaptiveClipping)
    return optimizer, modes.loop(model, optimizer, criterion, loader), criterion


def shuffling(seed):
    model, optimizer, criterion, loader = modes.made(poisson=False)
    return optimizer, modes.loop(model, optimizer, criterion, loader)


class OwnStep(DPOptimizer):
    """A step of its own, which never calls the methods that the audit hooks."""

    def pre_step(self, closure=None):
        for parameter in self.params:
            parameter.grad = parameter.grad_sample.sum(0)
        self._is_last_step_skipped = False
        return True


class OwnGradients(DPOptimizer):
    """Clips, but a copy of the gradients that it took in the backward pass."""

    def clip_and_accumulate(self):
        for parameter in self.params:
            parameter.summed_grad = torch.zeros_like(parameter)


class OwnNoise(DPOptimizer):
    """Adds noise by a way of its own: the audit hooks it all the same."""

    def add_noise(self):
        for parameter in self.params:
            parameter.grad = parameter.summed_grad.view_as(parameter)


def of_class(kind):
    def make(seed):
        model, optimizer, criterion, loader = modes.made()
        optimizer.__class__ = kind
        return optimizer, modes.loop(model, optimizer, criterion, loader)

    return make


def unhooked(seed):
    """The training takes the hooks away again."""
    model, optimizer, criterion, loader = modes.made()
    inner = modes.loop(model, optimizer, criterion, loader)

    def train():
        del optimizer.add_noise, optimizer.clip_and_accumulate
        inner()

    return optimizer, train


def half_unhooked(seed):
    model, optimizer, criterion, loader = modes.made()
    inner = modes.loop(model, optimizer, criterion, loader)

    def train():
        del optimizer.clip_and_accumulate
        inner()

    return optimizer, train


class OneSilent(DPOptimizer):
    """The first parameter gets no noise."""

    def add_noise(self):
        super().add_noise()
        self.params[0].grad = self.params[0].summed_grad.view_as(self.params[0]).clone()


class LastSilent(DPOptimizer):
    """The last parameter, which the canary is in, gets no noise."""

    def add_noise(self):
        super().add_noise()
        self.params[-1].grad = self.params[-1].summed_grad.view_as(self.params[-1]).clone()


def wrapped_step(seed):
    """Updates by the optimizer that the private one wraps."""
    model, optimizer, criterion, loader = modes.made()
    return optimizer, modes.loop(model, _Bare(optimizer), criterion, loader)


class _Bare:
    _is_last_step_skipped = False

    def __init__(self, optimizer):
        self.zero_grad, self.step = optimizer.zero_grad, optimizer.original_optimizer.step


@pytest.mark.parametrize(
    "make, told",
    [
        (ghost_without_criterion, "the optimizer is a DPOptimizerFastGradientClipping, which clips in its criterion, expected"),
        (ghost_unclipped, "ghost clipping computed no clipping coefficient for a batch"),
        (ghost_adaptive, "the criterion is a DPLossFastGradientAdaptiveClipping, which the audit does not support"),
        (shuffling, "batches are drawn by a BatchSampler, expected Poisson sampling .*`veracity batching`"),
        (modes.accumulation, "batches are drawn by a BatchSampler, expected Poisson"),
        (of_class(OwnStep), "8 updates but 0 calls of OwnStep.add_noise, expected noise in every update"),
        (of_class(OwnGradients), "OwnGradients.clip_and_accumulate left the canary out of its sum"),
        (of_class(OneSilent), "OneSilent.add_noise left parameter 1 without noise in all 8 steps, expected noise in every parameter"),
        (unhooked, "8 updates but 0 calls of DPOptimizer.add_noise"),
        (half_unhooked, "DPOptimizer.add_noise was called without DPOptimizer.clip_and_accumulate"),
        (wrapped_step, "8 updates but 0 calls of DPOptimizer.add_noise"),
        (lambda seed: None, "make_training returned no pair, expected"),
    ],
    ids=lambda one: None if isinstance(one, str) else one.__name__,
)
def test_a_training_that_the_canary_cannot_enter_has_no_verdict(make, told):
    with pytest.raises(v.CannotAudit, match=f"^{told}") as why:
        v.opacus.audit(make, claim=claim(), trials=40)
    assert "\n" not in str(why.value)


def test_a_subclass_of_ones_own_is_hooked_too():
    assert v.opacus.audit(of_class(OwnNoise), claim=claim(), trials=80).verdict == "refuted"
    assert v.opacus.audit(of_class(LastSilent), claim=claim(), trials=80).verdict == "refuted"


def test_ghost_clipping_by_coefficients_of_one_is_refuted():
    def make(seed):
        model, optimizer, criterion, loader = modes.made(grad_sample_mode="ghost")
        model.get_clipping_coef = lambda: torch.ones_like(model.get_norm_sample())
        return optimizer, modes.loop(model, optimizer, criterion, loader), criterion

    assert v.opacus.audit(make, claim=claim(), trials=80).verdict == "refuted"


@pytest.mark.parametrize("grad_sample_mode", ["hooks", "ghost"])
def test_a_model_in_evaluation_mode_has_no_verdict(grad_sample_mode):
    """Opacus takes no per-sample gradients of it, and says so."""

    def make(seed):
        model, optimizer, criterion, loader = modes.made(grad_sample_mode=grad_sample_mode)
        model.eval()
        return optimizer, modes.loop(model, optimizer, criterion, loader), criterion

    with pytest.raises(v.TrialsFailed, match="raised ValueError"):
        v.opacus.audit(make, claim=claim(), trials=20)


def test_workers_say_why_a_training_cannot_be_audited(tmp_path):
    with pytest.raises(v.CannotAudit, match="^the training took no step"):
        v.opacus.audit("opacus_loops:without_steps", claim=claim(), trials=20, workers=1, out=tmp_path / "audit")
    assert "CannotAudit" in (tmp_path / "audit" / "first-failure.txt").read_text()


def test_records_that_are_drawn_more_often_than_claimed_have_no_verdict():
    with pytest.raises(v.CannotAudit, match="^Opacus draws records at rate 0.5, expected at most the claimed 0.4"):
        v.opacus.audit(modes.flat, claim=claim(rate=0.4), trials=20)
    # Less often is within the claim.
    assert v.opacus.audit(modes.flat, claim=claim(rate=0.6), trials=80).verdict == "not-refuted"


def test_claims_for_other_batches_are_refused_by_name():
    """The canary is drawn by coins of its own, or is in every batch; neither is how these batches are drawn."""
    step = v.gaussian(noise_multiplier=modes.NOISE)
    for run, kind in [
        (v.fixed_size_sampled(step, batch=32, population=64) * 8, "fixed-size-sampled"),
        (v.shuffled(step, batches=2) * 4, "shuffled"),
        (v.random_allocation(step, batches=2) * 4, "random-allocation"),
    ]:
        with pytest.raises(v.CannotAudit, match=f"^the claim is for {kind} batches, expected Poisson-sampled ones"):
            v.opacus.audit(modes.flat, claim=run.claim(delta=1e-5), trials=20)
        with pytest.raises(v.CannotAudit, match=f"^the claim is for {kind} batches"):
            v.opacus.audit(modes.flat, claim=run.claim(delta=1e-5), sampling_rate=0.5, trials=20)
    two = (step.sampled(0.5) * 4 + step * 4).claim(delta=1e-5)
    with pytest.raises(v.InvalidInput, match="^sampling_rate is missing.*the claim names several$"):
        v.opacus.audit(modes.flat, claim=two, trials=20)


def test_a_tiny_or_a_huge_bound_still_has_the_whole_sensitivity():
    for bound in (1e-7, 1e4):
        torch.manual_seed(1)
        optimizer, train = modes.flat(1, part=0.0)
        optimizer.max_grad_norm = bound
        canary = _canary(optimizer)(optimizer, True, 1.0, np.random.default_rng(1))
        train()
        assert canary.score > 0.99 * canary.steps * 0.5 / 1e-6


def test_the_same_bits_come_from_a_second_run():
    first, second = (Attack(modes.ghost, 0.5)(True, 7) for _ in range(2))
    assert first == second


def test_settings_name_the_training():
    result = v.opacus.audit(modes.ghost, claim=claim(), trials=20)
    assert json.loads(result.certificate)["subject"]["settings"]["make_training"] == "opacus_modes:ghost"
