"""Runs the same statements on DuckDB, PostgreSQL and Spark, and compares every whole number with the slow twin's.

    compare.py CASES [--only duckdb|postgres|spark] [--seconds S]

CASES is a file of JSON lines, one case each, as the example `engine_cases` of `veracity-statistics` prints them. `veracity.query`
is asked over DuckDB and Spark, too. One line is printed for each part: how many cases, how many differ. The exit code is 1 where any does.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import queries
import servers
import spark_cases

Case = dict[str, Any]
Rows = list[list[list[Any]]]

TYPES = {
    "duckdb": {"text": "VARCHAR", "varchar": "VARCHAR", "char": "VARCHAR", "case-ignored": "VARCHAR COLLATE NOCASE",
               "double": "DOUBLE", "real": "REAL", "bigint": "BIGINT", "integer": "INTEGER"},
    "postgres": {"text": "text", "varchar": "varchar(64)", "char": "char(64)", "case-ignored": 'text COLLATE "case_ignored"',
                 "double": "double precision", "real": "real", "bigint": "bigint", "integer": "integer"},
}  # fmt: skip


def value(cell: Any, kind: str) -> Any:
    """A cell as Python has it."""
    if cell is None:
        return None
    if kind in ("double", "real"):
        return float(cell)
    if kind in ("bigint", "integer"):
        return int(float(cell)) if "e" in cell else int(cell)
    return cell


def table_rows(table: dict[str, Any]) -> list[tuple[Any, ...]]:
    kinds = [column["type"] for column in table["columns"]]
    return [tuple(value(cell, kind) for cell, kind in zip(row, kinds, strict=True)) for row in table["rows"]]


def declared(table: dict[str, Any], dialect: str, quote: Callable[[str], str]) -> str:
    return ", ".join(f"{quote(column['name'])} {TYPES[dialect][column['type']]}" for column in table["columns"])


def double_quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def answer(rows: Iterable[Any], keys: int) -> list[list[Any]]:
    """Rows as the twin has them; a number that is no whole number stays what it is, and differs."""
    return sorted([[list(row[:keys]), list(row[keys:])] for row in rows])


def same(found: Rows, expected: Rows) -> bool:
    """Equal, and every number a whole one: 1.0 is not 1."""
    return found == expected and all(type(number) is int for rows in found for row in rows for number in row[1])


class Tally:
    """What became of the cases of an engine."""

    def __init__(self, engine: str) -> None:
        self.engine, self.cases, self.rows = engine, 0, 0
        self.different: list[str] = []
        self.start = time.monotonic()

    def add(self, case: Case, found: Rows | str) -> None:
        self.cases += 1
        if isinstance(found, str) or not same(found, case["expected"]):
            self.different.append(f"{self.engine} case {case['seed']}: {case['query']!r}\n  {found}\n  expected {case['expected']}")
        else:
            self.rows += sum(len(rows) for rows in found)

    def report(self, note: str = "") -> bool:
        for text in self.different[:5]:
            print(text[:3000])
        seconds = time.monotonic() - self.start
        print(f"{self.engine}: {self.cases} cases, {self.rows} rows, {len(self.different)} differences ({seconds:.0f} s){note}", flush=True)
        # A comparison of nothing proves nothing.
        return not self.different and self.rows > self.cases / 2 > 0


def on_duckdb(cases: list[Case]) -> bool:
    import duckdb

    tally = Tally(f"duckdb {duckdb.__version__}")
    connection = duckdb.connect(config={"threads": 1})
    for case in cases:
        connection.execute("BEGIN")
        try:
            found: Rows | str = of_duckdb(connection, case)
        except duckdb.Error as error:
            found = f"{type(error).__name__}: {error}"
        tally.add(case, found)
        connection.execute("ROLLBACK")
    return tally.report()


def of_duckdb(connection: Any, case: Case) -> Rows:
    for table in case["tables"]:
        name, rows = double_quoted(table["name"]), table_rows(table)
        connection.execute(f"CREATE TABLE {name} ({declared(table, 'duckdb', double_quoted)})")
        if rows:
            # All rows at once: one by one is far slower.
            marks = ", ".join(["(" + ", ".join("?" * len(rows[0])) + ")"] * len(rows))
            connection.execute(f"INSERT INTO {name} VALUES {marks}", [cell for row in rows for cell in row])
    return [answer(connection.execute(statement["sql"]).fetchall(), statement["keys"]) for statement in case["statements"]["duckdb"]]


def on_postgres(cases: list[Case], url: str) -> bool:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        version = connection.execute("SHOW server_version").fetchone()[0].split()[0]
        tally = Tally(f"postgres {version}")
        connection.execute(
            'CREATE COLLATION IF NOT EXISTS "case_ignored" (provider = icu, locale = \'und-u-ks-level2\', deterministic = false)'
        )
        for case in cases:
            with connection.transaction(force_rollback=True):
                tally.add(case, of_postgres(connection, case))
    return tally.report()


def of_postgres(connection: Any, case: Case) -> Rows | str:
    import psycopg

    try:
        for table in case["tables"]:
            load_postgres(connection, table)
        return [
            # Without parameters a percent sign is one.
            answer(connection.execute(statement["sql"].encode()).fetchall(), statement["keys"])
            for statement in case["statements"]["postgres"]
        ]
    except psycopg.Error as error:
        return f"{type(error).__name__}: {error}"


def load_postgres(connection: Any, table: dict[str, Any]) -> None:
    name = double_quoted(table["name"])
    connection.execute(f"CREATE TABLE {name} ({declared(table, 'postgres', double_quoted)})".encode())
    with connection.cursor().copy(f"COPY {name} FROM STDIN".encode()) as copy:
        for row in table_rows(table):
            copy.write_row(row)


def on_spark(cases: list[Case], cluster: servers.Spark, seconds: float) -> bool:
    """Cases with short statements; one of two workers is killed during the last ones. Other engines are asked all cases."""
    tally = Tally(f"spark {cluster.session.version}")
    short = [case for case in cases if spark_cases.size(case) <= spark_cases.LONGEST][: spark_cases.MOST]
    left_out = len(cases) - len(short)
    cases = short
    until = tally.start + seconds
    first, last = cases[: -spark_cases.LAST], cases[-spark_cases.LAST :]
    found = spark_cases.Asking(cluster.session, first, until).run()
    answers, kill = spark_cases.while_one_is_killed(cluster, last, until)
    for case, rows in zip(first + last, found + answers, strict=True):
        tally.add(case, rows)
    return tally.report(f"; {left_out} longer or later cases not asked; {kill}") and kill.seen


def parts(cases: list[Case], only: str | None, seconds: int) -> Iterator[bool]:
    """Whether each part went well. One that cannot be run says why, and the next is run."""
    if only in (None, "duckdb"):
        yield attempt("duckdb", seconds, lambda: on_duckdb(cases))
        yield attempt("query over duckdb", 300, queries.over_duckdb)
    if only in (None, "postgres"):
        with started("postgres", servers.Postgres()) as server:
            yield server is not None and attempt("postgres", seconds, lambda: on_postgres(cases, server.url))
    if only in (None, "spark"):
        with started("spark", servers.Spark()) as cluster:
            yield cluster is not None and attempt("query over spark", 300, lambda: queries.over_spark(cluster.session))
            yield cluster is not None and attempt("spark", seconds + 60, lambda: on_spark(cases, cluster, seconds))


def attempt(name: str, seconds: int, part: Callable[[], bool]) -> bool:
    try:
        with servers.limit(seconds, name):
            return part()
    except Exception as error:
        print(f"{name}: {type(error).__name__}: {error}", flush=True)
        return False


@contextlib.contextmanager
def started(name: str, server: Any) -> Iterator[Any]:
    """A server that is stopped at the end; nothing, with a line, where it does not start."""
    with contextlib.ExitStack() as stack:
        try:
            running = stack.enter_context(server)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", flush=True)
            running = None
        yield running


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("cases")
    arguments.add_argument("--only", choices=["duckdb", "postgres", "spark"])
    arguments.add_argument("--seconds", type=int, default=1800, help="the most that an engine may take")
    chosen = arguments.parse_args()
    servers.stop_when_told()
    with open(chosen.cases, encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    went_well = list(parts(cases, chosen.only, chosen.seconds))
    passed, failed = went_well.count(True), went_well.count(False)
    print(f"test result: {'FAILED' if failed else 'ok'}. {passed} passed; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
