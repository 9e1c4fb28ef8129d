"""Runs the same statements on DuckDB, PostgreSQL and Spark, and compares every whole number with the slow twin's.

    compare.py CASES [--only duckdb|postgres|spark] [--spark-seconds S]

CASES is a file of JSON lines, one case each, as the example `engine_cases` of `veracity-sql` prints them. One line is printed for
each engine: how many cases, how many differ. The exit code is 1 where any does.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

import servers

Case = dict[str, Any]
Rows = list[list[list[Any]]]

TYPES = {
    "duckdb": {"text": "VARCHAR", "varchar": "VARCHAR", "char": "VARCHAR", "case-ignored": "VARCHAR COLLATE NOCASE",
               "double": "DOUBLE", "real": "REAL", "bigint": "BIGINT", "integer": "INTEGER"},
    "postgres": {"text": "text", "varchar": "varchar(64)", "char": "char(64)", "case-ignored": 'text COLLATE "case_ignored"',
                 "double": "double precision", "real": "real", "bigint": "bigint", "integer": "integer"},
    "spark": {"text": "STRING", "varchar": "STRING", "char": "STRING", "case-ignored": "STRING COLLATE UTF8_LCASE",
              "double": "DOUBLE", "real": "FLOAT", "bigint": "BIGINT", "integer": "INT"},
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


def back_quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def on_spark(cases: list[Case], seconds: float) -> bool:
    """As many cases as fit in a time: several in one job, and a worker is killed during one of them."""
    with servers.Spark() as cluster:
        session = cluster.session
        tally = Tally(f"spark {session.version}")
        kill = len(cases)
        for start in range(0, len(cases), servers.BATCH):
            spent = time.monotonic() - tally.start
            if spent > seconds:
                break
            if kill == len(cases) and (spent > seconds / 4 or start > len(cases) / 4):
                kill = start
            batch = cases[start : start + servers.BATCH]
            # The first as anyone has it; then without compiling, which takes most of the time of a small query.
            cluster.compiles(start == 0)
            found = cluster.ask([prepared_for_spark(case) for case in batch], kill == start)
            for case, answers in zip(batch, found, strict=True):
                tally.add(case, answers)
        return tally.report(f"; {cluster.killed} of 2 workers killed while asked") and cluster.killed == 1


def prepared_for_spark(case: Case) -> tuple[list[tuple[str, str, list[tuple[Any, ...]]]], list[dict[str, Any]]]:
    """Tables as name, schema and rows, and the statements."""
    tables = [(table["name"], declared(table, "spark", back_quoted), table_rows(table)) for table in case["tables"]]
    return tables, case["statements"]["spark"]


def main() -> int:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("cases")
    arguments.add_argument("--only", choices=["duckdb", "postgres", "spark"])
    arguments.add_argument("--spark-seconds", type=float, default=480)
    chosen = arguments.parse_args()
    with open(chosen.cases, encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    went_well = True
    if chosen.only in (None, "duckdb"):
        went_well &= on_duckdb(cases)
    if chosen.only in (None, "postgres"):
        with servers.Postgres() as server:
            went_well &= on_postgres(cases, server.url)
    if chosen.only in (None, "spark"):
        went_well &= on_spark(cases, chosen.spark_seconds)
    return 0 if went_well else 1


if __name__ == "__main__":
    sys.exit(main())
