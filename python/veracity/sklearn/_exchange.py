"""Fits in worker processes, such as those of `n_jobs=2`, reach the process that started them through a temporary folder.

The process that loads the estimators first makes the folder, names it in the environment, which its workers inherit, and deletes it when
it ends. A worker writes one file for each fit: what it cost, and the keyed hashes of its rows. The first process writes nothing.
"""

from __future__ import annotations

import atexit
import itertools
import json
import os
import secrets
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._errors import PrivacyWarning
from .._veracity import Mechanism

Noted = tuple[str, float, float, float]
#: The number of the process that made the folder, the key of the hashes, and the folder.
VARIABLE = "VERACITY_SKLEARN_FITS"


@dataclass
class Fit:
    """One fit: the hashes of its rows, and what it cost."""

    rows: Any
    mechanism: Mechanism
    budget: tuple[float, float]
    is_seeded: bool
    noted: list[Noted]


class Exchange:
    """The folder of a process and its workers."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._numbers = itertools.count()
        given = os.environ.get(VARIABLE, "").split(":", 2)
        if len(given) == 3 and os.path.isdir(given[2]):
            self._maker, self.key, self._folder = int(given[0]), int(given[1], 16), given[2]
            return
        self._maker, self.key, self._folder = os.getpid(), secrets.randbits(64), ""
        try:
            self._folder = tempfile.mkdtemp(prefix="veracity-fits-")
        except OSError:
            warnings.warn(
                "no temporary folder can be made, and fits in worker processes are not counted: set TMPDIR to a folder that can be written",
                PrivacyWarning,
                stacklevel=2,
            )
            return
        os.environ[VARIABLE] = f"{self._maker}:{self.key:x}:{self._folder}"
        atexit.register(self._remove, self._folder, self._maker)

    def publish(self, fit: Fit) -> None:
        """Write a fit of a worker for the others."""
        if not self._folder or os.getpid() == self._maker:
            return
        name = f"{os.getpid()}-{next(self._numbers)}.fit"
        head = {"mechanism": fit.mechanism.to_json(), "budget": fit.budget, "is_seeded": fit.is_seeded, "noted": fit.noted}
        self._seen.add(name)
        path = os.path.join(self._folder, name)
        with open(path + ".part", "wb") as file:
            file.write(json.dumps(head).encode() + b"\n" + fit.rows.tobytes())
        os.replace(path + ".part", path)

    def news(self) -> Iterator[Fit]:
        """The fits of other processes that were not read before."""
        for name in sorted(os.listdir(self._folder) if self._folder else []):
            if name.endswith(".fit") and name not in self._seen:
                self._seen.add(name)
                with open(os.path.join(self._folder, name), "rb") as file:
                    head, rows = json.loads(file.readline()), np.frombuffer(file.read(), dtype="uint64")
                epsilon, delta = head["budget"]
                noted = [(str(place), *map(float, numbers)) for place, *numbers in head["noted"]]
                yield Fit(rows, Mechanism.from_json(head["mechanism"]), (epsilon, delta), head["is_seeded"], noted)  # type: ignore[arg-type]

    @staticmethod
    def _remove(folder: str, maker: int) -> None:
        # A process that was forked ends as its parent does, and must not take the folder with it.
        if os.getpid() == maker:
            shutil.rmtree(folder, ignore_errors=True)
