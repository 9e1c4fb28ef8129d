"""Private statistics of a table within one budget.

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
from ._errors import FileError, InvalidInput
from ._ledger import Ledger, Share, ledger_of
from ._table import path_of, table_of
from ._veracity import Claim, Interval, Mechanism, _save_claims, _Session, _text

#: More than anyone asks of one question: each costs a part of its ε.
MOST_RANKS = 1000
#: More than a notebook can show; what is counted for each is kept.
MOST_KEYS = 1_000_000


class Questions:
    """What can be asked of a table, or of each group of its rows."""

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
        """How many rows there are; of a column, how many of its values are not missing."""
        return self._ask("count", column, epsilon)

    def sum(self, column: str, *, lower: float, upper: float, epsilon: float) -> Answer:
        """The sum of a column, each value moved into the bounds."""
        return self._ask("sum", column, epsilon, lower=lower, upper=upper)

    def mean(self, column: str, *, lower: float, upper: float, epsilon: float) -> Answer:
        """The mean of a column, each value moved into the bounds. The number of rows is private, and costs nothing more."""
        return self._ask("mean", column, epsilon, lower=lower, upper=upper)

    def variance(self, column: str, *, lower: float, upper: float, epsilon: float) -> Answer:
        """The population variance of a column, each value moved into the bounds."""
        return self._ask("variance", column, epsilon, lower=lower, upper=upper)

    def quantile(
        self,
        column: str,
        rank: float,
        *,
        lower: float,
        upper: float,
        epsilon: float,
        error_bar: bool = True,
    ) -> Answer:
        """The value below which a part of a column lies. Its error bar in the column's unit takes a third of ε; without it,
        `error_bar=False`, it is the distance to the farther bound, and `rank_error` still says how far off the rank is."""
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
        error_bar: bool = True,
    ) -> Answer:
        """Several quantiles of a column as one question: ε is for all of them together."""
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
        """How many values are in each bin: `bins` of equal width between `lower` and `upper`, between `edges`, or equal to each of
        `keys`. Numbers outside are counted in the first or last bin, values that are no key are not counted. The bins are public
        and must not be read off the data; every one of them is answered, whether it occurs or not."""
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
    """Questions about one table within one budget, each charged before it is answered.

    However each question is chosen from earlier answers, all answers together are (epsilon, delta)-private: the budget is kept by
    a filter that is sound for that. Without a delta, noise is Laplace's and the ε of the questions add up. With one, noise is
    Gaussian and μ² adds up: a question of a tenth of the ε costs about a hundredth of the budget. A question that does not fit
    raises `BudgetExceeded` and costs nothing; one that was charged stays charged, whatever happens to its answer.

    Args:
        data: a pandas or polars DataFrame, an Arrow table, a dict of arrays, or the path of a file (CSV, TSV, Parquet, NPY, NPZ).
        epsilon, delta: what may be told in all.
        person: the column that says whose row it is. Without it, a row is protected; with it, a person with all rows.
        rows_per_person: the most rows of one person that are kept; which ones is drawn at random for each person.
        adjacency: "add-remove" (the number of rows is private), "replace-one" or "zero-out" (it is public).
        name: what the data are called in claims.
        ledger: a `Ledger`, or its path: every question is charged to it as well, before it is answered.
        analyst: with a ledger, who asks, where it has caps for analysts.
        seed: for tests alone: noise of a seed can be foretold, and the claims say so.
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
            raise TypeError(f"name is a {type(name).__name__}, expected a text")
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

    def group_by(self, column: str, keys: Iterable[Any]) -> Groups:
        """Questions about the rows of each key. Keys are public: each is answered, whether it occurs or not, and rows of other
        keys are left out. A row is in one group, so a question costs as much as one about the whole table; a person's rows may
        be in several groups, and are charged as so many rows of one."""
        self._table.check(_name("column", column), True)
        return Groups(self, column, _texts("keys", keys))

    @property
    def spent(self) -> Share:
        """What was spent, rounded up."""
        epsilon, total, limit = self._account.spent()
        return Share(epsilon, self.delta, total / limit if limit else 0.0)

    @property
    def remaining(self) -> Share:
        """What is left, rounded down: a question of this ε still fits."""
        epsilon, total, limit = self._account.remaining()
        return Share(epsilon, self.delta, total / limit if limit else 0.0)

    @property
    def answers(self) -> list[Answer]:
        """All answers so far."""
        with self._lock:
            return list(self._answers)

    @property
    def mechanism(self) -> Mechanism | None:
        """All that was charged, as one mechanism; None before the first question."""
        return self._account.mechanism()

    def composed(self, delta: float | None = None) -> Interval | None:
        """The ε of exactly what was asked, as if all of it had been fixed beforehand.

        This is information, not the budget: where later questions depend on earlier answers, to compose what was asked is not
        sound, and `spent` is what counts. None before the first question.
        """
        mechanism = self._account.mechanism()
        return None if mechanism is None else mechanism.epsilon(self.delta if delta is None else delta)

    def claims(self) -> list[Claim]:
        """The claims of all answers."""
        return [answer.claim for answer in self.answers]

    def save(self, folder: str | os.PathLike[str]) -> list[str]:
        """Writes the claim of each answer to a new file in a folder, and says where."""
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
            paid.keep(rows)
        answer = Answer(
            statistic, column, rows, promise, self._seed is None, float(epsilon), self.delta, self.rows_per_person
        )
        with self._lock:
            self._answers.append(answer)
        return answer

    def _paid(self, mechanism: Any, statistic: str, column: str | None, group: tuple[str, list[str]] | None) -> Any:
        """The charge to the ledger, where there is one."""
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
        part = 100 * self.spent.part
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
    """Questions about each group of a session's rows; see `Session.group_by`."""

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
    """A list of what is given, which may be anything that can be walked, not without end."""
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
        raise InvalidInput("seed is no whole number, expected 0 ≤ seed < 2^64")
    return whole


def _texts(what: str, keys: Iterable[Any]) -> list[str]:
    texts = [_text(key) for key in _walked(what, keys, "a list of texts or numbers", MOST_KEYS)]
    if any(text is None for text in texts):
        raise InvalidInput(f"{what} has one that is missing or neither text nor number, expected texts or numbers")
    return [text for text in texts if text is not None]


def _bins(edges: Sequence[float]) -> tuple[list[float], list[str]]:
    numbers = [_number("an edge", edge, "a number") for edge in _walked("edges", edges, "a list of numbers", MOST_KEYS)]
    if len(numbers) < 2 or any(not a < b for a, b in zip(numbers, numbers[1:], strict=False)):
        raise InvalidInput("edges do not rise, expected at least two numbers in order")
    last = len(numbers) - 2
    ends = [")" if i < last else "]" for i in range(last + 1)]
    return numbers, [f"[{_short(numbers[i])}, {_short(numbers[i + 1])}{ends[i]}" for i in range(last + 1)]


def _short(x: float) -> str:
    return str(int(x)) if abs(x) < 1e15 and x == int(x) else repr(x)
