"""Audits over processes and clusters: whoever runs the trials, and whoever is killed, the certificate is the same to the bit."""

import os
import signal
import threading
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

import audited
import veracity as v

GAUSSIAN = v.gaussian(noise_multiplier=1)


@pytest.fixture(scope="module")
def claim():
    return GAUSSIAN.claim(delta=1e-5)


def pool():
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


def files(folder):
    return [(folder / name).read_bytes() for name in ("certificate.json", "trials.csv", "order.json", "report.html")]


@pytest.mark.parametrize("function", [audited.half_noise, audited.fails_at_times])
def test_every_way_to_run_leaves_the_same_bits(claim, tmp_path, function):
    same = dict(claim=claim, trials=300)
    v.audit(function, **same, out=tmp_path / "here")
    v.audit(function, **same, out=tmp_path / "workers", workers=2)
    v.audit(f"audited:{function.__name__}", **same, out=tmp_path / "named", workers=1)
    with pool() as executor:
        v.audit(function, **same, out=tmp_path / "pool", executor=executor, shards=7)
    with ThreadPoolExecutor(3) as executor:
        v.audit(function, **same, out=tmp_path / "threads", executor=executor, shards=300)
    for name in ("workers", "named", "pool", "threads"):
        assert files(tmp_path / name) == files(tmp_path / "here"), name


def killed(tmp_path, name):
    folder = tmp_path / f"killed-{name}"
    folder.mkdir()
    return audited.KilledOnce(folder)


def test_workers_that_kill_themselves_cost_only_what_they_had_in_hand(claim, tmp_path):
    same = dict(claim=claim, trials=120)
    # The same function, which nothing kills.
    whole = v.audit(audited.KilledOnce(tmp_path, of=2**40), **same)
    function = killed(tmp_path, "workers")
    found = v.audit(function, **same, workers=2)
    deaths = len(list(function.folder.iterdir()))
    assert deaths > 0 and (found.certificate, found.trials_csv()) == (whole.certificate, whole.trials_csv())
    function = killed(tmp_path, "pool")
    found = v.audit(function, **same, executor=pool, shards=6)
    assert len(list(function.folder.iterdir())) > 0 and found.certificate == whole.certificate


def test_a_worker_that_is_killed_from_outside(claim, monkeypatch):
    from veracity import _workers

    whole = v.audit(audited.slow, claim=claim, trials=300)
    begun = []
    start = _workers.Workers.__init__

    def noted(self, *arguments):
        start(self, *arguments)
        begun.append(self)

    monkeypatch.setattr(_workers.Workers, "__init__", noted)
    victims = []

    def kill_one():
        while not begun or not all(worker.is_ready for worker in begun[0]._workers):
            time.sleep(0.01)
        victims.append(begun[0].pids()[0])
        os.kill(victims[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one)
    killer.start()
    found = v.audit(audited.slow, claim=claim, trials=300, workers=2)
    killer.join()
    assert len(victims) == 1 and found.certificate == whole.certificate


def test_what_kills_every_worker_ends_the_audit(claim, tmp_path):
    with pytest.raises(v.Error, match=r"^3 worker processes died in trial 0, expected them to live"):
        v.audit(audited.kills_always, claim=claim, trials=40, workers=1, out=tmp_path / "out")
    with pytest.raises(v.Error, match=r"^shards are lost again and again \(BrokenProcessPool\)"):
        v.audit(audited.kills_always, claim=claim, trials=40, executor=pool, shards=1)
    # An executor that is broken and was not made here is named.
    with pool() as executor, pytest.raises(v.Error, match="give a function that makes one"):
        v.audit(audited.kills_always, claim=claim, trials=40, executor=executor, shards=1)
    with pytest.raises(v.Error, match="which ends an audit"):
        v.audit(audited.leaves, claim=claim, trials=40, executor=pool, shards=1)


def test_an_audit_over_workers_is_resumed_elsewhere(claim, tmp_path):
    out, function = tmp_path / "out", audited.KillsUntilMended(tmp_path / "mended")
    same = dict(claim=claim, trials=300)
    with pytest.raises(v.Error, match="fix that and resume"):
        v.audit(function, **same, workers=1, out=out)
    function.mark.touch()
    v.audit(function, **same, workers=2, out=out, resume=True)
    v.audit(function, **same, out=tmp_path / "here")
    assert files(out) == files(tmp_path / "here")
    # Another function has evidence of its own.
    with pytest.raises(v.InvalidInput, match="a different subject"):
        v.audit(audited.noisy, **same, out=out, resume=True)


class Lossy:
    """Loses every third shard, gives rows of another for every fifth, and answers in any order."""

    def __init__(self):
        self.submitted = 0

    def submit(self, function, *arguments):
        self.submitted += 1
        future = Future()
        if self.submitted % 3 == 0:
            future.set_exception(OSError("the node is gone"))
        elif self.submitted % 5 == 0:
            future.set_result([(999, 1.0, "", None)])
        else:
            future.set_result(function(*arguments))
        return future


def test_lost_shards_are_submitted_again(claim):
    lossy = Lossy()
    whole = v.audit(audited.fails_at_times, claim=claim, trials=200)
    found = v.audit(audited.fails_at_times, claim=claim, trials=200, executor=lossy, shards=20)
    assert lossy.submitted > 25 and found.certificate == whole.certificate


def test_a_function_that_cannot_travel_is_refused(claim, monkeypatch):
    import sys

    for name in ("cloudpickle", "ray", "ray.cloudpickle"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(v.InvalidInput, match="cannot be pickled"):
        v.audit(lambda world, seed: 0.0, claim=claim, trials=40, workers=1)
    with pytest.raises(v.InvalidInput, match="cannot be imported"):
        v.audit("audited:nothing", claim=claim, trials=40)
    with pytest.raises(v.InvalidInput, match="without a colon"):
        v.audit("audited", claim=claim, trials=40)


def test_a_function_without_a_name_travels_by_cloudpickle(claim):
    pytest.importorskip("cloudpickle")
    shift = 0.25
    found = v.audit(lambda world, seed: audited.noisy(world, seed) + shift, claim=claim, trials=40, workers=1)
    assert found.trials == 40 and found.failures == 0


def test_a_result_that_is_lost_after_it_was_done_costs_its_shard_alone(claim, monkeypatch):
    """As with Dask, whose future of a shard that was done waits for ever once the worker that holds it is dead."""
    from veracity import _clusters

    monkeypatch.setattr(_clusters, "PATIENCE", 0.01)
    waited = []

    class Forgetful(Future):
        def result(self, timeout=None):
            if self.is_lost:
                assert timeout is not None, "waits without end"
                waited.append(timeout)
                raise TimeoutError
            return super().result(timeout)

    Forgetful.__module__ = "distributed.client"

    class Executor:
        submitted = 0

        def submit(self, function, *arguments):
            self.submitted += 1
            future = Forgetful()
            future.is_lost = self.submitted % 3 == 1
            future.set_result(function(*arguments))
            return future

    whole = v.audit(audited.noisy, claim=claim, trials=120)
    found = v.audit(audited.noisy, claim=claim, trials=120, executor=Executor(), shards=6)
    assert len(waited) >= 2 and found.certificate == whole.certificate
