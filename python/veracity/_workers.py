"""Worker processes that stay warm: each imports once and then runs trial after trial.

A worker that is killed costs the trials that it had in hand; they are run again by another, with the same seeds. A trial that kills
its worker again and again is a fault of the machine or of the function, and ends the audit.
"""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import time
from collections import Counter, deque
from multiprocessing.connection import Connection, wait
from typing import Any

from ._errors import Error, InvalidInput
from ._trials import Row, Trial, attempt

#: The time in seconds that the trials in the hands of a worker should take.
IN_HAND = 0.02
#: The most of them.
MOST_IN_HAND = 64
#: A trial that was in hand when so many workers died is not given out again.
DEATHS = 3


def _work(pipe: Connection, packed: bytes) -> None:
    """What a worker does, until its pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        function = pickle.loads(packed)
    except Exception as error:
        pipe.send(("unfit", type(error).__name__))
        return
    pipe.send(("ready", None))
    try:
        while True:
            for trial in pipe.recv():
                try:
                    pipe.send(("row", attempt(function, trial)))
                except BaseException as stop:
                    if isinstance(stop, OSError):
                        raise
                    pipe.send(("stopped", type(stop).__name__))
                    return
    except (EOFError, OSError):
        return


class Worker:
    """One process, and the trials that it has in hand, the one that it runs first."""

    def __init__(self, packed: bytes) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, packed), daemon=True)
        self.process.start()
        theirs.close()
        self.in_hand: deque[Trial] = deque()
        self.is_ready = False
        self.pace = IN_HAND
        self.told = time.monotonic()

    def wants(self) -> int:
        """How many trials it should be given."""
        if not self.is_ready:
            return 0
        most = max(1, min(MOST_IN_HAND, int(IN_HAND / max(self.pace, 1e-9))))
        return most - len(self.in_hand) if len(self.in_hand) <= most // 2 else 0

    def give(self, trials: list[Trial]) -> None:
        if not self.in_hand:
            self.told = time.monotonic()
        self.in_hand.extend(trials)
        self.pipe.send(trials)

    def take(self, row: Row) -> None:
        now = time.monotonic()
        self.pace, self.told = 0.8 * self.pace + 0.2 * (now - self.told), now
        if not self.in_hand or self.in_hand.popleft()[0] != row[0]:
            raise Error("a worker process answered for another trial, please report this")

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


class Workers:
    """A number of workers, for as long as a `with` lasts."""

    def __init__(self, count: int, packed: bytes) -> None:
        self._packed, self._deaths, self._was_ready = packed, Counter[int](), False
        self._workers: list[Worker] = []
        try:
            for _ in range(count):
                self._workers.append(Worker(packed))
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: Any) -> None:
        for worker in self._workers:
            worker.end()

    def pids(self) -> list[int | None]:
        """The processes."""
        return [worker.process.pid for worker in self._workers]

    def work(self, run: Any, keep: Any) -> None:
        """Runs the trials that `run` hands out, and gives their rows to `keep`, until that says that it has enough."""
        while True:
            for at, worker in enumerate(self._workers):
                if trials := run.hand_out(worker.wants()):
                    try:
                        worker.give(trials)
                    except OSError:
                        self._replace(at, run)
            if self._was_ready and not any(worker.in_hand for worker in self._workers):
                if all(worker.is_ready for worker in self._workers):
                    return
            rows: list[Row] = []
            by_pipe: dict[Any, int] = {worker.pipe: at for at, worker in enumerate(self._workers)}
            for pipe in wait(list(by_pipe), timeout=1.0):
                rows.extend(self._read(by_pipe[pipe], run))
            if rows and keep(rows):
                return

    def _read(self, at: int, run: Any) -> list[Row]:
        """All that a worker has said."""
        worker, rows = self._workers[at], []
        try:
            while worker.pipe.poll():
                kind, said = worker.pipe.recv()
                if kind == "row":
                    worker.take(said)
                    rows.append(said)
                elif kind == "ready":
                    worker.is_ready = self._was_ready = True
                elif kind == "unfit":
                    raise InvalidInput(
                        f"score cannot be made in a worker process ({said}), expected a function that it can import"
                    )
                else:
                    raise Error(f"the function raised {said} in a worker process, which ends an audit")
        except (EOFError, OSError, pickle.UnpicklingError):
            self._replace(at, run)
        return rows

    def _replace(self, at: int, run: Any) -> None:
        """Puts another process in the place of one that has died."""
        dead = self._workers[at]
        dead.end()
        if not dead.is_ready:
            self._deaths[-1] += 1
            if self._deaths[-1] >= DEATHS:
                raise Error(
                    "worker processes do not start; a script must guard its own calls by "
                    "if __name__ == '__main__', and must be a file"
                )
        if dead.in_hand:
            number = dead.in_hand[0][0]
            self._deaths[number] += 1
            if self._deaths[number] >= DEATHS:
                raise Error(
                    f"{DEATHS} worker processes died in trial {number}, expected them to live; fix that and resume the audit"
                )
            run.take_back([trial[0] for trial in dead.in_hand])
        self._workers[at] = Worker(self._packed)
