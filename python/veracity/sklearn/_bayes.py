"""Naive Bayes with normal features, from noisy counts, sums and sums of squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import _veracity
from ._base import PrivateClassifier


class GaussianNB(ClassifierMixin, PrivateClassifier):  # type: ignore[misc]
    """Naive Bayes with normal features.

    Theorem: the Gaussian mechanism on the number of rows, the sums and the sums of squares of every class at once. A row is in one class,
    each column is moved into −1 to 1 and rounded to integers, and of squares ½ is taken away, so the ℓ2 sensitivity is
    √(1 + 1.25·columns), exactly (Vaidya et al. 2013 for the model, with one Gaussian release in place of many Laplace ones).

    All else is post-processing. The noise of a mean is known: its variance e² is what the square of the mean is too large by, and
    what a new value is farther from the mean by. So a variance is that of the noisy sums plus e², at least `var_smoothing`,
    plus e². Values that hardly vary, such as those of rare categories, would otherwise have variances that are noise alone.

    Args:
        epsilon, delta: the budget of a fit; delta > 0.
        bounds: (lower, upper) of the features; numbers, or one for each column. Values outside are moved in.
        classes: the labels there can be; without it, those that occur in y are declared to be public.
        var_smoothing: the least variance, as a part of the squared half-width between the bounds.
        random_state: for tests alone; the claim then says that the model is not for release.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        bounds: Any = None,
        classes: Any = None,
        var_smoothing: float = 0.1,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.var_smoothing = var_smoothing
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> GaussianNB:
        """Fits means, variances and priors, which spends epsilon and delta."""
        rows, y = self._rows_and_targets(X, y)
        places = self._numbered(y)
        box = lower, upper = self._box(self.bounds, rows.shape[1])
        noise = _veracity._gaussian_noise(self.epsilon, self.delta, 1)
        found, mechanism = self._sums(
            self._centred(rows, box),
            "box",
            ["count", "entries", "centred squares"],
            noise,
            self._seed(),
            groups=places,
            number_of_groups=len(self.classes_),
        )
        (_, granularity, sensitivity, multiplier), = self._noted
        counts = np.array([max(float(part["count"][0]), 1.0) for part in found])
        means = np.clip([part["entries"] for part in found] / counts[:, None], -1.0, 1.0)
        squares = np.clip(0.5 + [part["centred squares"] for part in found] / counts[:, None], 0.0, 1.0)
        half = 0.5 * (upper - lower)
        # How far the noise of its sum moves a mean, squared.
        extra = (granularity * sensitivity * multiplier / counts[:, None]) ** 2
        least = max(float(self.var_smoothing), 1e-12)
        self.class_count_ = counts
        self.class_prior_ = counts / counts.sum()
        self.theta_ = 0.5 * (lower + upper) + half * means
        self.var_ = half**2 * np.minimum(np.maximum(squares - means**2 + extra, least) + extra, max(1.0, least))
        self._claimed(mechanism, self.class_count_, self.theta_, self.var_)
        return self

    def _joint(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        lower, upper = self._box(self.bounds, rows.shape[1])
        middle = np.broadcast_to(0.5 * (lower + upper), rows.shape)
        known = np.where(np.isnan(rows), middle, rows).clip(lower, upper)
        scores = [
            np.log(prior) - 0.5 * np.sum(np.log(2 * np.pi * var) + (known - mean) ** 2 / var, axis=1)
            for prior, mean, var in zip(self.class_prior_, self.theta_, self.var_, strict=True)
        ]
        return np.array(scores).T

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        joint = self._joint(X)
        return self.classes_[joint.argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> Any:
        """The logarithm of the probability of each class."""
        joint = self._joint(X)
        top = joint.max(axis=1, keepdims=True)
        return joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Any:
        """The probability of each class."""
        return np.exp(self.predict_log_proba(X))
