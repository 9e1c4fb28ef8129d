"""Counts the fits of this process and its workers by the rows that they share, and computes their total cost.

scikit-learn clones an estimator for every fold and every candidate of a search, and a clone has only the parameters. So fits are counted
here, for the process and its workers. Rows are recognized by a hash of their values. Fits that share a row, directly or through other
fits, are about the same people, and compose. Rows that one of our transformers made count as the rows that it got.

The count errs on the side of more: equal rows of different people count as the same. It includes the fits of worker processes that this
one started (`n_jobs`), and misses rows that another package transformed.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections import Counter
from typing import Any

import numpy as np

from .._errors import NoProtection, NotCertified, NoTheorem, PrivacyWarning
from .._kinds import approximate, composed
from .._veracity import Interval, Mechanism
from ._exchange import Exchange, Fit
from ._exchange import Noted as _Noted


class Fits:
    """The fits of this process that share rows, and their total cost.

    Attributes:
        n_fits: the number of fits.
        mechanism: all of them as one mechanism.
        epsilon: their total cost at `delta`, as an `Interval`.
        delta: the sum of their deltas.
        is_seeded: True if the noise of any of them came from a seed.
    """

    def __init__(self, n_fits: int, mechanism: Mechanism, epsilon: Interval, delta: float, is_seeded: bool, noted: list[_Noted]) -> None:
        self.n_fits, self.mechanism, self.epsilon, self.delta, self.is_seeded = n_fits, mechanism, epsilon, delta, is_seeded
        self._noted = noted

    def __repr__(self) -> str:
        return f"<{self.n_fits} fits: epsilon ≤ {self.epsilon:.6g} at delta {self.delta:g}>"


class _Register:
    """Fits that share rows."""

    def __init__(self, *fits: Fit) -> None:
        self.rows = np.unique(np.concatenate([fit.rows for fit in fits])) if fits else np.empty(0, dtype="uint64")
        self.mechanisms: Counter[Mechanism] = Counter(fit.mechanism for fit in fits)
        self.budgets = [fit.budget for fit in fits]
        #: The noise of each mechanism; a claim notes it once, however often it was used.
        self.noted = {fit.mechanism: fit.noted for fit in fits}
        self.is_seeded = any(fit.is_seeded for fit in fits)

    def merge(self, other: _Register) -> None:
        self.rows = np.union1d(self.rows, other.rows)
        self.mechanisms += other.mechanisms
        self.budgets += other.budgets
        self.noted = {**other.noted, **self.noted}
        self.is_seeded |= other.is_seeded

    def total(self) -> Fits:
        delta = math.fsum(delta for _, delta in self.budgets)
        if len(self.budgets) > 1 and delta > 0:
            # A sum that was rounded down would leave out a part of what declared pairs need.
            delta = math.nextafter(delta, math.inf)
        parts = [mechanism * times if times > 1 else mechanism for mechanism, times in self.mechanisms.items()]
        whole = parts[0] if len(parts) == 1 else composed(parts)
        noted = [note for mechanism in self.mechanisms for note in self.noted[mechanism]]
        try:
            epsilon = whole.epsilon(delta)
        except (NoProtection, NotCertified, NoTheorem):
            # Basic composition holds for whatever each fit promised.
            spent = math.nextafter(math.fsum(epsilon for epsilon, _ in self.budgets), math.inf)
            whole, noted = approximate(epsilon=spent, delta=delta, adjacency="add-remove", unit="row"), []
            epsilon = whole.epsilon(delta)
        return Fits(len(self.budgets), whole, epsilon, delta, self.is_seeded, noted)


_registers: list[_Register] = []
_lock = threading.Lock()
_exchange = Exchange()


def count(rows: Any, mechanism: Mechanism, budget: tuple[float, float], is_seeded: bool, noted: list[_Noted]) -> Fits:
    """Count a fit on these rows, and return the total cost of all fits that share rows with it. Warn if it is not the first."""
    fit = Fit(_hashed(rows), mechanism, budget, is_seeded, noted)
    with _lock:
        _read_news()
        register = _add(fit)
        total = register.total()
        # With the rows that its own were made of, which other processes know.
        _exchange.publish(Fit(register.rows, mechanism, budget, is_seeded, noted))
    if total.n_fits > 1:
        warnings.warn(
            f"this is fit {total.n_fits} of private estimators on these rows in this process and its workers, and all of them cost "
            f"epsilon ≤ {total.epsilon:.4g} at delta {total.delta:g}: claim_ is for all of them, mechanism_ for this fit alone",
            PrivacyWarning,
            stacklevel=4,
        )
    return total


def _add(fit: Fit) -> _Register:
    register = _Register(fit)
    for other in _sharing(register.rows):
        _registers.remove(other)
        register.merge(other)
    _registers.append(register)
    return register


def _read_news() -> None:
    for fit in _exchange.news():
        _add(fit)


def follow(rows: Any, transformed: Any) -> None:
    """Note that rows were made from others, so that fits on either count for both."""
    if len(rows) == 0:
        return
    before, after = _hashed(rows), _hashed(transformed)
    with _lock:
        for register in _sharing(np.unique(before)):
            register.rows = np.union1d(register.rows, after[np.isin(before, register.rows)])


def fits(X: Any) -> Fits | None:
    """Return the total cost of all fits that share rows with X, in this process and its workers.

    Fits on rows that another package transformed, and fits of earlier runs, are not included.

    Args:
        X: the rows.

    Returns:
        A `Fits`, or None if there is no such fit.
    """
    rows = np.unique(_hashed(np.asarray(X, dtype="float64")))
    whole = _Register()
    with _lock:
        _read_news()
        for register in _sharing(rows):
            whole.merge(register)
    return whole.total() if whole.budgets else None


def forget_fits() -> None:
    """Forget all fits of this process and its workers.

    Call it if the rows are not private, or if you track their cost elsewhere, for example in a `Ledger`.
    """
    with _lock:
        _read_news()
        _registers.clear()


def _sharing(rows: Any) -> list[_Register]:
    return [register for register in _registers if np.isin(rows, register.rows, assume_unique=True).any()]


def _hashed(rows: Any) -> Any:
    """64 bits for each row, keyed, by splitmix64's finalizer column after column. Equal rows have equal hashes."""
    rows = np.ascontiguousarray(rows, dtype="float64")
    rows = np.where(np.isnan(rows), np.nan, rows) + 0.0
    words = np.ascontiguousarray(rows).view("uint64").reshape(len(rows), -1)
    mixed = np.full(len(rows), _exchange.key, dtype="uint64") ^ np.uint64(words.shape[1])
    for column in words.T:
        mixed = _mixed(mixed ^ _mixed(column + np.uint64(0x9E3779B97F4A7C15)))
    return mixed


def _mixed(words: Any) -> Any:
    with np.errstate(over="ignore"):
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))
