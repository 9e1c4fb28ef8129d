"""Linear models: logistic regression by objective perturbation, linear regression from noisy sums of products."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .. import _veracity
from .._errors import InvalidInput
from ._base import PrivateClassifier, PrivateEstimator, symmetric


class LogisticRegression(ClassifierMixin, PrivateClassifier):  # type: ignore[misc]
    """Logistic regression by objective perturbation with approximate minima.

    Theorem: Chaudhuri, Monteleoni, Sarwate 2011 (Algorithm 2), with Gaussian noise as in Kifer, Smith, Thakurta 2012 in the tight form of
    Redberg, Koskela, Wang 2023, and approximate minima as in Iyengar et al. 2019: rows of norm at most 1, a random linear term, a
    certified near-minimizer, and noise on the weights that hides how near it is. With delta 0, the noise is Laplace and the guarantee is
    pure ε. More than two classes are learned one against the rest, each with an equal part of the budget. The guarantee does not cover
    whether the solver reaches its tolerance: if it does not, `fit` raises an error, and that error is not private.

    Args:
        epsilon: ε of one fit.
        delta: δ of one fit.
        bounds: (lower, upper) of the features: two numbers, or two lists with one number per column. Values outside are clamped. Do not
            compute the bounds from the data.
        classes: the possible labels. Without it, the labels that occur in y count as public.
        row_norm: clip each row to this ℓ2 norm after each column is divided by its larger bound. None takes √columns, which clips no
            row. Sparse rows, such as one-hot columns, gain from a smaller one.
        C: inverse regularization strength, as in scikit-learn. Smaller values regularize more.
        fit_intercept: whether to fit an intercept.
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
        row_norm: float | None = None,
        C: float = 1.0,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.row_norm = row_norm
        self.C = C
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> LogisticRegression:
        """Fit the weights. This spends epsilon and delta.

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
        scale = self._scale(rows.shape[1])
        inside = places < len(self.classes_)
        if not self.C > 0:
            raise InvalidInput("C is not positive, expected C > 0")
        constant = 0.5 if self.fit_intercept else 0.0
        weights, mechanism = _veracity._logistic(
            self._bounded(rows[inside]) / scale,
            places[inside].tolist(),
            len(self.classes_),
            # Less what the accountant's rounding adds.
            self.epsilon * (1.0 - 1e-12),
            self.delta,
            1.0 / self.C,
            constant,
            self._seed(),
        )
        scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        weights = weights.reshape(scores, -1)
        width = rows.shape[1]
        self.coef_ = weights[:, :width] / scale
        self.intercept_ = constant * weights[:, width] if self.fit_intercept else np.zeros(scores)
        self._room = np.sqrt(1.0 - constant**2)
        # Noise on an objective has no one sampler and scale that a claim could note.
        self._noted = []
        self._claimed(mechanism, rows, self.coef_, self.intercept_)
        return self

    def _scale(self, width: int) -> Any:
        """The divisor of each column, so that clipping leaves no row longer than 1."""
        lower, upper = self._box(self.bounds, width)
        norm = float(np.sqrt(width)) if self.row_norm is None else float(self.row_norm)
        if not 0 < norm < 1e100:
            raise InvalidInput("row_norm is out of range, expected a positive number")
        return norm * np.maximum(np.abs(lower), np.abs(upper))

    def _bounded(self, rows: Any) -> Any:
        lower, upper = self._box(self.bounds, rows.shape[1])
        middle = np.broadcast_to(0.5 * (lower + upper), rows.shape)
        known = np.where(np.isnan(rows), middle, rows)
        return np.ascontiguousarray(known.clip(lower, upper))

    def decision_function(self, X: Any) -> Any:
        """Compute the score of each row.

        Args:
            X: the rows.

        Returns:
            One score per row for two classes, otherwise one per row and class.
        """
        check_is_fitted(self)
        rows = self._bounded(self._rows(X, reset=False))
        norms = np.linalg.norm(rows / self._scale(rows.shape[1]), axis=1)
        # As the model saw its rows.
        factor = np.minimum(1.0, self._room / np.maximum(norms, 1e-300))
        scores = (rows * factor[:, None]) @ self.coef_.T + self.intercept_
        return scores.ravel() if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Predict the class of each row.

        Args:
            X: the rows.

        Returns:
            An array of labels.
        """
        scores = self.decision_function(X)
        places = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[places]

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Args:
            X: the rows.

        Returns:
            An array with one row per row of X and one column per class.
        """
        scores = self.decision_function(X)
        with np.errstate(over="ignore"):
            chances = 1.0 / (1.0 + np.exp(-scores))
        if scores.ndim == 1:
            return np.column_stack([1.0 - chances, chances])
        return chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300)

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class.

        Args:
            X: the rows.

        Returns:
            An array with one row per row of X and one column per class.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class _SumsOfProducts(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A linear model from noisy sums of products, solved with a ridge that keeps noise in check."""

    bounds: Any
    target_bounds: Any
    epsilon: float
    delta: float
    row_norm: float | None
    fit_intercept: bool

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _penalty(self, noise: float, width: int) -> float:
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Any:
        """Fit the weights. This spends epsilon and delta.

        Args:
            X: the rows, an array or a DataFrame.
            y: the targets, one per row.

        Returns:
            The fitted estimator.

        Raises:
            InvalidInput: if `bounds` are missing or a parameter is out of range.
        """
        rows, y = self._rows_and_targets(X, y, y_numeric=True, multi_output=True)
        width = rows.shape[1]
        targets = np.asarray(y, dtype="float64").reshape(len(rows), -1)
        box = self._box(self.bounds, width)
        target_box = self._box(self.target_bounds, targets.shape[1], "target_bounds")
        norm = float(np.sqrt(width)) if self.row_norm is None else float(self.row_norm)
        if not 0 < norm < 1e100:
            raise InvalidInput("row_norm is out of range, expected a positive number")
        span = float(np.sqrt(targets.shape[1]))
        terms = ["count", "entries", "products", "targets", "cross"] if self.fit_intercept else ["products", "cross"]
        noise = _veracity._gaussian_noise(self.epsilon, self.delta, 1)
        centred, aims = self._centred(rows, box), self._centred(targets, target_box)
        if not self.fit_intercept:
            # Through the origin: columns keep their zero.
            centred, aims = self._plain(rows, box), self._plain(targets, target_box)
        (sums,), mechanism = self._sums(
            centred / norm, "norm", terms, noise, self._seed(), targets=aims / span
        )
        self._solve(sums, (norm, span), (box, target_box), noise, np.ndim(y) == 1)
        self._claimed(mechanism, rows, self.coef_, self.intercept_)
        return self

    def _plain(self, X: Any, box: tuple[Any, Any]) -> Any:
        lower, upper = box
        known = np.where(np.isnan(X), 0.0, X).clip(lower, upper)
        return known / np.maximum(np.abs(lower), np.abs(upper))

    def _solve(self, sums: Any, norms: Any, boxes: Any, noise: float, flat: bool) -> None:
        norm, span = norms
        (lower, upper), (below, above) = boxes
        width, outputs = len(lower), len(below)
        products, cross = symmetric(sums["products"], width), sums["cross"]
        if self.fit_intercept:
            # Around noisy means: post-processing.
            count = max(float(sums["count"][0]), 1.0)
            mean, aim = sums["entries"] / count, sums["targets"] / count
            products, cross = products - count * np.outer(mean, mean), cross - count * np.outer(mean, aim)
        else:
            mean, aim = np.zeros(width), np.zeros(outputs)
        penalty = self._penalty(noise, width)
        values, vectors = np.linalg.eigh(0.5 * (products + products.T))
        values = np.maximum(values, 0.0) + penalty
        slopes = vectors @ ((vectors.T @ cross) / values[:, None])
        # Back to the units of the data: z = (x − middle)/half/norm.
        if self.fit_intercept:
            middle, half, centre, reach = (
                0.5 * (lower + upper),
                0.5 * (upper - lower),
                0.5 * (below + above),
                0.5 * (above - below),
            )
        else:
            middle, half = np.zeros(width), np.maximum(np.abs(lower), np.abs(upper))
            centre, reach = np.zeros(outputs), np.maximum(np.abs(below), np.abs(above))
        coef = (slopes * (reach * span)[None, :] / (half * norm)[:, None]).T
        intercept = centre + aim * span * reach - coef @ (middle + mean * norm * half)
        if not self.fit_intercept:
            intercept = np.zeros(outputs)
        self.coef_ = coef[0] if flat else coef
        self.intercept_ = float(intercept[0]) if flat else intercept

    def predict(self, X: Any) -> Any:
        """Predict the target of each row.

        Args:
            X: the rows.

        Returns:
            An array of numbers.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        lower, upper = self._box(self.bounds, rows.shape[1])
        middle = np.broadcast_to(0.5 * (lower + upper), rows.shape)
        known = np.where(np.isnan(rows), middle, rows).clip(lower, upper)
        return known @ np.asarray(self.coef_).T + self.intercept_


class LinearRegression(_SumsOfProducts):
    """Linear regression from noisy sums of products.

    Theorem: the Gaussian mechanism on XᵀX, Xᵀy and, for the intercept, on the number and the sums of the rows, at once. Rows and targets
    are clipped, rounded to integers and summed exactly, so the ℓ2 sensitivity is exact (Dwork, Talwar, Thakurta, Zhang 2014 for XᵀX; Wang
    2018 for regression from such sums). The rest is post-processing. A ridge of the size of the noise keeps the noise from being inverted.

    Args:
        epsilon: ε of one fit.
        delta: δ of one fit, above 0.
        bounds: (lower, upper) of the features: two numbers, or two lists with one number per column. Values outside are clamped. Do not
            compute the bounds from the data.
        target_bounds: (lower, upper) of the targets.
        row_norm: clip each row to this ℓ2 norm after its columns are scaled to −1 … 1. None takes √columns, which clips no row.
        fit_intercept: whether to fit an intercept.
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
        target_bounds: Any = None,
        row_norm: float | None = None,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _penalty(self, noise: float, width: int) -> float:
        # About the largest eigenvalue of the noise: 2σ√d for a symmetric Gaussian matrix, σ for five unit terms at most.
        return float(noise * np.sqrt(5.0) * np.sqrt(width))


class Ridge(_SumsOfProducts):
    """Linear regression with a penalty, from noisy sums of products. The theorem is that of `LinearRegression`.

    Args:
        alpha: the penalty next to the sum of squares, in the unit of clipped rows, of norm at most 1.
        epsilon: ε of one fit.
        delta: δ of one fit, above 0.
        bounds: (lower, upper) of the features: two numbers, or two lists with one number per column. Values outside are clamped. Do not
            compute the bounds from the data.
        target_bounds: (lower, upper) of the targets.
        row_norm: clip each row to this ℓ2 norm after its columns are scaled to −1 … 1. None takes √columns, which clips no row.
        fit_intercept: whether to fit an intercept.
        random_state: only for tests. The claim then says that the model is not for release.

    Attributes:
        claim_: the claim of all fits on these rows, in this process and its workers.
        mechanism_: the mechanism of this fit alone.
        n_fits_: the number of fits that `claim_` covers.
        assumes_: the facts that must be public for the guarantee.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        bounds: Any = None,
        target_bounds: Any = None,
        row_norm: float | None = None,
        fit_intercept: bool = True,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.target_bounds = target_bounds
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.random_state = random_state

    def _penalty(self, noise: float, width: int) -> float:
        if not self.alpha >= 0:
            raise InvalidInput("alpha is negative, expected alpha ≥ 0")
        return float(self.alpha + noise * np.sqrt(5.0) * np.sqrt(width))
