"""A shard of an audit, run by a worker of some cluster: the same trials give the same rows, however often and wherever they are run."""

from __future__ import annotations

import functools
import pickle
from collections.abc import Sequence

from ._errors import Error
from ._trials import Row, Score, Trial, run_all


def run(packed: bytes | Score, trials: Sequence[Trial], submission: int = 0) -> list[Row]:
    """Runs the trials of a shard. No two submissions have the same number, so that no cluster takes one for another that it knows."""
    del submission
    function = _unpacked(packed) if isinstance(packed, bytes) else packed
    try:
        return run_all(function, trials)
    except BaseException as stop:
        if isinstance(stop, (KeyboardInterrupt, Exception)):
            raise
        # What stops a program must not take a worker with it.
        return [(-1, None, f"raised {type(stop).__name__}", None)]


@functools.lru_cache(maxsize=4)
def _unpacked(packed: bytes) -> Score:
    try:
        return pickle.loads(packed)  # type: ignore[no-any-return]
    except Exception as error:
        raise Error(f"the function cannot be made in the worker ({type(error).__name__}), expected its module there") from error
