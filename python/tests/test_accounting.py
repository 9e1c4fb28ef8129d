"""What a mechanism leaks, asked from Python."""

import math

import numpy
import pytest
import veracity as v

RUN = v.dp_sgd(batch_size=256, dataset_size=60_000, noise_multiplier=1.0, epochs=10)


def normal(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def test_the_gaussian_is_certified_from_both_sides():
    epsilon = v.gaussian(noise_multiplier=1).epsilon(1e-5)
    # mpmath 1.3, 50 digits: findroot(lambda e: ncdf(1/2-e) - exp(e)*ncdf(-1/2-e) - 1e-5, 4.4)
    assert epsilon.lower <= 4.3771780956812246 <= epsilon.upper
    assert epsilon.upper - epsilon.lower < 1e-9
    assert float(epsilon) == epsilon.upper and epsilon.method == "exact" and epsilon.fallback is None


def test_epsilon_and_delta_are_inverse():
    epsilon = RUN.epsilon(delta=1e-5)
    assert RUN.delta(epsilon=epsilon.upper).lower <= 1e-5 <= RUN.delta(epsilon=epsilon.lower).upper


def test_every_method_bounds_the_exact_answer():
    exact = RUN.epsilon(1e-5)
    for method in ["pld", "rdp", "moments", "zcdp", "basic"]:
        try:
            assert RUN.epsilon(1e-5, method=method).upper >= exact.lower, method
        except v.NoTheorem as refusal:
            assert method == "zcdp" and str(refusal).startswith("no theorem for ")
    guess = RUN.epsilon(1e-5, method="gdp-clt")
    assert guess.lower is None and guess.upper is None and guess.approximate > 0
    with pytest.raises(v.NotCertified, match="^gdp-clt gives an approximation"):
        float(guess)
    with pytest.raises(v.InvalidInput, match="^method is magic, expected exact, pld, "):
        RUN.epsilon(1e-5, method="magic")


def test_an_interval_says_what_is_certain():
    epsilon = RUN.epsilon(1e-5)
    middle = 0.5 * (epsilon.lower + epsilon.upper)
    assert epsilon <= epsilon.upper and not epsilon < epsilon.upper
    assert epsilon >= epsilon.lower and not epsilon > epsilon.lower
    assert not epsilon <= middle and not epsilon >= middle and middle in epsilon
    assert 0 not in epsilon and epsilon == RUN.epsilon(1e-5) and epsilon != RUN.epsilon(1e-6)
    assert hash(epsilon) == hash(RUN.epsilon(1e-5))
    above = v.rdp(orders=[2, 64], values=[0.01, 0.3]).epsilon(1e-6)
    assert above.lower is None and above.upper > 0 and not above > 0 and above.fallback.startswith("no theorem")


def test_an_interval_is_printed_outward():
    epsilon = RUN.epsilon(1e-5)
    shown = eval(repr(epsilon), {"Interval": lambda lower, upper, method: (lower, upper)})
    assert shown[0] <= epsilon.lower <= epsilon.upper <= shown[1]
    for spec in [".1f", ".3f", ".6f", ".3g", ".2e", "10.4f", ".12f"]:
        printed = float(format(epsilon, spec))
        assert printed >= epsilon.upper, spec
        digits = int(spec.partition(".")[2].rstrip("efg"))
        assert printed <= epsilon.upper * (1 + 10.0 ** (1 - digits)) + 10.0**-digits, spec
    # The twin that shows rounding to the nearest would fail.
    assert float(f"{epsilon.upper:.7f}") < epsilon.upper <= float(f"{epsilon:.7f}")
    with pytest.raises(ValueError):
        format(epsilon, "s")


def test_refusals_have_classes():
    with pytest.raises(v.NoTheorem, match="^no theorem for randomized"):
        v.randomized_response(noise_parameter=0.5, buckets=4).epsilon(0, adjacency="add-remove")
    with pytest.raises(v.NotCertified, match="^epsilon is infinite at delta 0"):
        v.gaussian(noise_multiplier=1).epsilon(0)
    with pytest.raises(v.InvalidInput, match="^delta is 1.5, expected 0 ≤ delta < 1$"):
        RUN.epsilon(1.5)


def test_a_calibrated_setting_is_within_the_budget_and_no_wider():
    found = v.calibrate(RUN, epsilon=3, delta=1e-5)
    assert found.mechanism.epsilon(1e-5).upper <= 3 and found.epsilon.upper <= 3
    less = v.dp_sgd(batch_size=256, dataset_size=60_000, noise_multiplier=found.noise_multiplier * 0.999, epochs=10)
    assert less.epsilon(1e-5).lower > 3
    steps = v.calibrate(RUN, epsilon=3, delta=1e-5, solve="steps")
    one = v.gaussian(noise_multiplier=1).sampled(rate=256 / 60_000 * (1 + 2**-52))
    assert (one * steps.steps).epsilon(1e-5).upper <= 3 < (one * (steps.steps * 1.001 // 1 + 1)).epsilon(1e-5).upper
    rate = v.calibrate(RUN, epsilon=3, delta=1e-5, solve="sampling-rate")
    assert rate.noise_multiplier is None and rate.mechanism.epsilon(1e-5).upper <= 3
    assert "sampling_rate=" in repr(rate) and "steps=" in repr(steps) and "noise_multiplier=" in repr(found)
    with pytest.raises(v.InvalidInput, match="^kind is pure, but only these kinds can be solved for noise: gaussian, "):
        v.calibrate(v.pure(epsilon=1), epsilon=3, delta=1e-5)


def test_the_gaussian_curve_lies_between_its_ends():
    alphas = numpy.linspace(0.001, 0.999, 41)
    curve = v.gaussian(noise_multiplier=1).tradeoff(alphas)
    # Bisection for the quantile: f(α) = Φ(Φ⁻¹(1 − α) − 1).
    for alpha, lower, upper in zip(alphas, curve.lower, curve.upper):
        low, high = -10.0, 10.0
        for _ in range(80):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if normal(middle) < 1 - alpha else (low, middle)
        truth = normal(low - 1)
        assert lower <= truth <= upper and upper - lower < 2e-3, alpha
    assert (curve.alphas == alphas).all() and len(curve) == 41 and curve.method == "exact"
    with pytest.raises(ValueError):
        curve.lower[0] = 0.0


def test_a_curve_without_lower_ends_says_so():
    curve = v.rdp(orders=[2, 64], values=[0.01, 0.3]).tradeoff([0.1, 0.5])
    assert curve.upper is None and (curve.lower > 0).all()
    assert len(RUN.tradeoff(0.5)) == 1
    assert (RUN.tradeoff([0.1, 0.2]).lower <= RUN.tradeoff([0.1, 0.2]).upper).all()
    with pytest.raises(v.InvalidInput, match="^alpha is 1.5, expected 0 ≤ alpha ≤ 1$"):
        RUN.tradeoff([0.1, 1.5])


def test_an_explanation_has_words_and_fields():
    found = v.explain(RUN, delta=1e-5)
    assert str(found).startswith("epsilon ≤ ") and "Being found." in found.text
    assert found.epsilon == RUN.epsilon(1e-5).upper and found.delta == 1e-5
    assert found.odds == pytest.approx(math.exp(found.epsilon)) and 0 < found.advantage < 1
    assert [attack.false_positive_rate for attack in found.attacks] == [0.001, 0.01, 0.1]
    assert [prior for prior, _ in found.attacks[0].posteriors] == [0.01, 0.5]
    assert [group.size for group in found.groups] == [2, 5]
    assert '"veracity.explain/2"' in found.to_json()
    alone = v.explain(epsilon=1, delta=1e-6, priors=[0.2])
    assert alone.epsilon == 1 and "as given" in alone.text and alone.attacks[0].posteriors[0][0] == 0.2
    with pytest.raises(v.InvalidInput, match="^delta and epsilon are both given"):
        v.explain(RUN, delta=1e-5, epsilon=1)
    with pytest.raises(v.InvalidInput, match="^mechanism is missing"):
        v.explain(epsilon=1)
    with pytest.raises(v.InvalidInput, match="^prior is 1, expected 0 < prior < 1$"):
        v.explain(RUN, delta=1e-5, priors=[1])


def test_accounting_of_dp_sgd_says_that_batches_are_poisson_sampled():
    for documented in (v.dp_sgd, v.poisson_sampled, v.prv.DPSGDAccountant, v.prv.PoissonSubsampledGaussianMechanism):
        assert "Poisson-sampled" in documented.__doc__, documented
    assert "`veracity batching`" in v.dp_sgd.__doc__
