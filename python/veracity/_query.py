"""Private SQL on the engine that holds the tables.

>>> import pathlib, tempfile, veracity as v
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> rows = "".join(f"{i},{'Male' if i % 2 else 'Female'},{30 + i % 20}\\n" for i in range(2000))
>>> _ = (folder / "people.csv").write_text("id,sex,hours\\n" + rows)
>>> _ = (folder / "catalog.toml").write_text('''
... [tables.people]
... path = "people.csv"
... person = "id"
... rows_per_group = 1
... groups_per_person = 1
... [tables.people.columns]
... hours = { lower = 0, upper = 99 }
... sex = { keys = ["Male", "Female"] }
... ''')
>>> r = v.query(
...     "SELECT sex, AVG(hours) AS hours FROM people GROUP BY sex",
...     catalog=folder / "catalog.toml", epsilon=1, claim=folder / "claim.json", seed=1,
... )
>>> [row["sex"] for row in r.rows], all(abs(row["hours"]["answer"] - 39.5) < 2 for row in r.rows)
(['Male', 'Female'], True)
"""

from __future__ import annotations

import html
import json
import math
import os
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypedDict

from ._errors import Error, InvalidInput
from ._ledger import Ledger, ledger_of
from ._veracity import Claim, Mechanism, _Charge, _Query, read_claim

if TYPE_CHECKING:
    from typing_extensions import Unpack


class QuerySettings(TypedDict, total=False):
    """Keywords of `query` and `preview_query` that decide what a query costs and counts. `query` explains each of them."""

    delta: float
    noise: str | None
    groups_per_person: int | None
    rows_per_group: int | None
    suggest_caps: float | None
    count_cut: bool
    delimiter: str | None
    decimal: str | None
    thousands: str | None
    encoding: str | None
    every: str | None
    date: str | None
    minimize: str


class QueryResult:
    """Result of `query`: noisy rows with error bars, and one claim.

    Attributes:
        columns: the names of the columns.
        rows: one dict per row. A key is a string, or None if the grouping of the row does not have it. A noisy number is
            {"answer": …, "error_bar": …}, both None if it is undefined.
        claim: the claim of the query.
        claim_path: the file with the claim.
        epsilon: ε that was spent, rounded up.
        threshold: the minimum noisy number of people that a group needs to appear, or None if all keys are public.
        rows_per_group: how many rows of one person count in each group, at most. None if a ledger stored an answer without it.
        groups_per_person: in how many groups one person counts, at most.
        rows_cut: with `count_cut`, how many rows the caps left out, as {"answer": …, "error_bar": …}. Otherwise None.
        entry: the number of the entry in the ledger, or None without a ledger.
    """

    entry: int | None = None

    def __init__(self, query: _Query, answered: Any) -> None:
        self.columns: list[str]
        self.claim: Claim
        self.columns, cells, self.claim, self.claim_path, (rows, groups, *cut) = answered
        self.rows_per_group: int | None = rows
        self.groups_per_person: int | None = groups
        self.rows_cut: dict[str, float | None] | None = None if cut[0] is None else _number(*cut)
        self.epsilon: float = query.epsilon
        self.threshold: float | None = query.threshold
        self.rows: list[dict[str, Any]] = [
            {
                name: key if key is not None or answer is None else _number(answer, error_bar)
                for name, (key, answer, error_bar) in zip(self.columns, row, strict=True)
            }
            for row in cells
        ]

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> list[dict[str, Any]]:
        """Convert the result to a list of flat dicts.

        Returns:
            One dict per row. `name` is the answer, and `name ±` its error bar.
        """
        return [_flat(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """Convert the result to a pandas DataFrame.

        Returns:
            A DataFrame with the keys, the answers and their error bars.

        Raises:
            ImportError: if pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise ImportError("pandas is not installed, expected it for to_pandas: pip install pandas") from None
        return pandas.DataFrame(self.to_dict())

    def __repr__(self) -> str:
        return f"<{len(self.rows)} rows of {', '.join(self.columns)}, epsilon {self.epsilon:.4g}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{html.escape(name)}</th>" for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in self.columns) + "</tr>" for row in self.rows[:200]
        )
        more = f"<p>and {len(self.rows) - 200} more</p>" if len(self.rows) > 200 else ""
        return f"<div><table><tr>{head}</tr>{body}</table>{more}<p style='opacity:.7'>epsilon {self.epsilon:.4g}</p></div>"


class QueryPreview:
    """Cost and expected error of a query, computed without reading data or spending budget.

    Attributes:
        epsilon: ε that the query would spend, rounded up.
        mechanism: the mechanism that it would apply to the data of one person.
        threshold: the minimum noisy number of people that a group needs to appear, or None if all keys are public.
        columns: one dict per noisy column, with its name, the error bar of a group of `rows` rows, and its own ε.
        suppressed: the fraction of groups with private keys that would not appear, by number of people (1, 2, 5, …), rounded up.
    """

    def __init__(self, query: _Query, rows: int) -> None:
        self.epsilon: float = query.epsilon
        self.mechanism: Mechanism = query.mechanism
        self.threshold: float | None = query.threshold
        self.suppressed: dict[int, float] = {persons: share[1] for persons, share in query.suppressed()}
        self.columns = [
            {"name": name, "error_bar": error_bar, "epsilon": epsilon} for name, error_bar, epsilon in query.preview(rows)
        ]

    def __repr__(self) -> str:
        errors = ", ".join(f"{column['name']} ± {column['error_bar']:.2g}" for column in self.columns)
        return f"<{errors}, epsilon {self.epsilon:.4g}>"


def query(
    sql: str,
    *,
    catalog: str | os.PathLike[str],
    epsilon: float,
    engine: Any = None,
    claim: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    request_id: str | None = None,
    analyst: str | None = None,
    seed: int | None = None,
    **settings: Unpack[QuerySettings],
) -> QueryResult:
    """Run a differentially private SQL query.

    The claim is written before the answer is returned. With a ledger, the charge comes first, and the same `request_id` returns the stored
    answer for free, so you can run a notebook again.

    Args:
        sql: the query. The page "SQL" of the documentation lists the supported statements.
        catalog: a TOML file with the tables, the privacy ID column, the clamping bounds and the public keys.
        epsilon: ε to spend.
        engine: "sqlite" reads files and is the default. "duckdb" runs DuckDB's program. You can also pass a DuckDB connection or a
            SparkSession. The engine adds up integers, and Veracity adds the noise.
        claim: a new file for the claim, or a folder. None takes the current folder.
        dataset: the name of the data in the claim.
        ledger: a `Ledger` or its path.
        request_id: a name of the request, for a repeatable answer. Needs a ledger.
        analyst: the person who asks, if the ledger has limits per analyst.
        seed: only for tests. Anyone with the seed can subtract the noise, so the claim is marked as not for release.
        settings: any of these keywords, which `preview_query` has too.
            delta: δ to spend, by default 0. Grouping by private keys needs one.
            noise: "laplace" or "gaussian". None takes the one that suits `delta` and the ledger.
            groups_per_person: the maximum number of groups per person, in place of the one in the catalog.
            rows_per_group: the maximum number of rows per person and group, in place of the one in the catalog.
            suggest_caps: the part of `epsilon`, such as 0.1, for choosing the caps that neither you nor the catalog give.
            count_cut: whether to count the rows that the caps leave out, with noise.
            delimiter: the character between the cells of files of text, in place of the one in the catalog. "tab" is a tab.
            decimal: the decimal separator of such files, such as ",", in place of the one in the catalog.
            thousands: the thousands separator of such files, in place of the one in the catalog.
            encoding: "utf-8", "windows-1252" or "latin-1", in place of the one in the catalog.
            every: "day", "week", "month", "quarter" or "year", for a row per period of a date column, with a total so far. Needs
                `delta`.
            date: the date column for `every`. None takes the only one.
            minimize: the numbers of `every` whose largest error should be smallest, "totals" (the default) or "counts".

    Returns:
        A `QueryResult`.

    Raises:
        InvalidInput: if the query or the catalog is not supported. The message says why.
        BudgetExceeded: if the ledger has too little budget left. Nothing is charged.
        FileError: if the catalog or a table cannot be read.
    """
    paying = ledger_of(ledger, seed, request_id)
    uses_gaussian = paying is not None and paying.status()["rule"] in ("union", "gaussian")
    if uses_gaussian and settings.get("noise") is None and settings.get("delta", 0.0) > 0:
        settings["noise"] = "gaussian"
    prepared = _prepared("query", sql, catalog, epsilon, settings)
    place = None if claim is None else os.fspath(claim)
    if paying is None:
        return QueryResult(prepared, _ask(prepared, engine, place, dataset, seed, None))
    charge = paying._ledger.request(prepared.mechanism, prepared.sql, dataset or prepared.table, request_id, analyst)
    try:
        answered = None if charge.recall() else _ask(prepared, engine, place, dataset, None, charge)
    except BaseException:
        if charge.entry is not None and charge.known is None:
            charge.give_up()
        raise
    if answered is None:
        answered = _kept(charge.known, prepared.digest)
    else:
        columns, cells, claimed, path, more = answered
        kept = {"columns": columns, "cells": cells, "claim": claimed.to_json(), "path": os.fspath(path), "more": more}
        charge.commit(json.dumps({"query": kept, "of": prepared.digest}))
    result = QueryResult(prepared, answered)
    result.entry = charge.entry
    return result


def _prepared(called: str, sql: str, catalog: str | os.PathLike[str], epsilon: float, settings: QuerySettings) -> _Query:
    """Prepare a query with the keywords of a function that was called."""
    unknown = set(settings) - set(QuerySettings.__annotations__)
    if unknown:
        raise TypeError(f"{called}() got an unexpected keyword argument '{min(unknown)}'")
    return _Query(sql, os.fspath(catalog), epsilon, **settings)


def _ask(prepared: _Query, engine: Any, place: str | None, dataset: str | None, seed: int | None, charge: _Charge | None) -> Any:
    """Return the column names, the cells, the claim and its path; or None if the request was answered before."""
    if engine is None or isinstance(engine, str):
        return prepared.ask(engine, place, dataset, seed, charge)
    dialect, run = _engine(engine)
    asking = prepared.begin(place, dataset, seed)
    statements = asking.statements(dialect)
    if charge is not None and not charge.enter():
        return None
    return asking.finish([_whole(_asked(run, text), keys, numbers) for text, keys, numbers in statements])


def _kept(known: str | None, digest: str) -> Any:
    """Read an answer that a ledger stored."""
    kept = json.loads(known or "{}")
    if not isinstance(kept, dict) or "query" not in kept:
        raise InvalidInput("request id was answered by another program, expected a new request id")
    if kept.get("of") != digest:
        raise InvalidInput("request id was answered with another catalog, expected a new request id")
    query = kept["query"]
    more = query.get("more") or (None, None, None, None)
    return query["columns"], query["cells"], read_claim(query["claim"]), pathlib.Path(query["path"]), more


def preview_query(
    sql: str,
    *,
    catalog: str | os.PathLike[str],
    epsilon: float,
    rows: int = 1000,
    **settings: Unpack[QuerySettings],
) -> QueryPreview:
    """Compute the cost and the expected error of a query without reading data.

    Args:
        sql: the query.
        catalog: a TOML file, as for `query`.
        epsilon: ε that the query would spend.
        rows: the number of rows in a group, for which the error bars are computed.
        settings: the same keywords as of `query`, such as `delta` and `rows_per_group`.

    Returns:
        A `QueryPreview`.

    Raises:
        InvalidInput: if the query or the catalog is not supported.
    """
    prepared = _prepared("preview_query", sql, catalog, epsilon, settings)
    return QueryPreview(prepared, rows)


def _engine(engine: Any) -> tuple[str, Any]:
    """Return the SQL dialect of an engine, and a function that returns the rows of a statement."""
    home = type(engine).__module__.partition(".")[0]
    if home in ("duckdb", "_duckdb") and hasattr(engine, "execute"):
        return "duckdb", lambda text: engine.execute(text).fetchall()
    if home == "pyspark" and hasattr(engine, "sql"):
        return "spark", lambda text: [tuple(row) for row in engine.sql(text).collect()]
    raise InvalidInput(
        f"engine is a {type(engine).__name__}, expected sqlite, duckdb or postgres, a DuckDB connection or a SparkSession"
    )


def _asked(run: Any, text: str) -> list[tuple[Any, ...]]:
    """Run a statement. An error of the engine may contain data, so only its class is reported."""
    try:
        return list(run(text))
    except Exception as why:
        kind = type(why).__name__
    raise Error(f"engine does not answer ({kind}), expected tables and columns as the catalog has them; nothing was released")


def _whole(rows: Iterable[Any], keys: int, numbers: int) -> list[tuple[list[str], list[int]]]:
    return [([str(key) for key in row[:keys]], [int(number) for number in row[keys : keys + numbers]]) for row in rows]


def _number(answer: float, error_bar: float) -> dict[str, float | None]:
    """A noisy number; None where it is undefined."""
    if math.isfinite(answer) and math.isfinite(error_bar):
        return {"answer": answer, "error_bar": error_bar}
    return {"answer": None, "error_bar": None}


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat[name], flat[f"{name} ±"] = value["answer"], value["error_bar"]
        else:
            flat[name] = value
    return flat


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        if value["answer"] is None:
            return "–"
        return f"{value['answer']:.6g} ± {value['error_bar']:.2g}"
    return "NULL" if value is None else html.escape(str(value))
