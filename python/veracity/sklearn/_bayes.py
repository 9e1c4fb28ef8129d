"""Naive Bayes with Gaussian features, from noisy counts, sums and sums of squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import _veracity
from ._base import PrivateClassifier


class GaussianNB(ClassifierMixin, PrivateClassifier):  # type: ignore[misc]
    """Naive Bayes with Gaussian features.

    Theorem: the Gaussian mechanism on the number of rows, the sums and the sums of squares of every class at once. A row is in one class,
    each column is clamped, scaled to −1 … 1 and rounded to integers, and ½ is subtracted from squares, so the ℓ2 sensitivity is exactly
    √(1 + 1.25·columns) (Vaidya et al. 2013 for the model, with one Gaussian release in place of many Laplace ones).

    The rest is post-processing. The noise of a mean is known. Its variance e² inflates the square of the mean, and it moves every new
    value away from the mean. So a variance is the variance from the noisy sums plus e², at least `var_smoothing`, plus e². Without this,
    columns that hardly vary, such as rare categories, would have variances that are only noise.

    Args:
        epsilon: ε of one fit.
        delta: δ of one fit, above 0.
        bounds: (lower, upper) of the features: two numbers, or two lists with one number per column. Values outside are clamped. Do not
            compute the bounds from the data.
        classes: the possible labels. Without it, the labels that occur in y count as public.
        var_smoothing: the smallest variance, as a fraction of the squared half-width between the bounds.
        random_state: only for tests. The claim then says that the model is not for release.

    Attributes:
        claim_: the claim of all fits on these rows, in this process and its workers.
        mechanism_: the mechanism of this fit alone.
        n_fits_: the number of fits that `claim_` covers.
        assumes_: the facts that must be public for the guarantee.
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
        """Fit means, variances and priors. This spends epsilon and delta.

        Args:
            X: the rows, an array or a DataFrame.
            y: the targets, one per row.

        Returns:
            The fitted estimator.

        Raises:
            InvalidInput: if `bounds` are missing or a parameter is out of range.
        """
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
        self._claimed(mechanism, rows, self.class_count_, self.theta_, self.var_)
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
        """Predict the class of each row.

        Args:
            X: the rows.

        Returns:
            An array of labels.
        """
        joint = self._joint(X)
        return self.classes_[joint.argmax(axis=1)]

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class.

        Args:
            X: the rows.

        Returns:
            An array with one row per row of X and one column per class.
        """
        joint = self._joint(X)
        top = joint.max(axis=1, keepdims=True)
        return joint - top - np.log(np.exp(joint - top).sum(axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Args:
            X: the rows.

        Returns:
            An array with one row per row of X and one column per class.
        """
        return np.exp(self.predict_log_proba(X))
