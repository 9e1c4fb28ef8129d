"""Private SQL on the engine that holds the tables.

>>> import pathlib, tempfile, veracity as v
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> rows = "".join(f"{i},{'Male' if i % 2 else 'Female'},{30 + i % 20}\\n" for i in range(2000))
>>> _ = (folder / "people.csv").write_text("id,sex,hours\\n" + rows)
>>> _ = (folder / "catalog.toml").write_text('''
... [tables.people]
... path = "people.csv"
... person = "id"
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
import os
import pathlib
from collections.abc import Iterable
from typing import Any

from ._errors import Error, InvalidInput
from ._ledger import Ledger, ledger_of
from ._veracity import Claim, Mechanism, _Charge, _Query, read_claim


class QueryResult:
    """Noisy rows with error bars and one claim.

    Attributes:
        columns: the names of the columns.
        rows: one dict for each row; a key is a text, a noisy number is {"answer": …, "error_bar": …}.
        claim: what was promised, as a claim that anyone can verify.
        claim_path: the file that it was written to.
        epsilon: what was spent, rounded up.
        threshold: from how many persons on a group of unknown keys is shown; None where all keys are public.
        entry: the number of its entry in the ledger that paid; None without one.
    """

    entry: int | None = None

    def __init__(self, query: _Query, answered: Any) -> None:
        self.columns: list[str]
        self.claim: Claim
        self.columns, cells, self.claim, self.claim_path = answered
        self.epsilon: float = query.epsilon
        self.threshold: float | None = query.threshold
        self.rows: list[dict[str, Any]] = [
            {
                name: key if key is not None else {"answer": answer, "error_bar": error_bar}
                for name, (key, answer, error_bar) in zip(self.columns, row, strict=True)
            }
            for row in cells
        ]

    def __len__(self) -> int:
        return len(self.rows)

    def to_dict(self) -> list[dict[str, Any]]:
        """One flat dict for each row: `name` has the answer, and `name ±` its error bar."""
        return [_flat(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """A DataFrame with one row for each row."""
        try:
            import pandas
        except ImportError:
            raise ImportError("pandas is not there, expected it for to_pandas; pip install pandas") from None
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
    """What a query would cost and how far off it would be; nothing was read, released or spent.

    Attributes:
        epsilon: what it would spend, rounded up.
        mechanism: what it would do to a person's data.
        threshold: from how many persons on a group of unknown keys would be shown.
        columns: for each noisy column its name, the error bar of a group of `rows` rows, and its ε by itself.
        suppressed: of groups of unknown keys with so many persons (1, 2, 5, …), the share that would not be shown, rounded up.
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
    delta: float = 0.0,
    engine: Any = None,
    noise: str | None = None,
    groups_per_person: int | None = None,
    rows_per_group: int | None = None,
    claim: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    request_id: str | None = None,
    analyst: str | None = None,
    seed: int | None = None,
) -> QueryResult:
    """Answers a query in SQL within a budget. The claim is on disk before the answer is returned.

    `catalog` is a TOML file that says which tables there are, whose rows they hold, and what is public about them. `engine` is
    "sqlite" (for files; the default), "duckdb" (its program), a DuckDB connection or a SparkSession: sums of whole numbers are made
    there, and noise is added here. `claim` is a new file, or a folder [default: the current folder]. `seed` is for tests alone.

    A `ledger` is charged first; what does not fit raises `BudgetExceeded`. Asked again under the same `request_id`, the answer is the
    one that was kept, and nothing is charged: a notebook may be run again.
    """
    paying = ledger_of(ledger, seed, request_id)
    if paying is not None and noise is None and delta > 0 and paying.status()["rule"] == "gaussian":
        noise = "gaussian"
    prepared = _Query(sql, os.fspath(catalog), epsilon, delta, noise, groups_per_person, rows_per_group)
    place = None if claim is None else os.fspath(claim)
    if paying is None:
        return QueryResult(prepared, _ask(prepared, engine, place, dataset, seed, None))
    charge = paying._ledger.request(prepared.mechanism, sql, dataset or prepared.table, request_id, analyst)
    try:
        answered = _ask(prepared, engine, place, dataset, None, charge)
    except BaseException:
        if charge.entry is not None and charge.known is None:
            charge.give_up()
        raise
    if answered is None:
        answered = _kept(charge.known, prepared.digest)
    else:
        columns, cells, claimed, path = answered
        kept = {"columns": columns, "cells": cells, "claim": claimed.to_json(), "path": os.fspath(path)}
        charge.keep(json.dumps({"query": kept, "of": prepared.digest}))
    result = QueryResult(prepared, answered)
    result.entry = charge.entry
    return result


def _ask(prepared: _Query, engine: Any, place: str | None, dataset: str | None, seed: int | None, charge: _Charge | None) -> Any:
    """Names of columns, cells, the claim and its path; None where the request was answered before."""
    if engine is None or isinstance(engine, str):
        return prepared.ask(engine, place, dataset, seed, charge)
    dialect, run = _engine(engine)
    asking = prepared.begin(place, dataset, seed)
    statements = asking.statements(dialect)
    if charge is not None and not charge.enter():
        return None
    return asking.finish([_whole(_asked(run, text), keys, numbers) for text, keys, numbers in statements])


def _kept(known: str | None, digest: str) -> Any:
    """An answer from a ledger."""
    kept = json.loads(known or "{}")
    if not isinstance(kept, dict) or "query" not in kept:
        raise InvalidInput("request id was answered by another program, expected a new request id")
    if kept.get("of") != digest:
        raise InvalidInput("request id was answered with another catalog, expected a new request id")
    query = kept["query"]
    return query["columns"], query["cells"], read_claim(query["claim"]), pathlib.Path(query["path"])


def preview_query(
    sql: str,
    *,
    catalog: str | os.PathLike[str],
    epsilon: float,
    delta: float = 0.0,
    noise: str | None = None,
    groups_per_person: int | None = None,
    rows_per_group: int | None = None,
    rows: int = 1000,
) -> QueryPreview:
    """What a query would cost and how far off it would be, for groups of so many rows. No row is read."""
    prepared = _Query(sql, os.fspath(catalog), epsilon, delta, noise, groups_per_person, rows_per_group)
    return QueryPreview(prepared, rows)


def _engine(engine: Any) -> tuple[str, Any]:
    """The dialect of an engine, and a function that gives the rows of a statement."""
    home = type(engine).__module__.partition(".")[0]
    if home in ("duckdb", "_duckdb") and hasattr(engine, "execute"):
        return "duckdb", lambda text: engine.execute(text).fetchall()
    if home == "pyspark" and hasattr(engine, "sql"):
        return "spark", lambda text: [tuple(row) for row in engine.sql(text).collect()]
    raise InvalidInput(
        f"engine is a {type(engine).__name__}, expected sqlite, duckdb or postgres, a DuckDB connection or a SparkSession"
    )


def _asked(run: Any, text: str) -> list[tuple[Any, ...]]:
    """What an engine says of a failure may hold data, so that its class alone is told."""
    try:
        return list(run(text))
    except Exception as why:
        kind = type(why).__name__
    raise Error(f"engine does not answer ({kind}), expected tables and columns as the catalog has them; nothing was released")


def _whole(rows: Iterable[Any], keys: int, numbers: int) -> list[tuple[list[str], list[int]]]:
    return [([str(key) for key in row[:keys]], [int(number) for number in row[keys : keys + numbers]]) for row in rows]


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
        return f"{value['answer']:.6g} ± {value['error_bar']:.2g}"
    return html.escape(str(value))
