"""Datasets of torch with and without a canary: what a training is given is the data of its world, whatever it does with them."""

import json

import pytest
import veracity as v

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch")
CLAIM = dict(claim=v.gaussian(noise_multiplier=1), delta=1e-5)


class Records(torch.utils.data.Dataset):
    """Ten records of nothing, as a dataset of one's own."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return torch.zeros(2), torch.tensor(0.0)


def noisy_sum(data, seed, noise=1.0):
    """The clipped sum of all features in batches, with noise; notes how many records there were."""
    generator = torch.Generator().manual_seed(seed)
    batches = torch.utils.data.DataLoader(data, batch_size=4, shuffle=True, generator=generator)
    total = sum(float(features.clamp(0, 1)[:, 0].sum()) for features, _ in batches)
    return total + noise * float(torch.randn((), generator=generator)), len(data)


@pytest.mark.parametrize("kind", ["dataset", "TensorDataset", "tensors"])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_a_dataset_has_its_canary_in_one_world(kind, adjacency):
    canary = (torch.tensor([1.0, 0.0]), torch.tensor(1.0))
    data = {
        "dataset": Records(),
        "TensorDataset": torch.utils.data.TensorDataset(torch.zeros(10, 2), torch.zeros(10)),
        "tensors": (torch.zeros(10, 2), torch.zeros(10)),
    }[kind]
    sizes = set()

    def train(data, seed, noise=1.0):
        data = torch.utils.data.TensorDataset(*data) if kind == "tensors" else data
        score, size = noisy_sum(data, seed, noise)
        sizes.add(size)
        return score

    same = dict(attack=float, data=data, canary=canary, adjacency=adjacency, trials=200, **CLAIM)
    honest = v.audit(train=train, **same)
    # Under replace-one a record moves a sum by less than twice its bound, here by 1.
    assert honest.verdict == "not-refuted" and honest.failures == 0
    assert sizes == ({10, 11} if adjacency == "add-remove" else {10})
    told = json.loads(honest.certificate)["subject"]["settings"]
    assert (told["canary_records"], told["records"]) == (1, 10)
    # What cannot be hashed is not said to be.
    assert ("data_sha256" in told) == (kind == "tensors")
    without = v.audit(train=lambda data, seed: train(data, seed, 0.01), **same)
    assert without.verdict == "refuted"


def test_a_canary_that_does_not_fit_a_tensor_is_refused():
    for canary in (torch.zeros(3), "secret 41999", [["secret 41999"]]):
        with pytest.raises(v.InvalidInput, match="^canary ") as told:
            v.audit(train=noisy_sum, attack=float, data=torch.zeros(10, 2), canary=canary, **CLAIM)
        assert "41999" not in str(told.value)
