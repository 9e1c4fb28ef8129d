"""`veracity.query` over a DuckDB connection and over a SparkSession: the answers of the built-in engine, for the same seed of the noise.

The tables are files for the built-in engine, and tables and views for the others. A failure of the engine tells no value.
"""

from __future__ import annotations

import pathlib
import tempfile
import time
from typing import Any

import veracity as v

VISITS = [
    (i % 400, ("Male", "Female", None)[i % 7 % 3], 20 + i * 37 % 50 + 0.25 * (i % 4), f"Ward {i % 5}", i % 12)
    for i in range(3000)
]
PERSONS = [(i, ("north", "South", "it's \\ far")[i % 3]) for i in range(400)]
WARDS = [(f"Ward {i}", 10.5 * i) for i in range(5)]

# The person is whole in one table and a text in another engine's: both are the same person.
TABLES = {
    "visits": ("id BIGINT, sex {text}, hours DOUBLE, ward {text}, month INT", VISITS),
    "persons": ("id BIGINT, region {text}", PERSONS),
    "wards": ("ward {text}, beds DOUBLE", WARDS),
}

CATALOG = """
[tables.visits]
{visits}
person = "id"
rows_per_group = 3
groups_per_person = 2
[tables.visits.columns]
hours = {{ lower = 0, upper = 60 }}
sex = {{ keys = ["Male", "Female", "Other"] }}
ward = {{ type = "text" }}
month = {{ lower = 0, upper = 11 }}

[tables.persons]
{persons}
person = "id"
rows_per_group = 1
groups_per_person = 1
[tables.persons.columns]
region = {{ keys = ["north", "South", "it's \\\\ far"] }}

[tables.wards]
{wards}
public = true
[tables.wards.columns]
ward = {{ type = "text" }}
beds = {{ lower = 0, upper = 100 }}
"""

QUERIES = [
    "SELECT sex, AVG(hours) AS mean, COUNT(*) AS n FROM visits GROUP BY sex",
    "SELECT ward, SUM(hours) AS s, MEDIAN(hours) AS m FROM visits GROUP BY ward ORDER BY s DESC",
    "SELECT ward, sex, VARIANCE(hours), QUANTILE(month, 0.9) FROM visits WHERE month BETWEEN 2 AND 9 GROUP BY ward, sex",
    "SELECT COUNT(DISTINCT id), STDDEV(hours), SUM(CASE WHEN hours > 40 THEN hours - 40 ELSE 0 END) AS beyond FROM visits",
    "SELECT p.region, COUNT(*) AS n, AVG(v.hours) FROM visits v JOIN persons p ON v.id = p.id GROUP BY p.region HAVING n > 100",
    "SELECT w.ward, SUM(v.hours * w.beds) FROM visits v LEFT JOIN wards w ON v.ward = w.ward GROUP BY w.ward LIMIT 3",
    "SELECT sex, COUNT(hours) FROM visits WHERE ward IN ('Ward 1', 'Ward 4') AND sex IS NOT NULL GROUP BY sex",
]

SECRET = "Eve Smith"


def over_duckdb() -> bool:
    import duckdb

    connection = duckdb.connect()
    for name, (columns, rows) in TABLES.items():
        connection.execute(f"CREATE TABLE {name} ({columns.format(text='VARCHAR')})")
        connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(rows[0]))})", rows)
    connection.execute(f"CREATE VIEW broken AS SELECT id, CAST(error('{SECRET}') AS DOUBLE) AS hours, sex, ward, month FROM visits")
    return compared("duckdb", connection, duckdb.__version__, {name: name for name in TABLES}, {})


def over_spark(session: Any) -> bool:
    """One table is stored, the others are views; by the rules of ANSI and by the older ones."""
    for name, (columns, rows) in TABLES.items():
        frame = session.createDataFrame(rows, columns.format(text="STRING"))
        if name == "persons":
            frame.write.mode("overwrite").saveAsTable(name)
        else:
            frame.createOrReplaceTempView(name)
    session.sql(
        f"CREATE OR REPLACE TEMP VIEW broken AS SELECT id, CAST(raise_error('{SECRET}') AS DOUBLE) AS hours, sex, ward, month FROM visits"
    )
    places = {"visits": "visits", "persons": "default.persons", "wards": "wards"}
    strict, lenient = ({"spark.sql.ansi.enabled": ansi} for ansi in ("true", "false"))
    return all([compared("spark", session, session.version, places, setting) for setting in (strict, lenient)])


def compared(kind: str, engine: Any, version: str, places: dict[str, str], settings: dict[str, str]) -> bool:
    """Asks every query here and there; one line says how many rows there are and how many queries differ."""
    start, rows, different = time.monotonic(), 0, []
    for name, setting in settings.items():
        engine.conf.set(name, setting)
    with tempfile.TemporaryDirectory(prefix="veracity-queries-") as made:
        folder = pathlib.Path(made)
        files = written(folder, {name: f'path = "{name}.csv"' for name in TABLES}, "files")
        theirs = written(folder, {name: f'engine = "{kind}"\ntable = "{place}"' for name, place in places.items()}, kind)
        for seed, sql in enumerate(QUERIES):
            budget = {"epsilon": 3, "delta": 1e-6, "seed": seed}
            expected = v.query(sql, catalog=files, claim=folder / f"{seed}-here.json", **budget)
            try:
                found = v.query(sql, catalog=theirs, claim=folder / f"{seed}-there.json", engine=engine, **budget)
                rows += len(found)
                if found.rows != expected.rows or found.columns != expected.columns or found.epsilon != expected.epsilon:
                    different.append(f"{sql}\n  {found.rows}\n  expected {expected.rows}")
            except v.Error as error:
                different.append(f"{sql}\n  {error}")
        told = failure(folder, kind, engine, places)
    for text in [*different, *told]:
        print(text[:3000])
    setting = "".join(f", {name.split('.')[2]} {value}" for name, value in settings.items())
    seconds = time.monotonic() - start
    print(f"query over {kind} {version}{setting}: {len(QUERIES)} queries, {rows} rows, {len(different)} differences ({seconds:.0f} s)", flush=True)
    return not different and not told and rows > len(QUERIES)


def written(folder: pathlib.Path, tables: dict[str, str], name: str) -> pathlib.Path:
    """A catalog, and the tables as files."""
    for table, (columns, rows) in TABLES.items():
        head = ",".join(column.split()[0] for column in columns.split(", "))
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        (folder / f"{table}.csv").write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    path = folder / f"{name}.toml"
    path.write_text(CATALOG.format(**tables), encoding="utf-8")
    return path


def failure(folder: pathlib.Path, kind: str, engine: Any, places: dict[str, str]) -> list[str]:
    """What is wrong with what is told of an engine that fails, with a value of the data in its message."""
    tables = {name: f'engine = "{kind}"\ntable = "{place}"' for name, place in {**places, "visits": "broken"}.items()}
    catalog = written(folder, tables, "broken")
    claim = folder / "broken.json"
    try:
        v.query("SELECT SUM(hours) FROM visits", catalog=catalog, epsilon=1, engine=engine, claim=claim)
    except v.Error as error:
        told = f"{error} {error.__cause__} {error.__context__}"
        wrong = SECRET in told or "\n" in str(error)
        return [f"a failure tells {told}"] if wrong else [f"{claim.name} was written"] if claim.exists() else []
    return ["a table that fails was answered"]
