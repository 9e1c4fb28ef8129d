"""Scaling and principal components from noisy moments."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import _veracity
from .._errors import InvalidInput
from ._base import PrivateEstimator, symmetric
from ._fits import follow


class StandardScaler(OneToOneFeatureMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Scale columns to mean 0 and variance 1, with noisy means and variances.

    Theorem: the Gaussian mechanism on the number of rows, the sums and the sums of squares at once. Each column is clamped, scaled to
    −1 … 1 and rounded to integers, so the ℓ2 sensitivity is exactly √(1 + 2·columns).

    Args:
        epsilon: ε of one fit.
        delta: δ of one fit, above 0.
        bounds: (lower, upper) of the columns: two numbers, or two lists with one number per column. Values outside are clamped. Do not
            compute the bounds from the data.
        with_mean: subtract the mean of each column.
        with_std: divide each column by its standard deviation.
        random_state: only for tests. The claim then says that the result is not for release.

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
        """Estimate means and variances. This spends epsilon and delta.

        Args:
            X: the rows, an array or a DataFrame.
            y: ignored.

        Returns:
            The fitted estimator.

        Raises:
            InvalidInput: if `bounds` are missing or a parameter is out of range.
        """
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
        self._claimed(mechanism, rows, self.mean_, self.var_)
        return self

    def transform(self, X: Any) -> Any:
        """Scale the columns.

        Args:
            X: the rows.

        Returns:
            The scaled rows. Values are clamped to the bounds, and a missing value becomes the mean.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        lower, upper = self._box(self.bounds, rows.shape[1])
        known = np.where(np.isnan(rows), np.broadcast_to(self.mean_, rows.shape), rows).clip(lower, upper)
        centred = known - self.mean_ if self.with_mean else known
        scaled = centred / self.scale_ if self.with_std else centred
        follow(rows, scaled)
        return scaled

    def inverse_transform(self, X: Any) -> Any:
        """Undo the scaling.

        Args:
            X: scaled rows.

        Returns:
            The rows in the units of the data.
        """
        check_is_fitted(self)
        rows = np.asarray(X, dtype="float64")
        rows = rows * self.scale_ if self.with_std else rows
        return rows + self.mean_ if self.with_mean else rows


class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """Principal components of a noisy second-moment matrix.

    Theorem: the Gaussian mechanism on the upper triangle of Σ x xᵀ, with the number and the sums of the rows for the center (Analyze Gauss:
    Dwork, Talwar, Thakurta, Zhang 2014). Rows are clipped in ℓ2 and rounded to integers, so the sensitivity is exact.

    Args:
        n_components: the number of components. None takes all columns.
        epsilon: ε of one fit.
        delta: δ of one fit, above 0.
        bounds: (lower, upper) of the columns: two numbers, or two lists with one number per column. Values outside are clamped. Do not
            compute the bounds from the data.
        row_norm: clip each row to this ℓ2 norm after its columns are scaled to −1 … 1. None takes √columns, which clips no row.
        random_state: only for tests. The claim then says that the result is not for release.

    Attributes:
        claim_: the claim of all fits on these rows, in this process and its workers.
        mechanism_: the mechanism of this fit alone.
        n_fits_: the number of fits that `claim_` covers.
        assumes_: the facts that must be public for the guarantee.
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
        """Find the components. This spends epsilon and delta.

        Args:
            X: the rows, an array or a DataFrame.
            y: ignored.

        Returns:
            The fitted estimator.

        Raises:
            InvalidInput: if `bounds` are missing or a parameter is out of range.
        """
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
        self._claimed(mechanism, rows, self.components_, self.explained_variance_, self.mean_)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components_)

    def transform(self, X: Any) -> Any:
        """Project rows onto the components.

        Args:
            X: the rows.

        Returns:
            The projected rows. Values are clamped to the bounds, and a missing value becomes the mean.
        """
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        lower, upper = self._box(self.bounds, rows.shape[1])
        known = np.where(np.isnan(rows), np.broadcast_to(self.mean_, rows.shape), rows).clip(lower, upper)
        projected = (known - self.mean_) @ self.components_.T
        follow(rows, projected)
        return projected

    def inverse_transform(self, X: Any) -> Any:
        """Map projected rows back to columns.

        Args:
            X: projected rows.

        Returns:
            The rows in the units of the data.
        """
        check_is_fitted(self)
        return np.asarray(X, dtype="float64") @ self.components_ + self.mean_
