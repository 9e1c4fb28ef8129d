"""Rows of `cargo xtask bench python` about accounting: the import, and ε of DP-SGD beside the Rust call and the peers.

Each row is (what, tool, milliseconds, what it found, times ours); times are medians in this process.
"""

import json
import math
import statistics
import subprocess
import sys
import time

SAMPLING_RATE, NOISE, STEPS, DELTA = 256 / 60_000, 1.0, 2344, 1e-5


def median(call, calls=21):
    """The median time of a call in milliseconds, and what it returned last."""
    call()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        found = call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3, found


def import_time(module, calls=21):
    """The median time of importing a module in a fresh interpreter that has numpy, in milliseconds."""
    program = f"import time, numpy; start = time.perf_counter(); import {module}; print(time.perf_counter() - start)"
    run = [sys.executable, "-c", program]
    times = [float(subprocess.run(run, capture_output=True, text=True, check=True).stdout) for _ in range(calls)]
    return statistics.median(times) * 1e3


def opacus(name):
    from opacus.accountants import create_accountant

    accountant = create_accountant(name)
    accountant.history = [(NOISE, SAMPLING_RATE, STEPS)]
    return accountant.get_epsilon(DELTA)


def dp_accounting(accountant):
    import dp_accounting as dp

    step = dp.PoissonSampledDpEvent(SAMPLING_RATE, dp.GaussianDpEvent(NOISE))
    return accountant().compose(dp.SelfComposedDpEvent(step, STEPS)).get_epsilon(DELTA)


def rows(rust):
    """All rows; `rust` is the program that times the Rust call."""
    import veracity as v
    from dp_accounting import pld, rdp
    from opacus.accountants.utils import get_noise_multiplier

    yield "import beyond numpy", "veracity", import_time("veracity"), "", None

    run = v.dp_sgd(sampling_rate=SAMPLING_RATE, noise_multiplier=NOISE, steps=STEPS)
    inside = json.loads(subprocess.run([rust], capture_output=True, text=True, check=True).stdout)
    ours, found = median(lambda: run.epsilon(DELTA), 401)
    again = json.loads(subprocess.run([rust], capture_output=True, text=True, check=True).stdout)
    in_rust = min(inside["microseconds"], again["microseconds"]) / 1e3
    what = "ε of DP-SGD, 2344 steps"
    yield what, "veracity", ours, f"{found:.6f}", 1.0
    yield what, "veracity in Rust", in_rust, f"{math.ceil(inside['epsilon'] * 1e6) / 1e6:.6f}", in_rust / ours
    for tool, call, calls in [
        ("Opacus RDP", lambda: opacus("rdp"), 21),
        ("Opacus PRV", lambda: opacus("prv"), 5),
        ("dp_accounting RDP", lambda: dp_accounting(rdp.RdpAccountant), 5),
        ("dp_accounting PLD", lambda: dp_accounting(pld.PLDAccountant), 3),
    ]:
        took, found = median(call, calls)
        yield what, tool, took, f"{found:.6f}", took / ours

    what = "noise for ε = 3"
    ours, found = median(lambda: v.calibrate(run, epsilon=3, delta=DELTA).noise_multiplier)
    yield what, "veracity", ours, f"{found:.6f}", 1.0
    ask = dict(target_epsilon=3, target_delta=DELTA, sample_rate=SAMPLING_RATE, steps=STEPS, epsilon_tolerance=1e-3)
    for name, calls in [("rdp", 3), ("prv", 1)]:
        took, found = median(lambda: get_noise_multiplier(accountant=name, **ask), calls)
        yield what, f"Opacus {name.upper()}", took, f"{found:.6f}", took / ours
