"""Opacus' call with its loop, and whole runs with the sums that users get."""

import pytest
import torch
from slow_sums import SlowSums
from small_runs import loss, make, model, records, train, weights
from torch import nn

import veracity as v
import veracity.torch as private
from veracity.torch import _clip


def switched(**changes):
    """The parts of a loop as `make_private_with_epsilon` returns them."""
    net = model()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*records()), batch_size=20)
    settings = dict(
        module=net,
        optimizer=torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9),
        data_loader=loader,
        target_epsilon=2,
        target_delta=1e-3,
        epochs=2,
        max_grad_norm=1.0,
        seed=5,
        canaries=0,
        micro_batch=8,
    )
    return private.make_private_with_epsilon(**(settings | changes))


def loop(module, optimizer, criterion, loader, epochs=2):
    """As it was written for Opacus."""
    for _ in range(epochs):
        for features, targets in loader:
            optimizer.zero_grad()
            outputs = module(features)
            value = criterion(outputs, targets)
            value.backward()
            optimizer.step()
            assert outputs.argmax(1).shape == targets.shape and value.item() >= 0


def test_an_opacus_loop_trains_the_same_model_as_the_run_itself():
    module, optimizer, criterion, loader = switched()
    assert len(loader) == 10
    loop(module, optimizer, criterion, loader)
    assert optimizer.run.is_done and optimizer.run.epsilon() <= 2
    alone = make(noise_multiplier=None, epsilon=2, steps=20)
    assert alone.plan == optimizer.run.plan
    assert torch.equal(weights(optimizer.run), weights(train(alone)))


def test_loops_that_would_not_be_private_raise():
    module, optimizer, criterion, loader = switched()
    features, targets = next(iter(loader))
    with pytest.raises(v.InvalidInput, match="outputs are not those of the module"):
        criterion(2 * module(features), targets)
    value = criterion(module(features), targets)
    with pytest.raises(v.InvalidInput, match="no new gradient"):
        optimizer.step()
    value.backward()
    with pytest.raises(v.InvalidInput, match="one backward for each batch"):
        value.backward()
    optimizer.step()
    with pytest.raises(v.InvalidInput, match="no new gradient"):
        optimizer.step()
    with pytest.raises(v.InvalidInput, match="reduction"):
        switched(criterion=lambda outputs, targets: outputs.sum())
    # A gradient outside of the private way does not exist.
    module, optimizer, criterion, loader = switched()
    features, _ = next(iter(loader))
    assert not module(features).requires_grad


@pytest.mark.parametrize("clipping", ["flat", "per-layer", "automatic"])
def test_a_run_with_the_sums_of_users_learns(clipping):
    """Two thousand records of which the label is known from three numbers, ε about 8."""
    features, targets = records(2000)
    net = model(width=32)
    run = make((features, targets), net=net, noise_multiplier=0.7, steps=60, batch_size=200, dataset_size=2000, micro_batch=64, canaries=50, clipping=clipping,
               optimizer=lambda net: torch.optim.Adam(net.parameters(), lr=0.02))
    train(run)
    held_out = records(500, seed=2)
    with torch.no_grad():
        right = (net(held_out[0]).argmax(1) == held_out[1]).float().mean()
    assert right > 0.75
    statement = run.statement()
    assert statement["proved"] and statement["assumed"]


def test_runs_with_the_sums_of_users_are_close_to_the_slow_reference(monkeypatch):
    fast = train(make())
    monkeypatch.setattr(_clip, "RecordSums", SlowSums)
    assert torch.allclose(weights(train(make())), weights(fast), atol=1e-4)


def test_layers_that_draw_draw_the_same_in_a_resumed_run(tmp_path):
    def net():
        torch.manual_seed(3)
        return nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3))

    try:
        whole = train(make(net=net()))
    except v.Error:
        pytest.skip("these sums refuse dropout")
    run = train(make(net=net()), 3)
    run.save_checkpoint(tmp_path / "run.pt")
    torch.manual_seed(99)
    assert torch.equal(weights(train(make(net=net(), resume=tmp_path / "run.pt"))), weights(whole))


def test_a_loss_module_is_a_loss():
    run = train(make(loss=nn.CrossEntropyLoss(reduction="none")))
    assert torch.equal(weights(run), weights(train(make(loss=loss))))


def test_a_person_with_a_thousand_rows_moves_the_sums_of_users_by_one_clip_norm():
    features, targets = records(1050)
    # Two people with many rows, one of them with the largest gradients that floats allow.
    features[:500] *= 1e18
    who = torch.cat([torch.zeros(500), torch.ones(500), torch.arange(2, 52)]).long()

    def totals(keep):
        run = make((features[keep], targets[keep]), person=who[keep], batch_size=200, steps=1, micro_batch=64)
        for batch in run.batches():
            run._add(batch)
            return run._sums.totals(), run.plan.grid

    everyone, grid = totals(torch.ones(1050, dtype=torch.bool))
    for person in (0, 1, 20):
        without, _ = totals(who != person)
        moved = sum(int(x) ** 2 for x in (everyone - without)) ** 0.5 * grid
        assert 0.01 < moved <= 1.0, person


class Remembers(nn.Module):
    """A layer that keeps a running mean of its inputs, as BatchNorm does, and normalizes nothing."""

    def __init__(self, in_place):
        super().__init__()
        self.in_place = in_place
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x):
        with torch.no_grad():
            now = 0.9 * self.mean + 0.1 * x.detach().mean(0)
            if self.in_place:
                self.mean.copy_(now)
            else:
                self.mean = now
        return x


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize("sums", ["slow", "of users"])
def test_a_layer_that_notes_records_in_a_buffer_is_refused(in_place, sums, monkeypatch):
    """Without noise, the mean of 20 records would be saved with the model."""
    if sums == "slow":
        monkeypatch.setattr(_clip, "RecordSums", SlowSums)
    net = nn.Sequential(Remembers(in_place), model())
    run = make(net=net)
    with pytest.raises(v.Error):
        train(run)
    assert run.steps_done == 0 and not net[0].mean.any()
