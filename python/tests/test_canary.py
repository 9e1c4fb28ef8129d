"""The counts that prove that a canary took part, on stand-ins for optimizers: one that never calls a hook has no verdict."""

import numpy as np
import pytest
import veracity as v
from veracity._canary import Canary, log_ratio

TRAINED = 20
CLAIM = (v.gaussian(noise_multiplier=1).sampled(0.5) * TRAINED).claim(delta=1e-5)


class Wrapped:
    """The optimizer that a private one wraps."""

    def __init__(self):
        self.hooks = []

    def register_step_post_hook(self, hook):
        self.hooks.append(hook)

    def step(self):
        for hook in self.hooks:
            hook(self, (), {})


class Optimizer:
    """Clips a batch of numbers to 1, sums them and adds noise, as optimizers of Opacus do with gradients."""

    noise_multiplier = 1.0

    def __init__(self, seed):
        self.original_optimizer = Wrapped()
        self.noise = np.random.default_rng(seed)
        self.batch, self.summed, self.noisy = [], 0.0, 0.0

    def clip_and_accumulate(self):
        self.summed += sum(min(one, 1.0) for one in self.batch)
        self.batch = []

    def add_noise(self):
        self.noisy, self.summed = self.summed + self.noise_multiplier * self.noise.normal(), 0.0

    def step(self):
        self.clip_and_accumulate()
        self.add_noise()
        self.original_optimizer.step()


class NumberCanary(Canary):
    """A number that is far too large."""

    def put_in(self):
        is_in = self.is_drawn()
        self._optimizer.batch = [0.0 for _ in self._optimizer.batch] + [1000.0] * is_in
        return is_in

    def has_entered(self):
        return self._optimizer.summed != 0

    def read(self):
        return self._optimizer.noisy


class Attack:
    """Trains an optimizer of a class with a loop."""

    def __init__(self, kind, loop):
        self.kind, self.loop = kind, loop

    def __call__(self, world, seed):
        optimizer = self.kind(seed)
        canary = NumberCanary(optimizer, world, 0.5, np.random.default_rng([seed, 1]))
        self.loop(optimizer)
        canary.check()
        return canary.score


def plain(optimizer):
    for _ in range(TRAINED):
        optimizer.batch = [0.5, 0.25]
        optimizer.step()


def virtual(optimizer):
    """A batch comes in three parts; noise is added once."""
    for _ in range(TRAINED):
        for _ in range(3):
            optimizer.batch = [0.5]
            optimizer.clip_and_accumulate()
        optimizer.add_noise()
        optimizer.original_optimizer.step()


def without_updates(optimizer):
    """The noisy sum is made, and the update is skipped, as a gradient scaler may."""
    for _ in range(TRAINED):
        optimizer.batch = [0.5]
        optimizer.clip_and_accumulate()
        optimizer.add_noise()


class Silent(Optimizer):
    noise_multiplier = 0.0


@pytest.mark.parametrize("loop", [plain, virtual, without_updates])
def test_honest_noise_is_not_refuted_and_no_noise_is(loop):
    assert v.audit(Attack(Optimizer, loop), claim=CLAIM, trials=100).verdict == "not-refuted"
    assert v.audit(Attack(Silent, loop), claim=CLAIM, trials=100).verdict == "refuted"


class Ghost(Silent):
    """Clips elsewhere: the hooked method is never called."""

    def step(self):
        self.summed = 1.0
        self.add_noise()
        self.original_optimizer.step()


class OwnStep(Silent):
    """Calls none of the hooked methods."""

    def step(self):
        self.original_optimizer.step()


class OwnBatch(Silent):
    """Sums a batch that the canary was not put into."""

    def clip_and_accumulate(self):
        self.summed += 0.0


def swallowing(optimizer):
    """Goes on after a step that raised, as a loop with retries may."""
    for _ in range(TRAINED):
        optimizer.batch = [0.5]
        try:
            optimizer.step()
        except v.CannotAudit:
            optimizer.add_noise()


def failing_sum(optimizer):
    """The first sum raises, and is left out."""
    inner = optimizer.clip_and_accumulate
    kept = optimizer.clip_and_accumulate.__self__._sum_clipped
    calls = []

    def once():
        calls.append(1)
        if len(calls) == 1:
            raise MemoryError
        kept()

    optimizer.clip_and_accumulate.__self__._sum_clipped = once
    for _ in range(TRAINED):
        optimizer.batch = [0.5]
        try:
            inner()
        except MemoryError:
            pass
        optimizer.add_noise()


class HalfSilent(NumberCanary):
    """A canary of two parameters that is in the first; the second gets no noise."""

    def silent(self):
        return [1]


def test_a_parameter_without_noise_has_no_verdict():
    def attack(world, seed):
        optimizer = Optimizer(seed)
        canary = HalfSilent(optimizer, world, 0.5, np.random.default_rng(seed))
        plain(optimizer)
        canary.check()
        return canary.score

    with pytest.raises(v.CannotAudit, match="^Optimizer.add_noise left parameter 2 without noise in all 20 steps, expected noise in"):
        v.audit(attack, claim=CLAIM, trials=100)


def idle(optimizer):
    pass


@pytest.mark.parametrize(
    "kind, loop, told",
    [
        (Ghost, plain, "Ghost.add_noise was called without Ghost.clip_and_accumulate, expected a clipped sum in every step"),
        (OwnStep, plain, "20 updates but 0 calls of OwnStep.add_noise, expected noise in every update"),
        (OwnBatch, plain, "OwnBatch.clip_and_accumulate left the canary out of its sum, expected every record of the batch"),
        (OwnBatch, swallowing, "the canary entered 0 of the [0-9]+ batches that it is in, expected all of them"),
        (Optimizer, failing_sum, "the canary entered [0-9]+ of the [0-9]+ batches that it is in, expected all of them"),
        (Optimizer, idle, "the training took no step"),
    ],
)
def test_a_training_that_the_canary_cannot_enter_has_no_verdict(kind, loop, told):
    with pytest.raises(v.CannotAudit, match=f"^{told}") as why:
        v.audit(Attack(kind, loop), claim=CLAIM, trials=100)
    assert "\n" not in str(why.value)


def test_the_canary_is_drawn_once_for_each_step_and_as_often_in_both_worlds():
    for loop in (plain, virtual):
        scores = {}
        for world in (True, False):
            optimizer = Silent(1)
            canary = NumberCanary(optimizer, world, 0.5, np.random.default_rng(1))
            loop(optimizer)
            assert (canary.steps, canary.updates) == (TRAINED, TRAINED)
            # The coins of the seed, tossed once for each step whatever the world.
            expected = int((np.random.default_rng(1).random(TRAINED) < 0.5).sum())
            assert canary.drawn == canary.entered == (expected if world else 0)
            scores[world] = canary.score
        assert scores[True] > scores[False]


def test_executors_pass_on_why_a_training_cannot_be_audited(tmp_path):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as threads, pytest.raises(v.CannotAudit, match="^the training took no step"):
        v.audit(Attack(Optimizer, idle), claim=CLAIM, trials=100, executor=threads, out=tmp_path / "audit")
    assert "CannotAudit" in (tmp_path / "audit" / "first-failure.txt").read_text()
    # Nothing was kept of it: a repaired training starts anew in the same place.
    assert not (tmp_path / "audit" / "certificate.json").exists()


def test_the_log_likelihood_ratio_is_that_of_the_densities():
    """By the densities themselves, at a few points."""
    density = lambda x, mean, noise: np.exp(-((x - mean) ** 2) / (2 * noise**2))
    for seen in (-1.0, 0.2, 3.0):
        for noise in (0.7, 2.0):
            for rate in (0.1, 0.5, 1.0):
                slow = np.log(((1 - rate) * density(seen, 0, noise) + rate * density(seen, 1, noise)) / density(seen, 0, noise))
                assert abs(log_ratio(seen, noise, rate) - slow) < 1e-12
