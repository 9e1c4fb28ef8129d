"""Poisson batches: the keyed coin of each record or person, cut into micro-batches of one shape, padded and masked.

The coin of a record depends on the root of the run, the step and the number of the record. So one more record changes no other coin, and
several processes that share the root agree on every batch.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch.utils.data import IterableDataset, TensorDataset, default_collate

from .._errors import InvalidInput
from .._veracity import _Randomness

#: Numbers of records are below this; those of canaries are not.
FIRST_CANARY = 1 << 63


@dataclass
class MicroBatch:
    """Records of one fixed shape.

    Attributes:
        data: the records, collated. Padding repeats a record.
        mask: True for each record that counts.
        shares: the part of the clip norm that each record may use: 1, or 1 / m for each of the m records of a person.
    """

    data: Any
    mask: torch.Tensor
    shares: torch.Tensor | None


@dataclass
class Batch:
    """The records of one step. Pass it to `run.step`. Its size is private.

    Iterate over it to get its micro-batches of this process.
    """

    step: int
    _records: Any
    _source: Source

    def __iter__(self) -> Iterator[MicroBatch]:
        return self._source.micro_batches(self._records)

    def records(self) -> Any:
        """Return the records of this process as one batch without padding, for metrics. They are private.

        An empty batch returns the first record of the dataset, so that a model can run on it.
        """
        return self._source.whole(self._records)


class Source:
    """The records of a training and how they are drawn."""

    def __init__(
        self,
        dataset: Any,
        *,
        micro_batch: int,
        ids: Any = None,
        person: Any = None,
        collate: Callable[[list[Any]], Any] | None = None,
        device: torch.device | None = None,
    ) -> None:
        if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__getitem__"):
            raise InvalidInput("dataset has no len() and no index, expected a map-style dataset, or tensors as a tuple or dict")
        self._dataset = dataset
        self._read = _reader(dataset, collate)
        self.size = _length(dataset)
        self.micro_batch, self._device = micro_batch, device
        if person is not None and ids is not None:
            raise InvalidInput("ids is given together with person, expected one of them: a person is drawn by one coin")
        self.is_by_person = person is not None
        self._rows: list[np.ndarray] | None = None
        if person is not None:
            codes = _codes("person", person, self.size)
            self.ids, where, counts = np.unique(codes, return_inverse=True, return_counts=True)
            self._rows = np.split(np.argsort(where, kind="stable"), np.cumsum(counts)[:-1]) if self.size else []
        elif ids is not None:
            self.ids = _codes("ids", ids, self.size)
            if len(np.unique(self.ids)) != self.size:
                raise InvalidInput("ids has a number twice, expected a number of its own for each record; use person for several records of one person")
        else:
            self.ids = np.arange(self.size, dtype=np.uint64)
        self.rank, self.processes = 0, 1

    def batch(self, randomness: _Randomness, rate: float, step: int) -> Batch:
        """Draw the batch of a step, and keep the part of this process."""
        places = np.flatnonzero(randomness.chosen(self.ids, rate, step))
        # By number and not by order, so that a record stays with its process.
        mine = places[self.ids[places] % np.uint64(self.processes) == self.rank]
        return Batch(step, mine, self)

    def micro_batches(self, places: np.ndarray) -> Iterator[MicroBatch]:
        """Cut the drawn records into micro-batches. None has records of two people cut apart by a bound: shares add up to 1 for each."""
        rows, shares = self._expanded(places)
        for start in range(0, len(rows), self.micro_batch):
            some = rows[start : start + self.micro_batch]
            missing = self.micro_batch - len(some)
            # Padding is masked. It repeats a record of the batch, which has the shape.
            data = self._moved(self._read(np.concatenate([some, np.repeat(some[:1], missing)])))
            mask = torch.arange(self.micro_batch) < len(some)
            part = None
            if shares is not None:
                part = torch.zeros(self.micro_batch, dtype=torch.float64)
                part[: len(some)] = torch.from_numpy(shares[start : start + self.micro_batch])
                part = part if self._device is None else part.to(self._device)
            yield MicroBatch(data, mask if self._device is None else mask.to(self._device), part)

    def whole(self, places: np.ndarray) -> Any:
        """Return the drawn records as one batch, or the first record of all if there are none."""
        rows, _ = self._expanded(places)
        return self._moved(self._read(rows if len(rows) else np.zeros(1, dtype=np.int64)))

    def sample(self, count: int) -> list[Any]:
        """Return all tensors of the dataset, or so many of its records, evenly spaced."""
        tensors = _tensors(self._dataset)
        if tensors is not None:
            return [tensors]
        if self.size == 0:
            return []
        places = np.unique(np.linspace(0, self.size - 1, min(count, self.size)).astype(np.int64))
        return [self._dataset[int(place)] for place in places]

    def _expanded(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        if self._rows is None:
            return places, None
        rows = [self._rows[place] for place in places]
        # Rounded down: the shares of a person add up to at most 1, also as floats.
        shares = [np.full(len(one), np.nextafter(1.0 / len(one), 0.0) if len(one) > 1 else 1.0) for one in rows]
        empty = np.empty(0, dtype=np.int64)
        return np.concatenate([empty, *rows]), np.concatenate([np.empty(0), *shares])

    def _moved(self, data: Any) -> Any:
        return data if self._device is None else _to(data, self._device)


def _reader(dataset: Any, collate: Callable[[list[Any]], Any] | None) -> Callable[[np.ndarray], Any]:
    """Return what reads the records of some places as one batch."""
    tensors = _tensors(dataset)
    if collate is None and tensors is not None:
        return lambda places: _indexed(tensors, torch.from_numpy(places.astype(np.int64)))
    put_together = default_collate if collate is None else collate
    return lambda places: put_together([dataset[int(place)] for place in places])


def _tensors(dataset: Any) -> Any:
    """Return the tensors of a dataset that has nothing else, in the form of its batches, or None."""
    data = dataset.tensors if isinstance(dataset, TensorDataset) else dataset
    if isinstance(data, torch.Tensor):
        return data
    if not isinstance(data, (tuple, list, dict)) or len(data) == 0:
        return None
    parts = data.values() if isinstance(data, dict) else data
    # A list of tensors is a dataset of records, a tuple of them is one of columns.
    return data if not isinstance(data, list) and all(isinstance(part, torch.Tensor) for part in parts) else None


def _indexed(tensors: Any, places: torch.Tensor) -> Any:
    if isinstance(tensors, torch.Tensor):
        return tensors[places]
    if isinstance(tensors, dict):
        return {name: tensor[places] for name, tensor in tensors.items()}
    return tuple(tensor[places] for tensor in tensors)


def _length(dataset: Any) -> int:
    tensors = _tensors(dataset)
    if tensors is None or isinstance(tensors, torch.Tensor):
        return len(dataset if tensors is None else tensors)
    parts: Sequence[torch.Tensor] = list(tensors.values() if isinstance(tensors, dict) else tensors)
    lengths = {len(part) for part in parts}
    if len(lengths) != 1:
        raise InvalidInput("dataset has tensors of different lengths, expected one row of each tensor per record")
    return lengths.pop()


def _codes(name: str, given: Any, size: int) -> np.ndarray:
    """Return numbers below 2^63 for ids. Text becomes 63 bits of its hash, which no other text changes."""
    codes = given.numpy() if isinstance(given, torch.Tensor) else np.asarray(given)
    if codes.shape != (size,):
        raise InvalidInput(f"{name} has another length than the dataset, expected one per record")
    if codes.dtype.kind in "US" or codes.dtype == object:
        hashed = (hashlib.blake2b(str(one).encode(), digest_size=8).digest() for one in codes)
        codes = np.fromiter((int.from_bytes(one, "little") >> 1 for one in hashed), dtype=np.uint64, count=size)
    if codes.dtype.kind not in "iu":
        raise InvalidInput(f"{name} has another type, expected integers or text")
    if size and (codes.min() < 0 or int(codes.max()) >= FIRST_CANARY):
        raise InvalidInput(f"{name} has a number out of range, expected 0 ≤ number < 2^63")
    return codes.astype(np.uint64)


def _to(data: Any, device: torch.device) -> Any:
    if isinstance(data, dict) or hasattr(data, "items"):
        return {name: _to(part, device) for name, part in data.items()}
    if isinstance(data, (tuple, list)):
        return type(data)(_to(part, device) for part in data)
    return data.to(device) if hasattr(data, "to") else data
