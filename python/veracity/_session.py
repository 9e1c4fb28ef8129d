"""Private statistics of a table within a privacy budget.

>>> import veracity as v
>>> s = v.Session({"hours": [40.0, 38.0, 45.0] * 500}, epsilon=3, delta=1e-6, seed=1)
>>> r = s.mean("hours", lower=0, upper=99, epsilon=0.5)
>>> abs(float(r) - 41) <= 2 * r.error_bar
True
>>> s.spent.epsilon <= 0.51
True
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from itertools import islice
from operator import index
from typing import Any

from ._answer import Answer
from ._cautions import warn_of_large_delta
from ._errors import FileError, InvalidInput
from ._ledger import BudgetShare, Ledger, ledger_of
from ._table import path_of, table_of
from ._veracity import Claim, Interval, Mechanism, _save_claims, _Session, _text

#: More than anyone asks of one question: each costs a part of its ε.
MOST_RANKS = 1000
#: More than a notebook can show; what is counted for each is kept.
MOST_KEYS = 1_000_000


class Questions:
    """Queries of a table, or of each group of its rows."""

    def _ask(
        self,
        statistic: str,
        column: str | None,
        epsilon: float,
        *,
        texts: bool = False,
        edges: list[float] | None = None,
        labels: list[str] | None = None,
        **asked: Any,
    ) -> Answer:
        raise NotImplementedError

    def count(self, column: str | None = None, *, epsilon: float) -> Answer:
        """Count the rows, or the values of a column that are not missing.

        Args:
            column: the name of the column, or None to count rows.
            epsilon: ε to spend.

        Returns:
            An `Answer`.

        Raises:
            BudgetExceeded: if the query costs more than is left. Nothing is charged.
            InvalidInput: if an argument is out of range or the column does not fit.
        """
        return self._ask("count", column, epsilon)

    def sum(self, column: str, *, lower: float, upper: float, epsilon: float) -> Answer:
        """Return the sum of a column.

        Each value is clamped to the bounds first.

        Args:
            column: the name of the column.
            lower: the lower clamping bound. Do not compute it from the data.
            upper: the upper clamping bound. Do not compute it from the data.
            epsilon: ε to spend.

        Returns:
            An `Answer`.

        Raises:
            BudgetExceeded: if the query costs more than is left. Nothing is charged.
            InvalidInput: if an argument is out of range or the column does not fit.
        """
        return self._ask("sum", column, epsilon, lower=lower, upper=upper)

    def mean(self, column: str, *, lower: float, upper: float, epsilon: float) -> Answer:
        """Return the mean of a column.

        Each value is clamped to the bounds first. The number of rows is private, at no extra cost.

        Args:
            column: the name of the column.
            lower: the lower clamping bound. Do not compute it from the data.
            upper: the upper clamping bound. Do not compute it from the data.
            epsilon: ε to spend.

        Returns:
            An `Answer`.

        Raises:
            BudgetExceeded: if the query costs more than is left. Nothing is charged.
            InvalidInput: if an argument is out of range or the column does not fit.

        Example:
            >>> import veracity as v
            >>> s = v.Session({"hours": [40.0, 38.0, 45.0] * 500}, epsilon=1, seed=1)
            >>> 40 < float(s.mean("hours", lower=0, upper=99, epsilon=0.5)) < 42
            True
        """
        return self._ask("mean", column, epsilon, lower=lower, upper=upper)

    def variance(self, column: str, *, lower: float, upper: float, epsilon: float) -> Answer:
        """Return the population variance of a column.

        Each value is clamped to the bounds first.

        Args:
            column: the name of the column.
            lower: the lower clamping bound. Do not compute it from the data.
            upper: the upper clamping bound. Do not compute it from the data.
            epsilon: ε to spend.

        Returns:
            An `Answer`.

        Raises:
            BudgetExceeded: if the query costs more than is left. Nothing is charged.
            InvalidInput: if an argument is out of range or the column does not fit.
        """
        return self._ask("variance", column, epsilon, lower=lower, upper=upper)

    def quantile(
        self,
        column: str,
        rank: float,
        *,
        lower: float,
        upper: float,
        epsilon: float,
        error_bar: str = "pair",
    ) -> Answer:
        """Return the `rank` quantile of a column.

        Args:
            column: the name of the column.
            rank: the fraction of values below the quantile, from 0 to 1. Use 0.5 for the median.
            lower: the lower clamping bound. Do not compute it from the data.
            upper: the upper clamping bound. Do not compute it from the data.
            epsilon: ε to spend.
            error_bar: "pair" chooses both ends of the error bar at once with all of ε. The bar holds with probability 95% if
                the values around the quantile have no large gaps. "charged" spends a third of ε on the bar. Such a bar holds with
                probability 95% for all data, and is several times as wide.

        Returns:
            An `Answer`.

        Raises:
            BudgetExceeded: if the query costs more than is left. Nothing is charged.
            InvalidInput: if an argument is out of range or the column does not fit.
        """
        return self._ask(
            "quantile", column, epsilon, lower=lower, upper=upper, ranks=[_rank(rank)], error_bar=error_bar
        )

    def quantiles(
        self,
        column: str,
        ranks: Sequence[float],
        *,
        lower: float,
        upper: float,
        epsilon: float,
        error_bar: str = "pair",
    ) -> Answer:
        """Return several quantiles of a column as one query.

        Args:
            column: the name of the column.
            ranks: the fractions of values below each quantile, from 0 to 1.
            lower: the lower clamping bound. Do not compute it from the data.
            upper: the upper clamping bound. Do not compute it from the data.
            epsilon: ε to spend on all of them together.
            error_bar: "pair" or "charged", as for `quantile`.

        Returns:
            An `Answer`.

        Raises:
            BudgetExceeded: if the query costs more than is left. Nothing is charged.
            InvalidInput: if an argument is out of range or the column does not fit.
        """
        ranks = [_rank(rank) for rank in _walked("ranks", ranks, "a list of numbers from 0 to 1", MOST_RANKS)]
        if not ranks:
            raise InvalidInput("ranks are empty, expected at least one")
        return self._ask(
            "quantile", column, epsilon, lower=lower, upper=upper, ranks=ranks, error_bar=error_bar, many=True
        )

    def histogram(
        self,
        column: str,
        *,
        epsilon: float,
        bins: int | None = None,
        lower: float | None = None,
        upper: float | None = None,
        edges: Sequence[float] | None = None,
        keys: Iterable[Any] | None = None,
    ) -> Answer:
        """Count the values in each bin.

        Give `bins` with `lower` and `upper`, or `edges`, or `keys`. The bins are public, so do not compute them from the data. You get a
        count for every bin, even if it is empty. Numbers outside are counted in the first or last bin. Values that are not a key are not counted.

        Args:
            column: the name of the column.
            epsilon: ε to spend.
            bins: the number of bins of equal width between `lower` and `upper`.
            lower: the lower edge of the first bin, with `bins`.
            upper: the upper edge of the last bin, with `bins`.
            edges: the edges of the bins, in increasing order.
            keys: the values to count, one bin each.

        Returns:
            An `Answer`.

        Raises:
            BudgetExceeded: if the query costs more than is left. Nothing is charged.
            InvalidInput: if an argument is out of range or the column does not fit.
        """
        given = [name for name, value in [("bins", bins), ("edges", edges), ("keys", keys)] if value is not None]
        if len(given) != 1:
            raise InvalidInput(f"{' and '.join(given) or 'nothing'} is given, expected one of bins, edges and keys")
        if keys is not None:
            return self._ask("histogram", column, epsilon, texts=True, keys=_texts("keys", keys))
        if edges is not None:
            numbers, labels = _bins(edges)
            return self._ask("histogram", column, epsilon, edges=numbers[1:-1], labels=labels, keys=labels)
        return self._ask("histogram", column, epsilon, bins=bins, lower=lower, upper=upper)


class Session(Questions):
    """A table with a privacy budget. Each query is charged before it is answered.

    All answers together are (epsilon, delta)-private, even if you choose later queries after you have seen earlier answers. Without delta,
    the noise is Laplace and ε adds up. With delta, the noise is Gaussian and μ² adds up: a query with a tenth of the ε costs about a
    hundredth of the budget. A query that exceeds the budget raises `BudgetExceeded` and costs nothing.

    Args:
        data: a pandas or polars DataFrame, an Arrow table, a dict of arrays, or the path of a file (CSV, TSV, Parquet, NPY, NPZ).
        epsilon: ε of the budget.
        delta: δ of the budget. Choose it at or below 1/n for n rows. If n is public, a larger one emits a `PrivacyWarning`.
        person: the privacy ID column. If given, all rows with the same ID are protected together. Otherwise each row is protected on
            its own.
        rows_per_person: the maximum number of rows per person. Veracity samples them at random.
        adjacency: "add-remove" (the number of rows is private), "replace-one" or "zero-out" (it is public).
        name: the name of the data in claims.
        ledger: a `Ledger` or its path. It is charged for every query too.
        analyst: the person who asks, if the ledger has limits per analyst.
        seed: only for tests. Anyone with the seed can subtract the noise, so the claims are marked as not for release.

    Raises:
        InvalidInput: if an argument is out of range or the column does not exist.
        FileError: if the file cannot be read.

    Example:
        >>> import veracity as v
        >>> s = v.Session({"hours": [40.0, 38.0, 45.0] * 500}, epsilon=1, seed=1)
        >>> s.count(epsilon=0.25)
        <count: 1497 ± 12, epsilon 0.25>
        >>> f"{s.remaining.epsilon:.2f}"
        '0.75'
    """

    def __init__(
        self,
        data: Any,
        epsilon: float,
        delta: float = 0.0,
        *,
        person: str | None = None,
        rows_per_person: int = 1,
        adjacency: str = "add-remove",
        name: str | None = None,
        ledger: Ledger | str | os.PathLike[str] | None = None,
        analyst: str | None = None,
        seed: int | None = None,
    ) -> None:
        self._table = table_of(data)
        if person is not None:
            self._table.check(_name("person", person), True)
        if not isinstance(name, (str, type(None))):
            raise TypeError(f"name is a {type(name).__name__}, expected a string")
        self._seed = _seed(seed)
        self._account = _Session(
            epsilon, delta, adjacency, person, rows_per_person, name or self._table.name, self._seed
        )
        self.ledger = ledger_of(ledger, self._seed, None)
        self._analyst = analyst
        self._name = name or self._table.name
        self.epsilon = float(epsilon)
        self.delta = float(delta)
        self.person = person
        self.rows_per_person = int(rows_per_person) if person is not None else None
        self.adjacency = adjacency
        self._answers: list[Answer] = []
        self._lock = threading.Lock()
        # The number of rows is public but under add-remove; that of persons is not known.
        self._is_size_public = adjacency != "add-remove" and person is None
        self._warn_of_delta(self._table.size(), stacklevel=3)

    def _warn_of_delta(self, size: int | None, stacklevel: int) -> None:
        if self._is_size_public and size is not None:
            self._is_size_public = False
            warn_of_large_delta(self.delta, size, stacklevel + 1)

    def group_by(self, column: str, keys: Iterable[Any]) -> Groups:
        """Query the rows of each key separately.

        A row is in one group, so a query of all groups costs as much as a query of the whole table. The rows of one person may be in several
        groups. These are charged like several rows in one group.

        Args:
            column: the column with the keys.
            keys: the public list of keys. Each of them gets an answer, even if it does not occur. Rows with other keys are ignored.

        Returns:
            A `Groups` object with the same queries as the session.

        Raises:
            InvalidInput: if the column does not exist.
        """
        self._table.check(_name("column", column), True)
        return Groups(self, column, _texts("keys", keys))

    @property
    def spent(self) -> BudgetShare:
        """Spent budget, as the ε of a single query with the same cost (rounded up)."""
        epsilon, total, limit = self._account.spent()
        return BudgetShare(epsilon, self.delta, total / limit if limit else 0.0)

    @property
    def remaining(self) -> BudgetShare:
        """Remaining budget, as the largest ε of a query that still fits (rounded down)."""
        epsilon, total, limit = self._account.remaining()
        return BudgetShare(epsilon, self.delta, total / limit if limit else 0.0)

    @property
    def answers(self) -> list[Answer]:
        """All answers so far."""
        with self._lock:
            return list(self._answers)

    @property
    def mechanism(self) -> Mechanism | None:
        """All charged queries as one mechanism, or None before the first query."""
        return self._account.mechanism()

    def composed(self, delta: float | None = None) -> Interval | None:
        """Compute ε of the queries so far, as if you had fixed all of them in advance.

        This number is for information. It is not a bound if you chose later queries after you saw earlier answers. Use `spent` for the budget.

        Args:
            delta: δ of the result. None takes the δ of the session.

        Returns:
            An `Interval`, or None before the first query.
        """
        mechanism = self._account.mechanism()
        return None if mechanism is None else mechanism.epsilon(self.delta if delta is None else delta)

    def claims(self) -> list[Claim]:
        """Return the claims of all answers.

        Returns:
            A list of `Claim`.
        """
        return [answer.claim for answer in self.answers]

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Write the claim of each answer to a new file in a folder.

        Args:
            folder: the folder. It is created if necessary.

        Returns:
            The paths of the files.

        Raises:
            FileError: if the folder cannot be created or a file cannot be written.
        """
        where = path_of("folder", folder)
        try:
            os.makedirs(where, exist_ok=True)
        except (OSError, ValueError) as why:
            raise FileError(f"folder cannot be made ({type(why).__name__}), expected a path that can be written") from None
        return [os.fspath(path) for path in _save_claims(where, self.claims())]

    def _ask(
        self,
        statistic: str,
        column: str | None,
        epsilon: float,
        *,
        texts: bool = False,
        edges: list[float] | None = None,
        labels: list[str] | None = None,
        many: bool = False,
        group: tuple[str, list[str]] | None = None,
        **asked: Any,
    ) -> Answer:
        if column is not None:
            self._table.check(_name("column", column), texts or statistic == "count")
            texts = self._table.reads_texts(column) if statistic == "count" else texts
        # From here on it is paid for, whatever becomes of it.
        charged = self._account.charge(statistic, column, epsilon, group=group, **asked)
        paid = self._paid(charged.mechanism, statistic, column, group)
        try:
            rows, promise = self._answered(charged, column, texts, edges, labels, group)
        except BaseException:
            if paid is not None:
                paid._request.give_up()
            raise
        ranks = asked.get("ranks") if many else None
        rows = _rows(rows, group, ranks)
        if paid is not None:
            paid.commit(rows)
        answer = Answer(
            statistic, column, rows, promise, self._seed is None, float(epsilon), self.delta, self.rows_per_person
        )
        with self._lock:
            self._answers.append(answer)
        return answer

    def _paid(self, mechanism: Any, statistic: str, column: str | None, group: tuple[str, list[str]] | None) -> Any:
        """Charge the ledger, if there is one."""
        if self.ledger is None:
            return None
        what = statistic + (f" of {column}" if column is not None else "") + (f" by {group[0]}" if group else "")
        return self.ledger.charge(mechanism, what, analyst=self._analyst, dataset=self._name)

    def _answered(
        self,
        charged: Any,
        column: str | None,
        texts: bool,
        edges: list[float] | None,
        labels: list[str] | None,
        group: tuple[str, list[str]] | None,
    ) -> Any:
        values = self._table.column(column, texts)
        self._warn_of_delta(len(values), stacklevel=5)
        if edges is not None and labels is not None:
            values = values.binned(edges, labels)
        groups = None if group is None else self._table.column(group[0], True)
        persons = None if self.person is None else self._table.column(self.person, True)
        return self._account.answer(charged, values, groups, persons)

    def __repr__(self) -> str:
        delta = f", delta={self.delta:g}" if self.delta else ""
        return (
            f"<Session epsilon={self.epsilon:g}{delta}: {len(self.answers)} answers, "
            f"spent {self.spent.epsilon:.4g}, remaining {self.remaining.epsilon:.4g}>"
        )

    def _repr_html_(self) -> str:
        part = 100 * self.spent.fraction
        delta = f", delta {self.delta:g}" if self.delta else ""
        asked = "".join(answer._repr_html_() for answer in self.answers[-20:])
        return (
            f"<div><b>session</b> epsilon {self.epsilon:g}{delta}: spent {self.spent.epsilon:.4g}, "
            f"remaining {self.remaining.epsilon:.4g}"
            f"<svg width='320' height='14' role='img'><rect width='320' height='14' fill='currentColor' opacity='.12'/>"
            f"<rect width='{3.2 * part:.1f}' height='14' fill='#4c8bb8'/></svg>{asked}</div>"
        )

    def __reduce__(self) -> Any:
        raise TypeError("a session cannot be copied: its budget would be spent twice")


class Groups(Questions):
    """Queries of each group of a session. Make one with `Session.group_by`. All methods are those of the session."""

    def __init__(self, session: Session, column: str, keys: list[str]) -> None:
        self.session = session
        self.column = column
        self.keys = keys

    def _ask(self, statistic: str, column: str | None, epsilon: float, **asked: Any) -> Answer:
        return self.session._ask(statistic, column, epsilon, group=(self.column, self.keys), **asked)

    def __repr__(self) -> str:
        return f"<{len(self.keys)} groups by {self.column} of {self.session!r}>"


def _rows(
    parts: list[list[tuple[str | None, float, float, float | None]]],
    group: tuple[str, list[str]] | None,
    ranks: list[float] | None,
) -> list[dict[str, Any]]:
    rows = []
    for place, cells in enumerate(parts):
        for number, (label, value, error_bar, rank_error) in enumerate(cells):
            row: dict[str, Any] = {}
            if group is not None:
                row[group[0]] = group[1][place]
            if label is not None:
                row["bin"] = label
            if ranks is not None:
                row["rank"] = ranks[number]
            row.update(answer=value, error_bar=error_bar, rank_error=rank_error)
            rows.append(row)
    return rows


def _name(what: str, name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{what} is a {type(name).__name__}, expected the name of a column")
    return name


def _rank(rank: Any) -> float:
    return _number("rank", rank, "a number from 0 to 1")


def _number(what: str, given: Any, expected: str) -> float:
    if not isinstance(given, (bool, str, bytes)):
        try:
            return float(given)
        except Exception:
            pass
    kind = "an int too large" if isinstance(given, int) and not isinstance(given, bool) else f"a {type(given).__name__}"
    raise TypeError(f"{what} is {kind}, expected {expected}")


def _walked(what: str, given: Any, expected: str, most: int) -> list[Any]:
    """Return a list of the given items, which may be any iterable, up to a maximum length."""
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{what} is one text, expected {expected}")
    try:
        found = list(islice(given, most + 1))
    except Exception:
        found = None
    if found is None:
        raise TypeError(f"{what} is a {type(given).__name__}, expected {expected}")
    if len(found) > most:
        raise InvalidInput(f"{what} are more than {most}, expected at most that many")
    return found


def _seed(seed: Any) -> int | None:
    if seed is None:
        return None
    try:
        whole = -1 if isinstance(seed, bool) else index(seed)
    except Exception:
        whole = -1
    if not 0 <= whole < 2**64:
        raise InvalidInput("seed is not an integer in range, expected 0 ≤ seed < 2^64")
    return whole


def _texts(what: str, keys: Iterable[Any]) -> list[str]:
    texts = [_text(key) for key in _walked(what, keys, "a list of strings or numbers", MOST_KEYS)]
    if any(text is None for text in texts):
        raise InvalidInput(f"{what} has a missing value or another object, expected strings or numbers")
    return [text for text in texts if text is not None]


def _bins(edges: Sequence[float]) -> tuple[list[float], list[str]]:
    numbers = [_number("an edge", edge, "a number") for edge in _walked("edges", edges, "a list of numbers", MOST_KEYS)]
    if len(numbers) < 2 or any(not a < b for a, b in zip(numbers, numbers[1:], strict=False)):
        raise InvalidInput("edges are not increasing, expected at least two numbers in increasing order")
    last = len(numbers) - 2
    ends = [")" if i < last else "]" for i in range(last + 1)]
    return numbers, [f"[{_short(numbers[i])}, {_short(numbers[i + 1])}{ends[i]}" for i in range(last + 1)]


def _short(x: float) -> str:
    return str(int(x)) if abs(x) < 1e15 and x == int(x) else repr(x)
