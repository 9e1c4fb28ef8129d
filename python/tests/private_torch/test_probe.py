"""The probe catches layers that mix records, and every refusal names the layer and the remedy."""

import pytest
import torch
import torch.nn.functional as F
from architectures import Transformer, build, class_loss, token_loss
from torch import nn
from torch.utils.checkpoint import checkpoint

import veracity as v
from veracity.torch import _probe
from veracity.torch._clip import RecordSums

RECORDS = 4


def prepare(layer, shape=(5,), loss=class_loss, **options):
    """Probe a classifier with a planted layer."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(shape[-1], 6), layer, nn.Linear(6, 3)) if isinstance(layer, nn.Module) else layer()
    sums = RecordSums(model, loss, clip_norm=1.0, grid=2.0**-20, micro_batch=RECORDS, **options)
    sums.prepare((torch.zeros(RECORDS, *shape), torch.zeros(RECORDS, dtype=torch.long)))
    return sums


class Planted(nn.Module):
    """A layer without parameters that does something to its input."""

    def __init__(self, act):
        super().__init__()
        self.act = act

    def forward(self, x):
        return self.act(x)


def scatter(x):
    """Depends on a clock that ticks at each call."""
    scatter.calls += 1
    return x * (1 + 1e-6 * scatter.calls)


scatter.calls = 0
MIXED = {
    "mean": lambda x: x - x.mean(0),
    "hidden mean": lambda x: x - x.mean(0).detach(),
    "largest of all": lambda x: x / x.detach().abs().max(),
    "neighbor": lambda x: x + 1e-6 * x.roll(1, 0).detach(),
    "count of zeros": lambda x: x * (1 + (x.detach() > 0).sum() * 1e-6),
}


@pytest.mark.parametrize("name", MIXED)
def test_a_layer_that_mixes_records_is_found(name):
    with pytest.raises(v.NoTheorem, match="other records"):
        prepare(Planted(MIXED[name]))
    prepare(Planted(lambda x: x - x.mean(1, keepdim=True)))   # control: mixes features only


def test_a_layer_that_differs_from_run_to_run_is_found():
    with pytest.raises(v.NoTheorem, match="differs from run to run"):
        prepare(Planted(scatter))


def test_a_layer_that_depends_on_the_place_is_found():
    with pytest.raises(v.NoTheorem, match="place in the batch"):
        prepare(Planted(lambda x: x * (1 + 1e-6 * torch.arange(RECORDS)[:, None])))


def test_dropout_is_no_dependence():
    prepare(nn.Dropout(0.5))


def test_a_loss_that_mixes_records_is_found():
    def loss(model, batch):
        losses = class_loss(model, batch)
        return losses / losses.sum()

    with pytest.raises(v.NoTheorem, match="other records"):
        prepare(nn.ReLU(), loss=loss)


def test_the_values_of_the_example_are_not_read():
    model, loss, _ = build("mlp")
    drawn = [
        _probe.random_records((torch.full((3, 2), fill), torch.full((3,), int(fill))), 7) for fill in (0.0, 5.0)
    ]
    assert all(torch.equal(a, b) for a, b in zip(*drawn))


def test_the_probe_restores_modes_and_random_state():
    torch.manual_seed(11)
    expected = torch.rand(3)
    torch.manual_seed(11)
    model = nn.Sequential(nn.Linear(5, 6), nn.Dropout(0.5), nn.Linear(6, 3))
    model[1].eval()
    state = torch.random.get_rng_state()
    sums = RecordSums(model, class_loss, clip_norm=1.0, grid=2.0**-20, micro_batch=RECORDS)
    sums.prepare((torch.zeros(RECORDS, 5), torch.zeros(RECORDS, dtype=torch.long)))
    assert torch.equal(state, torch.random.get_rng_state()) and expected is not None
    assert model.training and not model[1].training and model[2].training


class Outside(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 5), nn.Linear(5, 3)

    def forward(self, x):
        return self.second(F.linear(self.first(x), self.first.weight))


class Idle(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.idle = nn.Linear(5, 3), nn.Linear(5, 3)

    def forward(self, x):
        return self.used(x)


class Joined(nn.Module):
    """One weight in an embedding and in a layer that no rule covers."""

    def __init__(self):
        super().__init__()
        self.inner, self.table = nn.Linear(5, 6), nn.Embedding(3, 6)
        self.scores = Scores(self.table.weight)

    def forward(self, x):
        return self.scores(self.inner(x) + self.table((x[:, 0] > 0).long()))


class Scores(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return x @ self.weight.t()


class AttendsTwice(nn.Module):
    """The rows of one weight in a call to one sequence, all of it in another."""

    def __init__(self):
        super().__init__()
        self.attend, self.head = nn.MultiheadAttention(6, 2, batch_first=True), nn.Linear(6, 3)

    def forward(self, x):
        x, _ = self.attend(x, x, x)
        x, _ = self.attend(x[:, :2], x, x)
        return self.head(x.mean(1))


class SequenceFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.Linear(5, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(self.inner(x.transpose(0, 1)).mean(0))


class InPlace(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.Linear(5, 3), nn.Linear(5, 3)

    def forward(self, x):
        x = x * 2
        y = self.inner(x)
        x.mul_(3)
        return y


class Chosen(nn.Module):
    """The records that pass a layer depend on the data."""

    def __init__(self):
        super().__init__()
        self.inner, self.head = nn.Linear(5, 5), nn.Linear(5, 3)

    def forward(self, x):
        keep = x[:, 0] > 0
        x = x.clone()
        x[keep] = self.inner(x[keep])
        return self.head(x)


class Checkpointed(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.inner, self.head = nn.Linear(5, 6), nn.Linear(6, 3)

    def forward(self, x):
        return self.head(checkpoint(lambda x: torch.tanh(self.inner(x)), x.requires_grad_(), use_reentrant=self.reentrant))


REFUSED = {
    "batch norm": (nn.BatchNorm1d(6), (5,), "layer '1' \\(BatchNorm1d\\) mixes the records.*GroupNorm"),
    "instance norm": (nn.InstanceNorm1d(6, track_running_stats=True), (5,), "track_running_stats=False"),
    "recurrent": (nn.LSTM(6, 6), (5,), "layer '1' \\(LSTM\\)"),
    "lazy": (nn.LazyLinear(6), (5,), "has no shape yet"),
    "embedding bag": (nn.EmbeddingBag(6, 6), (5,), "EmbeddingBag"),
    "renormed table": (nn.Embedding(6, 6, max_norm=1.0), (5,), "max_norm=None"),
    "outside": (Outside, (5,), "'first.weight' is used outside the forward pass of its layer"),
    "joined": (Joined, (5,), "'table.weight' is used by layers of different kinds"),
    "attends twice": (AttendsTwice, (7, 6), "'attend.in_proj_weight' is used by layers of different kinds"),
    "idle": (Idle, (5,), "'idle.weight' does not change the loss; freeze it"),
    "sequence first": (SequenceFirst, (7, 5), "layer 'inner'.*batch_first=True"),
    "in place": (InPlace, (5,), "layer 'inner' is modified in place.*inplace=False"),
    "chosen by data": (Chosen, (5,), "layer 'inner'"),
    "reentrant checkpointing": (lambda: Checkpointed(True), (5,), "parameter 'inner.weight'.*use_reentrant=False"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_without_a_bound_is_refused_by_name(name):
    layer, shape, message = REFUSED[name]
    with pytest.raises((v.InvalidInput, v.NoTheorem), match=message) as raised:
        prepare(layer, shape)
    assert "\n" not in str(raised.value)


def test_sequences_first_are_refused_even_if_there_are_as_many_steps_as_records():
    with pytest.raises(v.NoTheorem, match="batch_first=True"):
        prepare(SequenceFirst, (RECORDS, 5))


def test_attention_without_records_first_is_refused():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.attend, self.head = nn.MultiheadAttention(6, 2), nn.Linear(6, 3)

        def forward(self, x):
            return self.head(self.attend(x, x, x)[0].mean(1))

    with pytest.raises(v.InvalidInput, match="layer 'attend'.*batch_first=True"):
        prepare(Model, (7, 6))


def test_activation_checkpointing_changes_no_bit():
    batch = (torch.randn(RECORDS, 5), torch.zeros(RECORDS, dtype=torch.long))
    found = []
    for run in (checkpoint, lambda f, x, **_: f(x)):
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(globals(), "checkpoint", run)
            sums = prepare(lambda: Checkpointed(False))
            sums.add(batch, torch.ones(RECORDS, dtype=torch.bool))
            found.append(sums.sums)
    assert torch.equal(*found)


def test_batch_norm_in_eval_mode_is_a_plain_layer():
    sums = prepare(nn.BatchNorm1d(6).eval())
    assert sums.findings is not None


def test_options_out_of_range_are_refused():
    model = nn.Linear(5, 3)
    good = dict(clip_norm=1.0, grid=2.0**-20, micro_batch=4)
    for bad in (
        dict(clip_norm=0.0), dict(clip_norm=1e-11, grid=1e-17), dict(clip_norm=float("inf")), dict(clip_norm=float("nan")), dict(grid=1.0), dict(grid=0.0), dict(grid=float("nan")), dict(micro_batch=0),
        dict(clipping="round"), dict(precision="fp8"), dict(grid=0.5),
    ):
        with pytest.raises(v.InvalidInput):
            RecordSums(model, class_loss, **{**good, **bad})
    with pytest.raises(v.InvalidInput, match="reduction='none'"):
        RecordSums(model, nn.CrossEntropyLoss(), **good)
    with pytest.raises(v.InvalidInput, match="no trainable parameter"):
        RecordSums(nn.Linear(5, 3).requires_grad_(False), class_loss, **good)


def test_batches_of_another_shape_are_refused():
    model, loss, (inputs, labels) = build("mlp")
    sums = RecordSums(model, loss, clip_norm=1.0, grid=2.0**-20, micro_batch=len(labels))
    mask = torch.ones(len(labels), dtype=torch.bool)
    for batch, mask in [((inputs[:-1], labels[:-1]), mask), ((inputs, labels), mask[:-1]), ((inputs, labels), mask.float())]:
        with pytest.raises(v.InvalidInput):
            sums.add(batch, mask)


def test_a_loss_that_is_not_per_record_is_refused():
    model, loss, batch = build("mlp")
    sums = RecordSums(model, lambda m, b: loss(m, b).mean(), clip_norm=1.0, grid=2.0**-20, micro_batch=6)
    with pytest.raises(v.InvalidInput, match="one number per record"):
        sums.prepare(batch)


def test_a_loss_module_takes_inputs_and_targets():
    model, loss, batch = build("mlp")
    mask = torch.ones(6, dtype=torch.bool)
    both = [RecordSums(model, f, clip_norm=1.0, grid=2.0**-20, micro_batch=6) for f in (loss, nn.CrossEntropyLoss(reduction="none"))]
    for sums in both:
        sums.add(batch, mask)
    assert torch.equal(both[0].sums, both[1].sums)


def test_a_model_that_cannot_change_raises():
    model, loss, batch = build("mlp")

    def constant(m, b):
        return loss(m, b).detach()

    sums = RecordSums(model, constant, clip_norm=1.0, grid=2.0**-20, micro_batch=6)
    with pytest.raises(v.InvalidInput, match="does not depend on a trainable parameter"):
        sums.add(batch, torch.ones(6, dtype=torch.bool))


def test_token_models_are_probed_too():
    model, loss, batch = build("tied")
    assert loss is token_loss
    sums = RecordSums(model, loss, clip_norm=1.0, grid=2.0**-20, micro_batch=6)
    sums.prepare(batch)
    assert sums.findings.layers > 20
