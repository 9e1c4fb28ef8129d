"""Differentially private estimators for scikit-learn. Loaded when you first use `veracity.sklearn`; only this module needs scikit-learn.

Every estimator takes `epsilon`, `delta` and `bounds`, and has a `claim_` after `fit`. Noise is drawn in Rust on integers, with an exact
sensitivity. Fits on the same rows compose: after a search, `claim_` covers all fits of this process. The adjacency is add-remove, so
even the number of rows is private. `assumes_` lists everything else that must be public.

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
from ._fits import Fits, fits, forget_fits
from ._linear import LinearRegression, LogisticRegression, Ridge
from ._network import MLPClassifier

__all__ = [
    "EXPECTED_FAILED_CHECKS",
    "PCA",
    "Fits",
    "GaussianNB",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "MLPClassifier",
    "Ridge",
    "StandardScaler",
    "fits",
    "forget_fits",
]
