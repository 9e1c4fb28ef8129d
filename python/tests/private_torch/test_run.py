"""The run: what a step does, what depends on n, on the order of records and on single records, and what is refused."""

import numpy as np
import pytest
import torch
from small_runs import loss, make, model, records, train, weights
from torch import nn

import veracity as v
from veracity._veracity import _Randomness

pytestmark = pytest.mark.usefixtures("slow_sums")


def test_a_step_is_the_clipped_sum_plus_the_keyed_noise_over_the_planned_batch():
    """By hand: gradients by autograd in double precision, coins and noise from the seed."""
    run = make(optimizer=lambda net: torch.optim.SGD(net.parameters(), lr=1.0))
    before = weights(run)
    features, targets = records()
    chosen = _Randomness(5).chosen(np.arange(200, dtype=np.uint64), 0.1, 0)
    sum_ = torch.zeros(len(before), dtype=torch.float64)
    for at in np.flatnonzero(chosen):
        run.model.zero_grad()
        loss(run.model, (features[at : at + 1], targets[at : at + 1])).sum().backward()
        one = torch.cat([p.grad.reshape(-1).double() for p in run.model.parameters()])
        sum_ += one * min(1.0, 1.0 / one.norm())
    noise = np.zeros(len(before), dtype=np.int64)
    _Randomness(5).add_noise(noise, 0, 1)
    expected = before.double() - (sum_ + torch.from_numpy(noise / 2**20)) / 20
    train(run, 1)
    assert torch.allclose(weights(run).double(), expected, atol=1e-6)
    # The divisor is the planned batch: that of the realized one would be seen.
    assert chosen.sum() != 20
    wrong = before.double() - (sum_ + torch.from_numpy(noise / 2**20)) / chosen.sum()
    assert not torch.allclose(weights(run).double(), wrong, atol=1e-6)


def test_one_more_record_changes_neither_the_plan_nor_the_coins_of_others():
    few, many = make(records(200)), make(tuple(torch.cat([part, part[:1]]) for part in records(200)))
    assert few.plan == many.plan
    for step in range(6):
        one = few._source.batch(few._randomness, 0.1, step)._records
        other = many._source.batch(many._randomness, 0.1, step)._records
        assert np.array_equal(one, other[other < 200])
    assert few.plan.steps == 6 and few.plan.rate == 0.1 and few.plan.batch_size == 20
    epochs = [make(records(n), steps=None, epochs=3).plan for n in (200, 201)]
    assert epochs[0] == epochs[1] and epochs[0].steps == 30


def test_the_order_of_records_does_not_matter_where_they_have_ids():
    features, targets = records()
    order = torch.randperm(200, generator=torch.Generator().manual_seed(1))
    one = train(make(ids=np.arange(200)))
    other = train(make((features[order], targets[order]), ids=order.numpy()))
    assert torch.equal(weights(one), weights(other))


def test_the_size_of_a_micro_batch_does_not_matter():
    runs = [train(make(micro_batch=size)) for size in (1, 7, 64)]
    assert all(torch.equal(weights(runs[0]), weights(run)) for run in runs[1:])


def test_batches_may_be_empty_or_larger_than_planned():
    run = train(make(records(3), dataset_size=200, batch_size=1, steps=5))
    assert run.is_done and all(torch.isfinite(p).all() for p in run.model.parameters())
    nobody = train(make((torch.zeros(0, 6), torch.zeros(0, dtype=torch.long)), steps=3))
    assert nobody.is_done
    everyone = train(make(batch_size=200, steps=2))
    assert everyone.is_done and everyone.plan.rate == 1.0


def test_a_record_that_is_not_a_number_changes_nothing():
    features, targets = records(200)
    for bad in (float("nan"), float("inf"), 3e38):
        broken = features.clone()
        broken[7] = bad
        assert torch.isfinite(weights(train(make((broken, targets))))).all()
    broken = features.clone()
    broken[7] = float("nan")
    without = torch.arange(200) != 7
    ids = np.arange(200)
    one = train(make((broken, targets), ids=ids))
    other = train(make((features[without], targets[without]), ids=ids[without.numpy()]))
    assert torch.equal(weights(one), weights(other))


def test_all_records_of_a_person_move_the_sum_by_one_clip_norm():
    """A person with 1,000 rows, in a batch that has everyone: with her and without her."""
    features, targets = records(1050)
    who = np.where(np.arange(1050) < 1000, 1_000_000, np.arange(1050))

    def totals(keep):
        run = make((features[keep], targets[keep]), person=who[keep.numpy()], batch_size=200, steps=1)
        for batch in run.batches():
            run._add(batch)
            return run._sums.totals(), run

    everyone, run = totals(torch.ones(1050, dtype=torch.bool))
    without, _ = totals(torch.arange(1050) >= 1000)
    moved = sum(int(x) ** 2 for x in (everyone - without))
    assert 0.05 <= (moved * run.plan.grid**2) ** 0.5 <= 1.0
    assert run.plan.unit == "person" and "person" in run.claim().definition
    # The control: as single records, she moves it by far more.
    single = make((features, targets), batch_size=200, steps=1)
    for batch in single.batches():
        single._add(batch)
        break
    assert float(single._sums.totals().double().norm()) * single.plan.grid > 10


def test_a_person_is_in_a_batch_with_all_of_her_records_or_none():
    who = ["ann"] * 30 + ["bob"] * 50 + [f"p{i}" for i in range(120)]
    run = make(person=who)
    for step in range(40):
        rows, shares = run._source._expanded(run._source.batch(run._randomness, 0.3, step)._records)
        assert (rows < 30).sum() in (0, 30) and ((rows >= 30) & (rows < 80)).sum() in (0, 50)
        assert sum(share for row, share in zip(rows, shares) if row < 30) <= 1.0


def test_the_noise_fits_the_budget_and_epsilon_grows_with_the_steps():
    run = make(noise_multiplier=None, epsilon=2)
    assert run.epsilon() == 0.0
    train(run, 3)
    assert run.epsilon().upper < run.epsilon(6).lower and run.epsilon(6) <= 2 and run.epsilon(6) > 1.99
    assert run.claim().epsilon <= 2
    by_hand = v.dp_sgd(sampling_rate=0.1, noise_multiplier=run.noise_multiplier, steps=6).epsilon(1e-3)
    assert by_hand.upper == run.epsilon(6).upper


def test_a_step_that_changes_nothing_raises():
    """Opacus issue 820: LoRA that trained nothing, silently."""
    frozen = model().requires_grad_(False)
    with pytest.raises(v.InvalidInput, match="every parameter is frozen"):
        make(net=frozen, optimizer=lambda net: torch.optim.SGD(model().parameters(), lr=0.1))
    with pytest.raises(v.InvalidInput, match="no trainable parameter of the model"):
        make(optimizer=lambda net: torch.optim.SGD(model().parameters(), lr=0.1))

    class Lazy(torch.optim.SGD):
        def step(self, closure=None):
            return None

    with pytest.raises(v.InvalidInput, match="changed no parameter"):
        train(make(optimizer=lambda net: Lazy(net.parameters(), lr=0.1)))
    warm = make(optimizer=lambda net: torch.optim.SGD(net.parameters(), lr=0.0))
    train(warm, 1)
    warm.optimizer.param_groups[0]["lr"] = 0.1
    assert train(warm).is_done


def test_frozen_and_tied_parameters_train_as_in_torch():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(1)
            self.first, self.second, self.head = nn.Linear(6, 6), nn.Linear(6, 6), nn.Linear(6, 3)
            self.second.weight = self.first.weight
            self.head.weight.requires_grad_(False)

        def forward(self, x):
            return self.head(torch.tanh(self.second(torch.tanh(self.first(x)))))

    net = Tied()
    fixed = net.head.weight.clone()
    run = train(make(net=net))
    assert torch.equal(net.head.weight, fixed) and net.second.weight is net.first.weight
    assert "second.weight" not in run._sums.layout.names and "head.weight" not in run._sums.layout.names


@pytest.mark.parametrize("optimizer", ["Adam", "AdamW", "RMSprop", "Adagrad"])
def test_any_optimizer_and_scheduler_work(optimizer):
    run = make(optimizer=lambda net: getattr(torch.optim, optimizer)(net.parameters(), lr=0.01))
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(run.optimizer, 6)
    for batch in run.batches():
        run.step(batch)
        scheduler.step()
    assert run.is_done and scheduler.get_last_lr()[0] < 1e-9


def test_batches_are_used_in_order_and_once():
    run = make()
    batches = run.batches()
    first = next(batches)
    with pytest.raises(v.InvalidInput, match="was not used"):
        next(batches)
    run.step(first)
    with pytest.raises(v.InvalidInput, match="not the next one"):
        run.step(first)


def test_a_failed_micro_batch_leaves_no_half_sum():
    calls = []

    def breaking(model, batch):
        calls.append(1)
        if len(calls) == 3:
            raise RuntimeError("out of memory")
        return loss(model, batch)

    run = make(loss=breaking)
    with pytest.raises(RuntimeError):
        train(run)
    assert run.steps_done == 0 and not run._sums.sums.any()
    assert torch.equal(weights(train(run)), weights(train(make())))


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"batch_size": 201}, "at most dataset_size"),
        ({"epochs": 2}, "either epochs or steps"),
        ({"epsilon": 1}, "either epsilon or noise_multiplier"),
        ({"clip_norm": 0}, "clip_norm is 0"),
        ({"noise_multiplier": float("nan")}, "noise_multiplier is nan"),
        ({"delta": 0}, "delta is 0"),
        ({"steps": 1.5}, "steps is not an integer"),
        ({"ids": [1] * 200}, "a number twice"),
        ({"ids": np.arange(199)}, "another length"),
        ({"person": np.arange(200), "ids": np.arange(200)}, "together with person"),
        ({"unit": "patient"}, "unit does not match"),
        ({"canaries": 10_000}, "canaries is 10000, expected at most 83"),
        ({"request_id": "a"}, "without a ledger"),
    ],
)
def test_settings_out_of_range_are_refused(changes, words):
    with pytest.raises(v.InvalidInput, match=words):
        make(**changes)


def test_datasets_of_all_kinds_give_the_same_batches():
    features, targets = records()
    as_list = [(features[at], targets[at]) for at in range(200)]
    by_name = {"x": features, "y": targets}

    def named(model, batch):
        return loss(model, (batch["x"], batch["y"]))

    runs = [
        make(),
        make(torch.utils.data.TensorDataset(features, targets)),
        make(as_list),
        make(by_name, loss=named),
        make(as_list, collate=lambda rows: tuple(torch.stack(part) for part in zip(*rows))),
    ]
    found = [weights(train(run)) for run in runs]
    assert all(torch.equal(found[0], other) for other in found[1:])
    with pytest.raises(v.InvalidInput, match="map-style"):
        make(iter(as_list))
    with pytest.raises(v.InvalidInput, match="different lengths"):
        make((features, targets[:-1]))
