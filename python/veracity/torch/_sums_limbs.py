"""Exact integer matrix products by 8-bit limbs: an integer up to 32,384 is 254 · high + low, and 8-bit products add up in 32 bits.

Processors multiply 8-bit integers several times as fast as floats. `limbs_are_exact` tries the product of this machine with extreme
values and rejects kernels that saturate.
"""

from __future__ import annotations

import functools
import math

import torch
from torch import Tensor

BASE = 254
MOST = 127 * BASE + 126  # largest integer of two limbs; one more would be a tie between high limbs of 127 and 128
CHUNK = 1 << 18  # elements of a temporary that stays in the cache
ROWS = 2**31 // 127**2 // 4  # products that fit 32 bits, with room for the sum of two limbs' products


@functools.lru_cache
def limbs_are_exact(device: torch.device) -> bool:
    """Whether this machine multiplies 8-bit integers without saturation."""
    if device.type != "cpu":
        return False
    generator = torch.Generator().manual_seed(1)
    for rows, left, right in ((ROWS, 32, 48), (1024, 128, 96), (37, 20, 34)):
        a = torch.randint(-127, 128, (rows, left), generator=generator).to(torch.int8)
        b = torch.randint(-127, 128, (rows, right), generator=generator).to(torch.int8)
        for sign in (1, -1):
            a[:, :8], b[:, :8] = 127, 127 * sign
            a[:, 8:16] = -127
            try:
                found = torch._int_mm(a.t(), b)
            except (RuntimeError, AttributeError):
                return False
            if not torch.equal(found.double(), a.double().t() @ b.double()):
                return False
    return True


class Scratch:
    """Memory that is used again, because a fresh page costs more than the work on it."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[str, torch.dtype], Tensor] = {}

    def take(self, role: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Uninitialized tensor that is valid until its role is taken again."""
        size = math.prod(shape)
        kept = self.buffers.get((role, dtype))
        if kept is None or kept.shape[0] < size:
            kept = self.buffers[role, dtype] = torch.empty(size, dtype=dtype)
        return kept[:size].view(shape)


def limbs(t: Tensor, steps: Tensor, scratch: Scratch, role: str) -> Tensor:
    """Limbs of the integers nearest to steps · t: rows × (high, low)."""
    width = t.shape[-1]
    t, steps = t.reshape(-1, width), steps.reshape(-1, 1)
    rows = t.shape[0]
    out = scratch.take(role, (rows, 2 * width), torch.int8)
    chunk = max(1, min(rows, CHUNK // width))
    scaled, high = (scratch.take(r, (chunk, width), torch.float32) for r in ("scaled", "high"))
    for start in range(0, rows, chunk):
        end = min(start + chunk, rows)
        if end - start < chunk:
            scaled, high = scaled[: end - start], high[: end - start]
        torch.mul(t[start:end], steps[start:end], out=scaled)
        torch.mul(scaled, 1 / BASE, out=high).round_()
        out[start:end, :width].copy_(high)
        out[start:end, width:].copy_(scaled.sub_(high, alpha=BASE).round_())
    return out


def add_limbs(x: Tensor, x_steps: Tensor, targets: list[tuple[Tensor, Tensor, Tensor]], scratch: Scratch) -> None:
    """Add to each target the exact product of its rounded gradients and the rounded inputs.

    Args:
        x: Inputs, records × positions × features.
        x_steps: Factor per record and position.
        targets: Gradients like `x`, their factors, and the int64 sums of outputs × features.
        scratch: Memory for temporaries.
    """
    width = x.shape[-1]
    right = limbs(x, x_steps, scratch, "right")
    for grads, steps, into in targets:
        outputs, left = grads.shape[-1], limbs(grads, steps, scratch, "left")
        for start in range(0, left.shape[0], ROWS):
            part = slice(start, start + ROWS)
            found = torch._int_mm(left[part].t(), right[part])
            wide = scratch.take("wide", (outputs, width), torch.int64)
            for high_left, high_right in ((1, 1), (1, 0), (0, 1), (0, 0)):
                a, b = (0 if high_left else outputs), (0 if high_right else width)
                wide.copy_(found[a : a + outputs, b : b + width])
                into.add_(wide, alpha=BASE ** (high_left + high_right))
