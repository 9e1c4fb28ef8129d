"""Cases on Spark: many in one statement, some of them as anyone has Spark, the last ones while a worker is killed.

A small query costs Spark far more to plan and to schedule than to run. So the tables of a case are written into its text, the texts of
a batch are joined by UNION ALL into one job, and two threads ask, each in a session of its own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from servers import Spark

BATCH = 10
"""How many cases are asked in one job."""

LAST = 40
"""How many are asked in the job during which a worker is killed: long enough to be under way."""

TYPES = {"text": "STRING", "varchar": "STRING", "char": "STRING", "case-ignored": "STRING COLLATE UTF8_LCASE",
         "double": "DOUBLE", "real": "FLOAT", "bigint": "BIGINT", "integer": "INT"}  # fmt: skip

# Compiling and planning anew at run time take most of the time of a small query, and broadcasts leave out the exchange.
PLAIN = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK", "spark.sql.adaptive.enabled": "true",
         "spark.sql.autoBroadcastJoinThreshold": "10485760"}  # fmt: skip
QUICK = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.adaptive.enabled": "false",
         "spark.sql.autoBroadcastJoinThreshold": "-1"}  # fmt: skip

Case = dict[str, Any]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal(cell: str | None, kind: str) -> str:
    """A cell in SQL; texts by their bytes, so that nothing has to be escaped."""
    if cell is None:
        return "NULL"
    if kind in ("double", "real"):
        return f"CAST('{cell}' AS DOUBLE)"
    if kind in ("bigint", "integer"):
        return str(int(float(cell)) if "e" in cell else int(cell))
    return f"CAST(X'{cell.encode().hex()}' AS STRING)"


def table(shape: dict[str, Any]) -> str:
    """A table as `name AS (SELECT …)`."""
    kinds = [column["type"] for column in shape["columns"]]
    names = [f"x{at}" for at in range(len(kinds))]
    rows = [", ".join(literal(cell, kind) for cell, kind in zip(row, kinds, strict=True)) for row in shape["rows"]]
    # A list of values has one row at least.
    values = ", ".join(f"({row})" for row in rows or [", ".join(["NULL"] * len(kinds))])
    columns = ", ".join(f"CAST({name} AS {TYPES[column['type']]}) AS {quoted(column['name'])}"
                        for name, column in zip(names, shape["columns"], strict=True))  # fmt: skip
    none = "" if rows else " WHERE FALSE"
    return f"{quoted(shape['name'])} AS (SELECT {columns} FROM VALUES {values} AS given({', '.join(names)}){none})"


def with_tables(used: list[str], sql: str) -> str:
    """A statement behind tables of its own: one list, where it has one already."""
    if sql.startswith("WITH "):
        return f"WITH {', '.join(used)}, {sql.removeprefix('WITH ')}"
    return f"WITH {', '.join(used)} {sql}"


def texts(at: int, case: Case) -> Iterator[str]:
    """Each statement of a case with its tables before it; its columns are put into arrays, so that one job can hold many."""
    for place, statement in enumerate(case["statements"]["spark"]):
        used = [table(shape) for shape in case["tables"] if quoted(shape["name"]) in statement["sql"]]
        names = [f"x{column}" for column in range(statement["keys"] + statement["numbers"])]
        keys, numbers = names[: statement["keys"]], names[statement["keys"] :]
        types = ", ".join(f"typeof({name})" for name in names)
        yield (
            f"SELECT {at} AS at, {place} AS place, CAST(array({', '.join(keys)}) AS ARRAY<STRING>) AS keys, "
            f"array({', '.join(numbers)}) AS numbers, array({types}) AS types "
            f"FROM ({with_tables(used, statement['sql'])}) AS asked({', '.join(names)})"
        )


def joined(parts: list[str]) -> str:
    """A tree, not a chain: plans are walked by recursion."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return f"({joined(parts[:half])}) UNION ALL ({joined(parts[half:])})"


def of_batch(session: Any, batch: list[Case]) -> list[Any]:
    """The answers of some cases; where one of them fails, each is asked by itself and gets what was said."""
    try:
        rows = session.sql(joined([text for at, case in enumerate(batch) for text in texts(at, case)])).collect()
    except Exception as error:
        if len(batch) == 1:
            return [f"{type(error).__name__}: {error}"]
        return [of_batch(session, [case])[0] for case in batch]
    found: list[Any] = [[[] for _ in case["statements"]["spark"]] for case in batch]
    for at, place, keys, numbers, types in rows:
        if types != ["string"] * len(keys) + ["bigint"] * len(numbers):
            found[at] = f"columns are {types}, expected texts and whole numbers"
        if not isinstance(found[at], str):
            found[at][place].append([list(keys), list(numbers)])
    return [answers if isinstance(answers, str) else [sorted(rows) for rows in answers] for answers in found]


class Asking:
    """Two threads that take batches until none is left, or time is over."""

    def __init__(self, session: Any, cases: list[Case], until: float) -> None:
        self.session, self.until = session, until
        self.batches = [cases[start : start + BATCH] for start in range(0, len(cases), BATCH)]
        self.next = iter(enumerate(self.batches))
        self.lock = threading.Lock()
        self.answers: list[Any] = [["not asked: time is over"] * len(batch) for batch in self.batches]

    def run(self) -> list[Any]:
        threads = [threading.Thread(target=self._work, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(0.0, self.until - time.monotonic()))
        if any(thread.is_alive() for thread in threads):
            self.session.sparkContext.cancelAllJobs()
        return [answer for batch in self.answers for answer in batch]

    def _work(self) -> None:
        session = self.session.newSession()
        while time.monotonic() < self.until:
            with self.lock:
                at, batch = next(self.next, (0, None))
            if batch is None:
                return
            # A few as anyone has Spark.
            for name, setting in (PLAIN if at % 100 == 0 else QUICK).items():
                session.conf.set(name, setting)
            self.answers[at] = of_batch(session, batch)


def while_one_is_killed(cluster: Spark, batch: list[Case], until: float) -> tuple[list[Any], bool]:
    """The answers of a batch during which one of two workers is killed, and whether it was under way before and after."""
    session = cluster.session.newSession()
    for name, setting in QUICK.items():
        session.conf.set(name, setting)
    answers: list[Any] = []
    asked = threading.Thread(target=lambda: answers.extend(of_batch(session, batch)), daemon=True)
    asked.start()
    while asked.is_alive() and not has_done_tasks(session) and time.monotonic() < until:
        time.sleep(0.01)
    # What the worker has done by now is lost with it.
    cluster.kill_worker()
    under_way = asked.is_alive()
    asked.join(max(0.0, until - time.monotonic()))
    if asked.is_alive():
        session.sparkContext.cancelAllJobs()
        return ["no answer: time is over"] * len(batch), False
    return answers, under_way


def has_done_tasks(session: Any) -> bool:
    """Whether a job is under way and some of its tasks are done."""
    tracker = session.sparkContext.statusTracker()
    jobs = filter(None, map(tracker.getJobInfo, tracker.getActiveJobsIds()))
    stages = filter(None, (tracker.getStageInfo(stage) for job in jobs for stage in job.stageIds))
    return any(stage.numCompletedTasks > 0 for stage in stages)
