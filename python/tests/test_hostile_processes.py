"""Threads, forks, signals and ends of programs in the middle of a call: no abort, no hang, no budget spent twice.

Where something might hang, a watchdog of minutes ends it: nothing here depends on how fast it is.
"""

import io
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import veracity as v

import audited

WATCHDOG = 240
CLAIM = v.gaussian(noise_multiplier=1).claim(delta=1e-5)
posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this system")


# Eight threads take 1/64 of the budget each time: 64 are granted, to whomever.
@pytest.mark.parametrize("way", ["count", "groups", "mixed"])
def test_eight_threads_get_exactly_what_there_is(way):
    session = v.Session({"x": [1.0] * 50, "g": ["a", "b"] * 25}, epsilon=1.0, seed=1)
    part, granted, refused = 1 / 64, [], []
    start = threading.Barrier(8)
    asks = {
        "count": lambda i: session.count(epsilon=part),
        "groups": lambda i: session.group_by("g", ["a", "b"]).count(epsilon=part),
        "mixed": lambda i: session.sum("x", lower=0, upper=1, epsilon=part) if i % 2 else session.histogram("g", keys=["a"], epsilon=part),
    }

    def work():
        start.wait()
        for i in range(12):
            try:
                granted.append(asks[way](i))
            except v.BudgetExceeded:
                refused.append(i)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCHDOG)
    assert (len(granted), len(refused)) == (64, 32)
    assert len(session.answers) == 64 and 1 - 1e-6 < session.spent.epsilon <= 1 and session.remaining.epsilon < part


def in_a_child(work):
    """What a forked child says of a piece of work."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        said = "nothing"
        try:
            said = str(work())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        finally:
            os.write(write, said.encode()[:4000])
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read().decode()
    assert os.waitpid(child, 0)[1] == 0
    return said


@posix
def test_a_forked_child_computes_but_has_no_budget():
    run = v.dp_sgd(sampling_rate=0.01, noise_multiplier=1.0, steps=1000)
    session = v.Session({"x": [1.0] * 50}, epsilon=1.0)
    session.count(epsilon=0.25)
    expected = str(run.epsilon(1e-5))
    # A thread computes while the fork happens.
    busy = threading.Thread(target=lambda: [run.epsilon(1e-5) for _ in range(20)])
    busy.start()
    assert in_a_child(lambda: run.epsilon(1e-5)) == expected
    assert in_a_child(lambda: (run + run).claim(delta=1e-5).verify().is_valid) == "True"
    busy.join(WATCHDOG)
    assert in_a_child(lambda: session.count(epsilon=0.25)).startswith("InvalidInput: ")
    assert in_a_child(lambda: session.group_by("x", [1]).count(epsilon=0.25)).startswith("InvalidInput: ")
    # A session of the child's own has a budget of its own.
    assert in_a_child(lambda: len(v.Session({"x": [1.0]}, epsilon=1.0).count(epsilon=0.25))) == "1"
    assert in_a_child(lambda: v.audit(audited.noisy, claim=CLAIM, trials=40).trials) == "40"
    assert in_a_child(lambda: v.audit(audited.noisy, claim=CLAIM, trials=40, workers=1).trials) == "40"
    assert session.spent.epsilon == pytest.approx(0.25) and session.count(epsilon=0.25)


LONG = {
    "epsilon": "run = v.dp_sgd(sampling_rate=0.01, noise_multiplier=1.0, steps=1000)\nwhile True: v.best_of(run, mean_runs=10).epsilon(1e-6)",
    "one epsilon": "run = v.dp_sgd(sampling_rate=0.001, noise_multiplier=0.7, steps=10**6)\n"
    "v.best_of(run, mean_runs=30, shape=2).epsilon(1e-9)\nwhile True: pass",
    "session": "s = v.Session({'x': np.arange(1e6)}, epsilon=900)\nwhile True: s.quantile('x', 0.5, lower=0, upper=1e6, epsilon=0.001)",
    "fit": "X = np.random.default_rng(1).random((20000, 20))\nwhile True: "
    "v.sklearn.MLPClassifier((64,), bounds=(0, 1), max_iter=50).fit(X, X[:, 0] > 0.5)",
    "audit": "v.audit(lambda world, seed: time.sleep(0.01) or world + 0.0, claim=(50.0, 1e-5), trials=10**6)",
    "workers": "v.audit('time:sleep', claim=(50.0, 1e-5), trials=10**6, workers=2, max_failures=10**6)",
}
PROGRAM = """
import sys, threading, time
import numpy as np
import veracity as v
import veracity.sklearn
def work():
    {work}
{how}
"""
STOPPED = """
print("ready", flush=True)
try:
    work()
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
LEFT = """
threading.Thread(target=work, daemon=True).start()
time.sleep(0.3)
print("ready", flush=True)
"""


def program(name, how):
    text = PROGRAM.format(work=LONG[name].replace("\n", "\n    "), how=how)
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.skipif(sys.platform == "win32", reason="another way to signal there")
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_stops_a_long_call(name):
    child = program(name, STOPPED)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.7)
    child.send_signal(signal.SIGINT)
    out, told = child.communicate(timeout=WATCHDOG)
    assert (out, child.returncode) == ("interrupted\n", 0), told


@pytest.mark.parametrize("name", ["epsilon", "session", "fit", "audit"])
def test_a_program_may_end_in_the_middle_of_a_call(name):
    child = program(name, LEFT)
    out, told = child.communicate(timeout=WATCHDOG)
    assert (out, child.returncode) == ("ready\n", 0), told
    assert "panic" not in told and "Fatal" not in told


class Ours(pickle.Unpickler):
    """Makes nothing but what is ours."""

    def find_class(self, module, name):
        if module.partition(".")[0] != "veracity":
            raise pickle.UnpicklingError("not ours")
        return super().find_class(module, name)


def test_garbage_in_the_place_of_a_pickle_is_refused():
    values = [CLAIM, v.gaussian(noise_multiplier=1) * 3 + v.laplace(noise_multiplier=3), v.gaussian(noise_multiplier=1).epsilon(1e-5)]
    chance = random.Random(4)
    made = 0
    for value in values:
        try:
            honest = pickle.dumps(value)
        except TypeError as told:
            assert "pickle" in str(told)
            continue
        made += 1
        assert Ours(io.BytesIO(honest)).load() == value
        for _ in range(1500):
            garbage = bytearray(honest)
            for _ in range(chance.randint(1, 6)):
                garbage[chance.randrange(len(garbage))] = chance.randrange(256)
            for text in (bytes(garbage), bytes(garbage)[: chance.randrange(len(garbage))]):
                try:
                    Ours(io.BytesIO(text)).load()
                except BaseException as told:
                    assert type(told).__name__ != "PanicException", told
    assert made >= 2


def test_texts_of_claims_and_results_that_were_bent_are_refused_or_judged():
    """A claim whose text was bent is refused, or is verified, and then it stands only with the numbers that it had."""
    text, chance = CLAIM.to_json(), random.Random(5)
    for _ in range(400):
        at = chance.randrange(len(text))
        bent = text[:at] + chance.choice(["9", "-", "{", '"', "\x00", "é", "null", "1e400"]) + text[at + 1 :]
        try:
            found = v.verify(bent)
        except v.Error as told:
            assert "\n" not in str(told)
            continue
        if found.is_valid:
            assert v.read_claim(bent).epsilon.upper >= CLAIM.epsilon.lower


def test_nesting_of_ten_thousand_is_refused():
    for deep in ["[" * 10_000 + "]" * 10_000, '{"kind":"group","size":2,"mechanism":' * 10_000]:
        for read in (v.Mechanism.from_json, v.verify, v.read_claim):
            with pytest.raises(v.Error):
                read(deep)
    one = v.gaussian(noise_multiplier=1)
    with pytest.raises(v.InvalidInput, match="^nesting is deeper than 32"):
        for _ in range(10_000):
            one = one.group(2)
    nested: list = []
    for _ in range(10_000):
        nested = [nested]
    with pytest.raises((v.Error, TypeError, RecursionError)):
        v.audit(audited.noisy, claim=CLAIM, trials=10, settings={"deep": nested})
    with pytest.raises((v.Error, TypeError)):
        v.composed(nested)


def test_estimators_refuse_what_hides_a_value():
    class Raises:
        def __array__(self, *_, **__):
            raise RuntimeError("secret 41999")

        __len__ = __iter__ = __getitem__ = __float__ = __array__

    for estimator in (v.sklearn.GaussianNB(bounds=(0, 1)), v.sklearn.PCA(bounds=(0, 1)), v.sklearn.LogisticRegression(bounds=(0, 1))):
        for X in (Raises(), [[Raises()]] * 4, np.full(4, 41999.0), np.full((2, 2, 2), 41999.0), np.zeros((0, 2)), [["secret 41999"]] * 4, [[1j]] * 4):
            with pytest.raises(Exception) as told:
                estimator.fit(X, [0, 1, 0, 1])
            assert isinstance(told.value, (v.Error, TypeError, ValueError)), (estimator, type(X))
            assert "41999" not in str(told.value), estimator
