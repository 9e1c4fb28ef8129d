"""Forward pass of `nn.MultiheadAttention` with its linear layers in the open, so that each can be recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .._errors import InvalidInput

Linear = Callable[..., Tensor]


def attend(
    path: str,
    module: nn.MultiheadAttention,
    linear: Linear,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of `module`, with `linear(x, weight name, bias name, rows)` for each of its matrix products.

    Raises:
        InvalidInput: The layer has options without a per-record rule.
    """
    if not module.batch_first or query.dim() != 3:
        raise InvalidInput(f"layer {path!r} (MultiheadAttention) does not have the records first; use batch_first=True")
    if module.bias_k is not None or module.add_zero_attn:
        raise InvalidInput(f"layer {path!r} (MultiheadAttention) has no rule for add_bias_kv and add_zero_attn; switch them off")
    width, heads = module.embed_dim, module.num_heads
    if not module._qkv_same_embed_dim:
        raise InvalidInput(f"layer {path!r} (MultiheadAttention) has no rule for kdim and vdim; project keys and values first")
    if query is key and key is value:
        q, k, v = linear(query, "in_proj_weight", "in_proj_bias").chunk(3, -1)
    else:
        parts = [slice(i * width, (i + 1) * width) for i in range(3)]
        q, k, v = (linear(x, "in_proj_weight", "in_proj_bias", rows) for x, rows in zip((query, key, value), parts))
    records, steps, others = q.shape[0], q.shape[1], k.shape[1]
    q, k, v = (t.view(records, -1, heads, module.head_dim).transpose(1, 2) for t in (q, k, v))
    mask = _mask(q, attn_mask, key_padding_mask, records, heads)
    if mask is None and is_causal:
        raise InvalidInput(f"layer {path!r} (MultiheadAttention) needs attn_mask beside is_causal=True; pass both")
    dropout = module.dropout if module.training else 0.0
    weights: Any = None
    if need_weights:
        scores = q @ k.transpose(-2, -1) / module.head_dim**0.5
        weights = torch.softmax(scores if mask is None else scores + mask, -1)
        mixed = F.dropout(weights, dropout) @ v if dropout else weights @ v
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        mixed = F.scaled_dot_product_attention(q, k, v, mask, dropout)
    mixed = mixed.transpose(1, 2).reshape(records, steps, width)
    assert weights is None or weights.shape[-1] == others
    return linear(mixed, "out_proj.weight", "out_proj.bias"), weights


def _mask(q: Tensor, attn_mask: Tensor | None, padding: Tensor | None, records: int, heads: int) -> Tensor | None:
    """Both masks as one that is added to the scores."""
    found: Tensor | None = None
    for mask in (attn_mask, padding):
        if mask is None:
            continue
        added = torch.zeros_like(mask, dtype=q.dtype).masked_fill_(mask, float("-inf")) if mask.dtype == torch.bool else mask.to(q.dtype)
        if mask is padding:
            added = added[:, None, None, :]
        elif added.dim() == 3:
            added = added.view(records, heads, *added.shape[1:])
        found = added if found is None else found + added
    return found
