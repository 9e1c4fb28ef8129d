"""What several fits on the same rows cost together: a search, folds, a pipeline. The claim says it, and so does a warning."""

import pickle
import warnings

import numpy as np
import pytest
import veracity as v
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from veracity.sklearn import PCA, GaussianNB, KMeans, LinearRegression, LogisticRegression, MLPClassifier, Ridge, StandardScaler


@pytest.fixture(autouse=True)
def no_fits_yet():
    v.sklearn.forget_fits()
    yield
    v.sklearn.forget_fits()


def two_classes(rows=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return np.clip(0.5 + 0.18 * (2 * y - 1)[:, None] + 0.15 * rng.normal(size=(rows, 3)), 0, 1), y


def cautions(call):
    """What a call returns, and the messages of its privacy warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = call()
    return found, [str(one.message) for one in caught if issubclass(one.category, v.PrivacyWarning)]


def model(**more):
    return LogisticRegression(**{"epsilon": 1, "delta": 1e-5, "bounds": (0, 1), "random_state": 1, **more})


def test_the_claim_of_a_search_is_that_of_all_its_fits():
    X, y = two_classes()
    search = GridSearchCV(model(random_state=None), {"C": [0.1, 1.0, 10.0]}, cv=2)
    _, told = cautions(lambda: search.fit(X, y))
    best = search.best_estimator_
    assert best.n_fits_ == 7
    # By basic composition, which needs no accountant, seven fits of (1, 1e-5) are (7, 7e-5); one is not enough.
    assert 1 < best.claim_.epsilon.upper <= 7.0 and best.claim_.delta == pytest.approx(7e-5)
    # The same by composing seven fits of their own.
    alone = []
    for _ in range(7):
        v.sklearn.forget_fits()
        alone.append(model().fit(X, y).mechanism_)
    assert best.claim_.epsilon.upper == pytest.approx(sum(alone).epsilon(7e-5).upper, rel=1e-6)
    best.claim_.verify().raise_if_invalid()
    assert "fit 7" in best.claim_.to_json()
    # Each fit has its own cost still.
    assert best.mechanism_.epsilon(1e-5).upper <= 1
    # The two folds of a candidate share no row, so the first two fits are each the first.
    assert told[-1].startswith("this is fit 7 of private estimators on these rows in this process and its workers, and all of them cost epsilon ≤ ")
    assert "at delta 7e-05" in told[-1] and "claim_" in told[-1] and all("\n" not in one for one in told)


def test_fits_in_worker_processes_are_counted():
    """The fits of n_jobs=2 are in other processes, and the one that remains is in this."""
    X, y = two_classes()
    steps = make_pipeline(StandardScaler(epsilon=0.5, bounds=(0, 1)), GaussianNB(epsilon=0.5, bounds=(-4, 4)))
    search = GridSearchCV(steps, {"gaussiannb__var_smoothing": [0.1, 0.2]}, cv=2, n_jobs=2)
    _, told = cautions(lambda: search.fit(X, y))
    # Two candidates on two folds and the best on all rows, of two fits each.
    best = search.best_estimator_[-1]
    assert best.n_fits_ == 10 and "this is fit 10 " in told[-1]
    assert 0.5 < best.claim_.epsilon.upper <= 5 and best.claim_.delta == pytest.approx(10e-5)
    best.claim_.verify().raise_if_invalid()
    assert v.sklearn.fits(X).n_fits == 10


def test_a_process_leaves_no_hashes_behind(tmp_path):
    import os
    import subprocess
    import sys

    program = "import veracity as v, numpy as np; v.sklearn.GaussianNB(bounds=(0, 1)).fit(np.eye(4), [0, 1, 0, 1])"
    environment = {name: value for name, value in os.environ.items() if name != "VERACITY_SKLEARN_FITS"}
    subprocess.run([sys.executable, "-c", program], env={**environment, "TMPDIR": str(tmp_path)}, check=True, capture_output=True)
    assert list(tmp_path.iterdir()) == []


def test_one_fit_is_claimed_as_before_and_warns_of_nothing():
    X, y = two_classes()
    fitted, told = cautions(lambda: model().fit(X, y))
    assert told == [] and fitted.n_fits_ == 1
    assert fitted.claim_.epsilon.upper <= 1 and fitted.claim_.delta == 1e-5
    # Other rows are other people.
    other, told = cautions(lambda: model().fit(*two_classes(seed=9)))
    assert told == [] and other.n_fits_ == 1 and other.claim_.epsilon.upper <= 1


@pytest.mark.parametrize(
    "first",
    [
        model(random_state=None),
        LinearRegression(bounds=(0, 1), target_bounds=(0, 1)),
        Ridge(bounds=(0, 1), target_bounds=(0, 1)),
        GaussianNB(bounds=(0, 1)),
        StandardScaler(bounds=(0, 1)),
        PCA(2, bounds=(0, 1)),
        KMeans(2, bounds=(0, 1)),
        MLPClassifier((2,), bounds=(0, 1), max_iter=1, planned_rows=400),
    ],
    ids=lambda one: type(one).__name__,
)
def test_every_estimator_counts_and_is_counted(first):
    X, y = two_classes()
    first.fit(X, y)
    second, told = cautions(lambda: GaussianNB(epsilon=0.5, bounds=(0, 1)).fit(X, y))
    assert second.n_fits_ == 2 and len(told) == 1
    assert 0.5 < second.claim_.epsilon.upper <= 1.5 and second.claim_.delta == pytest.approx(2e-5)
    second.claim_.verify().raise_if_invalid()
    third, _ = cautions(lambda: first.fit(X, y))
    third.claim_.verify().raise_if_invalid()
    assert third.n_fits_ == 3 and third.claim_.epsilon.upper <= 2.5


def test_part_of_the_rows_in_any_order_counts():
    X, y = two_classes()
    model().fit(X[:300], y[:300])
    turned, told = cautions(lambda: model().fit(X[:250:-1], y[:250:-1]))
    assert turned.n_fits_ == 2 and len(told) == 1
    # Rows that were in neither are new; rows in both bring the two together.
    apart, told = cautions(lambda: model().fit(*two_classes(100, seed=5)))
    assert apart.n_fits_ == 1 and told == []
    together, _ = cautions(lambda: model().fit(np.vstack([X, two_classes(100, seed=5)[0]]), np.append(y, two_classes(100, seed=5)[1])))
    assert together.n_fits_ == 4


def test_the_steps_of_a_pipeline_are_fits_on_the_same_rows():
    """The second step has the rows that the first one made of them."""
    X, y = two_classes()
    steps = make_pipeline(
        StandardScaler(epsilon=0.5, bounds=(0, 1), random_state=1), GaussianNB(epsilon=0.5, bounds=(-4, 4), random_state=1)
    )
    cautions(lambda: steps.fit(X, y))
    assert [step.n_fits_ for _, step in steps.steps] == [1, 2]
    assert 0.5 < steps[-1].claim_.epsilon.upper <= 1
    _, told = cautions(lambda: cross_val_score(steps, X, y, cv=3))
    assert "this is fit 8 " in told[-1]


def test_a_refused_fit_is_not_counted_and_a_pickle_has_no_rows():
    X, y = two_classes()
    with pytest.raises(v.InvalidInput):
        model(bounds=None).fit(X, y)
    fitted = model().fit(X, y)
    assert fitted.n_fits_ == 1
    assert len(pickle.dumps(fitted)) < 20_000 < X.nbytes * 3


def test_the_total_can_be_asked_for_and_started_anew():
    X, y = two_classes()
    assert v.sklearn.fits(X) is None
    cautions(lambda: [model().fit(X, y) for _ in range(3)])
    total = v.sklearn.fits(X)
    assert total.n_fits == 3 and total.delta == pytest.approx(3e-5) and total.epsilon.upper <= 3
    assert total.mechanism.epsilon(total.delta).upper == total.epsilon.upper
    assert "3 fits" in repr(total)
    v.sklearn.forget_fits()
    assert v.sklearn.fits(X) is None and model().fit(X, y).n_fits_ == 1


def test_threads_count_each_others_fits():
    from concurrent.futures import ThreadPoolExecutor

    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(lambda _: GaussianNB(bounds=(0, 1)).fit(X, y), range(12)))
    assert v.sklearn.fits(X).n_fits == 12


@pytest.mark.parametrize("delta, warns", [(0.01, True), (1 / 400, False), (1e-5, False)])
def test_a_delta_above_one_in_n_is_warned_of(delta, warns):
    X, y = two_classes(400)
    _, told = cautions(lambda: GaussianNB(delta=delta, bounds=(0, 1)).fit(X, y))
    assert [one.startswith(f"delta is {delta:g}, above 1/n for the n records") for one in told] == [True] * warns
    # The number of rows is private: it is not said.
    assert all("400" not in one and "\n" not in one for one in told)


def test_a_session_whose_size_is_public_warns_of_a_large_delta(tmp_path):
    data = {"hours": np.arange(100.0)}
    (tmp_path / "hours.csv").write_text("hours\n" + "\n".join(str(i) for i in range(100)))
    for adjacency, delta, count in [("replace-one", 0.02, 1), ("zero-out", 0.02, 1), ("replace-one", 0.01, 0), ("add-remove", 0.02, 0)]:
        _, told = cautions(lambda: v.Session(data, epsilon=1, delta=delta, adjacency=adjacency))
        assert len(told) == count and all(one.startswith("delta is 0.02, above 1/n") for one in told), adjacency
        # The size of a file is known once it is read, and said of once.
        session, told = cautions(lambda: v.Session(tmp_path / "hours.csv", epsilon=1, delta=delta, adjacency=adjacency))
        assert told == []
        _, told = cautions(lambda: [session.sum("hours", lower=0, upper=99, epsilon=0.1) for _ in range(2)])
        assert len(told) == count, adjacency
