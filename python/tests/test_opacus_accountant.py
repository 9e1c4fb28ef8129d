"""The accountant of Opacus says that it counts Poisson batches, and warns of others and of a delta above 1/n."""

import warnings

import pytest
import veracity as v

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from opacus import PrivacyEngine  # noqa: E402


def engine(accountant="veracity", batch_size=32, **more):
    v.opacus.register()
    made = PrivacyEngine(accountant=accountant)
    model = torch.nn.Linear(4, 1)
    data = torch.utils.data.TensorDataset(torch.zeros(64, 4))
    made.make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=torch.utils.data.DataLoader(data, batch_size=batch_size, shuffle=True),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        **more,
    )
    made.accountant.step(noise_multiplier=1.0, sample_rate=0.5)
    return made


def cautions(call):
    """The messages of the privacy warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(one.message) for one in caught if issubclass(one.category, v.PrivacyWarning)]


def test_a_shuffling_loader_is_warned_of_and_has_no_claim():
    [told] = cautions(lambda: engine(poisson_sampling=False))
    assert told.startswith("batches are drawn by a BatchSampler, and epsilon is that of Poisson-sampled batches")
    assert "`veracity batching`" in told and "\n" not in told
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shuffled = engine(poisson_sampling=False)
    with pytest.raises(v.NoTheorem, match="^no theorem for batches of a BatchSampler.*`veracity batching`"):
        shuffled.accountant.claim(1e-5)
    assert shuffled.get_epsilon(1e-5) > 0
    # Poisson batches, and batches of all records, are what is accounted for.
    assert cautions(engine) == [] and cautions(lambda: engine(batch_size=64, poisson_sampling=False)) == []
    assert engine().accountant.claim(1e-5).verify().is_valid
    # Other accountants are not ours to warn of.
    assert cautions(lambda: engine("rdp", poisson_sampling=False)) == []


def test_a_delta_above_one_in_n_is_warned_of():
    private = engine()
    for call in (private.get_epsilon, private.accountant.interval, private.accountant.claim):
        [told] = cautions(lambda: call(0.02))
        assert told.startswith("delta is 0.02, above 1/n for the n records") and "64" not in told
        assert cautions(lambda: call(1 / 64)) == []
    # An accountant that has met no data knows of no n.
    alone = v.opacus.VeracityAccountant()
    alone.step(noise_multiplier=1.0, sample_rate=0.5)
    assert cautions(lambda: alone.get_epsilon(0.02)) == []


def test_checkpoints_and_searches_of_opacus_work_as_before():
    from opacus.accountants.utils import get_noise_multiplier

    private = engine()
    other = v.opacus.VeracityAccountant()
    other.load_state_dict(private.accountant.state_dict())
    assert other.get_epsilon(1e-5) == private.get_epsilon(1e-5)
    assert get_noise_multiplier(target_epsilon=3, target_delta=1e-5, sample_rate=0.5, steps=10, accountant="veracity") > 0
    assert "Poisson-sampled batches" in v.opacus.VeracityAccountant.__doc__
    assert "Poisson-sampled" in v.opacus.audit.__doc__
