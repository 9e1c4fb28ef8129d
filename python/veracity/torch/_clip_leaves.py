"""Turns the recorded uses of layers into leaves: one for each parameter, or for layers that read one input together."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from .._errors import InvalidInput
from ._layers import Use, by_record, products, small
from ._sums import Leaf, Product, Rows, Small, Target, Tied

if TYPE_CHECKING:
    from ._clip import Layout

_PRODUCTS = ("linear", "convolution", "transposed-linear")


class _Matrix:
    """Factors of the gradient of a weight, joined over all its uses."""

    def __init__(self, use: Use, records: int) -> None:
        self.uses, self.records = [use], records
        self.is_transposed, self.rows = use.kind == "transposed-linear", use.rows

    def factors(self) -> tuple[Tensor, Tensor]:
        parts = [products(use, self.records) for use in self.uses]
        if len(parts) == 1:
            return parts[0]
        return torch.cat([x for x, _ in parts], 1), torch.cat([g for _, g in parts], 1)

    def source(self) -> int | None:
        """Identity of the input that another layer may read too."""
        return id(self.uses[0].versions[0][0]) if len(self.uses) == 1 and self.uses[0].kind == "linear" else None


def collect(uses: list[Use], records: int, layout: Layout, share: bool) -> list[Leaf]:
    """Leaves of all recorded uses.

    Args:
        uses: Uses with their output gradients.
        records: Number of records in the micro-batch.
        layout: Shapes of the parameters.
        share: Join products that read the same input into one leaf.
    """
    kept: dict[str, Tensor] = {}
    tables: dict[str, list[tuple[Tensor, Tensor]]] = {}
    matrices: dict[tuple[str, str, tuple[int, int] | None], _Matrix] = {}
    for use in uses:
        weight = use.names.get("weight")
        if use.kind == "embedding":
            assert weight is not None
            tables.setdefault(weight, []).append(_table(use, records))
            continue
        for name, grads in small(use, records).items():
            grads = _whole(grads, layout.shapes[name], use.rows)
            kept[name] = kept[name] + grads if name in kept else grads
        if use.kind in _PRODUCTS and weight is not None:
            key = (weight, use.kind, use.rows and (use.rows.start, use.rows.stop))
            if key in matrices:
                matrices[key].uses.append(use)
            else:
                matrices[key] = _Matrix(use, records)
    leaves: list[Leaf] = []
    together: dict[int, Product] = {}
    small_type, rows_type, product_type, tied_type = leaf_types(layout.device)
    for (name, _, _), matrix in matrices.items():
        x, g = matrix.factors()
        target = Target(name, g, matrix.rows, matrix.is_transposed)
        size, work = x.shape[2] * g.shape[2], x.shape[1] * (x.shape[2] + g.shape[2])
        if name in tables and matrix.rows is None and not matrix.is_transposed:
            leaves.append(tied_type(_rows(name, tables.pop(name), rows_type), product_type(x, [target])))
        elif name in kept or (2 * size <= work and matrix.rows is None and not matrix.is_transposed):
            product = each_product(g, x).flatten(1)
            kept[name] = kept[name] + product if name in kept else product
        elif share and (source := matrix.source()) is not None:
            if source in together:
                together[source].targets.append(target)
            else:
                together[source] = product_type(x, [target])
                leaves.append(together[source])
        else:
            leaves.append(product_type(x, [target]))
    leaves += [_rows(name, parts, rows_type) for name, parts in tables.items()]
    leaves += [small_type(name, grads) for name, grads in kept.items()]
    refuse_overlaps(leaves)
    return leaves


def leaf_types(device: torch.device) -> tuple[type[Small], type[Rows], type[Product], type[Tied]]:
    """Kinds of leaves on a device."""
    if device.type != "cuda":
        return Small, Rows, Product, Tied
    from ._cuda import CudaProduct, CudaRows, CudaSmall, CudaTied

    return CudaSmall, CudaRows, CudaProduct, CudaTied


def each_product(g: Tensor, x: Tensor) -> Tensor:
    """Gradient of a weight for each record, in single precision."""
    if g.dtype == torch.float32:
        return torch.bmm(g.transpose(1, 2), x)
    return torch.bmm(g.transpose(1, 2), x, out_dtype=torch.float32)

def refuse_overlaps(leaves: list[Leaf]) -> None:
    """Refuse a parameter with several leaves that are not different rows of it: their squared norms would not add up.

    Raises:
        InvalidInput: Two leaves fill the same part of a parameter.
    """
    filled: dict[str, list[slice | None]] = {}
    for leaf in leaves:
        targets = [(t.name, t.rows) for t in leaf.targets] if isinstance(leaf, Product) else [(first_name(leaf), None)]
        for name, rows in targets:
            for other in filled.setdefault(name, []):
                if rows is None or other is None or (rows.start < other.stop and other.start < rows.stop):
                    raise InvalidInput(f"parameter {name!r} is used by layers of different kinds; give each layer a parameter of its own")
            filled[name].append(rows)


def _table(use: Use, records: int) -> tuple[Tensor, Tensor]:
    ids, grads = use.inputs[0], use.grads[0]
    assert grads is not None and isinstance(use.module, nn.Embedding)
    if use.module.padding_idx is not None:
        grads = grads.masked_fill((ids == use.module.padding_idx).unsqueeze(-1), 0.0)
    return ids.reshape(records, -1), by_record(grads.float(), records)


def _rows(name: str, parts: list[tuple[Tensor, Tensor]], rows_type: type[Rows]) -> Rows:
    return rows_type(name, torch.cat([ids for ids, _ in parts], 1), torch.cat([g for _, g in parts], 1))


def _whole(grads: Tensor, shape: torch.Size, rows: slice | None) -> Tensor:
    """Gradient of the whole parameter from that of some rows."""
    if rows is None:
        return grads
    whole = grads.new_zeros(len(grads), shape.numel())
    whole[:, rows] = grads
    return whole


def first_name(leaf: Leaf) -> str:
    """Name of a parameter of the leaf."""
    if isinstance(leaf, Tied):
        return leaf.table.name
    return leaf.targets[0].name if isinstance(leaf, Product) else leaf.name


@contextlib.contextmanager
def full_precision(device: torch.device) -> Iterator[None]:
    """Products of single precision without the shortcuts of bf16 or TF32: the bounds need the full mantissa."""
    kept = torch.get_float32_matmul_precision()
    if kept != "highest":
        torch.set_float32_matmul_precision("highest")
    try:
        yield
    finally:
        if kept != "highest":
            torch.set_float32_matmul_precision(kept)
