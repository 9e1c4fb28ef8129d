"""The processes of a training: each has the records of its numbers, sums are added up as integers, and noise is the same in each.

Integers add up to the same sum in any order, and the noise is keyed by the shared root. So any number of processes gives the same weights.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import distributed, nn

from .._veracity import _Randomness


class Processes:
    """This process among those of `torch.distributed`, or alone."""

    def __init__(self) -> None:
        self.is_group = distributed.is_available() and distributed.is_initialized()
        self.rank = distributed.get_rank() if self.is_group else 0
        self.count = distributed.get_world_size() if self.is_group else 1

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and pays."""
        return self.rank == 0

    def share(self, value: Any) -> Any:
        """Return the value of the first process in each."""
        if not self.is_group:
            return value
        values = [value]
        distributed.broadcast_object_list(values, src=0)
        return values[0]

    def share_randomness(self, randomness: _Randomness | None, seed: int | None) -> _Randomness:
        """Return the randomness of the first process in each. The root travels over the network of the group, which must be private."""
        if not self.is_group or seed is not None:
            return _Randomness(seed) if randomness is None else randomness
        if self.is_first and randomness is None:
            randomness = _Randomness(None)
        root = self.share(randomness.root() if self.is_first and randomness is not None else None)
        return randomness if self.is_first and randomness is not None else _Randomness.resume(root)

    def share_weights(self, model: nn.Module) -> None:
        """Give each process the weights and buffers of the first."""
        if self.is_group:
            with torch.no_grad():
                for tensor in model.state_dict(keep_vars=True).values():
                    distributed.broadcast(tensor.data, src=0)

    def add_up(self, sums: torch.Tensor) -> None:
        """Replace integer sums by their total over all processes."""
        if self.is_group:
            distributed.all_reduce(sums)

    def first_does(self, work: Any) -> Any:
        """Do something in the first process, and return its result in each. If it fails there, each process fails."""
        if not self.is_group:
            return work()
        result: Any = None
        error: BaseException | None = None
        if self.is_first:
            try:
                result = work()
            except Exception as failure:
                error = failure
        if (told := self.share(error)) is not None:
            raise told
        return self.share(result)
