"""Times the peers' noise and local privacy and prints one JSON object a line: task, tool, per_second.

Discrete noise is drawn as a vector, which spares the peers a call per draw. pure-ldp is timed on fewer reports than ours
and the speed is per report; its estimator's fixed cost is then counted too high by at most a few percent. Its count-mean
sketch is left out: it does not run with numpy 2.
"""

import json
import time

import numpy as np


def say(task, tool, per_second):
    print(json.dumps({"task": task, "tool": tool, "per_second": per_second}), flush=True)


def best(work, seconds=1.0):
    """The shortest time of one run of `work`, over at least three runs and about `seconds`."""
    times = []
    begun = time.perf_counter()
    while len(times) < 3 or time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def opendp():
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    domain = dp.vector_domain(dp.atom_domain(T=int))
    count = 50_000
    zeros = [0] * count
    for scale in (10.0, 1e6):
        laplace = dp.m.make_laplace(domain, dp.l1_distance(T=int), scale=scale)
        say(f"discrete Laplace, scale {scale:.0f}", "opendp 0.16", count / best(lambda: laplace(zeros)))
        gaussian = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
        say(f"discrete Gaussian, sigma {scale:.0f}", "opendp 0.16", count / best(lambda: gaussian(zeros)))


def numpy_vectors():
    out = {np.float32: np.empty(1 << 16, np.float32), np.float64: np.empty(1 << 16)}
    for name in ("SFC64", "PCG64DXSM", "Philox"):
        for kind, array in out.items():
            generator = np.random.Generator(getattr(np.random, name)(1))

            def work():
                for _ in range(50):
                    generator.standard_normal(out=array, dtype=kind)

            say("vector Gaussians", f"numpy {name} {kind.__name__}", 50 * array.size / best(work))


def pure_ldp():
    from pure_ldp.frequency_oracles.direct_encoding import DEClient, DEServer
    from pure_ldp.frequency_oracles.hadamard_response import HadamardResponseClient, HadamardResponseServer
    from pure_ldp.frequency_oracles.local_hashing import LHClient, LHServer
    from pure_ldp.frequency_oracles.unary_encoding import UEClient, UEServer

    k, epsilon = 1024, 1.0
    hadamard = HadamardResponseServer(epsilon, k)
    peers = [
        ("grr", 200_000, DEClient(epsilon, k), DEServer(epsilon, k)),
        ("sue", 20_000, UEClient(epsilon, k, use_oue=False), UEServer(epsilon, k, use_oue=False)),
        ("oue", 20_000, UEClient(epsilon, k, use_oue=True), UEServer(epsilon, k, use_oue=True)),
        ("olh", 2_000, LHClient(epsilon, k, use_olh=True), LHServer(epsilon, k, use_olh=True)),
        ("hadamard", 100_000, HadamardResponseClient(epsilon, k, hadamard.get_hash_funcs()), hadamard),
    ]
    for name, count, client, server in peers:
        values = np.random.default_rng(1).integers(1, k + 1, size=count).tolist()
        start = time.perf_counter()
        for value in values:
            server.aggregate(client.privatise(value))
        server.estimate_all(range(1, k + 1), suppress_warnings=True)
        say(f"local reports, k 1024, {name}", "pure-ldp 1.2.0", count / (time.perf_counter() - start))


if __name__ == "__main__":
    opendp()
    numpy_vectors()
    pure_ldp()
