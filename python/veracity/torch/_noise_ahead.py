"""Noise of a step on a CUDA device, drawn on the CPU while the device computes the step.

The noise depends on the root and the step alone, so it can be drawn before the sum is known, and has the bits that the CPU adds.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

import torch

from .._veracity import _Randomness


class NoiseAhead:
    """Noise of the next step, in page-locked memory.

    Args:
        randomness: the root of the run.
        size: the length of the sum.
        steps: the number of planned steps.
        device: the device of the sum.
    """

    def __init__(self, randomness: _Randomness, size: int, steps: int, device: torch.device) -> None:
        self._randomness, self._steps = randomness, steps
        self._drawn = torch.empty(size, dtype=torch.int64, pin_memory=True)
        self._there = torch.empty(size, dtype=torch.int64, device=device)
        self._stream = torch.cuda.Stream(device)
        self._pool = ThreadPoolExecutor(1)
        self._next: tuple[int, Future[None]] | None = None

    def begin(self, step: int) -> None:
        """Begin to draw the noise of a step and to send it to the device, unless that is done or under way."""
        if step < self._steps and (self._next is None or self._next[0] != step):
            self.wait()
            self._stream.wait_stream(torch.cuda.current_stream())
            self._next = (step, self._pool.submit(self._draw, step))

    def wait(self) -> None:
        """Wait until nothing is being drawn or sent."""
        if self._next is not None:
            self._next[1].result()

    def add(self, totals: torch.Tensor, step: int) -> None:
        """Add the noise of a step, in place, and forget it."""
        self.begin(step)
        self.wait()
        totals += self._there
        self._there.zero_()
        self._next = None

    def _draw(self, step: int) -> None:
        self._drawn.zero_()
        self._randomness.add_noise(self._drawn.numpy(), step, max(1, torch.get_num_threads() - 1))
        with torch.cuda.stream(self._stream):
            self._there.copy_(self._drawn, non_blocking=True)
        self._stream.synchronize()
        self._drawn.zero_()
