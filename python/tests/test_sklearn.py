"""Private estimators of scikit-learn."""

import json
import math
import pickle
import warnings

import numpy as np
import pytest
import veracity as v
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from veracity.sklearn import (
    EXPECTED_FAILED_CHECKS,
    PCA,
    GaussianNB,
    KMeans,
    LinearRegression,
    LogisticRegression,
    MLPClassifier,
    Ridge,
    StandardScaler,
)

# Far more than anyone should spend: the checks have a few dozen rows, and are about the interface.
CHECKED = [
    LogisticRegression(epsilon=20, bounds=(-4, 4)),
    LinearRegression(epsilon=100, bounds=(-4, 4), target_bounds=(-5, 5)),
    Ridge(epsilon=100, bounds=(-4, 4), target_bounds=(-5, 5)),
    GaussianNB(epsilon=100, bounds=(-10, 10)),
    StandardScaler(epsilon=100, bounds=(-10, 10)),
    PCA(epsilon=100, bounds=(-10, 10)),
    KMeans(3, epsilon=100, bounds=(-10, 10)),
    MLPClassifier((8,), epsilon=100, bounds=(-10, 10), max_iter=10),
]
NAMES = [type(estimator).__name__ for estimator in CHECKED]


@pytest.fixture(autouse=True)
def no_fits_yet():
    """Each test counts its own fits; test_sklearn_fits.py is about several."""
    v.sklearn.forget_fits()


def two_classes(rows=4000, width=4, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return np.clip(0.5 + 0.18 * (2 * y - 1)[:, None] + 0.15 * rng.normal(size=(rows, width)), 0, 1), y


def each(epsilon, random_state=3, **how):
    """Every estimator at one budget for data between 0 and 1."""
    said = {"epsilon": epsilon, "delta": 1e-5, "bounds": (0, 1), "random_state": random_state, **how}
    return [
        LogisticRegression(**said),
        LinearRegression(target_bounds=(0, 1), **said),
        Ridge(target_bounds=(0, 1), **said),
        GaussianNB(**said),
        StandardScaler(**said),
        PCA(2, **said),
        KMeans(2, **said),
        MLPClassifier((4,), max_iter=5, **said),
    ]


@pytest.mark.parametrize("estimator", CHECKED, ids=NAMES)
def test_scikit_learns_own_checks_pass_but_for_the_exceptions_listed(estimator):
    name = type(estimator).__name__
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = check_estimator(estimator, expected_failed_checks=EXPECTED_FAILED_CHECKS[name], on_fail=None)
    assert [one["check_name"] for one in done if one["status"] == "failed"] == []
    # No exception is listed that is none.
    assert {one["check_name"] for one in done if one["status"] == "xfail"} == set(EXPECTED_FAILED_CHECKS[name])
    assert len(done) > 40


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
def test_every_fit_has_a_claim_within_its_budget(epsilon):
    X, y = two_classes(600)
    for estimator in each(epsilon):
        v.sklearn.forget_fits()
        claim = estimator.fit(X, y).claim_
        assert 0.9 * epsilon < claim.epsilon.upper <= epsilon and claim.delta == 1e-5, estimator
        assert claim.adjacency == "add-remove" and claim.unit == "row"
        assert '"for_release": false' in claim.to_json() and "seeded" in claim.to_json()
        assert any("looking at the data" in said for said in estimator.assumes_)
    v.sklearn.forget_fits()
    real = GaussianNB(epsilon=epsilon, bounds=(0, 1)).fit(X, y)
    assert '"for_release": true' in real.claim_.to_json() and real.claim_.verify()


def test_they_learn_at_epsilon_one():
    X, y = two_classes(8000)
    for estimator in each(1.0):
        estimator.fit(X, y if not isinstance(estimator, (LinearRegression, Ridge)) else X @ [0.4, 0.3, 0.2, 0.1])
        if hasattr(estimator, "predict_proba"):
            assert estimator.score(X, y) > 0.9, estimator
            assert np.allclose(estimator.predict_proba(X).sum(axis=1), 1)
        elif isinstance(estimator, (LinearRegression, Ridge)):
            assert estimator.score(X, X @ [0.4, 0.3, 0.2, 0.1]) > 0.8, estimator
        elif isinstance(estimator, StandardScaler):
            scaled = estimator.transform(X)
            assert np.all(np.abs(scaled.mean(axis=0)) < 0.1) and np.all(np.abs(scaled.std(axis=0) - 1) < 0.15)
            assert np.allclose(estimator.inverse_transform(scaled), X)
        elif isinstance(estimator, PCA):
            # The classes lie along the diagonal.
            assert abs(estimator.components_[0] @ np.full(4, 0.5)) > 0.98
        else:
            found = estimator.predict(X) == y
            assert max(found.mean(), 1 - found.mean()) > 0.9


def test_noise_of_the_sums_has_the_declared_scale():
    """The means of a scaler of 0 rows but one, 3000 columns: standard normals over the count are known but for the noise.

    Level 1e-6 by the normal tail of a binomial count, exact; twins of half and of double noise fall."""
    rows = np.zeros((1, 3000))
    noises = {}
    for epsilon in (0.5, 1.0, 2.0):
        scaler = StandardScaler(epsilon=epsilon, bounds=(-1, 1), random_state=5)
        noise = v._veracity._gaussian_noise(epsilon, 1e-5, 1)
        (part,), mechanism = scaler._sums(rows, "box", ["entries"], noise, 5)
        # One row moves the sums by √3000 at most.
        noises[epsilon] = (part["entries"], noise * math.sqrt(3000))
        assert mechanism.epsilon(1e-5) <= epsilon
    values, deviation = noises[1.0]

    def is_plausible(values):
        p = math.erfc(1 / math.sqrt(2))
        k, n = int(np.sum(np.abs(values) > deviation)), len(values)
        log = lambda i: (
            math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
        )
        above = math.fsum(math.exp(log(i)) for i in range(k, n + 1))
        below = math.fsum(math.exp(log(i)) for i in range(0, k + 1))
        return min(above, below) > 5e-7

    assert is_plausible(values)
    assert not is_plausible(noises[0.5][0]) and not is_plausible(noises[2.0][0])


def test_one_row_moves_what_noise_hides_by_no_more_than_declared():
    """Of one seed noise is the same, so two fits differ by what one row moves. Rows of every kind, hostile ones among them."""
    rng = np.random.default_rng(1)
    base = rng.uniform(-1, 1, (50, 3))
    scaler = StandardScaler(epsilon=1, bounds=(-1, 1), random_state=5)
    noise = v._veracity._gaussian_noise(1.0, 1e-5, 1)
    worst = 0.0
    for row in [[np.nan, np.inf, -np.inf], [1e300, -1e300, 0], [1, 1, 1], [1, -1, 1], [1, 0, 0], [1e-300, 5e-324, 0]]:
        more = np.vstack([base, [row]])
        for clipping, terms, most in [
            ("norm", ["count", "entries", "products"], math.sqrt(3)),
            ("box", ["count", "entries", "squares"], math.sqrt(7)),
            ("box", ["count", "entries", "centred squares"], math.sqrt(1 + 1.25 * 3)),
        ]:
            (one,), _ = scaler._sums(base, clipping, terms, noise, 5)
            (other,), _ = scaler._sums(more, clipping, terms, noise, 5)
            moved = math.sqrt(sum(float(np.sum((one[term] - other[term]) ** 2)) for term in terms))
            assert moved <= most * 1.001, (row, clipping)
            worst = max(worst, moved / most)
    assert worst > 0.99


def test_naive_bayes_knows_the_moments_and_how_noisy_they_are():
    """With next to no noise, means and variances are those of the data; with much, no variance is less than the noise has."""
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.normal(0.2, 0.1, 4000), rng.random(4000) < 0.02]).clip(0, 1)
    y = np.arange(4000) % 2
    precise = GaussianNB(epsilon=500, bounds=(0, 1), var_smoothing=1e-9, random_state=1).fit(X, y)
    for place in (0, 1):
        assert np.allclose(precise.theta_[place], X[y == place].mean(axis=0), atol=1e-3)
        assert np.allclose(precise.var_[place], X[y == place].var(axis=0), atol=1e-3)
    noise = v._veracity._gaussian_noise(0.1, 1e-5, 1) * math.sqrt(1 + 1.25 * 2) / 2000
    rough = GaussianNB(epsilon=0.1, bounds=(0, 1), var_smoothing=1e-9, random_state=1).fit(X, y)
    # Half the width is ½, and counts are a little off.
    assert np.all(rough.var_ >= 0.25 * noise**2 * 0.9)
    # A row of a rare category is nearly as likely to be of either class.
    chances = GaussianNB(epsilon=1, bounds=(0, 1), random_state=1).fit(X, y).predict_proba([[0.2, 1.0]])
    assert 0.05 < chances[0, 0] < 0.95


def test_nothing_is_learnt_without_being_charged():
    X, y = two_classes(200)
    for estimator in each(1.0, bounds=None):
        with pytest.raises(v.InvalidInput, match="bounds are missing"):
            estimator.fit(X, y)
    with pytest.raises(v.InvalidInput, match="target_bounds are missing"):
        LinearRegression(bounds=(0, 1)).fit(X, y)
    # A class that does not occur is answered, one that is not named is left out.
    named = GaussianNB(bounds=(0, 1), classes=[0, 1, 7], random_state=1).fit(X, y)
    assert named.classes_.tolist() == [0, 1, 7] and not any("labels occur" in said for said in named.assumes_)
    assert LogisticRegression(bounds=(0, 1), classes=[5, 6], random_state=1).fit(X, y).predict(X).shape == (200,)
    declared = GaussianNB(bounds=(0, 1), random_state=1).fit(X, y)
    assert any("which labels occur is public" in said for said in declared.assumes_)
    # The scaler's mean of data that all lie past the bounds is within them.
    assert np.all(StandardScaler(bounds=(0, 1), random_state=1).fit(X + 1e6).mean_ <= 1)
    bought = MLPClassifier((2,), bounds=(0, 1), max_iter=1, random_state=1).fit(X, y)
    assert bought.mechanism_.to_json().count("approximate") == 2
    said = MLPClassifier((2,), bounds=(0, 1), max_iter=1, planned_rows=200, random_state=1).fit(X, y)
    assert said.mechanism_.to_json().count('"gaussian"') == 1 and "planned_rows is public" in said.assumes_


def test_a_number_of_rows_that_was_bought_too_low_is_trained_on():
    """Two rows were never refused, three were where the noisy count is four deviations too low: chance 3e-5, more than delta.

    Whoever saw the refusal knew that there are three. The seeds are those of the first 40,000 where it happened."""
    X, y = np.array([[0.1], [0.9], [0.5]]), [0, 1, 0]
    for seed in (10706, 37189):
        v.sklearn.forget_fits()
        network = MLPClassifier((2,), epsilon=1, bounds=(0, 1), max_iter=1, random_state=seed)
        # The seeds still make what they are for: a plan for less than half of the rows.
        assert network._population(X, seed)[0] == 1
        assert network.fit(X, y).claim_.epsilon <= 1
    # Nor does a number that somebody says decide whether there is an answer.
    assert MLPClassifier((2,), bounds=(0, 1), max_iter=1, planned_rows=1, random_state=1).fit(np.repeat(X, 20, axis=0), y * 20)


def test_wrong_parameters_are_refused_in_one_line():
    X, y = two_classes(100)
    for estimator in [
        LogisticRegression(bounds=(1, 0)),
        LogisticRegression(bounds=(0, math.inf)),
        LogisticRegression(bounds=(0, 1), C=0),
        LogisticRegression(bounds=(0, 1), epsilon=-1),
        LogisticRegression(bounds=(0, 1), row_norm=0),
        LinearRegression(bounds=(0, 1), target_bounds=(0, 1), delta=0),
        Ridge(-1, bounds=(0, 1), target_bounds=(0, 1)),
        PCA(9, bounds=(0, 1)),
        KMeans(0, bounds=(0, 1)),
        MLPClassifier(bounds=(0, 1), activation="step"),
        MLPClassifier(bounds=(0, 1), max_iter=0),
        StandardScaler(bounds=(0, 1), random_state="x"),
        StandardScaler(bounds=([0, 0], 1)),
    ]:
        with pytest.raises(ValueError) as caught:
            estimator.fit(X, y)
        assert isinstance(caught.value, v.Error) and "\n" not in str(caught.value), estimator


@pytest.mark.parametrize(
    "estimator, name",
    [
        (KMeans("3", bounds=(0, 1)), "n_clusters"),
        (PCA("2", bounds=(0, 1)), "n_components"),
        (LogisticRegression(C="1", bounds=(0, 1)), "C"),
        (Ridge("1", bounds=(0, 1), target_bounds=(0, 1)), "alpha"),
        (MLPClassifier(max_iter="5", bounds=(0, 1)), "max_iter"),
        (MLPClassifier(learning_rate_init=[1], bounds=(0, 1)), "learning_rate_init"),
        (MLPClassifier(planned_rows=True, bounds=(0, 1)), "planned_rows"),
        (MLPClassifier("big", bounds=(0, 1)), "hidden_layer_sizes"),
        (GaussianNB(epsilon="1", bounds=(0, 1)), "epsilon"),
    ],
)
def test_a_text_in_the_place_of_a_number_is_named(estimator, name):
    X, y = two_classes(20)
    with pytest.raises((TypeError, v.InvalidInput), match=f"^{name} is a (str|list|bool), expected "):
        estimator.fit(X, y)


def test_errors_tell_no_value():
    X, y = np.array([["secret 4711", "1"], ["2", "3"]] * 5, dtype=object), [0, 1] * 5
    for estimator in each(1.0):
        with pytest.raises(v.InvalidInput) as caught:
            estimator.fit(X, y)
        assert "4711" not in str(caught.value) and caught.value.__context__ is None


def test_hostile_values_decide_nothing():
    X, y = two_classes(200)
    X[::7, 0], X[1::7, 1], X[2::7, 2], X[3::7, 3] = np.nan, np.inf, -np.inf, 1e300
    for estimator in each(1.0):
        estimator.fit(X, y)
        for name in ("predict", "transform"):
            if hasattr(estimator, name):
                assert np.all(np.isfinite(np.asarray(getattr(estimator, name)(X), dtype=float)))


def test_pipelines_folds_grids_and_pickles():
    X, y = two_classes(2000)
    pipeline = make_pipeline(
        StandardScaler(epsilon=0.5, bounds=(0, 1), random_state=1),
        LogisticRegression(epsilon=0.5, bounds=(-4, 4), row_norm=3, random_state=1),
    )
    assert pipeline.fit(X, y).score(X, y) > 0.85
    whole = pipeline[0].mechanism_ + pipeline[1].mechanism_
    assert whole.epsilon(2e-5).upper <= 1.0 + 1e-9
    assert np.mean(cross_val_score(LogisticRegression(bounds=(0, 1), random_state=1), X, y, cv=3)) > 0.85
    grid = GridSearchCV(LogisticRegression(bounds=(0, 1), random_state=1), {"C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert grid.best_score_ > 0.85
    for estimator in each(1.0):
        estimator.fit(X, y)
        again = pickle.loads(pickle.dumps(estimator))
        assert again.claim_ == estimator.claim_
        assert clone(estimator).get_params()["epsilon"] == 1.0


@pytest.mark.parametrize("name", NAMES)
def test_the_claim_of_every_estimator_stands_for_whoever_verifies_it(name, tmp_path):
    X, y = two_classes(300)
    asked = {"epsilon": 0.7, "delta": 1e-6, "random_state": None}
    [estimator] = [one.set_params(**asked) for one in each(1.0) if type(one).__name__ == name]
    claim = estimator.fit(X, y).claim_
    assert claim.epsilon <= 0.7 and claim.delta == 1e-6
    claim.save(tmp_path / "claim.json")
    checked = v.verify(tmp_path / "claim.json")
    checked.raise_if_invalid()
    assert checked.is_valid and len(checked.checks) > 3
    # The mechanism is that of the claim, so that fits can be composed.
    assert estimator.mechanism_.epsilon(1e-6).upper <= 0.7
    # The twin: a claim of less than was spent falls.
    forged = (tmp_path / "claim.json").read_text().replace(json.dumps(claim.epsilon.upper), "0.3")
    assert forged != claim.to_json() and not v.verify(forged).is_valid


def test_the_folds_of_a_cross_validation_compose():
    """A row is in all folds but one, so what the folds tell together is the sum of the fits less one; the sum of all is above it."""
    X, y = two_classes(900)
    done = cross_validate(GaussianNB(epsilon=0.2, bounds=(0, 1), random_state=1), X, y, cv=5, return_estimator=True)
    fits = [one.mechanism_ for one in done["estimator"]]
    whole = sum(fits)
    # Less than five times 0.2, for composition is exact; more than one of them.
    assert 0.2 < whole.epsilon(1e-5).lower and whole.epsilon(1e-5).upper < 0.6
    assert sum(fits[1:]).epsilon(1e-5).upper < whole.epsilon(1e-5).lower
    whole.claim(delta=1e-5).verify().raise_if_invalid()
    pipeline = make_pipeline(
        StandardScaler(epsilon=0.1, bounds=(0, 1), random_state=1),
        LogisticRegression(epsilon=0.1, bounds=(-4, 4), random_state=1),
    )
    done = cross_validate(pipeline, X, y, cv=3, return_estimator=True)
    steps = [step.mechanism_ for fitted in done["estimator"] for _, step in fitted.steps]
    assert len(steps) == 6 and sum(steps).epsilon(6e-5).upper <= 0.6


def test_names_that_scripts_rely_on():
    X, y = two_classes(500)
    assert v.sklearn.LogisticRegression(epsilon=1, delta=1e-5, bounds=(0, 1)).fit(X, y).claim_.epsilon <= 1
