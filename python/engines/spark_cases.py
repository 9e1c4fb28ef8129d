"""Cases on Spark: many in one job, some of them as anyone has Spark, the last ones while a worker is killed.

A small query costs Spark far more to plan and to schedule than to run. So the tables of a case are written into its text, the
statements of a batch are joined into one job, and two threads ask, each in a session of its own.
"""

from __future__ import annotations

import os
import pathlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from servers import Spark

BATCH = 20
"""How many cases are asked in one job."""

LAST = 60
"""How many are asked in the job during which a worker is killed."""

LONGEST = 6000
"""How many characters the statements of a case may have together: Spark plans a job of several longer ones for minutes."""

MOST = 1000
"""How many cases are asked in all."""

KILLED = "killed"
"""The name of that job."""

GATE_SECONDS = 600
"""How long that job is held open at most."""

TYPES = {"text": "STRING", "varchar": "STRING", "char": "STRING", "case-ignored": "STRING COLLATE UTF8_LCASE",
         "double": "DOUBLE", "real": "FLOAT", "bigint": "BIGINT", "integer": "INT"}  # fmt: skip

# What the settings of a session are where nobody set them.
PLAIN = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK", "spark.sql.adaptive.enabled": "true",
         "spark.sql.autoBroadcastJoinThreshold": "10485760", "spark.sql.constraintPropagation.enabled": "true",
         "spark.sql.lightweightPlanChangeValidation": "true", "spark.sql.maxPlanStringLength": "2147483632",
         "spark.sql.leafNodeDefaultParallelism": "2"}  # fmt: skip
# Compiling, planning anew at run time, checks of every step of the planner and descriptions of plans take most of the time of a small
# query; broadcasts leave out the exchange. A table of some rows is read by one task, and each exchange leads to two.
QUICK = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN", "spark.sql.adaptive.enabled": "false",
         "spark.sql.autoBroadcastJoinThreshold": "-1", "spark.sql.constraintPropagation.enabled": "false",
         "spark.sql.lightweightPlanChangeValidation": "false", "spark.sql.maxPlanStringLength": "0",
         "spark.sql.leafNodeDefaultParallelism": "1"}  # fmt: skip

Case = dict[str, Any]


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal(cell: str | None, kind: str) -> str:
    """A cell in SQL, of the type of its column; texts by their bytes, so that nothing has to be escaped."""
    if cell is None:
        return f"CAST(NULL AS {TYPES[kind]})"
    if kind == "double":
        return f"CAST('{cell}' AS DOUBLE)"
    if kind == "real":
        return f"CAST(CAST('{cell}' AS DOUBLE) AS FLOAT)"
    if kind in ("bigint", "integer"):
        return f"CAST({int(float(cell)) if 'e' in cell else int(cell)} AS {TYPES[kind]})"
    text = f"CAST(X'{cell.encode().hex()}' AS STRING)"
    return text if TYPES[kind] == "STRING" else f"CAST({text} AS {TYPES[kind]})"


def table(shape: dict[str, Any]) -> str:
    """A table as `name (columns) AS (VALUES …)`: rows of their own types, which nothing has to cast."""
    kinds = [column["type"] for column in shape["columns"]]
    names = ", ".join(quoted(column["name"]) for column in shape["columns"])
    # A list of values has one row at least.
    rows = shape["rows"] or [[None] * len(kinds)]
    values = ", ".join(f"({', '.join(literal(cell, kind) for cell, kind in zip(row, kinds, strict=True))})" for row in rows)
    none = "" if shape["rows"] else " WHERE FALSE"
    return f"{quoted(shape['name'])} AS (SELECT * FROM VALUES {values} AS given({names}){none})"


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


def joined(frames: list[Any]) -> Any:
    """A tree, not a chain: plans are walked by recursion."""
    if len(frames) == 1:
        return frames[0]
    half = len(frames) // 2
    return joined(frames[:half]).unionAll(joined(frames[half:]))


def of_batch(session: Any, batch: list[Case], beside: tuple[Any, ...] = ()) -> list[Any]:
    """The answers of some cases; where one of them fails, each is asked by itself and gets what was said.

    `beside` are frames without rows that are part of the same job.
    """
    try:
        # Each statement is a text of its own: an expression carries the text that it is in, for its errors, to every task.
        frames = [session.sql(text) for at, case in enumerate(batch) for text in texts(at, case)]
        rows = joined([*frames, *beside]).collect()
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


def size(case: Case) -> int:
    """The characters of the statements of a case."""
    return sum(len(statement["sql"]) for statement in case["statements"]["spark"])


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
            for name, setting in (PLAIN if at % 50 == 0 else QUICK).items():
                session.conf.set(name, setting)
            self.answers[at] = of_batch(session, batch)


@dataclass
class Kill:
    """What was seen of a job during which one of two workers was killed."""

    done: int = 0
    """Tasks of a stage that were done before; others may have been."""
    under_way: bool = False
    """Whether the same job was under way before and after."""
    ended: str = "unknown"
    """What became of it."""
    executors: int = 0
    """How many were left."""

    @property
    def seen(self) -> bool:
        return self.done > 0 and self.under_way and self.ended == "SUCCEEDED" and self.executors == 1

    def __str__(self) -> str:
        went_on = "the same job went on" if self.under_way else "no job was under way"
        return f"kill -9 of 1 of 2 workers with {self.done} tasks or more done, {went_on}: {self.ended}, {self.executors} executor left"


def gate(session: Any, file: pathlib.Path) -> Any:
    """A part of a job that gives no row, and is not done before the file is there."""
    path, until = str(file), time.time() + GATE_SECONDS

    def wait(_: int) -> list[Any]:
        while not os.path.exists(path) and time.time() < until:
            time.sleep(0.02)
        return []

    rows = session.sparkContext.parallelize([0], 1).flatMap(wait)
    return session.createDataFrame(rows, "at INT, place INT, keys ARRAY<STRING>, numbers ARRAY<BIGINT>, types ARRAY<STRING>")


def while_one_is_killed(cluster: Spark, batch: list[Case], until: float) -> tuple[list[Any], Kill]:
    """The answers of a batch. A worker is killed once a task of its job is done; the job cannot end before."""
    seen, session, opened = Kill(), cluster.session.newSession(), cluster.folder / "gate"
    for name, setting in QUICK.items():
        session.conf.set(name, setting)
    answers: list[Any] = []

    def ask() -> None:
        # Jobs of others may still be listed as under way.
        session.sparkContext.setJobGroup(KILLED, "a worker is killed")
        answers.extend(of_batch(session, batch, (gate(session, opened),)))

    asked = threading.Thread(target=ask, daemon=True)
    asked.start()
    job = None
    while asked.is_alive() and seen.done == 0 and time.monotonic() < until:
        time.sleep(0.01)
        job, seen.done = job_under_way(session)
    if seen.done > 0:
        # What the worker has done by now is lost with it.
        cluster.kill_worker()
        seen.under_way = asked.is_alive() and job_under_way(session)[0] == job
    opened.touch()
    asked.join(max(0.0, until - time.monotonic()))
    if asked.is_alive():
        session.sparkContext.cancelAllJobs()
        return ["no answer: time is over"] * len(batch), seen
    ended = session.sparkContext.statusTracker().getJobInfo(job) if job is not None else None
    seen.ended = ended.status if ended is not None else seen.ended
    # The driver counts itself.
    seen.executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    return answers, seen


def job_under_way(session: Any) -> tuple[int | None, int]:
    """The job of the last cases where it is under way, and how many tasks of a stage of it are done."""
    tracker = session.sparkContext.statusTracker()
    for job in tracker.getJobIdsForGroup(KILLED):
        known = tracker.getJobInfo(job)
        # Small jobs of one stage come before, to look at parts of the data; the gate is in the one that has exchanges.
        if known is not None and known.status == "RUNNING" and len(known.stageIds) > 1:
            # The first stage that will do: to ask for all of them takes longer than the job.
            stages = filter(None, map(tracker.getStageInfo, known.stageIds))
            return job, next((stage.numCompletedTasks for stage in stages if stage.numCompletedTasks > 0), 0)
    return None, 0
