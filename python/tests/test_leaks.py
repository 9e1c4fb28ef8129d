"""Memory after many calls is that before them: each kind of call in a process of its own, and a twin that leaks on purpose.

What is measured is what the process holds now, not the most that it ever held, which earlier tests would hide.
"""

import subprocess
import sys

import pytest

#: A leak of 64 bytes in each of 10^5 calls is 6 MiB; of 500 in each of 10^4, 5.
MOST_GROWN = 4 << 20

PROGRAM = """
import gc, os, sys
import veracity as v

one, plan = v.gaussian(noise_multiplier=1), v.gaussian(noise_multiplier=1) * 2 + v.laplace(noise_multiplier=3)
claim = one.claim(delta=1e-5)
data = {"x": [1.0, None, 3.0]}
poor, kept, open_now = v.Session(data, epsilon=1, seed=1), [], []

def refused(call):
    try:
        call()
    except v.Error:
        return
    raise SystemExit("was answered")

def count(i):
    if i % 500 == 0:
        # A session keeps its answers, so it is a new one now and then.
        open_now[:] = [v.Session(data, epsilon=1000, seed=1)]
    open_now[0].count("x", epsilon=0.01)

CALLS = {
    "epsilon": lambda i: one.epsilon(1e-5),
    "values": lambda i: (hash(one * 2 + plan), repr(plan), plan == one, v.Mechanism.from_json(plan.to_json())),
    "claims": lambda i: claim.to_json(),
    "refused": lambda i: (
        refused(lambda: v.gaussian(noise_multiplier=-1)),
        refused(lambda: poor.count("y", epsilon=0.5)),
        refused(lambda: poor.mean("x", lower=2, upper=1, epsilon=0.5)),
    ),
    "over budget": lambda i: refused(lambda: poor.count(epsilon=5)),
    "counts": count,
    "leaks": lambda i: kept.append(bytes(64)),
}

def held():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

call, times = CALLS[sys.argv[1]], int(sys.argv[2])
for i in range(times // 10):
    call(i)
before = held()
for i in range(times):
    call(i)
print(held() - before)
"""


def grown(name, times):
    """By how many bytes a process grows in so many calls."""
    told = subprocess.run([sys.executable, "-c", PROGRAM, name, str(times)], capture_output=True, text=True, check=True)
    return int(told.stdout)


pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")


@pytest.mark.parametrize(
    "name, times",
    [("epsilon", 100_000), ("values", 50_000), ("claims", 100_000), ("refused", 100_000), ("over budget", 10_000), ("counts", 10_000)],
)
def test_many_calls_leave_nothing(name, times):
    assert grown(name, times) < MOST_GROWN


def test_a_leak_is_seen():
    assert grown("leaks", 100_000) >= MOST_GROWN
