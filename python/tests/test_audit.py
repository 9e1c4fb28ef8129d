"""Audits of Python functions. Chances are stated where a test has one; every seed is fixed."""

import json
import os
import re
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import audited
import veracity as v

GAUSSIAN = v.gaussian(noise_multiplier=1)


@pytest.fixture(scope="module")
def claim():
    return GAUSSIAN.claim(delta=1e-5)


def one_line(error) -> str:
    text = str(error.value)
    assert "\n" not in text and "41999" not in text, text
    return text


# The audit errs with chance 1e-3 on an honest function; seeds 1 and 2 are fixed.
@pytest.mark.parametrize("seed", [1, 2])
def test_honest_noise_stands_and_half_of_it_falls(claim, seed):
    honest = v.audit(audited.noisy, claim=claim, trials=800, significance=1e-3, seed=seed)
    assert honest.verdict == "not-refuted"
    assert honest.trials == 800 and honest.failures == 0 and honest.method == "sequential"
    assert honest.epsilon_lower < honest.epsilon_claimed == float(claim.epsilon)
    honest.assert_not_refuted()
    half = v.audit(audited.half_noise, claim=claim, trials=800, significance=1e-3, seed=seed)
    assert half.verdict == "refuted" and half.trials < 400
    with pytest.raises(v.Refuted) as refuted:
        half.assert_not_refuted(require=0.8)
    assert one_line(refuted).startswith("REFUTED: ") and isinstance(refuted.value, AssertionError)
    # What the trials allow of half the noise is less than what they allow of all of it.
    assert half.detects_noise_below is None or half.detects_noise_below < 1
    assert honest.effective_noise > 1


def test_every_way_to_state_a_claim(claim):
    stated = [
        v.audit(audited.half_noise, claim=claim, trials=400),
        v.audit(audited.half_noise, claim=GAUSSIAN, delta=1e-5, trials=400),
    ]
    assert stated[0].certificate == stated[1].certificate and stated[0].verdict == "refuted"
    # A point alone takes more trials than its curve: 400 do not refute it, and say so.
    point = v.audit(audited.half_noise, claim=(4.378, 1e-5), trials=400)
    assert point.verdict != "refuted" and point.effective_noise is None
    for bad, words in [
        (dict(claim=GAUSSIAN), "delta is missing"),
        (dict(claim=claim, delta=1e-5), "delta can be set only"),
        (dict(claim=(1.0,)), "claim has the wrong type"),
        (dict(claim=(float("nan"), 1e-5)), "epsilon is NaN"),
        (dict(claim=(1.0, 2.0)), "delta is 2"),
        (dict(claim="claim.json"), "read_claim reads a file"),
        (dict(claim=claim, adjacency="replace-one"), "adjacency is replace-one"),
        (dict(claim=claim, trials=2), "trials is 2"),
        (dict(claim=claim, significance=2), "significance is 2"),
        (dict(claim=claim, require=1.5), "require is 1.5"),
        (dict(claim=claim, method="nonsense"), "nonsense"),
        (dict(claim=claim, workers=0), "workers is 0"),
        (dict(claim=claim, workers=2, executor=object()), "executor is given together"),
        (dict(claim=claim, executor=3), "executor is a int"),
        (dict(claim=claim, resume=True), "out is missing"),
        (dict(claim=claim, seed=-1), "seed is not an integer in range"),
        (dict(claim=claim, group_size=0), "group_size is 0"),
        (dict(claim=claim, data=[1]), "data is given together with score"),
    ]:
        with pytest.raises(v.Error) as refused:
            v.audit(audited.noisy, **bad)
        assert words in one_line(refused), bad


def test_what_must_be_caught_is_part_of_the_verdict(claim):
    with pytest.raises(v.InvalidInput) as refused:
        v.audit(audited.noisy, claim=claim, trials=100, require=0.8)
    assert re.match(r"trials is 100, expected about \d+: this many detect noise at 0.8×", one_line(refused))
    few = v.audit(audited.noisy, claim=claim, trials=100)
    with pytest.raises(v.CannotTell) as unable:
        few.assert_not_refuted(require=0.8)
    assert one_line(unable).startswith("INCONCLUSIVE: ") and isinstance(unable.value, AssertionError)
    # A function that tells nothing passes no requirement, however many its trials.
    with pytest.raises(v.CannotTell):
        v.audit(audited.constant, claim=claim, trials=4500).assert_not_refuted(require=0.8)
    with pytest.raises(v.InvalidInput, match="needs a claimed mechanism whose noise has a scale"):
        v.audit(audited.noisy, claim=(8.0, 1e-5), trials=40).assert_not_refuted(require=0.8)


def test_methods_of_the_command_line(claim):
    counted = v.audit(audited.half_noise, claim=claim, trials=600, method="clopper-pearson")
    assert counted.method == "clopper-pearson" and counted.trials == 600 and counted.verdict == "refuted"
    fixed = v.audit(audited.half_noise, claim=claim, trials=600, threshold="fixed:0.5")
    assert json.loads(fixed.certificate)["method"]["threshold"] == "fixed:0.5"


def test_failed_trials_are_outcomes_and_tell_no_data(claim, tmp_path):
    result = v.audit(audited.fails_at_times, claim=claim, trials=300, out=tmp_path / "some")
    assert 0 < result.failures <= 30
    ins, failed_in, outs, failed_out = result.failed_by_world
    assert failed_in + failed_out == result.failures == int(np.isnan(result.scores).sum())
    assert (ins, outs) == (int(result.worlds.sum()), int((~result.worlds).sum()))
    assert "ValueError: the salary is 41999" in result.first_failure
    assert (tmp_path / "some" / "first-failure.txt").read_text() == result.first_failure
    for name in ("trials.csv", "certificate.json", "order.json", "report.html"):
        text = (tmp_path / "some" / name).read_text()
        assert "41999" not in text
    assert "raised ValueError" in (tmp_path / "some" / "trials.csv").read_text()
    with pytest.raises(v.TrialsFailed) as failed:
        v.audit(audited.fails_always, claim=claim, trials=300, out=tmp_path / "all")
    assert "), more than the maximum of 30: raised KeyError (31 times); the first" in one_line(failed)
    assert "fails_always" in failed.value.first_failure and "fails_always" in str(failed.value.__cause__)
    with pytest.raises(v.TrialsFailed, match="1 of 300 trials failed .*more than the maximum of 0"):
        v.audit(audited.fails_always, claim=claim, trials=300, max_failures=0)


class Hostile:
    def __float__(self):
        raise RuntimeError("the salary is 41999")


@pytest.mark.parametrize(
    "answer, reason",
    [
        (float("nan"), "a score is not a number"),
        (None, "returned a NoneType, expected a number"),
        ("1.0", "returned a str, expected a number"),
        (True, "returned a bool, expected a number"),
        ([1.0], "returned a list, expected a number"),
        (1j, "returned a complex, expected a number"),
        (Hostile(), "returned a Hostile, expected a number"),
        (10**400, "returned a int, expected a number"),
    ],
)
def test_hostile_answers_are_failed_trials(claim, answer, reason):
    with pytest.raises(v.TrialsFailed) as failed:
        v.audit(lambda world, seed: answer, claim=claim, trials=40)
    assert one_line(failed).endswith(f" without), more than the maximum of 4: {reason} (5 times)")


def test_scores_of_numpy_and_infinite_scores_count(claim):
    result = v.audit(lambda world, seed: np.float32(seed % 7), claim=claim, trials=40)
    assert result.failures == 0 and result.scores.dtype == np.float64
    leak = v.audit(lambda world, seed: float("inf") if world else float("-inf"), claim=(1.0, 1e-5), trials=400)
    assert leak.verdict == "refuted"


@pytest.mark.parametrize("function, kind", [(audited.leaves, SystemExit), (audited.stops, audited.Stop)])
def test_what_stops_a_program_stops_an_audit(claim, function, kind, tmp_path):
    with pytest.raises(kind):
        v.audit(function, claim=claim, trials=40, out=tmp_path / "out")
    # The folder is free for the next one at once.
    v.audit(function_that_works, claim=claim, trials=40, out=tmp_path / "other")
    with pytest.raises(v.Error, match="which ends an audit"):
        v.audit(function, claim=claim, trials=40, workers=1)


def function_that_works(world, seed):
    return audited.noisy(world, seed)


def test_a_function_may_use_threads_and_audits_may_run_in_threads(claim):
    whole = v.audit(audited.noisy, claim=claim, trials=60)
    assert v.audit(audited.threaded, claim=claim, trials=60).trials_csv() == whole.trials_csv()
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(v.audit(audited.noisy, claim=claim, trials=60).certificate))
        for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [whole.certificate] * 3


def test_evidence_is_that_of_the_command_line_and_is_resumed(claim, tmp_path):
    out = tmp_path / "out"
    whole = v.audit(audited.noisy, claim=claim, trials=200, out=tmp_path / "whole", description="noise")
    calls = []

    def interrupted(world, seed):
        calls.append(seed)
        if len(calls) == 70:
            raise KeyboardInterrupt
        return audited.noisy(world, seed)

    same = dict(claim=claim, trials=200, out=out, description="noise")
    with pytest.raises(KeyboardInterrupt):
        v.audit(interrupted, **same)
    with pytest.raises(v.FileError, match="resume"):
        v.audit(interrupted, **same)
    with pytest.raises(v.InvalidInput, match="a different significance"):
        v.audit(interrupted, **same, resume=True, significance=0.02)
    result = v.audit(interrupted, **same, resume=True)
    # The trial that was interrupted is run again, and no other.
    assert len(calls) == 201 and len(set(calls)) == 200
    assert result.trials_csv() == whole.trials_csv() == (out / "trials.csv").read_text()
    assert (out / "certificate.json").read_text() == result.certificate
    again = v.audit(interrupted, **same, resume=True)
    assert again.certificate == result.certificate and len(calls) == 201
    checked = v.verify(out / "certificate.json")
    assert checked.is_valid and "recomputed from 200 trials" in str(checked)
    (out / "trials.csv").write_text((out / "trials.csv").read_text().replace("in,", "in,1", 1))
    assert not v.verify(out / "certificate.json").is_valid


@pytest.mark.parametrize("name", ["function", "source_sha256", "train", "data_sha256", "records"])
def test_settings_cannot_say_what_the_audit_says_of_its_subject(claim, name, tmp_path):
    """Else an edited function could resume the evidence of another, or be certified in its name."""
    ran = []
    with pytest.raises(v.InvalidInput, match=f"^settings has {name}, expected other names"):
        v.audit(lambda world, seed: ran.append(seed) or 0.0, claim=claim, settings={name: ""}, out=tmp_path / "out")
    assert not ran and not (tmp_path / "out").exists()
    told = json.loads(v.audit(audited.noisy, claim=claim, trials=20, settings={"rate": 0.5}).certificate)["subject"]["settings"]
    assert told["rate"] == 0.5 and told["function"] == "audited:noisy" and len(told["source_sha256"]) == 64
    with pytest.raises(TypeError, match="^settings is a list, expected a dict$"):
        v.audit(audited.noisy, claim=claim, settings=[("function", "")])


def test_seeds_differ_and_tell_nothing_of_the_world(claim):
    seen = []
    v.audit(lambda world, seed: seen.append((world, seed)) or 0.0, claim=claim, trials=4000)
    worlds, seeds = np.array(seen).T
    assert len(set(seeds)) == 4000 and seeds.max() < 2**32
    # Every bit of the seed agrees with the world as a coin does: 4000 ± 6 standard deviations, chance 32 × 2e-9.
    for bit in range(32):
        agree = int(((seeds >> bit) & 1 == worlds).sum())
        assert abs(agree - 2000) < 6 * np.sqrt(1000), bit
    # The twin: the world itself would be found.
    assert abs(int((worlds == worlds).sum()) - 2000) > 6 * np.sqrt(1000)


@pytest.mark.parametrize("adjacency, noise", [("add-remove", None), ("replace-one", None)])
def test_a_training_is_audited_with_and_without_its_canary(adjacency, noise):
    claim = v.gaussian(noise_multiplier=1).with_adjacency(adjacency=adjacency)
    data, canary = np.zeros((20, 2)), np.array([1.0, 0.0])
    sizes = {}

    def train(data, seed):
        sizes.setdefault(len(data), data.copy())
        return audited.train_mean(data, seed)

    result = v.audit(train=train, attack=audited.attack_mean, data=data, canary=canary, claim=claim, delta=1e-5, trials=200)
    assert result.verdict == "not-refuted" and data.sum() == 0
    assert sorted(sizes) == ([20, 21] if adjacency == "add-remove" else [20])
    settings = json.loads(result.certificate)["subject"]["settings"]
    assert settings["canary_records"] == 1 and len(settings["data_sha256"]) == 64
    quiet = v.audit(
        train=lambda data, seed: audited.train_mean(data, seed) * 1.0 if len(data) == 0 else float(np.asarray(data)[:, 0].sum()),
        attack=audited.attack_mean,
        data=data,
        canary=canary,
        claim=claim,
        delta=1e-5,
        trials=200,
    )
    assert quiet.verdict == "refuted"


def test_canaries_of_every_kind_of_data():
    pd = pytest.importorskip("pandas")
    claim = dict(claim=GAUSSIAN, delta=1e-5, trials=8, attack=float)
    frame = pd.DataFrame({"x": np.zeros(5), "y": ["a"] * 5})
    sums = [
        (np.zeros(5), 1.0, lambda data, seed: data.sum(), 1),
        (np.zeros((5, 2)), np.ones((2, 2)), lambda data, seed: data[:, 0].sum(), 2),
        ([0.0] * 5, [1.0], lambda data, seed: sum(data), 1),
        (frame, {"x": 1.0, "y": "b"}, lambda data, seed: data["x"].sum(), 1),
        ((np.zeros((5, 2)), np.zeros(5)), (np.zeros(2), 1.0), lambda data, seed: data[1].sum(), 1),
    ]
    for data, canary, train, records in sums:
        result = v.audit(train=train, data=data, canary=canary, **claim)
        assert np.array_equal(result.scores, result.worlds * float(records))
        assert json.loads(result.certificate)["method"]["group_size"] == records
    for data, canary, words in [
        (np.zeros((5, 2)), np.zeros(3), "canary has the shape"),
        (frame, {"x": 1.0}, "other columns"),
        ([0.0], 1.0, "canary is a float"),
        (object(), 1.0, "data is a object"),
        ((np.zeros(5), np.zeros(4)), (0.0, 0.0), "different lengths"),
        (np.zeros(0), np.zeros(0), "canary has no record"),
    ]:
        with pytest.raises(v.InvalidInput, match=words):
            v.audit(train=lambda data, seed: 0.0, data=data, canary=canary, **claim)
    with pytest.raises(v.InvalidInput, match="attack is missing"):
        v.audit(train=float, data=[1], canary=[1], claim=GAUSSIAN, delta=1e-5)


def test_results_show_themselves(claim):
    result = v.audit(audited.noisy, claim=claim, trials=200, description="a count\nin two lines")
    text = repr(result)
    assert text.startswith("NOT REFUTED") or text.startswith("INCONCLUSIVE")
    assert "subject       a count in two lines" in text and "trials        200 runs" in text
    page = result.report_html()
    assert page.startswith("<!doctype html>") and page.rstrip().endswith("</html>")
    piece = result._repr_html_()
    assert piece.count("<svg") >= 3 and "prefers-color-scheme: dark" in piece and "<script" not in piece


def test_progress_is_shown_where_it_is_asked_for(claim, capsys):
    pytest.importorskip("tqdm")
    v.audit(audited.noisy, claim=claim, trials=40, progress=True)
    assert "40" in capsys.readouterr().err
    v.audit(audited.noisy, claim=claim, trials=40, progress=None)
    assert capsys.readouterr().err == ""


def test_the_fixture_fails_a_test_in_one_line(tmp_path):
    (tmp_path / "test_privacy.py").write_text(
        "import pytest, audited, veracity as v\n"
        "@pytest.mark.privacy(claim=v.gaussian(noise_multiplier=1), delta=1e-5, trials=400)\n"
        "class TestPrivacy:\n"
        "    def test_honest(self, audit):\n        assert audit(audited.noisy).trials == 400\n"
        "    def test_half(self, audit):\n        audit(audited.half_noise)\n"
        "    @pytest.mark.privacy(trials=8)\n"
        "    def test_few(self, audit):\n        audit(audited.noisy)\n"
    )
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", "-q", str(tmp_path), "-m", "privacy"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": here},
        cwd=tmp_path,
    )
    assert "1 passed" in done.stdout and "2 failed" in done.stdout, done.stdout + done.stderr
    shown = [line for line in done.stdout.splitlines() if line.startswith(("REFUTED", "INCONCLUSIVE"))]
    assert len(shown) == 2 and "Traceback" not in done.stdout, done.stdout


def test_a_hundred_thousand_calls_leak_nothing(claim):
    function = function_that_tells_nothing
    tracemalloc.start()
    v.audit(function, claim=claim, trials=20_000, method="clopper-pearson", threshold="fixed:0")
    before, _ = tracemalloc.get_traced_memory()
    for _ in range(5):
        v.audit(function, claim=claim, trials=20_000, method="clopper-pearson", threshold="fixed:0")
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 200_000


def function_that_tells_nothing(world, seed):
    return 0.0
