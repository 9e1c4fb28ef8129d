"""Models that the benchmark trains: two small ones for a CPU, and those of SmolLM2-135M's and ViT-B/16's shape with random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

Loss = Callable[[nn.Module, Any], Tensor]


@dataclass
class Task:
    """A model, its loss per record and the micro-batches of one step."""

    make: Callable[[], nn.Module]
    loss: Loss
    batches: list[Any]
    micro_batch: int
    precision: str = "fp32"
    device: str = "cpu"

    @property
    def records(self) -> int:
        """Records of a step."""
        return self.micro_batch * len(self.batches)


class Block(nn.Module):
    """Pre-norm transformer block of layers that every tool supports."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inward, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        """Attention and two linear layers, each beside a shortcut."""
        records, steps, width = x.shape
        q, k, v = self.inward(self.norm1(x)).view(records, steps, 3, 4, width // 4).permute(2, 0, 3, 1, 4).unbind(0)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(records, steps, width))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """Sequence classifier: two layers, width 128."""

    def __init__(self, vocabulary: int = 1000, width: int = 128, layers: int = 2, steps: int = 64) -> None:
        super().__init__()
        self.table, self.places = nn.Embedding(vocabulary, width), nn.Embedding(steps, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 2)

    def forward(self, ids: Tensor) -> Tensor:
        """Scores of the two classes, from the last position."""
        places = torch.arange(ids.shape[1], device=ids.device).repeat(len(ids), 1)
        scores: Tensor = self.head(self.norm(self.blocks(self.table(ids) + self.places(places)))[:, -1])
        return scores


class LowRank(nn.Module):
    """A frozen linear layer and a trained product of low rank."""

    def __init__(self, base: nn.Linear, rank: int = 16) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output and twice that of the product."""
        output: Tensor = self.base(x) + 2.0 * self.up(self.down(x))
        return output


def class_loss(model: nn.Module, batch: Any) -> Tensor:
    """Cross-entropy per record."""
    inputs, labels = batch
    scores = model(inputs)
    return F.cross_entropy(getattr(scores, "logits", scores).float(), labels, reduction="none")


def token_loss(model: nn.Module, ids: Tensor) -> Tensor:
    """Next-token loss per record."""
    logits = model(ids[:, :-1].contiguous()).logits
    return F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(len(ids), -1).mean(1)


def language(is_low_rank: bool, is_tiny: bool) -> nn.Module:
    """SmolLM2-135M's shape: 134.5 M parameters, tied head. Low rank trains 4.9 M of them beside it."""
    from transformers import LlamaConfig, LlamaForCausalLM  # type: ignore[import-not-found,unused-ignore]

    size = (64, 96, 2, 2, 1, 101) if is_tiny else (576, 1536, 30, 9, 3, 49152)
    names = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size")
    model: nn.Module = LlamaForCausalLM(
        LlamaConfig(
            **dict(zip(names, size)), head_dim=32 if is_tiny else 64, tie_word_embeddings=True, use_cache=False, attn_implementation="sdpa"
        )
    )
    if is_low_rank:
        model.requires_grad_(False)
        places = [(m, n, c) for m in model.modules() for n, c in m.named_children() if isinstance(c, nn.Linear) and n != "lm_head"]
        for parent, name, child in places:
            setattr(parent, name, LowRank(child))
    return model


def vision(is_tiny: bool) -> nn.Module:
    """ViT-B/16 at 224 × 224 pixels."""
    from transformers import ViTConfig, ViTForImageClassification  # type: ignore[import-not-found,unused-ignore]

    small: dict[str, Any] = dict(hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=3, image_size=32)
    model: nn.Module = ViTForImageClassification(ViTConfig(**(small if is_tiny else {}), num_labels=100, attn_implementation="sdpa"))
    return model


def tasks(names: list[str], device: str, precision: str, is_tiny: bool) -> dict[str, Task]:
    """The named models, each with the batches of one step on the device.

    Args:
        names: Names of models; none for those of the device.
        device: `"cpu"` or `"cuda"`.
        precision: Precision of the large models; the small ones take fp32.
        is_tiny: Shrink the large models, to try the benchmark itself.
    """
    generator = torch.Generator().manual_seed(1)

    def ids(records: int, steps: int, vocabulary: int) -> Tensor:
        return torch.randint(0, vocabulary, (records, steps), generator=generator).to(device)

    def large(make: Callable[[], nn.Module], loss: Loss, batch: Callable[[int], Any], micro_batch: int) -> Task:
        micro_batch, count = (4, 2) if is_tiny else (micro_batch, 1024 // micro_batch)
        return Task(make, loss, [batch(micro_batch) for _ in range(count)], micro_batch, precision, device)

    side, vocabulary, steps = (32, 101, 9) if is_tiny else (224, 49152, 129)
    mlp = lambda: nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    tokens = lambda records: ids(records, steps, vocabulary)
    pictures = lambda records: (torch.randn(records, 3, side, side, generator=generator).to(device), ids(records, 1, 100)[:, 0])
    made: dict[str, Callable[[], Task]] = {
        "transformer": lambda: Task(Transformer, class_loss, [(ids(256, 64, 1000), ids(256, 1, 2)[:, 0])], 256, "fp32", device),
        "mlp": lambda: Task(mlp, class_loss, [(torch.rand(256, 784, generator=generator).to(device), ids(256, 1, 2)[:, 0])], 256, "fp32", device),
        "lm-full": lambda: large(lambda: language(False, is_tiny), token_loss, tokens, 256),
        "lm-lora": lambda: large(lambda: language(True, is_tiny), token_loss, tokens, 256),
        "vit": lambda: large(lambda: vision(is_tiny), class_loss, pictures, 128),
    }
    default = ["transformer", "mlp"] if device == "cpu" else ["lm-full", "lm-lora", "vit"]
    return {name: made[name]() for name in names or default}
