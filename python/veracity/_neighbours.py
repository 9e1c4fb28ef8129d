"""Two adjacent datasets from one: the records, and the same with the canary added, or in place of the last.

Records are rows of a numpy array, of a torch tensor or of a pandas frame, elements of a list or of a torch dataset, or a tuple of
these, such as (features, labels). Every trial has a copy of its own of what can be copied.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ._errors import CannotAudit, InvalidInput, NoTheorem
from ._opacus_watch import Setup, watching


class Neighbours:
    """The data of both worlds."""

    def __init__(self, data: Any, canary: Any, adjacency: str) -> None:
        self.records = _planted(data, canary)
        length = _length(data)
        if adjacency == "zero-out":
            raise NoTheorem("no theorem for data with a canary under zero-out: what a blank record is, is not known; use replace-one")
        kept = length if adjacency == "add-remove" else length - self.records
        if adjacency == "replace-one" and kept < 1:
            raise InvalidInput(
                f"data has {length} records, expected more than the {self.records} that the canary takes the place of"
            )
        self._out, self._in = data, _joined(data, canary, kept)

    def world(self, is_in: bool) -> Any:
        """A copy of the data of a world."""
        return _copied(self._in if is_in else self._out)

    def fingerprint(self) -> dict[str, Any]:
        """Return a fingerprint of these data, for the protocol of the audit."""
        hashed = hashlib.sha256()
        is_whole = all([_hash(hashed, self._out), _hash(hashed, self._in)])
        told: dict[str, Any] = {"canary_records": self.records, "records": _length(self._out)}
        if is_whole:
            told["data_sha256"] = hashed.hexdigest()
        return told


class Training:
    """A training and an attack on its model, as one function of the world and a seed.

    Under add-remove one world has a record more. A training with Opacus takes its sampling rate from the number of records, so that the
    worlds may differ in a public parameter. Such a training is not the claimed one, and has no verdict.
    """

    def __init__(self, train: Any, attack: Any, neighbours: Neighbours) -> None:
        self.train, self.attack, self.neighbours = train, attack, neighbours
        #: The setups of Opacus in the first training of each world that this process ran.
        self._setups: dict[bool, list[Setup]] = {}

    def __call__(self, world: bool, seed: int) -> Any:
        with watching() as setups:
            model = self.train(self.neighbours.world(world), seed)
        self._compare(bool(world), setups)
        return self.attack(model)

    def _compare(self, world: bool, setups: list[Setup]) -> None:
        self._setups.setdefault(world, setups)
        without, having = self._setups.get(False, []), self._setups.get(True, [])
        for one, other in zip(without, having, strict=False):
            if difference := one.differences(other):
                raise CannotAudit(
                    f"Opacus has {difference} with the canary, expected the same in both worlds: hand make_private a "
                    "DPDataLoader(dataset, sample_rate=…) and loss_reduction=\"sum\", or claim for adjacency \"replace-one\", or use v.opacus.audit"
                )


def _kind(data: Any) -> str:
    if isinstance(data, (np.ndarray, list, tuple)):
        return "array" if isinstance(data, np.ndarray) else type(data).__name__
    module = type(data).__module__.partition(".")[0]
    if module == "pandas" and hasattr(data, "iloc") and hasattr(data, "columns"):
        return "frame"
    if module == "torch" and hasattr(data, "detach"):
        return "tensor"
    if hasattr(data, "__getitem__") and hasattr(data, "__len__") and not isinstance(data, (str, bytes, Mapping)):
        return "dataset"
    raise InvalidInput(
        f"data is a {type(data).__name__}, expected a numpy array, a list, a pandas frame, a torch tensor or dataset, or a tuple of these"
    )


def _length(data: Any) -> int:
    if _kind(data) != "tuple":
        return len(data)
    lengths = {_length(part) for part in data}
    if len(lengths) != 1:
        raise InvalidInput("data is a tuple of different lengths, expected as many records in each part")
    return lengths.pop()


def _planted(data: Any, canary: Any) -> int:
    """How many records the canary is."""
    if _kind(data) == "tuple":
        if not isinstance(canary, tuple) or len(canary) != len(data):
            raise InvalidInput(f"canary does not fit, expected a tuple of {len(data)} parts as the data are")
        counts = {_planted(part, planted) for part, planted in zip(data, canary, strict=True)}
        if len(counts) != 1:
            raise InvalidInput("canary is a tuple of different lengths, expected as many records in each part")
        return counts.pop()
    count = len(_rows(data, canary))
    if count < 1:
        raise InvalidInput("canary has no record, expected at least one")
    return count


def _rows(data: Any, canary: Any) -> Any:
    """The canary as records of the same kind as the data; one record need not be in a list."""
    kind = _kind(data)
    rows: Any
    if kind in ("array", "tensor"):
        rows = _as_these(data, canary)
        return _fitting(data, rows[None] if rows.ndim == data.ndim - 1 else rows)
    if kind == "frame":
        import pandas as pd

        if not isinstance(canary, (pd.DataFrame, Mapping)):
            raise InvalidInput(f"canary is a {type(canary).__name__}, expected a frame, or a dict of one row, as the data are")
        rows = canary if isinstance(canary, pd.DataFrame) else pd.DataFrame([dict(canary)])
        if set(rows.columns) != set(data.columns):
            raise InvalidInput("canary has other columns, expected those of the data")
        return rows[list(data.columns)]
    if kind == "list":
        if not isinstance(canary, list):
            raise InvalidInput(f"canary is a {type(canary).__name__}, expected a list of records as the data are")
        return canary
    return canary if hasattr(canary, "__len__") and not isinstance(canary, tuple) else [canary]


def _as_these(data: Any, canary: Any) -> Any:
    """The canary as an array or a tensor of the same type as the data."""
    try:
        if isinstance(data, np.ndarray):
            return np.asarray(canary, dtype=data.dtype)
        import torch

        return torch.as_tensor(canary, dtype=data.dtype, device=data.device)
    except Exception as why:
        # What another package says of a value may have the value in it.
        kind = type(why).__name__
    raise InvalidInput(f"canary cannot be made an array of {data.dtype} ({kind}), expected records as the data are")


def _fitting(data: Any, rows: Any) -> Any:
    if tuple(rows.shape[1:]) != tuple(data.shape[1:]) or rows.ndim != data.ndim:
        raise InvalidInput(
            f"canary has the shape {tuple(rows.shape)}, expected records of the shape {tuple(data.shape[1:])} as the data have"
        )
    return rows


def _joined(data: Any, canary: Any, kept: int) -> Any:
    kind = _kind(data)
    if kind == "tuple":
        return tuple(_joined(part, planted, kept) for part, planted in zip(data, canary, strict=True))
    rows = _rows(data, canary)
    if kind == "array":
        return np.concatenate([data[:kept], rows])
    if kind == "tensor":
        import torch

        return torch.cat([data[:kept], rows])
    if kind == "frame":
        import pandas as pd

        return pd.concat([data.iloc[:kept], rows]).astype(data.dtypes.to_dict()).set_axis(_index(data, kept, len(rows)))
    if kind == "list":
        return data[:kept] + rows
    try:
        from torch.utils.data import ConcatDataset, Subset
    except ImportError:
        raise InvalidInput(
            f"data is a {type(data).__name__} and torch is not installed, expected a numpy array, a list or a pandas frame"
        ) from None
    return ConcatDataset([Subset(data, range(kept)), rows])


def _index(data: Any, kept: int, planted: int) -> Any:
    """Row labels that do not reveal where the canary is."""
    return data.index if kept + planted == len(data) else range(kept + planted)


def _copied(data: Any) -> Any:
    kind = _kind(data)
    if kind == "tuple":
        return tuple(_copied(part) for part in data)
    if kind in ("array", "frame", "list"):
        return data.copy()
    return data.clone() if kind == "tensor" else data


def _hash(hashed: Any, data: Any) -> bool:
    """Adds data to a hash; whether it could."""
    kind = _kind(data)
    if kind == "tuple":
        return all([_hash(hashed, part) for part in data])
    if kind == "array" and data.dtype != object:
        hashed.update(f"{data.dtype} {data.shape}".encode())
        hashed.update(np.ascontiguousarray(data).tobytes())
        return True
    if kind == "tensor":
        return _hash(hashed, data.detach().cpu().numpy())
    if kind == "frame":
        import pandas as pd

        hashed.update(" ".join(map(str, data.columns)).encode())
        return _hash(hashed, pd.util.hash_pandas_object(data, index=False).to_numpy())
    if kind == "list":
        hashed.update(repr(data).encode())
        return True
    return False
