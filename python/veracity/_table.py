"""Tables of all kinds as columns for queries. The type of a column is public. Values never decide whether there is an answer."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Set
from typing import Any

import numpy as np

from ._errors import Error, InvalidInput
from ._veracity import _check_columns, _Column


def table_of(data: Any) -> Table:
    """The table behind a DataFrame, an Arrow table, a mapping of arrays or a path."""
    if isinstance(data, (str, os.PathLike)):
        return _File(path_of("data", data))
    home = type(data).__module__.partition(".")[0]
    if home == "pandas" and hasattr(data, "columns"):
        return _Frame(data)
    if home == "polars" and type(data).__name__ == "DataFrame":
        return _Frame(data)
    if home == "pyarrow" and hasattr(data, "column_names"):
        return _Frame(data)
    if isinstance(data, Mapping):
        return _Arrays(data)
    remedy = "; collect() it first" if home == "polars" and type(data).__name__ == "LazyFrame" else ""
    raise TypeError(
        f"data is a {type(data).__name__}, expected a pandas or polars DataFrame, an Arrow table, a dict of arrays or a path{remedy}"
    )


def path_of(what: str, given: Any) -> str:
    """Return a path as a string."""
    try:
        return os.fsdecode(given)
    except Exception:
        pass
    raise TypeError(f"{what} is a {type(given).__name__}, expected a path")


class Table:
    """Columns by name. What was taken once is kept."""

    name = "data"

    def __init__(self) -> None:
        self._kept: dict[tuple[str | None, bool], _Column] = {}
        self._lock = threading.Lock()

    def check(self, column: str, texts: bool) -> None:
        """Refuses a column that is not there, or is of another kind. No value is looked at."""
        raise NotImplementedError

    def reads_texts(self, column: str) -> bool:
        """Whether its values are best counted as strings."""
        raise NotImplementedError

    def size(self) -> int | None:
        """The number of rows, where nothing has to be read for it."""
        return len(self.rows())

    def rows(self) -> _Column:
        """One value for each row."""
        raise NotImplementedError

    def column(self, column: str | None, texts: bool) -> _Column:
        """Return the numbers, or the strings, of a column."""
        with self._lock:
            kept = self._kept.get((column, texts))
            if kept is None:
                kept = self._taken(column, texts)
                self._kept[column, texts] = kept
            return kept

    def _taken(self, column: str | None, texts: bool) -> _Column:
        try:
            return self._read(column, texts) if column is not None else self.rows()
        except (Error, KeyboardInterrupt, SystemExit):
            raise
        # Also what is no Exception: polars panics over dates that are out of range.
        except BaseException as why:
            # What another package says of a value may have the value in it.
            kind = type(why).__name__
        shown = "of rows" if column is None else repr(_printable(column))
        raise InvalidInput(f"column {shown} cannot be read ({kind}), expected values that can be walked")

    def _read(self, column: str, texts: bool) -> _Column:
        raise NotImplementedError


class _File(Table):
    def __init__(self, path: str) -> None:
        super().__init__()
        self._path = path
        self.name = os.path.basename(self._path) or "data"

    def check(self, column: str, texts: bool) -> None:
        _check_columns(self._path, [column])

    def reads_texts(self, column: str) -> bool:
        return True

    def size(self) -> int | None:
        return None

    def rows(self) -> _Column:
        return _Column.of_file(self._path, None, True)

    def _read(self, column: str, texts: bool) -> _Column:
        return _Column.of_file(self._path, column, texts)


class _Frame(Table):
    """A DataFrame or an Arrow table: what has columns by name."""

    def __init__(self, frame: Any) -> None:
        super().__init__()
        self._frame = frame
        names = [str(name) for name in getattr(frame, "column_names", None) or frame.columns]
        if len(set(names)) < len(names):
            raise InvalidInput("columns have names in common, expected each name once")
        self._names = dict(zip(names, getattr(frame, "column_names", None) or frame.columns, strict=True))

    def check(self, column: str, texts: bool) -> None:
        if column not in self._names:
            raise _absent(column, self._names)
        _check_kind(column, self._series(column), texts)

    def reads_texts(self, column: str) -> bool:
        return not _is_numeric(self._series(column))

    def rows(self) -> _Column:
        return _Column.of_rows(len(self._frame))

    def _series(self, column: str) -> Any:
        name = self._names[column]
        return self._frame.column(name) if hasattr(self._frame, "column_names") else self._frame[name]

    def _read(self, column: str, texts: bool) -> _Column:
        return _column_of(self._series(column), texts)


class _Arrays(Table):
    def __init__(self, arrays: Mapping[Any, Any]) -> None:
        super().__init__()
        self._arrays = {str(name): _row_of(str(name), values) for name, values in arrays.items()}
        if len(self._arrays) < len(arrays):
            raise InvalidInput("columns have names in common, expected each name once")
        lengths = {_length_of(name, values) for name, values in self._arrays.items()}
        if len(lengths) > 1:
            raise InvalidInput("columns differ in length, expected one value of each for a row")
        if not lengths:
            raise InvalidInput("data has no columns, expected at least one")
        self._rows = lengths.pop()

    def check(self, column: str, texts: bool) -> None:
        if column not in self._arrays:
            raise _absent(column, self._arrays)
        _check_kind(column, self._arrays[column], texts)

    def reads_texts(self, column: str) -> bool:
        return not _is_numeric(self._arrays[column])

    def rows(self) -> _Column:
        return _Column.of_rows(self._rows)

    def _read(self, column: str, texts: bool) -> _Column:
        return _column_of(self._arrays[column], texts)


def _absent(column: str, names: Mapping[str, Any]) -> InvalidInput:
    known = ", ".join(_printable(name) for name in list(names)[:12])
    return InvalidInput(f"column {_printable(column)!r} does not exist, expected one of {known}")


def _printable(name: str) -> str:
    return "".join(c for c in name if c.isprintable())[:60]


def _row_of(name: str, values: Any) -> Any:
    # What has no order cannot be told row by row.
    if isinstance(values, (str, bytes, Mapping, Set)) or not hasattr(values, "__len__"):
        raise TypeError(f"column {_printable(name)!r} is a {type(values).__name__}, expected an array or a list")
    if getattr(values, "ndim", 1) != 1:
        raise InvalidInput(f"column {_printable(name)!r} has {values.ndim} dimensions, expected 1")
    return values


def _length_of(name: str, values: Any) -> int:
    try:
        return len(values)
    except Exception as why:
        # What it says may have a value in it.
        kind = type(why).__name__
    raise InvalidInput(f"column {_printable(name)!r} has no length ({kind}), expected an array or a list")


def _kind(values: Any) -> str:
    """What the values are by their declared type: 'number', 'time', 'complex' or 'other'."""
    home = type(values).__module__.partition(".")[0]
    if home == "polars":
        return "number" if values.dtype.is_numeric() or str(values.dtype) == "Boolean" else (
            "time" if values.dtype.is_temporal() else "other"
        )
    if home == "pyarrow":
        import pyarrow.types as types

        kind = values.type
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
            return "number"
        return "time" if types.is_temporal(kind) else "other"
    code = getattr(getattr(values, "dtype", None), "kind", "O")
    if code in "fiub":
        return "number"
    return {"M": "time", "m": "time", "c": "complex"}.get(code, "other")


def _is_numeric(values: Any) -> bool:
    return _kind(values) == "number"


def _check_kind(column: str, values: Any, texts: bool) -> None:
    kind = _kind(values)
    if kind == "complex":
        raise InvalidInput(f"column {_printable(column)!r} has complex values, expected numbers or strings")
    if kind == "time":
        # A date that is out of range fails when it is read, which would tell of it.
        raise InvalidInput(f"column {_printable(column)!r} has dates or times, expected numbers or strings: convert them to strings first")


def _column_of(values: Any, texts: bool) -> _Column:
    home = type(values).__module__.partition(".")[0]
    if texts:
        listed = _listed(values, home)
        return _Column.of_texts(listed if _is_numeric(values) else map(_dated, listed))
    if _is_numeric(values):
        return _Column.of_array(_floats(values, home))
    return _Column.of_numbers(_listed(values, home))


def _floats(values: Any, home: str) -> Any:
    # What is too large for a float is infinite, without a word: a warning would tell of it.
    with np.errstate(all="ignore"):
        return _as_floats(values, home)


def _as_floats(values: Any, home: str) -> Any:
    if home == "pandas":
        return values.to_numpy(dtype="float64", na_value=np.nan)
    if home == "polars":
        import polars

        return np.ascontiguousarray(values.cast(polars.Float64).to_numpy(), dtype="float64")
    if home == "pyarrow":
        import pyarrow

        floats = values.cast(pyarrow.float64(), safe=False)
        if not isinstance(floats, pyarrow.ChunkedArray):
            floats = pyarrow.chunked_array([floats])
        return np.ascontiguousarray(floats.to_numpy(), dtype="float64")
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype("float64"), np.nan)
    return np.ascontiguousarray(values, dtype="float64")


def _listed(values: Any, home: str) -> Any:
    if home == "polars":
        return values.to_list()
    if home == "pyarrow":
        return _arrow_list(values)
    if home == "pandas":
        # Categories and dates become what they stand for.
        return values.astype(object).tolist()
    return values.tolist() if hasattr(values, "tolist") else values


def _arrow_list(values: Any) -> list[Any]:
    """The values of an Arrow column; strings that are not UTF-8 are missing, as in a file."""
    try:
        return list(values.to_pylist())
    except UnicodeDecodeError:
        import pyarrow

        return [_decoded(value) for value in values.cast(pyarrow.binary()).to_pylist()]


def _decoded(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _dated(value: Any) -> Any:
    """Return a date or time among objects as a string, and all else unchanged."""
    if type(value).__module__ == "datetime" and hasattr(value, "isoformat"):
        return value.isoformat()
    return value
