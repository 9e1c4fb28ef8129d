"""Trainings with Opacus whose data have the canary or not: the sampling rate is public, so it must be the same in both worlds."""

import warnings

import pytest
import veracity as v

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from opacus import PrivacyEngine  # noqa: E402
from opacus.data_loader import DPDataLoader  # noqa: E402

RECORDS, BATCH, NOISE, EPOCHS = 64, 32, 1.0, 2
DATA = torch.utils.data.TensorDataset(torch.zeros(RECORDS, 2), torch.zeros(RECORDS, 1))
CANARY = [(torch.tensor([0.0, 1.0]), torch.tensor([1.0]))]


def trained(data, seed, loader, rate=None, **more):
    """The weight of the canary's own feature after a private training by Opacus."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    torch.manual_seed(seed)
    model = torch.nn.Linear(2, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=1.0),
        data_loader=loader(data),
        noise_multiplier=NOISE,
        max_grad_norm=1.0,
        **more,
    )
    for _ in range(EPOCHS):
        for x, y in loader:
            optimizer.zero_grad()
            (1000 * (model(x) - y)).pow(2).mean().backward()
            optimizer.step()
    return float(next(model.parameters()).detach()[0, 1])


def by_size(data, seed):
    """A batch size is given: 64 records have 2 batches, 65 have 3."""
    return trained(data, seed, lambda data: torch.utils.data.DataLoader(data, batch_size=BATCH))


def by_rate(data, seed):
    """The sampling rate is given."""
    return trained(data, seed, lambda data: DPDataLoader(data, sample_rate=0.5), loss_reduction="sum")


def audit(train, adjacency="add-remove", **more):
    claim = (v.gaussian(noise_multiplier=NOISE).sampled(0.5) * (2 * EPOCHS)).with_adjacency(adjacency).claim(delta=1e-5)
    return v.audit(train=train, attack=float, data=DATA, canary=CANARY, claim=claim, trials=60, **more)


def test_a_canary_that_changes_the_sampling_rate_has_no_verdict():
    with pytest.raises(v.CannotAudit, match="^Opacus has sampling rate 0.5 or 0.333333 and batch size 32 or 21 with the canary, expected") as why:
        audit(by_size)
    assert "\n" not in str(why.value)


def test_workers_compare_the_worlds_too():
    with pytest.raises(v.CannotAudit, match="^Opacus has sampling rate"):
        audit("test_opacus_worlds:by_size", workers=1)


def test_the_ways_out_that_the_message_names_work():
    assert audit(by_rate).verdict == "not-refuted"
    assert audit(by_size, adjacency="replace-one").verdict == "not-refuted"
