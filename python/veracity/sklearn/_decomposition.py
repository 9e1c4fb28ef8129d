"""Columns scaled, and rows projected, by noisy moments."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import _veracity
from .._errors import InvalidInput
from ._base import PrivateEstimator, symmetric


class StandardScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Columns of mean 0 and variance 1, by noisy means and variances.

    Theorem: the Gaussian mechanism on the number of rows, the sums and the sums of squares at once; each column is moved into −1 to 1 and
    rounded to integers, so the ℓ2 sensitivity is √(1 + 2·columns), exactly.

    Args:
        epsilon, delta: the budget of a fit; delta > 0.
        bounds: (lower, upper) of the columns; numbers, or one for each. Values outside are moved in.
        with_mean, with_std: whether columns lose their means, and are divided by their deviations.
        random_state: for tests alone; the claim then says that the result is not for release.
    """

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        bounds: Any = None,
        with_mean: bool = True,
        with_std: bool = True,
        random_state: Any = None,
    ) -> None:
        self.with_mean = with_mean
        self.with_std = with_std
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> StandardScaler:
        """Finds means and variances, which spends epsilon and delta."""
        rows = self._rows(X, reset=True)
        box = lower, upper = self._box(self.bounds, rows.shape[1])
        noise = _veracity._gaussian_noise(self.epsilon, self.delta, 1)
        (part,), mechanism = self._sums(
            self._centred(rows, box), "box", ["count", "entries", "squares"], noise, self._seed()
        )
        count = max(float(part["count"][0]), 1.0)
        mean = np.clip(part["entries"] / count, -1.0, 1.0)
        square = np.clip(part["squares"] / count, 0.0, 1.0)
        half = 0.5 * (upper - lower)
        self.n_samples_seen_ = round(count)
        self.mean_ = 0.5 * (lower + upper) + half * mean
        # Never narrower than a thousandth of the bounds: noise is not to be blown up.
        self.var_ = half**2 * np.maximum(square - mean**2, 1e-6)
        self.scale_ = np.sqrt(self.var_)
        self._claimed(mechanism, self.mean_, self.var_)
        return self

    def transform(self, X: Any) -> Any:
        """Columns less their means, over their deviations. Values are moved into the bounds; what is missing is the mean."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        lower, upper = self._box(self.bounds, rows.shape[1])
        known = np.where(np.isnan(rows), np.broadcast_to(self.mean_, rows.shape), rows).clip(lower, upper)
        centred = known - self.mean_ if self.with_mean else known
        return centred / self.scale_ if self.with_std else centred

    def inverse_transform(self, X: Any) -> Any:
        """Back to the unit of the columns."""
        check_is_fitted(self)
        rows = np.asarray(X, dtype="float64")
        rows = rows * self.scale_ if self.with_std else rows
        return rows + self.mean_ if self.with_mean else rows


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Principal components of a noisy second-moment matrix.

    Theorem: the Gaussian mechanism on the upper triangle of Σ x xᵀ, with the number and the sums of the rows for the centre (Analyze Gauss:
    Dwork, Talwar, Thakurta, Zhang 2014). Rows are clipped in ℓ2 and rounded to integers, so the sensitivity is exact.

    Args:
        n_components: how many; all columns if not said.
        epsilon, delta: the budget of a fit; delta > 0.
        bounds: (lower, upper) of the columns; numbers, or one for each. Values outside are moved in.
        row_norm: the norm that rows are clipped to once each column is −1 to 1; √columns, which clips none, if not said.
        random_state: for tests alone; the claim then says that the result is not for release.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        bounds: Any = None,
        row_norm: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.row_norm = row_norm
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> PCA:
        """Finds the components, which spends epsilon and delta."""
        rows = self._rows(X, reset=True)
        width = rows.shape[1]
        number = width if self.n_components is None else self.n_components
        if not 1 <= number <= width:
            raise InvalidInput(f"n_components is {number}, expected 1 to {width}, the number of columns")
        box = lower, upper = self._box(self.bounds, width)
        norm = float(np.sqrt(width)) if self.row_norm is None else float(self.row_norm)
        if not 1e-100 < norm < 1e100:
            raise InvalidInput("row_norm is out of range, expected a positive number")
        noise = _veracity._gaussian_noise(self.epsilon, self.delta, 1)
        (part,), mechanism = self._sums(
            self._centred(rows, box) / norm, "norm", ["count", "entries", "products"], noise, self._seed()
        )
        count = max(float(part["count"][0]), 2.0)
        mean = part["entries"] / count
        half = 0.5 * (upper - lower)
        covariance = (symmetric(part["products"], width) / count - np.outer(mean, mean)) * norm**2
        covariance = covariance * np.outer(half, half)
        values, vectors = np.linalg.eigh(covariance)
        order = np.argsort(values)[::-1][:number]
        vectors = vectors[:, order]
        # The largest entry of a component is positive, so that signs do not depend on the solver.
        signs = np.sign(vectors[np.argmax(np.abs(vectors), axis=0), range(number)])
        self.components_ = (vectors * np.where(signs == 0, 1.0, signs)).T
        self.explained_variance_ = np.maximum(values[order], 0.0)
        total = float(np.maximum(values, 0.0).sum())
        self.explained_variance_ratio_ = self.explained_variance_ / total if total > 0 else np.zeros(number)
        self.mean_ = 0.5 * (lower + upper) + half * norm * np.clip(mean, -1.0, 1.0)
        self.n_components_ = number
        self._claimed(mechanism, self.components_, self.explained_variance_, self.mean_)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def transform(self, X: Any) -> Any:
        """Rows by their components. Values are moved into the bounds; what is missing is the mean."""
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        lower, upper = self._box(self.bounds, rows.shape[1])
        known = np.where(np.isnan(rows), np.broadcast_to(self.mean_, rows.shape), rows).clip(lower, upper)
        return (known - self.mean_) @ self.components_.T

    def inverse_transform(self, X: Any) -> Any:
        """Back to columns, as far as the components tell."""
        check_is_fitted(self)
        return np.asarray(X, dtype="float64") @ self.components_ + self.mean_
