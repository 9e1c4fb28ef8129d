"""What a run leaves: a model, a claim that is tied to it, a report, an audit; and what an audit of it sees."""

import json
import pathlib

import numpy as np
import pytest
import torch
from small_runs import make, model, records, train, weights
from torch import nn

import veracity as v
import veracity.torch as private

pytestmark = pytest.mark.usefixtures("slow_sums")


def test_the_claim_is_that_of_the_mechanism_and_tied_to_the_model(tmp_path):
    run = train(make(seed=None, name="survey"))
    claim = run.save(tmp_path / "out")
    stated = json.loads((tmp_path / "out/claim.json").read_text())
    assert stated["release"]["dataset"] == "survey" and stated["release"]["for_release"] is True
    mechanism = v.dp_sgd(sampling_rate=0.1, noise_multiplier=1.0, steps=6)
    assert claim.epsilon.upper == mechanism.epsilon(1e-3).upper
    assert v.verify(tmp_path / "out/claim.json").is_valid
    # Another bit of the weights, and the claim is of another model.
    path = tmp_path / "out/model.safetensors"
    model_file = bytearray(path.read_bytes())
    model_file[-1] ^= 1
    path.write_bytes(model_file)
    assert not v.verify(tmp_path / "out/claim.json").is_valid


def test_a_claim_with_less_noise_than_its_epsilon_needs_is_refused(tmp_path):
    run = train(make(seed=None))
    run.save(tmp_path / "out")
    text = (tmp_path / "out/claim.json").read_text()
    scale = json.loads(text)["release"]["noise"][0]["scale"]
    assert scale == pytest.approx(2**20, rel=1e-9)
    for honest, forged in [('"noise_multiplier": 1.0', '"noise_multiplier": 1.1'), (f'"scale": {scale!r}', '"scale": 524288.0')]:
        assert honest in text
        (tmp_path / "out/claim.json").write_text(text.replace(honest, forged))
        assert not v.verify(tmp_path / "out/claim.json").is_valid


def test_the_card_of_a_model_has_the_fields_of_its_schema(tmp_path):
    train(make()).save(tmp_path / "out")
    file = (tmp_path / "out/model.safetensors").read_bytes()
    header = json.loads(file[8 : 8 + int.from_bytes(file[:8], "little")])
    card = json.loads(header["__metadata__"]["veracity"])
    schema = json.loads((pathlib.Path(__file__).parents[3] / "docs/schemas/torch-model-1.json").read_text())
    assert set(card) == set(schema["properties"]) == set(schema["required"]) and card["schema"] == schema["title"]
    kinds = {"boolean": bool, "object": dict}
    assert all(isinstance(card[name], kinds[field["type"]]) for name, field in schema["properties"].items() if "type" in field)


def test_a_seeded_run_is_not_for_release(tmp_path):
    claim = train(make()).save(tmp_path / "out")
    assert not v.verify(tmp_path / "out/claim.json").is_valid and not claim.verify().is_valid
    assert "Not for release" in (tmp_path / "out/report.html").read_text()


def test_a_report_says_what_is_proved_probed_and_assumed(tmp_path):
    run = train(make(seed=None))
    run.save(tmp_path / "out")
    report = (tmp_path / "out/report.html").read_text()
    for words in ("Proved: ", "Assumed: dataset_size = 200 is public", "veracity verify", "6 of 6", "SGD"):
        assert words in report, words
    assert set(run.statement()) == {"proved", "probed", "assumed"}


def test_a_claim_covers_the_whole_plan_also_after_an_early_stop():
    run = train(make(), 2)
    assert run.claim().epsilon.upper == run.epsilon(6).upper


def test_the_files_of_another_run_are_not_overwritten_unasked(tmp_path):
    first = train(make(seed=None))
    first.save(tmp_path / "out")
    second = train(make(seed=None))
    with pytest.raises(v.InvalidInput, match="a finished run"):
        second.save(tmp_path / "out")
    second.save(tmp_path / "out", replace=True)
    assert (tmp_path / "out/claim-1.json").exists() and v.verify(tmp_path / "out/claim.json").is_valid
    (tmp_path / "other").mkdir()
    (tmp_path / "other/model.safetensors").write_bytes(b"precious")
    with pytest.raises(v.Error):
        second.save(tmp_path / "other", replace=True)
    assert (tmp_path / "other/model.safetensors").read_bytes() == b"precious"


def test_weights_come_back_as_they_were_with_tied_and_half_precision_ones(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body, self.head, self.frozen = nn.Linear(6, 6), nn.Linear(6, 3), nn.Linear(6, 6).to(torch.bfloat16)
            self.again = self.head
            self.frozen.requires_grad_(False)
            self.register_buffer("positions", torch.arange(5))

        def forward(self, x):
            return self.head(self.body(x))

    run = train(make(net=Net(), seed=None))
    run.save(tmp_path / "out")
    found = private.load_weights(tmp_path / "out/model.safetensors")
    kept = run.model.state_dict()
    assert found.keys() == kept.keys()
    assert all(found[name].dtype == kept[name].dtype and torch.equal(found[name], kept[name]) for name in kept)
    Net().load_state_dict(found)
    run.save(tmp_path / "small", trainable_only=True)
    assert set(private.load_weights(tmp_path / "small/model.safetensors")) == {n for n in kept if "frozen" not in n and n != "positions"}
    for damaged in (b"", b"\0" * 100):
        (tmp_path / "x.safetensors").write_bytes(damaged)
        with pytest.raises(v.FileError):
            private.load_weights(tmp_path / "x.safetensors")
    with pytest.raises(v.FileError):
        private.load_weights(tmp_path / "none.safetensors")


def test_weights_that_ran_off_are_not_saved(tmp_path):
    run = train(make())
    with torch.no_grad():
        next(run.model.parameters()).fill_(float("nan"))
    with pytest.raises(v.InvalidInput, match="not finite"):
        run.save(tmp_path / "out")
    assert not (tmp_path / "out/model.safetensors").exists()


def test_canaries_leave_no_trace_in_the_model():
    """The model with 80 canaries is bit for bit the one without."""
    bare, with_canaries = train(make()), train(make(canaries=80))
    assert torch.equal(weights(bare), weights(with_canaries))
    assert np.abs(with_canaries._canaries.scores).max() > 0


@pytest.mark.parametrize("block", [1, 4])
def test_a_canary_has_the_norm_of_a_record_and_a_place_of_its_own(block):
    run = make(canaries=20, canary_block=block, noise_multiplier=0.7)
    canaries = run._canaries
    sums = torch.zeros(run._sums.layout.size, dtype=torch.int64)
    canaries.worlds = np.ones(20, dtype=bool)
    added = canaries.plant(sums, 0)
    squares = (added.view(20, block).double() ** 2).sum(1).sqrt() * run.plan.grid
    assert all(norm == 0 or 1 - 1e-4 < norm <= 1 for norm in squares.tolist()) and (squares > 0).any()
    assert int((sums != 0).sum()) == int((added != 0).sum()), "two canaries share a coordinate"
    # It is in a step by a coin of the same rate as a record's.
    entered = [(canaries.plant(torch.zeros_like(sums), step).view(20, block)[:, 0] != 0).float().mean().item() for step in range(300)]
    assert abs(np.mean(entered) - run.plan.rate) < 5 * (0.1 * 0.9 / 6000) ** 0.5


def audited(monkeypatch=None, noise=1.0, steps=500, seed=4, canaries=10_000, batch_size=4):
    """A run of ε = 4 on a model with 40,003 parameters, whose noise is multiplied by a factor. Its records are left out, for time."""
    net = nn.Sequential(nn.Linear(6, 4000), nn.ReLU(), nn.Linear(4000, 3))
    # Of ε = 4 at δ = 1e-5, by v.calibrate.
    noise_multiplier = {(500, 4): 0.851, (50, 40): 1.812}[steps, batch_size]
    run = make(net=net, noise_multiplier=noise_multiplier, delta=1e-5, steps=steps, batch_size=batch_size, canaries=canaries, seed=seed)
    if noise != 1.0:
        honest = run._add_noise

        def less(totals):
            clean = totals.clone()
            honest(totals)
            totals.copy_(clean + ((totals - clean).double() * noise).round().long())

        monkeypatch.setattr(run, "_add_noise", less)
    run._add = lambda micro_batches: None
    return train(run)


def test_the_audit_of_an_honest_run_proves_at_least_one_at_epsilon_four(tmp_path):
    result = audited().audit(tmp_path / "audit")
    assert result.verdict == "not-refuted" and result.effective_noise > 1
    assert 1.0 <= result.epsilon_lower <= 4.0
    assert result.detects_noise_below > 0.5
    assert v.verify(tmp_path / "audit/certificate.json").is_valid
    # The certificate is recomputed from the scores: another score, and it is not valid.
    trials = tmp_path / "audit/trials.csv"
    trials.write_text(trials.read_text().replace(",in,", ",out,", 1))
    assert not v.verify(tmp_path / "audit/certificate.json").is_valid


def test_half_of_the_noise_is_refuted_in_one_run(monkeypatch):
    result = audited(monkeypatch, noise=0.5).audit()
    assert result.verdict == "refuted" and result.effective_noise < 1


def test_honest_runs_are_refuted_no_more_often_than_the_significance_allows():
    """Eight seeds at significance 0.01: two refutations have probability 0.003."""
    verdicts = [audited(seed=seed, steps=50, canaries=8000, batch_size=40).audit().verdict for seed in range(8)]
    assert verdicts.count("refuted") <= 1


def test_an_audit_needs_canaries_and_steps():
    with pytest.raises(v.InvalidInput, match="at least one step"):
        make(canaries=80).audit()
    with pytest.raises(v.InvalidInput, match="at least 100"):
        train(make(canaries=80)).audit()


def test_a_run_saves_its_audit(tmp_path):
    net = model(width=200)
    run = train(make(net=net, canaries=400, seed=None, noise_multiplier=2.0, steps=40))
    run.save(tmp_path / "out")
    assert v.verify(tmp_path / "out/audit/certificate.json").is_valid
    assert "Audit of this run" in (tmp_path / "out/report.html").read_text()
