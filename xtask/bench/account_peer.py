"""Asks one peer one benchmark question, in this process, and prints one JSON object.

    python account_peer.py TOOL ROW      # ROW is a line of account_questions.csv

The question is asked at least once and for up to two seconds; the time is the median, without imports.
"""

import json
import math
import resource
import statistics
import sys
import time


def pld(kind, rate, noise, times, delta, epsilon):
    """dp_accounting's privacy loss distributions, at their default grid; the optimistic side is the lower end."""
    from dp_accounting import calibrate_dp_mechanism
    from dp_accounting.pld import privacy_loss_distribution as distributions
    from dp_accounting.pld.pld_privacy_accountant import PLDAccountant

    if epsilon:
        make = lambda sigma: event(kind, rate, sigma, times)
        found = calibrate_dp_mechanism(PLDAccountant, make, epsilon, delta)
        return found, found

    def side(pessimistic):
        options = {"pessimistic_estimate": pessimistic, "value_discretization_interval": 1e-4}
        if kind == "laplace":
            one = distributions.from_laplace_mechanism(noise, **options)
        else:
            one = distributions.from_gaussian_mechanism(noise, sampling_prob=rate, **options)
        return one.self_compose(times).get_epsilon_for_delta(delta)

    return side(False), side(True)


def rdp(kind, rate, noise, times, delta, epsilon):
    """dp_accounting's Renyi accountant: an upper end only."""
    from dp_accounting import calibrate_dp_mechanism
    from dp_accounting.rdp import RdpAccountant

    if epsilon:
        make = lambda sigma: event(kind, rate, sigma, times)
        found = calibrate_dp_mechanism(RdpAccountant, make, epsilon, delta)
        return found, found
    return math.nan, RdpAccountant().compose(event(kind, rate, noise, times)).get_epsilon(delta)


def prv(kind, rate, noise, times, delta, epsilon):
    """prv_accountant, with an error of 0.01 in epsilon and a thousandth of delta."""
    from prv_accountant import GaussianMechanism, LaplaceMechanism, PoissonSubsampledGaussianMechanism, PRVAccountant
    from prv_accountant.dpsgd import find_noise_multiplier

    if epsilon:
        found = find_noise_multiplier(rate, times, epsilon, delta, eps_error=min(0.01, epsilon / 10))
        return found, found
    if kind == "laplace":
        one = LaplaceMechanism(mu=1 / noise)
    elif kind == "gaussian":
        one = GaussianMechanism(noise_multiplier=noise)
    else:
        one = PoissonSubsampledGaussianMechanism(sampling_probability=rate, noise_multiplier=noise)
    accountant = PRVAccountant(
        prvs=[one], max_self_compositions=[times], eps_error=0.01, delta_error=delta / 1000
    )
    lower, _, upper = accountant.compute_epsilon(delta=delta, num_self_compositions=[times])
    return lower, upper


def event(kind, rate, noise, times):
    import dp_accounting as dp

    one = dp.LaplaceDpEvent(noise) if kind == "laplace" else dp.GaussianDpEvent(noise)
    if kind == "dp-sgd":
        one = dp.PoissonSampledDpEvent(rate, one)
    return dp.SelfComposedDpEvent(one, times)


def main():
    tool, row = sys.argv[1:3]
    name, kind, rate, noise, times, delta, epsilon = row.split(",")
    question = (
        kind,
        float(rate or 1),
        float(noise or "nan"),
        int(times),
        float(delta),
        float(epsilon) if epsilon else None,
    )
    ask = {"pld": pld, "rdp": rdp, "prv": prv}[tool]
    ask_once = lambda: ask(*question)
    # The first asking pays for imports and is timed only if it is slow enough for that not to matter.
    begun = time.perf_counter()
    answer = ask_once()
    first = time.perf_counter() - begun
    seconds = [first] if first > 5 else []
    begun = time.perf_counter()
    while not seconds or (first < 5 and (len(seconds) < 3 or time.perf_counter() - begun < 2)):
        start = time.perf_counter()
        answer = ask_once()
        seconds.append(time.perf_counter() - start)
    lower, upper = (float(x) for x in answer)
    text = lambda x: x if math.isfinite(x) else str(x)
    milliseconds = statistics.median(seconds) * 1e3
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = {"name": name, "lower": text(lower), "upper": text(upper), "milliseconds": milliseconds, "peak_kib": peak}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
