"""What a sceptic found: values that decided on an error, dates that were dropped, subjects that were bent."""

import datetime
import functools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import veracity as v


def session(data, **more):
    return v.Session(data, epsilon=1e4, **more)


def outcome(make):
    """What comes of counting a column: an answer, or the class of what is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return "answer", round(float(session({"x": make} if isinstance(make, np.ndarray) else make).count("x", epsilon=1000)))
        except v.Error as refused:
            return type(refused).__name__, str(refused)


@pytest.mark.parametrize("far", [5, 2**62])
def test_no_date_decides_whether_there_is_an_answer(far):
    tables = [
        pa.table({"x": pa.array([0, far], pa.timestamp("s"))}),
        pa.table({"x": pa.array([0, far], pa.duration("s"))}),
        pl.DataFrame({"x": pl.Series([0, far]).cast(pl.Datetime("ms"))}),
        pl.DataFrame({"x": pl.Series([0, far]).cast(pl.Duration("ms"))}),
        np.array([0, far], "M8[s]"),
        pd.DataFrame({"x": pd.to_datetime(["2020-01-01", "2021-01-01"])}),
    ]
    for table in tables:
        kind, told = outcome(table)
        assert kind == "InvalidInput" and "dates or times" in told, table


def test_texts_that_are_no_text_are_missing():
    good, bad = (pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 2], "i4")), pa.py_buffer(b)]) for b in (b"ab", b"a\xff"))
    assert outcome(pa.table({"x": good})) == ("answer", 2) and outcome(pa.table({"x": bad})) == ("answer", 1)


def test_a_number_past_all_floats_is_told_of_by_no_warning():
    assert outcome(np.array([1, 2], np.longdouble)) == outcome(np.array([1, np.longdouble("1e4000")])) == ("answer", 2)


def test_dates_among_objects_are_texts():
    days = [datetime.date(2020, 1, 1), datetime.datetime(2021, 1, 1), None]
    asked = session({"d": days, "x": [1.0, 2.0, 3.0]})
    assert round(float(asked.count("d", epsilon=1000))) == 2
    counted = asked.histogram("d", keys=["2020-01-01"], epsilon=1000)
    assert round(counted["2020-01-01"]) == 1


def noisy(world, seed, scale=1.0):
    return np.random.default_rng(seed).normal(float(world), scale)


def by_default(scale):
    def score(world, seed, scale=scale):
        return noisy(world, seed, scale)

    return score


@pytest.mark.parametrize("make", [lambda scale: functools.partial(noisy, scale=scale), by_default])
def test_what_is_bound_to_a_function_is_part_of_the_subject(make, tmp_path):
    from veracity._trials import source_sha256

    assert source_sha256(make(1.0)) == source_sha256(make(1.0)) != source_sha256(make(0.5))
    claim = v.gaussian(noise_multiplier=1).claim(delta=1e-5)

    v.audit(make(1.0), claim=claim, trials=40, out=tmp_path / "audit", progress=False)
    with pytest.raises(v.Error):
        v.audit(make(0.5), claim=claim, trials=40, out=tmp_path / "audit", resume=True, progress=False)


def test_a_training_that_depends_on_a_bought_number_is_charged_part_by_part():
    X = np.random.default_rng(0).uniform(size=(60, 2))
    model = v.sklearn.MLPClassifier((2,), epsilon=2, delta=1e-3, bounds=(0, 1), classes=[0, 1], max_iter=2, random_state=1)
    model.fit(X, X[:, 0] > 0.5)
    # Declared pairs, whose budgets were fixed beforehand, add up however the second depends on the first.
    parts = model.mechanism_.to_json()
    assert parts.count('"approximate"') == 2 and model.claim_.epsilon <= 2
    assert v.verify(model.claim_).assumed is not None


@pytest.mark.parametrize(
    "wrong", [dict(n_components=1.5), dict(row_norm=0), dict(row_norm=-1), dict(row_norm=float("nan")), dict(bounds=(-1e308, 1e308))]
)
def test_odd_parameters_of_components_are_refused(wrong):
    X = np.random.default_rng(0).uniform(size=(50, 3))
    with pytest.raises(v.InvalidInput):
        v.sklearn.PCA(**{"epsilon": 1, "delta": 1e-5, "bounds": (0, 1), "random_state": 1, **wrong}).fit(X)
    with pytest.raises(v.InvalidInput):
        v.sklearn.KMeans(n_clusters=2.5, bounds=(0, 1)).fit(X)
    with pytest.raises(v.InvalidInput):
        v.sklearn.MLPClassifier((-5,), bounds=(0, 1)).fit(X, X[:, 0] > 0.5)
    with pytest.raises(TypeError):
        v.sklearn.LogisticRegression(epsilon="1", bounds=(0, 1)).fit(X, X[:, 0] > 0.5)
