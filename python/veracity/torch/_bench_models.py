"""Models that the benchmark trains on a CPU."""

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


def class_loss(model: nn.Module, batch: Any) -> Tensor:
    """Cross-entropy per record."""
    inputs, labels = batch
    scores = model(inputs)
    return F.cross_entropy(scores, labels, reduction="none")


def tasks(names: list[str]) -> dict[str, Task]:
    """The named models, or all, each with the batch of one step."""
    generator = torch.Generator().manual_seed(1)

    def ids(records: int, steps: int, vocabulary: int) -> Tensor:
        return torch.randint(0, vocabulary, (records, steps), generator=generator)

    mlp = lambda: nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    made: dict[str, Callable[[], Task]] = {
        "transformer": lambda: Task(Transformer, class_loss, [(ids(256, 64, 1000), ids(256, 1, 2)[:, 0])], 256),
        "mlp": lambda: Task(mlp, class_loss, [(torch.rand(256, 784, generator=generator), ids(256, 1, 2)[:, 0])], 256),
    }
    return {name: made[name]() for name in names or made}
