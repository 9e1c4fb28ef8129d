"""Functions that are audited by the tests; in a module of their own, so that other processes can import them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np


def noisy(world: bool, seed: int, noise: float = 1.0) -> float:
    """A count of one record with Gaussian noise."""
    return float(world) + noise * float(np.random.default_rng(seed).normal())


def slow(world: bool, seed: int) -> float:
    """The same, slow enough for someone to interfere."""
    time.sleep(0.003)
    return noisy(world, seed)


def half_noise(world: bool, seed: int) -> float:
    """The same with half of the noise that is declared."""
    return noisy(world, seed, 0.5)


def fails_at_times(world: bool, seed: int) -> float:
    """Fails in one trial of sixteen, and says why with a value of the data."""
    if seed % 16 == 0:
        raise ValueError("the salary is 41999")
    return noisy(world, seed)


def fails_always(world: bool, seed: int) -> float:
    """Never leaves a score."""
    raise KeyError("the salary is 41999")


class KilledOnce:
    """Kills its own process with signal 9 in one trial of forty, once each: a file remembers."""

    def __init__(self, folder: Path, of: int = 40) -> None:
        self.folder, self.of = folder, of

    def __call__(self, world: bool, seed: int) -> float:
        mark = self.folder / str(seed)
        if seed % self.of == 0 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return noisy(world, seed)


def kills_always(world: bool, seed: int) -> float:
    """Kills its process in every trial."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


class KillsUntilMended:
    """Kills its process in every trial, until there is a file that says it is mended."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __call__(self, world: bool, seed: int) -> float:
        return noisy(world, seed) if self.mark.exists() else kills_always(world, seed)


def leaves(world: bool, seed: int) -> float:
    """Ends the program."""
    sys.exit(3)


class Stop(BaseException):
    """What no `except Exception` catches."""


def stops(world: bool, seed: int) -> float:
    """Raises what is no Exception."""
    raise Stop("the salary is 41999")


def threaded(world: bool, seed: int) -> float:
    """Works on a thread of its own."""
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(noisy(world, seed)))
    thread.start()
    thread.join()
    return found[0]


def constant(world: bool, seed: int) -> float:
    """Tells nothing."""
    return 0.0


def train_mean(data, seed: int):
    """A clipped, noisy sum of the first column. Shuffles its data in place, as some trainers do."""
    rows = np.asarray(data, dtype=float).reshape(len(data), -1)
    rng = np.random.default_rng(seed)
    if isinstance(data, np.ndarray):
        rng.shuffle(data)
    return np.clip(rows[:, 0], 0, 1).sum() + rng.normal()


def attack_mean(model) -> float:
    """The model is the score."""
    return float(model)
