"""The tensors of a model as its file holds them, and back.

The file has single-precision numbers only, as the digest of a claim does. Half precision becomes single precision without loss, and back
when the weights are loaded. A tensor with several names is saved under the first one.
"""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import torch
from torch import nn

from .._errors import FileError, InvalidInput

SCHEMA = "veracity.torch-model/1"
#: Integers up to here are floats of single precision.
_EXACT = 2**24


def tensors_of(model: nn.Module, for_release: bool, trainable_only: bool) -> tuple[list[tuple[str, list[int], np.ndarray]], str]:
    """Return the tensors of a model, each once, and the card that says what they were."""
    first: dict[Any, str] = {}
    tensors, dtypes, tied = [], {}, {}
    trainable = {name for name, parameter in model.named_parameters(remove_duplicate=False) if parameter.requires_grad}
    for name, tensor in model.state_dict().items():
        if trainable_only and name not in trainable:
            continue
        place = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
        if tensor.numel() and place in first:
            tied[name] = first[place]
            continue
        first[place] = name
        if tensor.dtype != torch.float32:
            dtypes[name] = str(tensor.dtype).removeprefix("torch.")
        tensors.append((name, list(tensor.shape), _floats(name, tensor)))
    card = {"schema": SCHEMA, "for_release": for_release, "dtypes": dtypes, "tied": tied}
    return tensors, json.dumps(card)


def _floats(name: str, tensor: torch.Tensor) -> np.ndarray:
    numbers = tensor.detach().cpu()
    floats = numbers.to(torch.float32)
    if numbers.dtype == torch.float64 or (not numbers.is_floating_point() and numbers.numel() and int(numbers.abs().max()) > _EXACT):
        raise InvalidInput(f"the tensor {name} has the type {numbers.dtype}, expected float32, bfloat16, float16 or small integers")
    return np.ascontiguousarray(floats.numpy().reshape(-1))


def load_weights(path: str | os.PathLike[str]) -> dict[str, torch.Tensor]:
    """Load the weights that `run.save` wrote.

    Args:
        path: the file `model.safetensors`.

    Returns:
        A state dict for `model.load_state_dict`. If only trainable parameters were saved, pass `strict=False`.

    Raises:
        FileError: if the file does not exist, is damaged or was written by another program.

    Example:
        >>> model.load_state_dict(v.torch.load_weights("out/model.safetensors"))  # doctest: +SKIP
    """
    try:
        with open(path, "rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
            numbers = file.read()
        card = json.loads(header.pop("__metadata__")["veracity"])
        if card["schema"] != SCHEMA:
            raise ValueError
        weights = {}
        for name, entry in header.items():
            start, end = entry["data_offsets"]
            values = torch.from_numpy(np.frombuffer(numbers[start:end], dtype="<f4").copy()).reshape(entry["shape"])
            weights[name] = values.to(getattr(torch, card["dtypes"].get(name, "float32")))
        return weights | {name: weights[of] for name, of in card["tied"].items()}
    except OSError as error:
        raise FileError(f"cannot read {os.fspath(path)}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{os.fspath(path)} is not a model that veracity.torch wrote, or it is damaged") from error
