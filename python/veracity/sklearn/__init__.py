"""Estimators for scikit-learn whose fits are private. Loaded by `veracity.sklearn`; scikit-learn is needed only here.

Every estimator takes `epsilon`, `delta` and `bounds`, adds noise that is drawn in Rust on integers with an exact sensitivity, and
has a `claim_` after `fit`. Rows are added or removed between neighbours, so not even their number is taken from the data for
free. What is public beyond that stands in `assumes_`.

>>> import numpy as np, veracity as v
>>> X = np.repeat([[0.1, 0.9], [0.8, 0.2]], 2000, axis=0)
>>> model = v.sklearn.LogisticRegression(epsilon=1, delta=1e-5, bounds=(0, 1), random_state=1).fit(X, X[:, 0] > 0.5)
>>> bool(model.score(X, X[:, 0] > 0.5) > 0.95) and model.claim_.epsilon <= 1
True
"""

from ._bayes import GaussianNB
from ._checks import EXPECTED_FAILED_CHECKS
from ._cluster import KMeans
from ._decomposition import PCA, StandardScaler
from ._linear import LinearRegression, LogisticRegression, Ridge
from ._network import MLPClassifier

__all__ = [
    "EXPECTED_FAILED_CHECKS",
    "PCA",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "Ridge",
    "StandardScaler",
]
