"""Triton kernels for the leaves on a CUDA device: norms of products, and sums of rounded records in integers.

Each program multiplies the factors of one record, so a record's numbers depend on no other record. Sums are of integers, so their order does not
matter. A float becomes an integer by adding 1.5 · 2^23, which leaves the nearest integer in the low bits of the mantissa.
"""

# mypy: ignore-errors
# The kernels are in Triton's language, which has no types for Python.

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

SHARED = 220_000  # bytes of shared memory that a program may use
CHUNK = 256  # products that stay in the matrix unit before they are added in single precision
ROUNDER = tl.constexpr(12582912.0)  # 1.5 · 2^23
ROUNDER_BITS = tl.constexpr(0x4B400000)

@triton.jit
def _whole(f, c):
    """Integers nearest to f · c; zero where c is zero, whatever f is."""
    f = tl.where(c == 0.0, 0.0, f * c) + ROUNDER
    return f.to(tl.int32, bitcast=True) - ROUNDER_BITS


@triton.jit
def _product_sum(
    G, X, C, SUMS, records, T, O, I, stride, BO: tl.constexpr, BI: tl.constexpr, SPLIT: tl.constexpr, BT: tl.constexpr, ONCE: tl.constexpr
):
    outs = tl.program_id(0) * BO + tl.arange(0, BO)
    ins = tl.program_id(1) * BI + tl.arange(0, BI)
    steps = tl.arange(0, BT)
    first = tl.program_id(2)
    total = tl.zeros((BO, BI), tl.int32)
    g_at = G + first.to(tl.int64) * T * O
    x_at = X + first.to(tl.int64) * T * I
    for record in range(first, records, SPLIT):
        c = tl.load(C + record)
        if ONCE:
            g = tl.load(g_at + steps[:, None] * O + outs[None, :], mask=(steps < T)[:, None] & (outs < O)[None, :], other=0.0)
            x = tl.load(x_at + steps[:, None] * I + ins[None, :], mask=(steps < T)[:, None] & (ins < I)[None, :], other=0.0)
            f = tl.dot(tl.trans(g), x, input_precision="ieee")
        else:
            f = tl.zeros((BO, BI), tl.float32)
            for start in range(0, T, BT):
                here = start + steps
                g = tl.load(g_at + here[:, None] * O + outs[None, :], mask=(here < T)[:, None] & (outs < O)[None, :], other=0.0)
                x = tl.load(x_at + here[:, None] * I + ins[None, :], mask=(here < T)[:, None] & (ins < I)[None, :], other=0.0)
                f = tl.dot(tl.trans(g), x, f, input_precision="ieee")
        total += _whole(f, c)
        g_at += SPLIT * T * O
        x_at += SPLIT * T * I
    at = SUMS + outs[:, None].to(tl.int64) * stride + ins[None, :]
    tl.atomic_add(at, total.to(tl.int64), mask=(outs < O)[:, None] & (ins < I)[None, :], sem="relaxed")


def add_products(into: Tensor, g: Tensor, x: Tensor, factor: Tensor) -> None:
    """Add round(factor · gᵀ x) of each record to int64 sums of outputs × inputs, whose rows are contiguous.

    The numbers to be rounded must be below 2^22, and at most 512 records may be given.
    """
    records, steps, outputs = g.shape
    inputs = x.shape[2]
    assert records <= 512 and into.stride(1) == 1
    once = steps <= 128
    block = max(16, triton.next_power_of_2(steps)) if once else 64
    # Fixed by the shape, and not tuned by time: another tile may add up in another order, and a resumed run needs the same bits.
    tile, programs, warps = (64, 640, 4) if outputs * inputs <= 400_000 else (128, 256, 8)
    stages = min(3, SHARED // (2 * block * tile * g.element_size()))
    across, down = triton.cdiv(outputs, tile), triton.cdiv(inputs, tile)
    split = min(8, 1 << max(0, round(math.log2(programs / (across * down)))))
    _product_sum[(across, down, split)](
        g.contiguous(), x.contiguous(), factor, into, records, steps, outputs, inputs, into.stride(0),
        BO=tile, BI=tile, SPLIT=split, BT=block, ONCE=once, num_warps=warps, num_stages=max(1, stages),
    )  # fmt: skip


@triton.jit
def _row_sum(P, C, SUMS, records, size, stride, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    first = tl.program_id(1)
    total = tl.zeros((BLOCK,), tl.int32)
    here = P + first.to(tl.int64) * stride + at
    for record in range(first, records, tl.num_programs(1)):
        f = tl.load(here, mask=at < size, other=0.0).to(tl.float32)
        total += _whole(f, tl.load(C + record))
        here += tl.num_programs(1).to(tl.int64) * stride
    tl.atomic_add(SUMS + at, total.to(tl.int64), mask=at < size, sem="relaxed")


def add_rows(into: Tensor, grads: Tensor, factor: Tensor) -> None:
    """Add round(factor · gradient) of each record to flat int64 sums; the limits of `add_products` hold."""
    records, size = grads.shape
    assert records <= 512 and grads.stride(1) == 1
    _row_sum[(triton.cdiv(size, 512), min(16, records))](grads, factor, into, records, size, grads.stride(0), BLOCK=512)


@triton.jit
def _tile(P, record, T, W, rows, columns, total, BK: tl.constexpr, CHUNK: tl.constexpr):
    """Add the inner products of rows and columns of a record. The matrix unit truncates, so it adds up CHUNK products at most."""
    at = P + record.to(tl.int64) * T * W
    for start in range(0, W, CHUNK):
        part = tl.zeros(total.shape, tl.float32)
        for k in range(start, tl.minimum(start + CHUNK, W), BK):
            here = k + tl.arange(0, BK)
            p = tl.load(at + rows[:, None] * W + here[None, :], mask=(rows < T)[:, None] & (here < W)[None, :], other=0.0)
            q = tl.load(at + columns[:, None] * W + here[None, :], mask=(columns < T)[:, None] & (here < W)[None, :], other=0.0)
            part = tl.dot(p, tl.trans(q), part, input_precision="ieee")
        total += part
    return total


@triton.jit
def _gram(X, G0, G1, G2, OUT, T, I, O0, O1, O2, BT: tl.constexpr, BK: tl.constexpr, CHUNK: tl.constexpr):
    record = tl.program_id(0)
    j = tl.program_id(1)
    i = j * 0
    while j > i:  # the tile (i, j) with j ≤ i
        j -= i + 1
        i += 1
    rows = i * BT + tl.arange(0, BT)
    columns = j * BT + tl.arange(0, BT)
    inner = _tile(X, record, T, I, rows, columns, tl.zeros((BT, BT), tl.float32), BK, CHUNK)
    outer = _tile(G0, record, T, O0, rows, columns, tl.zeros((BT, BT), tl.float32), BK, CHUNK)
    outer = _tile(G1, record, T, O1, rows, columns, outer, BK, CHUNK)
    outer = _tile(G2, record, T, O2, rows, columns, outer, BK, CHUNK)
    times = tl.where(i == j, 1.0, 2.0)
    diagonal = rows[:, None] == columns[None, :]
    at = OUT + (record * tl.num_programs(1) + tl.program_id(1)) * 5
    tl.store(at, times * tl.sum(inner * outer))
    tl.store(at + 1, times * tl.sum(inner * inner))
    tl.store(at + 2, times * tl.sum(outer * outer))
    tl.store(at + 3, tl.sum(tl.where(diagonal, inner, 0.0)))
    tl.store(at + 4, tl.sum(tl.where(diagonal, outer, 0.0)))


def tiles(steps: int) -> int:
    """Number of tiles that `gram_into` needs for so many positions."""
    blocks = triton.cdiv(steps, _block(steps))
    return blocks * (blocks + 1) // 2


def _block(steps: int) -> int:
    return min(128, max(16, triton.next_power_of_2(steps)))


def gram_into(out: Tensor, x: Tensor, grads: list[Tensor]) -> None:
    """Write five numbers per record and tile that add up to those of A = x xᵀ and B = Σ g gᵀ: ⟨A, B⟩, ⟨A, A⟩, ⟨B, B⟩, tr A and tr B.

    At most three gradients may be given. `out` is contiguous, records × tiles × 5.
    """
    x, grads = x.contiguous(), [g.contiguous() for g in grads]
    records, steps, inputs = x.shape
    block = _block(steps)
    assert out.is_contiguous() and out.shape == (records, tiles(steps), 5) and len(grads) <= 3
    widths = [g.shape[2] for g in grads] + [0] * (3 - len(grads))
    padded = grads + [grads[0]] * (3 - len(grads))
    width = 64 if x.element_size() == 2 else 32
    _gram[(records, tiles(steps))](
        x, *padded, out, steps, inputs, *widths, BT=block, BK=width, CHUNK=CHUNK, num_warps=8 if block == 128 else 4, num_stages=3
    )


@triton.jit
def _norm_grads(X, G, WEIGHTS, BIASES, T, W, eps, PARTS: tl.constexpr, BW: tl.constexpr, CENTERED: tl.constexpr, HAS_BIAS: tl.constexpr):
    record = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    columns = tl.arange(0, BW)
    inside = columns < W
    weights = tl.zeros((BW,), tl.float32)
    biases = tl.zeros((BW,), tl.float32)
    for step in range(part, T, PARTS):
        at = (record * T + step) * W + columns
        x = tl.load(X + at, mask=inside, other=0.0).to(tl.float32)
        g = tl.load(G + at, mask=inside, other=0.0).to(tl.float32)
        if CENTERED:
            x = tl.where(inside, x - tl.sum(x, 0) / W, 0.0)
        weights += g * x * tl.rsqrt(tl.sum(x * x, 0) / W + eps)
        biases += g
    at = (record * PARTS + part) * W + columns
    tl.store(WEIGHTS + at, weights, mask=inside)
    if HAS_BIAS:
        tl.store(BIASES + at, biases, mask=inside)


def norm_grads(x: Tensor, g: Tensor, eps: float, is_centered: bool, has_bias: bool) -> tuple[Tensor, Tensor | None]:
    """Gradients per record of the weight and the bias of a layer norm or, not centered, of an RMS norm.

    `x` and `g` are records × positions × features.
    """
    x, g = x.contiguous(), g.contiguous()
    records, steps, width = x.shape
    parts = min(8, steps)
    weights = torch.empty(records, parts, width, device=x.device)
    biases = torch.empty_like(weights) if has_bias else weights
    _norm_grads[(records, parts)](
        x, g, weights, biases, steps, width, eps, PARTS=parts, BW=triton.next_power_of_2(width), CENTERED=is_centered, HAS_BIAS=has_bias, num_warps=4
    )
    return weights.sum(1), biases.sum(1) if has_bias else None
