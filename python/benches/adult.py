"""Rows of `cargo xtask bench python` about models: logistic regression on Adult at ε = 1 beside diffprivlib.

The data are not in the repository: `VERACITY_ADULT` names the folder with adult.data.gz and adult.test.gz. Accuracies are means over
ten fits on the training part, of the test part.
"""

import os
import statistics
import time

NUMBERS = {"age": (17, 90), "education-num": (1, 16), "capital-gain": (0, 10_000), "capital-loss": (0, 2500), "hours-per-week": (1, 99)}
CATEGORIES = ["workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country"]
NAMES = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain capital-loss "
    "hours-per-week native-country income"
).split()
FITS, EPSILON, DELTA, NORM = 10, 1.0, 1e-5, 3.5


def table(folder, part):
    import pandas

    read = pandas.read_csv(os.path.join(folder, f"adult.{part}.gz"), header=None, skipinitialspace=True, comment="|")
    read = read[read[0].astype(str).str.fullmatch(r"\d+")]
    read.columns = NAMES
    return read


def features(read, schema):
    import numpy as np

    columns = []
    for name, (lower, upper) in NUMBERS.items():
        columns.append(np.clip((read[name].to_numpy(dtype=float) - lower) / (upper - lower), 0, 1))
    for name in CATEGORIES:
        columns += [(read[name] == category).to_numpy(dtype=float) for category in schema[name]]
    return np.column_stack(columns), read["income"].str.startswith(">50K").to_numpy().astype(int)


def rows(rust):
    """All rows."""
    what = "logistic regression on Adult, epsilon 1"
    folder = os.environ.get("VERACITY_ADULT")
    if not folder:
        yield what, "no data: VERACITY_ADULT names no folder", float("nan"), "", None
        return
    import veracity as v

    train, test = table(folder, "data"), table(folder, "test")
    # The categories are a public schema.
    schema = {name: sorted(set(train[name]) - {"?"}) for name in CATEGORIES}
    (X, y), (held, truth) = features(train, schema), features(test, schema)

    def measured(make):
        times, scores = [], []
        for _ in range(FITS):
            start = time.perf_counter()
            model = make().fit(X, y)
            times.append(time.perf_counter() - start)
            scores.append(model.score(held, truth))
        return statistics.median(times) * 1e3, statistics.fmean(scores), statistics.stdev(scores)

    def told(tool, make, ours=None):
        took, mean, deviation = measured(make)
        return what, tool, took, f"accuracy {mean:.4f} ± {deviation:.4f}", None if ours is None else took / ours

    said = {"epsilon": EPSILON, "delta": DELTA, "bounds": (0, 1), "classes": [0, 1]}
    first = told("veracity", lambda: v.sklearn.LogisticRegression(row_norm=NORM, **said))
    yield first
    ours = first[2]
    yield told("veracity, delta 0", lambda: v.sklearn.LogisticRegression(row_norm=NORM, **{**said, "delta": 0.0}), ours)
    yield told(
        "veracity, delta 0, C = 0.3",
        lambda: v.sklearn.LogisticRegression(row_norm=NORM, C=0.3, **{**said, "delta": 0.0}),
        ours,
    )
    yield told("veracity, no row_norm said", lambda: v.sklearn.LogisticRegression(**said), ours)
    yield told("veracity GaussianNB", lambda: v.sklearn.GaussianNB(**said), ours)
    yield told("veracity MLPClassifier", lambda: v.sklearn.MLPClassifier((16,), **said), ours)
    from sklearn.linear_model import LogisticRegression

    yield told("scikit-learn, not private", lambda: LogisticRegression(max_iter=500), ours)
    try:
        from diffprivlib.models import LogisticRegression as Theirs
    except ImportError as why:
        yield what, f"diffprivlib is not there ({why.name})", float("nan"), "", None
        return
    yield told("diffprivlib", lambda: Theirs(epsilon=EPSILON, data_norm=NORM, max_iter=500), ours)
    yield told("diffprivlib, C = 0.01", lambda: Theirs(epsilon=EPSILON, data_norm=NORM, max_iter=500, C=0.01), ours)
