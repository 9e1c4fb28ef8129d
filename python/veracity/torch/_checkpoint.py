"""Checkpoints: all that a killed run needs to go on with the same bits, without a second charge.

A checkpoint has two files: `PATH`, which is replaced whole at each save, and `PATH.key` with the root of the randomness, which is written
once, for its owner alone. Anyone with the key and the model can subtract the noise. So the key is destroyed before the finished model gets
its name, and the checkpoint after it.
"""

from __future__ import annotations

import hashlib
import os
from typing import Any

import numpy as np
import torch

from .._errors import FileError, InvalidInput
from .._veracity import _Randomness
from ._batches import Source

SCHEMA = "veracity.torch-checkpoint/1"
#: Records of a dataset without tensors that are part of its mark.
_SAMPLE = 256
#: Where the key of the mark is drawn.
_MARK = 2**62


def key_of(path: str) -> str:
    """Return the path of the key."""
    return path + ".key"


def write(path: str, state: dict[str, Any]) -> None:
    """Write a checkpoint, whole or not at all, for its owner alone."""
    staged = f"{path}.{os.getpid()}.tmp"
    try:
        with open(os.open(staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            torch.save({"schema": SCHEMA, **state}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(staged, path)
        folder = os.open(os.path.dirname(os.path.abspath(path)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise FileError(f"cannot write checkpoint {path}: {error.strerror}") from error


def read(path: str) -> dict[str, Any]:
    """Read a checkpoint. It holds tensors and numbers, and no code."""
    try:
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise FileError(f"cannot read checkpoint {path}: {error.strerror}") from error
    except Exception as error:
        raise FileError(f"{path} is not a checkpoint, or it is damaged") from error
    if not isinstance(state, dict) or state.get("schema") != SCHEMA:
        raise FileError(f"{path} is not a checkpoint of this version")
    return state


def remove(path: str) -> None:
    """Destroy the key, then remove the checkpoint."""
    _Randomness.destroy(key_of(path))
    if os.path.exists(path):
        os.remove(path)


def mark(randomness: _Randomness, source: Source, stated: Any) -> str:
    """Return what ties a checkpoint to its plan and records, so that noise that was drawn is not drawn for others.

    It is keyed by the root: without the key it does not reveal whether a guess of the records is right. Of tensors it reads everything, and
    of other datasets up to 256 records.
    """
    key = b"".join(randomness.layer_seed(_MARK, part).to_bytes(8, "little") for part in range(4))
    hashed = hashlib.blake2b(key=key, digest_size=16)
    _feed(hashed, stated)
    _feed(hashed, source.ids)
    for part in source.sample(_SAMPLE):
        _feed(hashed, part)
    return hashed.hexdigest()


def _feed(hashed: Any, value: Any) -> None:
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu()
        _feed(hashed, value.view(torch.uint8).numpy() if value.dtype == torch.bfloat16 else value.numpy())
    elif isinstance(value, np.ndarray):
        hashed.update(f"array {value.dtype} {value.shape}\n".encode())
        hashed.update(np.ascontiguousarray(value).data)
    elif isinstance(value, dict) or hasattr(value, "items"):
        hashed.update(f"dict {len(value)}\n".encode())
        for name, part in value.items():
            _feed(hashed, str(name))
            _feed(hashed, part)
    elif isinstance(value, (list, tuple)):
        hashed.update(f"list {len(value)}\n".encode())
        for part in value:
            _feed(hashed, part)
    elif isinstance(value, (str, int, float, bool, bytes, type(None))):
        text = value if isinstance(value, bytes) else repr(value).encode()
        hashed.update(f"{type(value).__name__} {len(text)}\n".encode() + text)
    elif hasattr(value, "tobytes"):
        _feed(hashed, value.tobytes())
    else:
        raise InvalidInput(f"a record has a {type(value).__name__}, expected tensors, arrays, numbers, text, lists and dicts for a checkpoint")
