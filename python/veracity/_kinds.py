"""A constructor for each kind of mechanism. Made from crates/core/src/spec/mod.rs: BLESS=1 cargo test -p veracity-account kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from ._veracity import Mechanism, _make_mechanism

if TYPE_CHECKING:
    from ._veracity import _Adjacency, _Number, _Numbers

__all__ = [
    "approximate",
    "best_of",
    "composed",
    "discrete_gaussian",
    "discrete_laplace",
    "dp_sgd",
    "exponential",
    "fixed_size_sampled",
    "gaussian",
    "gdp",
    "group",
    "laplace",
    "losses",
    "matrix",
    "parallel",
    "poisson_sampled",
    "pure",
    "random_allocation",
    "randomized_response",
    "rdp",
    "repeated",
    "shuffled",
    "skellam",
    "truncated_poisson_sampled",
    "zcdp",
]


def gaussian(
    *,
    noise_multiplier: _Number | None = None,
    sigma: _Number | None = None,
    sensitivity: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Gaussian noise: noise_multiplier, or sigma with sensitivity.

    Accounted as: N(μ, 1) against N(0, 1), where μ = contributions/noise_multiplier. μ² adds up over uses.

    Args:
        noise_multiplier: Noise standard deviation (gaussian) or scale (laplace) / sensitivity.
        sigma: Noise standard deviation; needs sensitivity.
        sensitivity: Maximum change of the answer by one record.
        adjacency: How neighboring datasets differ: all. A replaced record counts as two contributions.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("gaussian", {"noise_multiplier": noise_multiplier, "sigma": sigma, "sensitivity": sensitivity}, adjacency, unit)


def laplace(
    *,
    noise_multiplier: _Number | None = None,
    scale: _Number | None = None,
    sensitivity: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Laplace noise: noise_multiplier, or scale with sensitivity.

    Accounted as: losses between −ε and ε, where ε = contributions/noise_multiplier.

    Args:
        noise_multiplier: Noise standard deviation (gaussian) or scale (laplace) / sensitivity.
        scale: Scale of Laplace noise; needs sensitivity.
        sensitivity: Maximum change of the answer by one record.
        adjacency: How neighboring datasets differ: all.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("laplace", {"noise_multiplier": noise_multiplier, "scale": scale, "sensitivity": sensitivity}, adjacency, unit)


def discrete_gaussian(
    *,
    sigma: _Number,
    sensitivity: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Integer Gaussian noise. The default sensitivity is 1.

    Accounted as: P(x) ∝ e^{−x²/2σ²} on the integers, shifted by the sensitivity. The losses lie on a lattice.

    Args:
        sigma: Noise standard deviation; needs sensitivity.
        sensitivity: Maximum change of the answer by one record.
        adjacency: How neighboring datasets differ: all.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("discrete-gaussian", {"sigma": sigma, "sensitivity": sensitivity}, adjacency, unit)


def discrete_laplace(
    *,
    scale: _Number,
    sensitivity: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Integer Laplace noise. The default sensitivity is 1.

    Accounted as: P(x) ∝ e^{−|x|/scale} on the integers, shifted by the sensitivity.

    Args:
        scale: Scale of Laplace noise; needs sensitivity.
        sensitivity: Maximum change of the answer by one record.
        adjacency: How neighboring datasets differ: all.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("discrete-laplace", {"scale": scale, "sensitivity": sensitivity}, adjacency, unit)


def skellam(
    *,
    variance: _Number,
    sensitivity: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Integer Skellam noise, the difference of two Poisson variables. The default sensitivity is 1.

    Accounted as: P(x) = e^{−variance} I_{|x|}(variance) on the integers, shifted by the sensitivity.

    Args:
        variance: Variance of the noise.
        sensitivity: Maximum change of the answer by one record.
        adjacency: How neighboring datasets differ: all.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("skellam", {"variance": variance, "sensitivity": sensitivity}, adjacency, unit)


def randomized_response(
    *,
    noise_parameter: _Number,
    buckets: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Each report is random with probability noise_parameter, and true otherwise.

    The usual adjacency is replace-one.

    Accounted as: the true bucket with probability 1 − p + p/k, each other bucket with p/k.

    Args:
        noise_parameter: Probability of a random report.
        buckets: Number of possible reports.
        adjacency: How neighboring datasets differ: replace-one, zero-out.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("randomized-response", {"noise_parameter": noise_parameter, "buckets": buckets}, adjacency, unit)


def exponential(
    *,
    epsilon: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """The exponential mechanism, by the range of its losses.

    Accounted as: two losses t and t − ε for the worst t. Adaptive choices use their own recursion (method
        optimal).

    Args:
        epsilon: Range of the losses, 2 × sensitivity ÷ temperature.
        adjacency: How neighboring datasets differ: all. epsilon is the range of losses under that adjacency.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("exponential", {"epsilon": epsilon}, adjacency, unit)


def pure(
    *,
    epsilon: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Declared: epsilon-differential privacy.

    Accounted as: randomized response with odds e^ε, the worst case of all ε-private mechanisms.

    Args:
        epsilon: A number.
        adjacency: How neighboring datasets differ: the adjacency that you declared it for.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("pure", {"epsilon": epsilon}, adjacency, unit)


def approximate(
    *,
    epsilon: _Number,
    delta: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Declared: (epsilon, delta)-differential privacy.

    Accounted as: the same, and the data are revealed with probability δ.

    Args:
        epsilon: A number.
        delta: A number.
        adjacency: How neighboring datasets differ: the adjacency that you declared it for.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("approximate", {"epsilon": epsilon, "delta": delta}, adjacency, unit)


def zcdp(
    *,
    rho: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Declared: rho-zero-concentrated differential privacy.

    Accounted as: Rényi divergence of order α at most ρα.

    Args:
        rho: A number.
        adjacency: How neighboring datasets differ: the adjacency that you declared it for.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("zcdp", {"rho": rho}, adjacency, unit)


def rdp(
    *,
    orders: _Numbers,
    values: _Numbers,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Declared: Rényi divergences, one value for each order.

    Accounted as: Rényi divergence of each order at most its value.

    Args:
        orders: A list of numbers.
        values: A list of numbers.
        adjacency: How neighboring datasets differ: the adjacency that you declared it for.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("rdp", {"orders": orders, "values": values}, adjacency, unit)


def gdp(
    *,
    mu: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Declared: mu-Gaussian differential privacy.

    Accounted as: as hard to distinguish as N(μ, 1) and N(0, 1).

    Args:
        mu: A number.
        adjacency: How neighboring datasets differ: the adjacency that you declared it for.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("gdp", {"mu": mu}, adjacency, unit)


def poisson_sampled(
    mechanism: Mechanism,
    *,
    rate: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """A mechanism on a batch that each record enters with probability rate.

    Accounting assumes Poisson-sampled batches. The same as `mechanism.sampled(rate)`.

    Accounted as: (1 − q)Q + qP against Q, and the reverse. Gaussians on one batch count as one.

    Args:
        rate: A number.
        mechanism: The mechanism inside.
        adjacency: How neighboring datasets differ: add-remove, zero-out, and replace-one (exact for Gaussians,
            an upper bound for other noise). Groups of a Gaussian are mixtures of Gaussians. For declared
            guarantees and randomized response, sampling reduces ε only under add-remove. Under zero-out and
            replace-one it multiplies δ by the rate, because the declaration does not compare a batch with and
            without the record.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("poisson-sampled", {"rate": rate, "mechanism": mechanism}, adjacency, unit)


def fixed_size_sampled(
    mechanism: Mechanism,
    *,
    batch: _Number,
    population: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """A mechanism on a batch of fixed size, drawn without replacement.

    Accounted as: (1 − γ)Q + γP against Q, where P and Q differ by a replaced record and γ = batch/population.

    Args:
        batch: An integer.
        population: An integer.
        mechanism: The mechanism inside.
        adjacency: How neighboring datasets differ: replace-one (between an upper bound and the ε of some
            dataset), and add-remove (exact) for batches smaller than the population. With one record fewer, a
            batch of the whole population does not exist. A gdp declared for add-remove counts twice: inside
            the batch, one record replaces another.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("fixed-size-sampled", {"batch": batch, "population": population, "mechanism": mechanism}, adjacency, unit)


def truncated_poisson_sampled(
    mechanism: Mechanism,
    *,
    rate: _Number,
    most: _Number,
    population: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """A mechanism on a Poisson batch with at most `most` records. Surplus records are dropped at random.

    Accounted as: as poisson-sampled. With the probability that the other records fill the batch, one record
        replaces another.

    Args:
        rate: A number.
        most: An integer.
        population: An integer.
        mechanism: The mechanism inside.
        adjacency: How neighboring datasets differ: all, as an upper bound. Only add-remove for a declared gdp.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("truncated-poisson-sampled", {"rate": rate, "most": most, "population": population, "mechanism": mechanism}, adjacency, unit)


def random_allocation(
    mechanism: Mechanism,
    *,
    batches: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """One epoch that assigns each record to one of the batches at random (balls and bins).

    Accounted as: N(0, I) with one of t coordinates shifted, against N(0, I).

    Args:
        batches: An integer.
        mechanism: The mechanism inside.
        adjacency: How neighboring datasets differ: add-remove, zero-out. Only add-remove for a declared gdp.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("random-allocation", {"batches": batches, "mechanism": mechanism}, adjacency, unit)


def shuffled(
    mechanism: Mechanism,
    *,
    batches: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """One epoch over the batches of a shuffled dataset.

    The usual adjacency is zero-out.

    Accounted as: at most one use of the mechanism. `veracity batching` prints a lower bound too.

    Args:
        batches: An integer.
        mechanism: The mechanism inside.
        adjacency: How neighboring datasets differ: zero-out, replace-one.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("shuffled", {"batches": batches, "mechanism": mechanism}, adjacency, unit)


def matrix(
    *,
    strategy: Mapping[str, Any],
    participation: Mapping[str, Any],
    noise_multiplier: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Correlated noise (DP-FTRL). The strategy is tree, banded or rows. The participation is once, separated or cyclic-poisson.

    `strategy` is {'kind': 'tree', 'steps': …}, {'kind': 'banded', 'steps': …, 'coefficients': […]} or {'kind':
        'rows', 'rows': [[…], …]}. `participation` is {'kind': 'once'}, {'kind': 'separated', 'times': …,
        'separation': …} or {'kind': 'cyclic-poisson', 'groups': …, 'rate': …}.

    Accounted as: one Gaussian of the strategy's sensitivity. With cyclic Poisson sampling, a banded strategy
        gives Poisson-sampled Gaussians.

    Args:
        strategy: A dict, as `strategy` in files.
        participation: A dict, as `participation` in files.
        noise_multiplier: Noise standard deviation (gaussian) or scale (laplace) / sensitivity.
        adjacency: How neighboring datasets differ: all.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("matrix", {"strategy": strategy, "participation": participation, "noise_multiplier": noise_multiplier}, adjacency, unit)


def best_of(
    mechanism: Mechanism,
    *,
    mean_runs: _Number,
    shape: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """The best of a random number of runs, which is Poisson, or negative binomial of this shape.

    Accounted as: Rényi divergences of one run, or its profile, with the distribution of the number of runs.

    Args:
        mean_runs: A number.
        shape: A number.
        mechanism: The mechanism inside.
        adjacency: How neighboring datasets differ: the adjacency of the mechanism.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("best-of", {"mean_runs": mean_runs, "shape": shape, "mechanism": mechanism}, adjacency, unit)


def losses(
    first: Mapping[str, Any],
    second: Mapping[str, Any] | None = None,
    *,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Declared: a privacy loss distribution as losses, probabilities and infinite. `second` is for the reverse order.

    `first` is {'losses': […], 'probabilities': […], 'infinite': …}. `second` is the same for the other order
        of the datasets.

    Accounted as: the list itself. The reverse order of the datasets follows from it unless given.

    Args:
        first: A dict, as `losses` in files.
        second: A dict, as `losses` in files.
        adjacency: How neighboring datasets differ: the adjacency that you declared it for.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("losses", {"first": first, "second": second}, adjacency, unit)


def repeated(
    mechanism: Mechanism,
    *,
    times: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """A mechanism, repeated `times` times.

    The same as `mechanism * times`.

    Accounted as: the losses of all uses, added.

    Args:
        times: An integer.
        mechanism: The mechanism inside.
        adjacency: How neighboring datasets differ: the adjacency of the mechanism.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("repeated", {"times": times, "mechanism": mechanism}, adjacency, unit)


def composed(
    parts: Iterable[Mechanism],
    *,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Mechanisms one after another.

    The same as `a + b`.

    Accounted as: the losses of all parts, added.

    Args:
        parts: Mechanisms.
        adjacency: How neighboring datasets differ: one adjacency for all parts.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("composed", {"parts": parts}, adjacency, unit)


def parallel(
    parts: Iterable[Mechanism],
    *,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Mechanisms on disjoint parts of the data.

    Accounted as: the worst part. Under replace-one two parts, because a record leaves one and enters the
        other.

    Args:
        parts: Mechanisms.
        adjacency: How neighboring datasets differ: add-remove, zero-out. Also replace-one for parts that are
            not declared or sampled.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("parallel", {"parts": parts}, adjacency, unit)


def group(
    mechanism: Mechanism,
    *,
    size: _Number,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """A mechanism, for `size` records that change together.

    The same as `mechanism.group(size)`.

    Accounted as: several records together: shifts and ranges add up, and batches hold a random number of them.

    Args:
        size: An integer.
        mechanism: The mechanism inside.
        adjacency: How neighboring datasets differ: the adjacency of the mechanism.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("group", {"size": size, "mechanism": mechanism}, adjacency, unit)


def dp_sgd(
    *,
    sampling_rate: _Number | None = None,
    batch_size: _Number | None = None,
    dataset_size: _Number | None = None,
    noise_multiplier: _Number,
    steps: _Number | None = None,
    epochs: _Number | None = None,
    adjacency: _Adjacency | None = None,
    unit: str | None = None,
) -> Mechanism:
    """Gaussian noise on Poisson batches. Give sampling_rate, or batch_size with dataset_size, and steps or epochs.

    Accounting assumes Poisson-sampled batches: each record enters each batch independently. Shuffled batches
        leak another amount, which can be larger. `veracity batching` prints both. A rate from sizes, and steps
        from epochs, are rounded up.

    Accounted as: poisson-sampled gaussian, repeated.

    Args:
        sampling_rate: Probability that a record enters a batch.
        batch_size: Expected batch size; needs dataset-size.
        dataset_size: Number of records.
        noise_multiplier: Noise standard deviation (gaussian) or scale (laplace) / sensitivity.
        steps: Number of steps.
        epochs: Number of passes over the data, instead of steps.
        adjacency: How neighboring datasets differ: as poisson-sampled.
        unit: Privacy unit that one record stands for.

    Returns:
        A `Mechanism`.

    Raises:
        InvalidInput: A value is missing or out of its range.
    """
    return _make_mechanism("dp-sgd", {"sampling_rate": sampling_rate, "batch_size": batch_size, "dataset_size": dataset_size, "noise_multiplier": noise_multiplier, "steps": steps, "epochs": epochs}, adjacency, unit)
