"""Code that all private estimators share: public bounds, noisy sums of rows, a claim."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from .. import _veracity
from .._cautions import warn_of_large_delta
from .._errors import InvalidInput
from .._veracity import Claim, Mechanism
from ._fits import count

# What scikit-learn says of shapes, names and kinds.
_WITHOUT_VALUES = re.compile(
    r"Expected (2D|a 2-dimensional)|Found (array|input variables)|Complex data|Sparse data|X has \d+ features|The feature names|"
    r"Feature names|This \w+ estimator|Reshape|y should be a 1d|y cannot be None|Unknown label|Input [Xy] contains|bad input shape|"
    r"Singleton array|Expected sequence|float\(\) argument must be"
)
# The values that it shows where the shape is wrong.
_VALUES = re.compile(r"(:\n)?array=.*?\.(?=\n|$)", re.DOTALL)
# Parameters that are numbers, whichever estimator has them.
_NUMBERS = frozenset(
    "C alpha batch_size clip_norm delta epsilon learning_rate_init max_iter momentum n_clusters n_components planned_rows row_norm "
    "var_smoothing".split()
)
# Those that count something.
_WHOLE = frozenset("batch_size max_iter n_clusters n_components planned_rows".split())
_NUMBER = "the rows are private, and so is their number"


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of private estimators: takes public bounds and makes a claim."""

    claim_: Claim
    epsilon: float
    n_fits_: int
    _noted: list[tuple[str, float, float, float]]
    n_features_in_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Values never decide whether there is an answer: what is missing stands in the middle of the bounds.
        tags.input_tags.allow_nan = True
        tags.non_deterministic = True
        return tags

    def _rows(self, X: Any, reset: bool) -> Any:
        return self._validated(X, reset=reset)

    def _rows_and_targets(self, X: Any, y: Any, **how: Any) -> tuple[Any, Any]:
        rows, targets = self._validated(X, y, **how)
        return rows, targets

    def _check_numbers(self) -> None:
        """Refuse a string, or any other object, in the place of a number."""
        for name, given in self.get_params(deep=False).items():
            if name in _NUMBERS and given is not None and (isinstance(given, bool) or not isinstance(given, Real)):
                raise TypeError(f"{name} is a {type(given).__name__}, expected a number")
            if name in _WHOLE and given is not None and given % 1 != 0:
                raise InvalidInput(f"{name} has a fraction, expected an integer")

    def _validated(self, *data: Any, **how: Any) -> Any:
        self._check_numbers()
        try:
            return validate_data(self, *data, dtype="float64", ensure_all_finite=False, **how)
        except Exception as why:
            kind, told = type(why), str(why)
        # What numpy and scikit-learn say may have values of the data in it: only what is known to have none is said again.
        if issubclass(kind, ValueError | TypeError) and _WITHOUT_VALUES.match(told):
            raise kind(_VALUES.sub(".", told))
        if "could not convert" in told:
            raise InvalidInput("X or y has a value that is not a number, expected numbers, and NaN for missing ones")
        raise InvalidInput(f"X or y cannot be read ({kind.__name__}), expected arrays of numbers; missing ones are NaN")

    def _box(self, given: Any, width: int, name: str = "bounds") -> tuple[Any, Any]:
        """Return the lower and upper bound of each column, which the caller must give."""
        if given is None:
            raise InvalidInput(f"{name} are missing, expected (lower, upper): they must not be read off the data")
        try:
            lower, upper = given
            lower = np.broadcast_to(np.asarray(lower, dtype="float64"), (width,))
            upper = np.broadcast_to(np.asarray(upper, dtype="float64"), (width,))
        except (TypeError, ValueError):
            raise InvalidInput(f"{name} do not fit, expected (lower, upper), numbers or one for each column") from None
        within = np.all(np.abs(lower) <= 1e100) and np.all(np.abs(upper) <= 1e100)
        if not (within and np.all(lower < upper)):
            raise InvalidInput(f"{name} are out of order, expected numbers within ±1e100 with lower < upper")
        return lower, upper

    def _centred(self, X: Any, box: tuple[Any, Any]) -> Any:
        """Scale columns to −1 … 1 between their bounds. A missing value becomes the middle."""
        lower, upper = box
        middle, half = 0.5 * (lower + upper), 0.5 * (upper - lower)
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = (X - middle) / half
        return np.ascontiguousarray(np.nan_to_num(scaled, nan=0.0, posinf=1.0, neginf=-1.0).clip(-1.0, 1.0))

    def _seed(self) -> int | None:
        state = getattr(self, "random_state", None)
        if state is None:
            return None
        if isinstance(state, (int, np.integer)) and not isinstance(state, bool):
            return int(state) % 2**64
        if hasattr(state, "randint"):
            return int(state.randint(2**31 - 1))
        if hasattr(state, "integers"):
            return int(state.integers(2**31 - 1))
        raise InvalidInput("random_state is not a seed, expected an integer, and only for tests")

    def _sums(
        self,
        rows: Any,
        clipping: str,
        terms: Sequence[str],
        noise: float,
        seed: int | None,
        *,
        targets: Any = None,
        groups: Any = None,
        number_of_groups: int = 1,
        call: int = 0,
    ) -> tuple[list[dict[str, Any]], Mechanism]:
        """Noisy sums of each group, by term. The noise is noted for the claim."""
        number, width = rows.shape
        targets = np.empty((number, 0)) if targets is None else np.ascontiguousarray(targets, dtype="float64")
        groups = np.empty(0, dtype="uint32") if groups is None else np.ascontiguousarray(groups, dtype="uint32")
        flat, mechanism, noted = _veracity._row_sums(
            np.ascontiguousarray(rows, dtype="float64"),
            targets,
            groups,
            number_of_groups,
            clipping,
            list(terms),
            noise,
            seed,
            call,
        )
        self._noted = [noted]
        m = targets.shape[1]
        shapes = {
            "count": (1,),
            "entries": (width,),
            "squares": (width,),
            "centred squares": (width,),
            "products": (width * (width + 1) // 2,),
            "targets": (m,),
            "cross": (width, m),
        }
        found, at = [], 0
        for _ in range(number_of_groups):
            parts = {}
            for term in terms:
                size = int(np.prod(shapes[term]))
                parts[term] = flat[at : at + size].reshape(shapes[term])
                at += size
            found.append(parts)
        return found, mechanism

    def _claimed(self, mechanism: Mechanism, rows: Any, *fitted: Any) -> None:
        """Count the fit, and make the claim of all fits on these rows."""
        digest = hashlib.sha256()
        for values in fitted:
            digest.update(np.ascontiguousarray(values, dtype="float64").tobytes())
        seeded = getattr(self, "random_state", None) is not None
        delta = float(getattr(self, "delta", 0.0))
        warn_of_large_delta(delta, len(rows), stacklevel=3)
        total = count(rows, mechanism, (float(self.epsilon), delta), seeded, self._noted)
        self.mechanism_ = mechanism
        self.n_fits_ = total.n_fits
        dataset = "training data" if total.n_fits == 1 else f"training data, fit {total.n_fits} on these rows"
        self.claim_ = _veracity._model_claim(
            total.mechanism, total.delta, total.is_seeded, digest.hexdigest(), dataset, total._noted
        )
        del self._noted
        self.assumes_ = tuple(self._assumptions())

    def _assumptions(self) -> list[str]:
        return ["bounds and all other parameters were chosen without looking at the data", _NUMBER]


class PrivateClassifier(PrivateEstimator):
    """Base class of private classifiers. The labels are given, or count as public."""

    classes_: Any

    def _numbered(self, y: Any) -> Any:
        """Return the index of each label among the classes. An unknown label gets an index past the last."""
        from sklearn.utils.multiclass import check_classification_targets, type_of_target

        check_classification_targets(y)
        if type_of_target(y) not in ("binary", "multiclass"):
            raise ValueError("Unknown label type: expected one class for each row")
        given = getattr(self, "classes", None)
        try:
            self.classes_ = np.unique(y) if given is None else np.unique(np.asarray(given))
            places = np.searchsorted(self.classes_, y)
            places = np.where(places < len(self.classes_), places, 0)
            known = self.classes_[places] == y
        except Exception as why:
            # What an object says of itself may have a value in it.
            kind = type(why).__name__
        else:
            if len(self.classes_) < 2:
                raise ValueError(f"classes are {len(self.classes_)} class, expected at least two; name them by classes=")
            return np.where(known, places, len(self.classes_)).astype("uint32")
        raise InvalidInput(f"y cannot be put in order ({kind}), expected labels that can be compared, with each other and with classes")

    def _assumptions(self) -> list[str]:
        said = super()._assumptions()
        if getattr(self, "classes", None) is None:
            said.append("which labels occur is public: classes= was not given")
        return said


def symmetric(upper: Any, width: int) -> Any:
    """Return the symmetric matrix of an upper triangle."""
    matrix = np.zeros((width, width))
    matrix[np.triu_indices(width)] = upper
    return matrix + np.triu(matrix, 1).T
