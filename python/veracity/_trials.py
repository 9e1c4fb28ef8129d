"""One trial of an audit: a function gets its world and a seed, and returns a score or fails.

An exception is an outcome, counted by world. Only its class is kept with the trial, because a message may contain data.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import pickle
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ._errors import CannotAudit, InvalidInput

Score = Callable[[bool, int], Any]
#: The number of a trial, whether the canary is in, its seed.
Trial = tuple[int, bool, int]
#: The number of a trial, its score or None, why there is none, the traceback of that.
Row = tuple[int, "float | None", str, "str | None"]


#: What the reason of a trial begins with that ends the audit. What follows is the message of a `CannotAudit`, which holds no data.
ENDS_AUDIT = "cannot be audited: "


def attempt(function: Score, trial: Trial) -> Row:
    """Runs one trial. What stops a program, such as Ctrl-C, is not caught."""
    number, world, seed = trial
    try:
        score = function(world, seed)
    except CannotAudit as why:
        return number, None, f"{ENDS_AUDIT}{why}", traceback.format_exc()
    except Exception as error:
        return number, None, f"raised {type(error).__name__}", traceback.format_exc()
    try:
        return number, _number(score), "", None
    except Exception:
        reason = f"returned a {type(score).__name__}, expected a number"
        return number, None, reason, traceback.format_exc()


def _number(score: Any) -> float:
    if score is None or isinstance(score, (bool, str, bytes, bytearray)):
        raise TypeError("no number")
    return float(score)


def function_of(given: Any, name: str = "score") -> Callable[..., Any]:
    """A function, or that of a name such as "module:function"."""
    if isinstance(given, str):
        module, _, path = given.partition(":")
        if not module or not path:
            raise InvalidInput(f"{name} is a string without a colon, expected a function or module:function")
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise InvalidInput(f"{name} cannot be imported, expected module:function") from error
        given = found
    if not callable(given):
        raise InvalidInput(f"{name} is a {type(given).__name__}, expected a function")
    return given  # type: ignore[no-any-return]


def called(function: Any) -> str:
    """How a function is called, as module:name."""
    while isinstance(function, functools.partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}:{named.__qualname__}"


def source_sha256(function: Any) -> str:
    """SHA-256 of a function's text and of what is bound to it (arguments of a partial, defaults), as far as that is plain: one that
    was edited or bound otherwise is another subject. Empty where there is no text."""
    digest = hashlib.sha256()
    while isinstance(function, functools.partial):
        _tell(digest, [function.args, function.keywords], DEEPEST)
        function = function.func
    bound = [getattr(function, "__defaults__", None), getattr(function, "__kwdefaults__", None)]
    # What a function encloses, and what an object holds, may change from trial to trial.
    if not inspect.isroutine(function):
        function = type(function)
    _tell(digest, bound, DEEPEST)
    try:
        digest.update(inspect.getsource(function).encode())
    except (OSError, TypeError):
        return ""
    return digest.hexdigest()


#: How deep bound values are looked into.
DEEPEST = 6


def _tell(digest: Any, value: Any, depth: int) -> None:
    """Adds a value to a digest: numbers, strings, arrays and lists and tables of them as they are, of all else its class. Nothing of it
    may differ between two processes."""
    kind = type(value)
    digest.update(f"{kind.__module__}.{kind.__qualname__}:".encode())
    if value is None or kind in (bool, int, float, complex, str, bytes):
        digest.update(repr(value).encode("utf-8", "backslashreplace"))
    elif kind is np.ndarray and value.dtype.kind in "biufc":
        digest.update(repr((value.shape, value.dtype.str)).encode() + np.ascontiguousarray(value).tobytes())
    elif isinstance(value, np.generic):
        digest.update(repr(value).encode())
    elif depth > 0 and kind in (list, tuple):
        for one in value:
            _tell(digest, one, depth - 1)
    elif depth > 0 and kind is dict:
        for key, one in value.items():
            _tell(digest, key, depth - 1)
            _tell(digest, one, depth - 1)
    digest.update(b";")


def packed(function: Score) -> bytes:
    """A function for another process: pickled, by cloudpickle where it has no name that can be imported."""
    picklers: list[Any] = [pickle]
    # What another process cannot import is taken along whole, where a package is there that can.
    is_loose = getattr(function, "__module__", None) == "__main__" or "<locals>" in called(function)
    for name in ("cloudpickle", "ray.cloudpickle"):
        try:
            picklers.insert(0 if is_loose else len(picklers), importlib.import_module(name))
            break
        except ImportError:
            continue
    failure: Exception | None = None
    for pickler in picklers:
        try:
            return bytes(pickler.dumps(function))
        except Exception as error:
            failure = error
    raise InvalidInput(
        "score cannot be pickled, expected a function of a module, module:function, or cloudpickle to be installed"
    ) from failure


def run_all(function: Score, trials: Sequence[Trial]) -> list[Row]:
    """Runs trials one after the other."""
    return [attempt(function, trial) for trial in trials]
