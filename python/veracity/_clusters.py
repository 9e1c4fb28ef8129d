"""An audit over an executor: shards are submitted, lost ones are submitted again, and rows are kept as they come.

An executor is anything with `submit(function, *arguments)` that gives a future with `done()` and `result()`: those of
concurrent.futures, a Dask client, submitit, `veracity.executors.Ray`. A function without arguments that makes one is one too; when
what it made breaks, it makes another.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from . import _shards
from ._errors import Error, InvalidInput
from ._trials import Row, Score, Trial

#: After so many looks in a row that found nothing but lost shards, the audit is given up.
LOSSES = 6
#: How many shards there are where nobody says.
SHARDS = 64
#: The longest pause in seconds between two looks at what is done.
PAUSE = 0.2
#: How many seconds the rows of a shard that is done may take to come, before it counts as lost.
PATIENCE = 10.0


class Cluster:
    """An executor, or the making of executors, for as long as a `with` lasts."""

    def __init__(self, given: Any) -> None:
        self._make: Callable[[], Any] | None = None
        if not hasattr(given, "submit"):
            if not callable(given):
                raise InvalidInput(f"executor is a {type(given).__name__}, expected one with submit, or a function that makes one")
            self._make, given = given, given()
        if not hasattr(given, "submit"):
            raise InvalidInput(f"executor made a {type(given).__name__}, expected one with submit")
        self._executor = given

    @property
    def is_here(self) -> bool:
        """Whether shards are run by threads of this process, which take a function as it is."""
        threads = sys.modules.get("concurrent.futures.thread")
        return threads is not None and isinstance(self._executor, threads.ThreadPoolExecutor)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._make is not None:
            _shut_down(self._executor)

    def submit(self, *arguments: Any) -> Any:
        """Submits a shard; to a new executor, where the one that was made is broken."""
        try:
            return self._executor.submit(_shards.run, *arguments)
        except Exception as error:
            if self._make is None:
                raise Error(
                    f"executor takes no shards ({type(error).__name__}), expected one that works; give a function that makes one, and a "
                    "broken one is replaced"
                ) from error
        _shut_down(self._executor)
        self._executor = self._make()
        try:
            return self._executor.submit(_shards.run, *arguments)
        except Exception as error:
            raise Error(f"executor takes no shards ({type(error).__name__}), expected one that works") from error


def _shut_down(executor: Any) -> None:
    if hasattr(executor, "shutdown"):
        executor.shutdown(wait=False)


def work(cluster: Cluster, packed: bytes | Score, shards: int, run: Any, keep: Callable[[list[Row]], bool]) -> None:
    """Submits what `run` hands out in so many shards, and gives their rows to `keep`, until that says that it has enough."""
    _, missing, _ = run.progress
    size = max(1, -(-missing // shards))
    under_way: dict[Any, list[Trial]] = {}
    submitted, in_vain = 0, 0
    try:
        pause = PAUSE / 64
        while True:
            while trials := run.hand_out(size):
                submitted += 1
                under_way[cluster.submit(packed, trials, submitted)] = trials
            if not under_way:
                return
            done = [future for future in under_way if future.done()]
            if not done:
                time.sleep(pause)
                pause = min(PAUSE, 1.5 * pause)
                continue
            pause = PAUSE / 64
            in_vain += 1
            for future in done:
                trials = under_way.pop(future)
                rows, why = _rows(future, trials)
                if rows is None:
                    run.take_back([trial[0] for trial in trials])
                    continue
                in_vain = 0
                if keep(rows):
                    return
            if in_vain == LOSSES:
                raise Error(f"shards are lost again and again ({why}), expected them to end; mend the executor and resume the audit")
    finally:
        for future in under_way:
            if hasattr(future, "cancel"):
                future.cancel()


def _result(future: Any) -> Any:
    """What a future that is done has. Dask's may lose it again with a worker that dies before it is fetched, and then waits on and on."""
    if type(future).__module__.partition(".")[0] == "distributed":
        return future.result(timeout=PATIENCE)
    return future.result()


def _rows(future: Any, trials: list[Trial]) -> tuple[list[Row] | None, str]:
    """The rows of a shard, or why it is lost."""
    try:
        rows = _result(future)
    except Exception as error:
        # What cannot be made anywhere is no loss.
        if isinstance(error, Error):
            raise
        return None, type(error).__name__
    if isinstance(rows, list) and len(rows) == 1 and rows[0][0] == -1:
        raise Error(f"the function {rows[0][2]} in a worker, which ends an audit")
    try:
        numbers = [row[0] for row in rows]
    except Exception:
        return None, "no rows came"
    if numbers != [trial[0] for trial in trials]:
        return None, "rows of other trials came"
    return rows, ""
