"""Clustering by noisy steps of Lloyd's algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .. import _veracity
from .._errors import InvalidInput
from ._base import PrivateEstimator
from ._fits import follow


class KMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, PrivateEstimator):  # type: ignore[misc]
    """k-means by noisy steps of Lloyd's algorithm.

    Theorem: each step is a Gaussian mechanism on the number and the sum of the rows of every cluster (Blum, Dwork, McSherry, Nissim 2005;
    Su et al. 2016). Noisy centers are public, a row is in one cluster, and rows scaled to −1 … 1 have the ℓ2 sensitivity √(1 + columns).
    Steps compose exactly. The first centers are spread between the bounds and do not depend on the data.

    Args:
        n_clusters: the number of clusters.
        epsilon: ε of one fit.
        delta: δ of one fit, above 0.
        bounds: (lower, upper) of the columns: two numbers, or two lists with one number per column. Values outside are clamped. Do not
            compute the bounds from the data.
        max_iter: the number of steps. Each gets an equal part of the budget.
        random_state: only for tests. The claim then says that the result is not for release.

    Attributes:
        claim_: the claim of all fits on these rows, in this process and its workers.
        mechanism_: the mechanism of this fit alone.
        n_fits_: the number of fits that `claim_` covers.
        assumes_: the facts that must be public for the guarantee.
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        bounds: Any = None,
        max_iter: int = 7,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> KMeans:
        """Find the centers. This spends epsilon and delta.

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
        if not 1 <= self.n_clusters <= 10_000 or not 1 <= self.max_iter <= 10_000:
            raise InvalidInput("n_clusters or max_iter is out of range, expected 1 to 10^4")
        box = lower, upper = self._box(self.bounds, width)
        noise = _veracity._gaussian_noise(self.epsilon, self.delta, self.max_iter)
        scaled = self._centred(rows, box)
        centres, seed = _spread(self.n_clusters, width), self._seed()
        mechanism = None
        for step in range(self.max_iter):
            found, one = self._sums(
                scaled,
                "box",
                ["count", "entries"],
                noise,
                seed,
                groups=_nearest(scaled, centres),
                number_of_groups=self.n_clusters,
                call=step,
            )
            mechanism = one if mechanism is None else mechanism + one
            centres = self._moved(centres, found, noise * np.sqrt(1.0 + width))
        assert mechanism is not None
        half = 0.5 * (upper - lower)
        self.cluster_centers_ = 0.5 * (lower + upper) + half * centres
        self.n_iter_ = self.max_iter
        self._claimed(mechanism, rows, self.cluster_centers_)
        return self

    def _moved(self, centres: Any, found: Any, deviation: float) -> Any:
        """Return the noisy means. A cluster with a noisy count within the noise does not move."""
        moved = centres.copy()
        for place, part in enumerate(found):
            count = float(part["count"][0])
            if count > 2.0 * deviation:
                moved[place] = np.clip(part["entries"] / count, -1.0, 1.0)
        return moved

    @property
    def labels_(self) -> Any:
        """Not available, because the clusters of the fitted rows are private. Use `predict` if you have the rows."""
        raise AttributeError("labels_ is not available: the clusters of the fitted rows are private; use predict")

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _known(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        lower, upper = self._box(self.bounds, rows.shape[1])
        middle = np.broadcast_to(0.5 * (lower + upper), rows.shape)
        return np.where(np.isnan(rows), middle, rows).clip(lower, upper)

    def predict(self, X: Any) -> Any:
        """Predict the cluster of each row.

        Args:
            X: the rows.

        Returns:
            An array of cluster numbers.
        """
        return _nearest(self._known(X), self.cluster_centers_).astype("int32")

    def fit_predict(self, X: Any, y: Any = None, **_: Any) -> Any:
        """Fit, then predict the cluster of each row.

        Args:
            X: the rows.

        Returns:
            An array of cluster numbers. Not private: do not publish it.
        """
        return self.fit(X).predict(X)

    def transform(self, X: Any) -> Any:
        """Compute the distance of each row to each center.

        Args:
            X: the rows.

        Returns:
            An array with one row per row of X and one column per cluster.
        """
        distances = np.sqrt(_squares(self._known(X), self.cluster_centers_))
        follow(self._rows(X, reset=False), distances)
        return distances

    def score(self, X: Any, y: Any = None) -> float:
        """Return the negative sum of squared distances to the nearest centers.

        Args:
            X: the rows.

        Returns:
            The score. Not private: do not publish scores of private rows.
        """
        return -float(_squares(self._known(X), self.cluster_centers_).min(axis=1).sum())


def _spread(number: int, width: int) -> Any:
    """Spread centers between −1 and 1, the same for all data: additive recurrence by roots of x^(width+1) = x + 1 (Roberts)."""
    ratio = 2.0
    for _ in range(64):
        ratio = (1.0 + ratio) ** (1.0 / (width + 1.0))
    steps = ratio ** -np.arange(1.0, width + 1.0)
    return 1.6 * ((0.5 + np.arange(1, number + 1)[:, None] * steps) % 1.0) - 0.8


def _squares(rows: Any, centres: Any) -> Any:
    squares = (rows**2).sum(axis=1)[:, None] - 2.0 * rows @ centres.T + (centres**2).sum(axis=1)
    return np.maximum(squares, 0.0)


def _nearest(rows: Any, centres: Any) -> Any:
    return _squares(rows, centres).argmin(axis=1).astype("uint32")
