"""Integer sums of real models: right, bounded, and made of one contribution per record."""

from fractions import Fraction

import pytest
import torch
from architectures import MODELS, RECORDS, build, pick, slow_gradients

import veracity as v
from veracity.torch._clip import Layout, RecordSums

ALL = torch.ones(RECORDS, dtype=torch.bool)


def sums_of(model, loss, clip_norm=1.0, **options):
    return RecordSums(model, loss, clip_norm=clip_norm, grid=clip_norm * 2.0**-20, micro_batch=RECORDS, **options)


def contributions(sums, batch, mask=ALL):
    """Integer contribution of each record, added alone."""
    found = []
    for record in range(RECORDS):
        sums.clear()
        sums.add(batch, mask & (torch.arange(RECORDS) == record))
        found.append(sums.sums.clone())
    sums.clear()
    return found


def exact_norm_squared(integers, unit):
    """Square of the norm in rational arithmetic."""
    return sum(k * k for k in integers.tolist()) * Fraction(unit) ** 2


@pytest.mark.parametrize("name", MODELS)
def test_contributions_are_the_clipped_gradients_and_within_the_clip_norm(name):
    model, loss, batch = build(name)
    gradients = slow_gradients(model, loss, batch)
    norms = gradients.norm(dim=1)
    clip_norm = norms.median().item()  # half of the records are clipped
    sums = sums_of(model, loss, clip_norm)
    numbers = sums.add(batch, ALL)
    together = sums.sums.clone()
    # Upper bounds of the norms, and tight.
    assert (numbers.norms >= norms * (1 - 1e-5)).all() and (numbers.norms <= norms * 1.002).all()
    parts = contributions(sums, batch)
    assert torch.equal(sum(parts), together)
    for part, gradient, norm in zip(parts, gradients, norms):
        wanted = gradient * min(1.0, clip_norm / norm.item())
        assert (part.double() * sums.unit - wanted).norm() <= 0.01 * clip_norm
        assert exact_norm_squared(part, sums.unit) <= Fraction(clip_norm) ** 2
    # Clipping happens, so that the bound above is not empty.
    assert max(part.double().norm().item() for part in parts) * sums.unit > 0.98 * clip_norm


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_one_record_less_changes_the_sum_by_its_contribution_and_no_bit_more(name, precision):
    model, loss, batch = build(name)
    sums = sums_of(model, loss, 0.1, precision=precision)
    parts = contributions(sums, batch)
    others = torch.randperm(RECORDS, generator=torch.Generator().manual_seed(3))
    for record in (0, RECORDS - 1):
        sums.clear()
        sums.add(batch, torch.arange(RECORDS) != record)
        assert torch.equal(sum(parts) - sums.sums, parts[record])
        assert exact_norm_squared(parts[record], sums.unit) <= Fraction(0.1) ** 2
    # In another order, and cut into two padded halves.
    sums.clear()
    sums.add(pick(batch, others), ALL)
    assert torch.equal(sums.sums, sum(parts))
    sums.clear()
    half = torch.arange(RECORDS) < RECORDS // 2
    for shift in (0, RECORDS // 2):
        sums.add(pick(batch, torch.arange(RECORDS).roll(-shift)), half)
    assert torch.equal(sums.sums, sum(parts))


@pytest.mark.parametrize("clipping", ["flat", "per-layer", "automatic"])
def test_totals_change_by_at_most_the_clip_norm(clipping):
    model, loss, batch = build("transformer")
    sums = sums_of(model, loss, 0.05, clipping=clipping)
    sums.add(batch, ALL)
    totals = sums.totals()
    for record in range(RECORDS):
        sums.clear()
        sums.add(batch, torch.arange(RECORDS) != record)
        move = exact_norm_squared(totals - sums.totals(), sums.grid)
        assert Fraction(0.04) ** 2 < move <= Fraction(0.05) ** 2


def test_per_layer_clipping_gives_each_layer_its_share():
    model, loss, batch = build("mlp")
    sums = sums_of(model, loss, 1e-3, clipping="per-layer")
    for part in contributions(sums, batch):
        layers = {}
        for name, view in sums.layout.views(part).items():
            layers[name.split(".")[0]] = layers.get(name.split(".")[0], 0) + exact_norm_squared(view.flatten(), sums.unit)
        assert len(layers) == 2
        assert all(Fraction(0.99e-3) ** 2 / 2 < square <= Fraction(1e-3) ** 2 / 2 for square in layers.values())


def test_automatic_clipping_scales_small_gradients_up():
    model, loss, batch = build("mlp")
    sums = sums_of(model, loss, 1e4, clipping="automatic")
    for part in contributions(sums, batch):
        assert Fraction(9_900) ** 2 < exact_norm_squared(part, sums.unit) <= Fraction(10_000) ** 2


HOSTILE = [float("nan"), float("inf"), -float("inf"), 1e38, 1e20, 1e-20, 1e-40, 1e-45, 0.0]


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("name", ["mlp", "group-norm-cnn", "twice", "cross-attention", "custom", "vision"])
def test_hostile_records_stay_within_the_clip_norm_and_alone(name, precision):
    model, loss, (inputs, labels) = build(name)
    sums = sums_of(model, loss, 0.5, precision=precision)
    honest = contributions(sums, (inputs, labels))
    for value in HOSTILE:
        for fill in (lambda t: t.fill_(value), lambda t: t.mul_(value), lambda t: t.view(-1)[:1].fill_(value)):
            hostile = inputs.clone()
            fill(hostile[2])
            sums.clear()
            sums.add((hostile, labels), ALL)
            move = sums.sums - (sum(honest) - honest[2])
            assert exact_norm_squared(move, sums.unit) <= Fraction(0.5) ** 2
            if value != value:
                assert not move.any()


def test_masked_records_contribute_zero_whatever_they_hold():
    model, loss, (inputs, labels) = build("mlp")
    sums = sums_of(model, loss)
    mask = torch.arange(RECORDS) % 2 == 0
    sums.add((inputs, labels), mask)
    clean = sums.sums.clone()
    for value in HOSTILE:
        hostile = inputs.clone()
        hostile[1::2] = value
        sums.clear()
        sums.add((hostile, labels), mask)
        assert torch.equal(sums.sums, clean)
    sums.clear()
    sums.add((inputs, labels), torch.zeros(RECORDS, dtype=torch.bool))
    assert not sums.sums.any()


def test_huge_weights_cannot_pass_the_clip_norm():
    for scale in (1e-30, 1e-10, 1e10, 1e18):
        model, loss, batch = build("mlp")
        with torch.no_grad():
            for p in model.parameters():
                p.mul_(scale)
        sums = sums_of(model, loss)
        try:
            parts = contributions(sums, batch)
        except (v.InvalidInput, v.NoTheorem):
            continue
        assert all(exact_norm_squared(part, sums.unit) <= 1 for part in parts)


def test_a_layout_gives_each_tied_parameter_one_place():
    model, *_ = build("tied")
    layout = Layout(model)
    assert "head.weight" not in layout.names and layout.size == sum(p.numel() for p in model.parameters())
    views = layout.views(torch.arange(layout.size))
    assert torch.equal(torch.cat([t.flatten() for t in views.values()]), torch.arange(layout.size))
    frozen, *_ = build("lora")
    assert all(".up." in n or ".down." in n for n in Layout(frozen).names)


def test_the_gradients_of_the_model_stay_untouched():
    model, loss, batch = build("transformer")
    before = {n: p.clone() for n, p in model.named_parameters()}
    sums_of(model, loss).add(batch, ALL)
    assert all(p.grad is None and torch.equal(p, before[n]) for n, p in model.named_parameters())
    assert all("forward" not in m.__dict__ and not m._forward_hooks for m in model.modules())


def test_a_statement_says_what_is_proved_probed_and_assumed():
    model, loss, batch = build("mlp")
    sums = sums_of(model, loss)
    with pytest.raises(v.InvalidInput, match="nothing was probed"):
        sums.statement()
    sums.prepare(batch)
    assert set(sums.statement()) == {"proved", "probed", "assumed"} and all(sums.statement().values())


@pytest.mark.parametrize(("name", "broadcasts"), [("vision", True), ("repeated", False)])
def test_a_parameter_is_read_as_one_copy_per_record_only_where_it_is_one(name, broadcasts):
    model, loss, batch = build(name)
    sums = sums_of(model, loss)
    sums.add(batch, ALL)
    assert sums.recorder.broadcasts == broadcasts
    assert all(isinstance(p, torch.nn.Parameter) for m in model.modules() for p in m._parameters.values() if p is not None)
