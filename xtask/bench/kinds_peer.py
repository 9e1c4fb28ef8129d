"""Asks one peer one question of kinds_questions.csv, in this process, and prints one JSON object.

    python kinds_peer.py TOOL ROW

The question is asked at least once and for up to two seconds; the time is the median, without imports.
"""

import json
import math
import statistics
import sys
import time

STEPS = 1000


def grid(make, delta):
    """Both sides of dp_accounting's privacy loss distributions."""
    return tuple(make(side).get_epsilon_for_delta(delta) for side in (False, True))


def group_pld(rate, noise, times, delta, size):
    """dp_accounting's mixture of Gaussians: a binomial number of the group is in the batch.

    The grid is ten times coarser than its default, which takes more than a minute.
    """
    from dp_accounting.pld import privacy_loss_distribution as distributions

    shares = [math.comb(size, k) * rate**k * (1 - rate) ** (size - k) for k in range(size + 1)]
    one = lambda side: distributions.from_mixture_gaussian_mechanism(
        noise, list(range(size + 1)), shares, pessimistic_estimate=side, value_discretization_interval=1e-3
    )
    return grid(lambda side: one(side).self_compose(times), delta)


def renyi(event, relation, delta, times):
    import dp_accounting as dp
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(neighboring_relation=getattr(dp.NeighboringRelation, relation))
    return math.nan, accountant.compose(event, times).get_epsilon(delta)


def tree_rdp(rate, noise, times, delta, size):
    """dp_accounting's tree aggregation: every record once in a tree of `size` leaves."""
    import dp_accounting as dp

    return renyi(dp.SingleEpochTreeAggregationDpEvent(noise, size), "REPLACE_SPECIAL", delta, times)


def fixed_rdp(rate, noise, times, delta, size):
    """dp_accounting's batches without replacement. Its noise is relative to what a replacement changes: two contributions."""
    import dp_accounting as dp

    inner = dp.GaussianDpEvent(noise / 2)
    return renyi(dp.SampledWithoutReplacementDpEvent(size, int(rate), inner), "REPLACE_ONE", delta, times)


def square_root(bands):
    """The coefficients as jax_privacy makes them."""
    from jax_privacy.matrix_factorization import toeplitz

    return toeplitz.optimal_max_error_strategy_coefs(STEPS)[:bands]


def band_cyclic(rate, noise, times, delta, size):
    """jax_privacy's amplified BandMF, accounted by dp_accounting's distributions as jax_privacy does."""
    import dp_accounting as dp
    from dp_accounting.pld import PLDAccountant
    from jax_privacy.experimental import accounting
    from jax_privacy.matrix_factorization import toeplitz

    column = math.sqrt(float(toeplitz.sensitivity_squared(square_root(size), STEPS)))
    event = accounting.amplified_bandmf_event(noise / column, STEPS, num_bands=size, sampling_prob=rate)
    accountant = PLDAccountant(dp.NeighboringRelation.ADD_OR_REMOVE_ONE)
    return math.nan, accountant.compose(event, times).get_epsilon(delta)


def band_separated(rate, noise, times, delta, size):
    """jax_privacy's sensitivity with a least separation, then one Gaussian by dp_accounting's distributions."""
    from dp_accounting.pld import privacy_loss_distribution as distributions
    from jax_privacy.matrix_factorization import toeplitz

    square = toeplitz.minsep_sensitivity_squared(square_root(size), size, int(rate), STEPS)
    one = lambda side: distributions.from_gaussian_mechanism(
        noise / math.sqrt(float(square)), pessimistic_estimate=side
    )
    return grid(lambda side: one(side).self_compose(times), delta)


def allocation(rate, noise, times, delta, size):
    """PLD_accounting's adaptive bounds."""
    from PLD_accounting import gaussian_allocation_epsilon_range

    upper, lower = gaussian_allocation_epsilon_range(
        delta=delta, sigma=noise, num_steps=size, num_epochs=times
    )
    return lower, upper


TOOLS = {
    "group": group_pld,
    "tree": tree_rdp,
    "fixed-size": fixed_rdp,
    "banded-cyclic": band_cyclic,
    "banded-separated": band_separated,
    "allocation": allocation,
}


def main():
    kind, row = sys.argv[1:3]
    name, _, rate, noise, times, delta, _, size = row.split(",")
    ask = lambda: TOOLS[kind](float(rate or 1), float(noise), int(times), float(delta), int(size))
    # The first asking pays for imports and is timed only if it is slow enough for that not to matter.
    begun = time.perf_counter()
    answer = ask()
    first = time.perf_counter() - begun
    seconds = [first] if first > 50 else []
    begun = time.perf_counter()
    while first <= 50 and (len(seconds) < 3 or time.perf_counter() - begun < 2):
        start = time.perf_counter()
        answer = ask()
        seconds.append(time.perf_counter() - start)
    text = lambda x: x if math.isfinite(x) else str(x)
    lower, upper = (text(float(x)) for x in answer)
    found = {"name": name, "lower": lower, "upper": upper, "milliseconds": statistics.median(seconds) * 1e3}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
