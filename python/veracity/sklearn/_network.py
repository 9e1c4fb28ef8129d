"""A small neural network, trained by DP-SGD."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from .. import _veracity
from .._kinds import approximate, composed
from .._errors import InvalidInput
from ._base import PrivateClassifier


class MLPClassifier(ClassifierMixin, PrivateClassifier):  # type: ignore[misc]
    """A fully connected neural network, trained by DP-SGD.

    Theorem: Poisson-sampled Gaussian mechanisms on sums of clipped gradients (Abadi et al. 2016), with the exact accountant. The sampling
    rate depends on the number of rows. Give it with `planned_rows`, or the fit estimates it with a noisy count, for 5% of epsilon and delta.
    The two budgets then add up, because the training depends on the noisy count. The guarantee holds even if the number is far off.

    Args:
        hidden_layer_sizes: the width of each hidden layer.
        epsilon: ε of one fit.
        delta: δ of one fit, above 0.
        bounds: (lower, upper) of the features: two numbers, or two lists with one number per column. Values outside are clamped. Do not
            compute the bounds from the data.
        classes: the possible labels. Without it, the labels that occur in y count as public.
        planned_rows: the approximate number of rows, if it is public.
        activation: "relu" or "tanh".
        batch_size: the planned number of rows in a batch. None takes a 32nd of the rows.
        max_iter: the number of epochs.
        learning_rate_init: the first learning rate. It decreases to 0 along a cosine.
        momentum: the momentum of DP-SGD.
        clip_norm: the norm that gradients are clipped to.
        random_state: only for tests. The claim then says that the model is not for release.

    Attributes:
        claim_: the claim of all fits on these rows, in this process and its workers.
        mechanism_: the mechanism of this fit alone.
        n_fits_: the number of fits that `claim_` covers.
        assumes_: the facts that must be public for the guarantee.
    """

    def __init__(
        self,
        hidden_layer_sizes: Any = (32,),
        *,
        epsilon: float = 1.0,
        delta: float = 1e-5,
        bounds: Any = None,
        classes: Any = None,
        planned_rows: int | None = None,
        activation: str = "tanh",
        batch_size: int | None = None,
        max_iter: int = 20,
        learning_rate_init: float = 1.0,
        momentum: float = 0.9,
        clip_norm: float = 0.5,
        random_state: Any = None,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.classes = classes
        self.planned_rows = planned_rows
        self.activation = activation
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.learning_rate_init = learning_rate_init
        self.momentum = momentum
        self.clip_norm = clip_norm
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> MLPClassifier:
        """Train the network. This spends epsilon and delta.

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
        box = self._box(self.bounds, rows.shape[1])
        if not 1 <= self.max_iter <= 1_000_000:
            raise InvalidInput("max_iter is out of range, expected 1 to 10^6 epochs")
        inside = places < len(self.classes_)
        scaled, seed = self._centred(rows[inside], box), self._seed()
        population, counted = self._population(scaled, seed)
        batch = max(1, population // 32) if self.batch_size is None else int(self.batch_size)
        if not 1 <= batch:
            raise InvalidInput("batch_size is out of range, expected at least 1")
        batch = min(batch, population)
        steps = max(1, round(self.max_iter * population / batch))
        schedule = (batch, population, steps)
        # Steps and noise depend on a number that was bought, so their budget is fixed beforehand and the two parts add up: what a
        # choice in view of noise costs together with that noise is not what both would cost if they had been fixed.
        budget = self._rest() if counted else (self.epsilon, self.delta)
        noise, mechanism = _veracity._sgd_noise(*budget, schedule)
        if counted:
            pairs = [self._for_number(), budget]
            mechanism = composed(
                [approximate(epsilon=epsilon, delta=delta, adjacency="add-remove", unit="row") for epsilon, delta in pairs]
            )
        self._layers = self._widths()
        self.parameters_, noted = _veracity._train_network(
            scaled,
            places[inside].tolist(),
            len(self.classes_),
            self._layers,
            self.activation,
            schedule,
            noise,
            float(self.clip_norm),
            float(self.learning_rate_init),
            float(self.momentum),
            seed,
        )
        # Of declared pairs no noise call is noted.
        self._noted = [] if counted else [noted]
        self.n_iter_ = self.max_iter
        self._claimed(mechanism, rows, self.parameters_)
        return self

    def _widths(self) -> list[int]:
        try:
            widths = [int(width) for width in np.atleast_1d(np.asarray(self.hidden_layer_sizes, dtype=int)).ravel()]
            if all(1 <= width <= 1_000_000 for width in widths):
                return widths
            given = "list with one out of range"
        except (TypeError, ValueError):
            given = type(self.hidden_layer_sizes).__name__
        raise InvalidInput(f"hidden_layer_sizes is a {given}, expected the width of each layer as integers")

    def _population(self, rows: Any, seed: int | None) -> tuple[int, list[tuple[str, float, float, float]]]:
        """Return the approximate number of rows, and the noise of the count, if there was one."""
        if self.planned_rows is not None:
            if not 1 <= self.planned_rows <= 1e15:
                raise InvalidInput("planned_rows is out of range, expected 1 to 10^15")
            return int(self.planned_rows), []
        noise = _veracity._gaussian_noise(*self._for_number(), 1)
        (part,), _ = self._sums(rows[:, :1], "box", ["count"], noise, seed, call=1 << 32)
        # Four deviations more than the noisy number: batches for too few rows are too large, those for a few too many cost little.
        return max(1, round(float(part["count"][0]) + 4.0 * noise)), self._noted

    def _for_number(self) -> tuple[float, float]:
        """The budget of the noisy count."""
        return 0.05 * self.epsilon, 0.05 * self.delta

    def _rest(self) -> tuple[float, float]:
        """The budget of the training, slightly rounded down, so that both together stay within the budget."""
        epsilon, delta = self._for_number()
        return (self.epsilon - epsilon) * (1 - 1e-9), (self.delta - delta) * (1 - 1e-9)

    def _outputs(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = self._rows(X, reset=False)
        scaled = self._centred(rows, self._box(self.bounds, rows.shape[1]))
        outputs = _veracity._network_outputs(
            scaled, len(self.classes_), self._layers, self.activation, self.parameters_.tolist()
        )
        return outputs.reshape(len(rows), -1).astype("float64")

    def predict(self, X: Any) -> Any:
        """Predict the class of each row.

        Args:
            X: the rows.

        Returns:
            An array of labels.
        """
        outputs = self._outputs(X)
        return self.classes_[outputs.argmax(axis=1)]

    def predict_proba(self, X: Any) -> Any:
        """Predict the probability of each class.

        Args:
            X: the rows.

        Returns:
            An array with one row per row of X and one column per class.
        """
        outputs = self._outputs(X)
        chances = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return chances / chances.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> Any:
        """Predict the logarithm of the probability of each class.

        Args:
            X: the rows.

        Returns:
            An array with one row per row of X and one column per class.
        """
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _assumptions(self) -> list[str]:
        said = super()._assumptions()
        if self.planned_rows is not None:
            said.append("planned_rows is public")
        return said
