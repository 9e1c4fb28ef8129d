"""A run that is killed goes on with the same bits and pays once; noise is not used for other records."""

import copy
import pathlib
import random
import signal
import subprocess
import sys
import textwrap

import pytest
import torch
from small_runs import make, records, train, weights

import veracity as v

HERE = pathlib.Path(__file__).parent


def saved(run, path, **also):
    for batch in run.batches():
        run.save_checkpoint(path, **also)
        run.step(batch)


@pytest.mark.usefixtures("slow_sums")
def test_a_resumed_run_has_the_weights_of_one_that_was_not_interrupted(tmp_path):
    whole = train(make(canaries=20))
    for stop in range(6):
        path = tmp_path / f"at-{stop}.pt"
        run = make(canaries=20)
        if stop:
            train(run, stop)
        run.save_checkpoint(path)
        again = make(canaries=20, resume=path)
        assert again.steps_done == stop
        train(again)
        assert torch.equal(weights(again), weights(whole))
        assert (again._canaries.scores == whole._canaries.scores).all()


@pytest.mark.usefixtures("slow_sums")
def test_state_dicts_resume_as_other_state_dicts_do():
    whole, run = train(make()), train(make(), 3)
    again = make()
    again.load_state_dict(run.state_dict())
    again.model.load_state_dict(run.model.state_dict())
    again.optimizer.load_state_dict(run.optimizer.state_dict())
    assert torch.equal(weights(train(again)), weights(whole))
    with pytest.raises(v.InvalidInput, match="steps were done"):
        again.load_state_dict(run.state_dict())
    fresh = train(make(seed=None), 3)
    other = make(seed=None)
    other.load_state_dict(fresh.state_dict())
    other.model.load_state_dict(fresh.model.state_dict())
    # torch shares the tensors of an optimizer with its state dict.
    other.optimizer.load_state_dict(copy.deepcopy(fresh.optimizer.state_dict()))
    assert torch.equal(weights(train(other)), weights(train(fresh)))


@pytest.mark.usefixtures("slow_sums")
def test_a_scheduler_is_saved_beside_the_run(tmp_path):
    path, run = tmp_path / "run.pt", make()
    scheduler = torch.optim.lr_scheduler.StepLR(run.optimizer, 1)
    for batch in run.batches():
        run.step(batch)
        scheduler.step()
        if run.steps_done == 3:
            run.save_checkpoint(path, scheduler=scheduler)
    again = make(resume=path)
    restored = torch.optim.lr_scheduler.StepLR(again.optimizer, 1)
    again.restore(scheduler=restored)
    assert restored.last_epoch == 3 and again.optimizer.param_groups[0]["lr"] == pytest.approx(1e-4)
    with pytest.raises(v.InvalidInput, match="no warmup"):
        again.restore(warmup=restored)


@pytest.mark.usefixtures("slow_sums")
def test_noise_that_was_drawn_is_not_drawn_for_other_records_or_another_plan(tmp_path):
    """The difference of two sums with the same noise has none."""
    path, run = tmp_path / "run.pt", make(seed=None)
    train(run, 2)
    run.save_checkpoint(path)
    features, targets = records()
    other = features.clone()
    other[150, 2] += 1
    for changes in (
        {"data": (other, targets)},
        {"data": records(201)},
        {"noise_multiplier": 2.0},
        {"clip_norm": 2.0},
        {"steps": 7},
        {"batch_size": 21},
        {"micro_batch": 9},
        {"ids": [*range(199), 500]},
    ):
        with pytest.raises(v.InvalidInput, match="noise must not be used twice"):
            make(seed=None, resume=path, **changes)
    assert make(seed=None, resume=path).steps_done == 2
    with pytest.raises(v.InvalidInput, match="seed differs"):
        make(resume=path)


@pytest.mark.usefixtures("slow_sums")
def test_the_key_is_for_its_owner_and_ends_with_the_run(tmp_path):
    path, key = tmp_path / "run.pt", tmp_path / "run.pt.key"
    run = make(seed=None)
    train(run, 3)
    run.save_checkpoint(path)
    assert key.stat().st_mode & 0o777 == 0o600 and path.stat().st_mode & 0o777 == 0o600
    root = run._randomness.root()
    assert root not in path.read_bytes() and root in key.read_bytes()
    for broken in ("missing", "readable by others", "damaged"):
        kept = key.read_bytes()
        if broken == "missing":
            key.unlink()
        elif broken == "readable by others":
            key.chmod(0o644)
        else:
            key.write_bytes(kept[:-1])
        with pytest.raises(v.Error):
            make(seed=None, resume=path)
        key.unlink(missing_ok=True)
        key.write_bytes(kept)
        key.chmod(0o600)
    again = train(make(seed=None, resume=path))
    again.save_checkpoint(path)
    again.save(tmp_path / "out")
    assert not key.exists() and not path.exists()
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["claim.json", "model.safetensors", "report.html"]


@pytest.mark.usefixtures("slow_sums")
def test_damaged_checkpoints_are_refused(tmp_path):
    path = tmp_path / "run.pt"
    make().save_checkpoint(path)
    whole = path.read_bytes()
    for damaged in (b"", whole[:100], whole[:-1], b"PK" + whole[2:200]):
        path.write_bytes(damaged)
        with pytest.raises(v.FileError):
            make(resume=path)
    with pytest.raises(v.FileError):
        make(resume=tmp_path / "nothing.pt")
    torch.save({"schema": "other"}, path)
    with pytest.raises(v.FileError, match="of this version"):
        make(resume=path)


KILLED = """
    import os, signal, sys
    sys.path.insert(0, {here!r})
    from slow_sums import SlowSums
    from veracity.torch import _clip
    _clip.RecordSums = SlowSums
    import torch
    from small_runs import make, train
    import veracity as v
    from veracity._veracity import _Randomness

    torch.set_num_threads(1)

    def attempt(folder, when, point):
        path = os.path.join(folder, "run.pt")
        resume = {{"resume": path}} if os.path.exists(path) else {{}}
        run = make(seed=None, ledger=os.path.join(folder, "year.ledger"), noise_multiplier=4.0, steps=10, **resume)
        if not resume:
            # A known root, so that two runs can be compared. It is taken for entropy of the system, so it is charged and has a key.
            run._randomness = _Randomness.resume(bytes(range(1, 33)))
        add_noise = run._add_noise

        def die(here):
            if here == point and run.steps_done == when:
                os.kill(os.getpid(), signal.SIGKILL)

        def noise(totals):
            die("before noise")
            add_noise(totals)
            die("after noise")

        run._add_noise = noise
        for batch in run.batches():
            run.save_checkpoint(path)
            die("checkpoint")
            run.step(batch)
            die("step")
        run.save(os.path.join(folder, "out"))

    # Each attempt is a process of its own, made by a fork of this one, which has drawn nothing.
    for line in sys.stdin:
        folder, when, point = line.rstrip().split(",")
        child = os.fork()
        if child == 0:
            try:
                attempt(folder, int(when), point)
            except BaseException as error:
                print("failed", repr(error), flush=True)
                os._exit(1)
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_kill_nine_at_ten_random_steps_changes_no_weight_and_charges_once(tmp_path):
    """Ten kills of two runs, seed 11: before and after noise, after a checkpoint, after a step."""
    draw = random.Random(11)
    points = ["before noise", "after noise", "checkpoint", "step"]
    script = textwrap.dedent(KILLED.format(here=str(HERE)))
    process = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def attempt(folder, when, point):
        process.stdin.write(f"{folder},{when},{point}\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    def folder(name):
        (tmp_path / name).mkdir()
        return tmp_path / name, v.Ledger.create(tmp_path / name / "year.ledger", epsilon=10, delta=1e-2)

    with process:
        whole, _ = folder("whole")
        assert attempt(whole, 99, "none") == 0
        for number in range(2):
            killed, ledger = folder(f"killed-{number}")
            # After the checkpoint of a step, the next process begins with it, so kills go forward.
            for when in sorted(draw.sample(range(1, 10), 5)):
                assert attempt(killed, when, draw.choice(points)) == -signal.SIGKILL
                assert not (killed / "out").exists() and len(ledger.history()) == 1
            assert attempt(killed, 99, "none") == 0
            assert (killed / "out/model.safetensors").read_bytes() == (whole / "out/model.safetensors").read_bytes()
            assert len(ledger.history()) == 1 and ledger.history()[0]["answer"]["steps"] == 10
            assert not (killed / "run.pt").exists() and not (killed / "run.pt.key").exists()
            assert v.verify(killed / "out/claim.json").is_valid
        process.stdin.close()


@pytest.mark.usefixtures("slow_sums")
def test_a_ledger_is_charged_before_the_first_batch_and_refuses_too_much(tmp_path):
    ledger = v.Ledger.create(tmp_path / "year.ledger", epsilon=1, delta=1e-2)
    run = make(seed=None, ledger=ledger, noise_multiplier=0.5)
    read = []
    run._source._read = lambda places: read.append(1)
    assert ledger.history() == []
    with pytest.raises(v.BudgetExceeded):
        next(run.batches())
    assert read == [] and run.steps_done == 0
    with pytest.raises(v.InvalidInput, match="seed is given with a ledger"):
        make(ledger=ledger)
    run = make(seed=None, ledger=ledger, noise_multiplier=8.0, request_id="monday")
    next(run.batches())
    assert len(ledger.history()) == 1
    train(run)
    run.save(tmp_path / "out")
    assert ledger.history()[0]["answer"] == {"model": "out", "steps": 6}
    with pytest.raises(v.InvalidInput, match="answered before"):
        next(make(seed=None, ledger=ledger, noise_multiplier=8.0, request_id="monday").batches())
    assert len(ledger.history()) == 1
