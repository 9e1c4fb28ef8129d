"""Rows of `cargo xtask bench python` about models: classifiers on Adult at ε = 1 beside diffprivlib.

The data are not in the repository: `VERACITY_ADULT` names the folder with adult.data.gz and adult.test.gz.

Each method is shown with its defaults and with settings that were chosen for it. They are chosen on a fifth of the training part, held
out, by the mean accuracy of some fits on the rest; the test part has no say. Then there are 20 fits on the whole training part,
and each is tried once on the test part: mean ± standard deviation. What the choice tells is charged to no method.
"""

import itertools
import os
import statistics
import time

NUMBERS = {"age": (17, 90), "education-num": (1, 16), "capital-gain": (0, 10_000), "capital-loss": (0, 2500), "hours-per-week": (1, 99)}
CATEGORIES = ["workclass", "marital-status", "occupation", "relationship", "race", "sex", "native-country"]
NAMES = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain capital-loss "
    "hours-per-week native-country income"
).split()
FITS, TRIES, EPSILON, DELTA = 20, 3, 1.0, 1e-5
WHAT = "classifiers on Adult, epsilon 1"


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


def methods():
    """Every method: its name, how it is made, its settings by default, and those it may choose from."""
    import sklearn.linear_model
    import sklearn.naive_bayes
    import veracity.sklearn as ours

    said = {"epsilon": EPSILON, "delta": DELTA, "bounds": (0, 1), "classes": [0, 1]}
    pure = {**said, "delta": 0.0}
    strengths = [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0]
    # One in each of seven groups of columns, and five numbers up to 1: no row is longer than √12.
    norms = [2.0, 12**0.5]
    smoothings = [1e-3, 1e-2, 3e-2, 0.1, 0.3]
    yield "veracity", lambda **s: ours.LogisticRegression(**said, **s), {}, grid(C=strengths, row_norm=norms)
    yield "veracity, delta 0", lambda **s: ours.LogisticRegression(**pure, **s), {}, grid(C=strengths, row_norm=norms)
    yield "veracity MLPClassifier", lambda **s: ours.MLPClassifier((16,), **said, **s), {}, None
    yield "veracity GaussianNB", lambda **s: ours.GaussianNB(**said, **s), {}, grid(var_smoothing=smoothings)
    yield "scikit-learn, not private", lambda **s: sklearn.linear_model.LogisticRegression(max_iter=500, **s), {}, None
    yield "scikit-learn GaussianNB, not private", sklearn.naive_bayes.GaussianNB, {}, grid(var_smoothing=[1e-9, *smoothings])
    try:
        from diffprivlib import models as theirs
    except ImportError:
        return
    logistic = lambda **s: theirs.LogisticRegression(epsilon=EPSILON, max_iter=500, **s)
    # Without a norm it reads the data.
    yield "diffprivlib", logistic, {"data_norm": 12**0.5}, grid(C=strengths, data_norm=norms)
    naive = lambda **s: theirs.GaussianNB(epsilon=EPSILON, bounds=(0, 1), priors=None, **s)
    yield "diffprivlib GaussianNB", naive, {}, grid(var_smoothing=[1e-9, *smoothings])


def grid(**settings):
    """All combinations of some values of each setting."""
    return [dict(zip(settings, chosen, strict=True)) for chosen in itertools.product(*settings.values())]


def measured(make, fits, train, test):
    """Milliseconds of a fit, and how often each of some models is right."""
    times, scores = [], []
    for _ in range(fits):
        start = time.perf_counter()
        model = make().fit(*train)
        times.append(time.perf_counter() - start)
        scores.append(model.score(*test))
    return statistics.median(times) * 1e3, scores


def rows(rust):
    """All rows."""
    folder = os.environ.get("VERACITY_ADULT")
    if not folder:
        yield WHAT, "no data: VERACITY_ADULT names no folder", float("nan"), "", None
        return
    import numpy as np

    read, held = table(folder, "data"), table(folder, "test")
    # The categories are a public schema.
    schema = {name: sorted(set(read[name]) - {"?"}) for name in CATEGORIES}
    train, test = features(read, schema), features(held, schema)
    order = np.random.default_rng(0).permutation(len(train[1]))
    cut = len(order) * 4 // 5
    part, validation = [tuple(values[places] for values in train) for places in (order[:cut], order[cut:])]
    most = max(test[1].mean(), 1 - test[1].mean())
    yield WHAT, "the larger class", float("nan"), f"accuracy {most:.4f}", None

    ours = None
    for name, make, default, choices in methods():
        tuned = [("default", default)]
        if choices is not None:
            found = {i: measured(lambda: make(**one), TRIES, part, validation)[1] for i, one in enumerate(choices)}
            best = max(found, key=lambda i: statistics.fmean(found[i]))
            shown = ", ".join(f"{setting} {value:.3g}" for setting, value in choices[best].items())
            tuned.append((shown, choices[best]))
        for shown, settings in tuned:
            took, scores = measured(lambda: make(**settings), FITS, train, test)
            ours = took if ours is None else ours
            told = f"accuracy {statistics.fmean(scores):.4f} ± {statistics.stdev(scores):.4f}"
            yield WHAT, f"{name} ({shown})", took, told, took / ours
