"""Rows of `cargo xtask bench python` about statistics: mean and histogram of 10^6 rows at ε = 1 beside diffprivlib and OpenDP.

Errors are root mean squares over 400 releases, 20 of OpenDP's, which takes seconds for one, in units that say so. All three protect one row; veracity keeps the number of rows
private, the others take it for public, where they say so.
"""

import math
import statistics
import time

ROWS, EPSILON, RELEASES, BINS = 1_000_000, 1.0, 400, 20


def timed(call, calls=5):
    call()
    times = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def root_mean_square(errors):
    return math.sqrt(statistics.fmean(error * error for error in errors))


def rows(rust):
    """All rows."""
    import numpy as np
    import veracity as v

    x = np.random.default_rng(0).normal(40, 12, ROWS).clip(0, 99)
    mean, counts = float(x.mean()), np.histogram(x, BINS, (0, 99))[0]

    def ours(question):
        return lambda: question(v.Session({"x": x}, epsilon=EPSILON))

    ask_mean = lambda s: s.mean("x", lower=0, upper=99, epsilon=EPSILON)
    ask_bins = lambda s: s.histogram("x", bins=BINS, lower=0, upper=99, epsilon=EPSILON)
    many = v.Session({"x": x}, epsilon=EPSILON * 2 * RELEASES + 1)
    error = root_mean_square([float(ask_mean(many)) - mean for _ in range(RELEASES)])
    took = timed(ours(ask_mean))
    yield "mean of 10^6 rows, epsilon 1", "veracity (rows private)", took, f"error {error:.3g}", None
    public = v.Session({"x": x}, epsilon=EPSILON * 2 * RELEASES + 1, adjacency="replace-one")
    error = root_mean_square([float(ask_mean(public)) - mean for _ in range(RELEASES)])
    again = timed(lambda: ask_mean(v.Session({"x": x}, epsilon=EPSILON, adjacency="replace-one")))
    yield "mean of 10^6 rows, epsilon 1", "veracity (rows public)", again, f"error {error:.3g}", None
    error_bins = root_mean_square([e for _ in range(RELEASES) for e in ask_bins(many).answer - counts])
    took_bins = timed(ours(ask_bins))

    try:
        yield from diffprivlib_mean(x, mean, took)
    except ImportError as why:
        yield "mean of 10^6 rows, epsilon 1", f"diffprivlib is not there ({why.name})", float("nan"), "", None
    try:
        yield from opendp_mean(x, mean, took)
    except ImportError as why:
        yield "mean of 10^6 rows, epsilon 1", f"OpenDP is not there ({why.name})", float("nan"), "", None
    yield f"histogram of 10^6 rows, {BINS} bins, epsilon 1", "veracity", took_bins, f"error {error_bins:.3g}", None
    try:
        from diffprivlib import tools

        call = lambda: tools.histogram(x, epsilon=EPSILON, bins=BINS, range=(0, 99))[0]
        error = root_mean_square([e for _ in range(100) for e in call() - counts])
        their = timed(call)
        yield f"histogram of 10^6 rows, {BINS} bins, epsilon 1", "diffprivlib", their, f"error {error:.3g}", their / took_bins
    except ImportError:
        pass
    try:
        yield from opendp_histogram(x, counts, took_bins)
    except ImportError:
        pass


def diffprivlib_mean(x, mean, ours):
    from diffprivlib import tools

    call = lambda: tools.mean(x, epsilon=EPSILON, bounds=(0, 99))
    error = root_mean_square([call() - mean for _ in range(RELEASES)])
    took = timed(call)
    yield "mean of 10^6 rows, epsilon 1", "diffprivlib (rows public)", took, f"error {error:.3g}", took / ours


def opendp_mean(x, mean, ours):
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(bounds=(0.0, 99.0)), size=len(x)), dp.symmetric_distance()
    plain = dp.t.make_mean(*space)
    measurement = plain >> dp.m.then_laplace(scale=99.0 / len(x) / EPSILON)
    given = x.tolist()
    call = lambda: measurement(given)
    error = root_mean_square([call() - mean for _ in range(20)])
    took = timed(call, 3)
    # A replaced row is two steps of the symmetric distance.
    cost = measurement.map(2)
    yield (
        "mean of 10^6 rows, epsilon 1",
        f"OpenDP (rows public, ε {cost:.3g})",
        took,
        f"error {error:.3g}",
        took / ours,
    )


def opendp_histogram(x, counts, ours):
    import numpy as np
    import opendp.prelude as dp

    dp.enable_features("contrib")
    edges = np.linspace(0, 99, BINS + 1)[1:-1].tolist()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()
    binned = space >> dp.t.then_find_bin(edges=edges)
    counted = binned >> dp.t.then_count_by_categories(list(range(BINS)), null_category=False)
    measurement = counted >> dp.m.then_laplace(scale=1.0 / EPSILON)
    given = x.tolist()
    call = lambda: np.array(measurement(given), dtype=float)
    error = root_mean_square([e for _ in range(20) for e in call() - counts])
    took = timed(call)
    yield f"histogram of 10^6 rows, {BINS} bins, epsilon 1", "OpenDP", took, f"error {error:.3g}", took / ours
