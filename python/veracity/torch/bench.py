"""Times private steps beside plain training and Opacus, in one run: `python -m veracity.torch.bench`.

Rows of one model are timed in turns, so that other load hits all of them. A ratio is the median over the turns.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import _clip

CLIP_NORM, NOISE = 1.0, 1.0
Step = Callable[[], None]


@dataclass
class Task:
    """A model, its loss per record and one batch."""

    make: Callable[[], nn.Module]
    loss: Callable[[nn.Module, Any], Tensor]
    batch: Any
    micro_batch: int


class Block(nn.Module):
    """Pre-norm transformer block of layers that every tool supports."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inward, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
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
        places = torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
        return self.head(self.norm(self.blocks(self.table(ids) + self.places(places)))[:, -1])


def class_loss(model: nn.Module, batch: Any) -> Tensor:
    """Cross-entropy per record."""
    inputs, labels = batch
    return F.cross_entropy(model(inputs), labels, reduction="none")


def tasks() -> dict[str, Task]:
    """The two models of the CPU table."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, 1000, (256, 64), generator=generator)
    pixels = torch.rand(256, 784, generator=generator)
    labels = torch.randint(0, 2, (256,), generator=generator)
    mlp = lambda: nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))
    return {
        "transformer": Task(Transformer, class_loss, (ids, labels), 256),
        "mlp": Task(mlp, class_loss, (pixels, labels), 256),
    }


def optimizer_of(model: nn.Module) -> torch.optim.Optimizer:
    """The optimizer of every row."""
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4)


def plain(task: Task) -> Step:
    """Ordinary training."""
    model = task.make()
    optimizer = optimizer_of(model)

    def step() -> None:
        optimizer.zero_grad()
        task.loss(model, task.batch).mean().backward()
        optimizer.step()

    return step


def ours(task: Task) -> Step:
    """Exact integer sums and noise. The noise stands for the exact generator, which costs less than `torch.randn`."""
    model = task.make()
    optimizer = optimizer_of(model)
    records = task.micro_batch
    sums = _clip.RecordSums(model, task.loss, clip_norm=CLIP_NORM, grid=NOISE * CLIP_NORM * 2.0**-20, micro_batch=records)
    sums.prepare(task.batch)
    mask = torch.ones(records, dtype=torch.bool)
    flat = torch.zeros(sums.layout.size)
    for name, view in sums.layout.views(flat).items():
        sums.layout.parameters[name].grad = view

    def step() -> None:
        sums.clear()
        sums.add(task.batch, mask)
        noise = torch.randn(sums.layout.size).mul_(2.0**20).round_()
        torch.mul(sums.totals() + noise.long(), sums.grid / records, out=flat)
        optimizer.step()

    return step


def opacus(task: Task, mode: str) -> Step:
    """Opacus with hooks, or with ghost clipping."""
    from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

    model = task.make().train()
    same: dict[str, Any] = dict(noise_multiplier=NOISE, max_grad_norm=CLIP_NORM, expected_batch_size=task.micro_batch)
    if mode == "hooks":
        wrapped = GradSampleModule(model)
        optimizer = DPOptimizer(optimizer_of(model), **same)
    else:
        wrapped = GradSampleModuleFastGradientClipping(model, max_grad_norm=CLIP_NORM, use_ghost_clipping=True)
        optimizer = DPOptimizerFastGradientClipping(optimizer_of(model), **same)

    def step() -> None:
        losses = task.loss(wrapped, task.batch)
        if mode == "hooks":
            losses.mean().backward()
        else:
            DPTensorFastGradientClipping(wrapped, optimizer, losses, "mean").backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


ROWS: dict[str, Callable[[Task], Step]] = {
    "plain": plain,
    "veracity": ours,
    "opacus hooks": lambda task: opacus(task, "hooks"),
    "opacus ghost": lambda task: opacus(task, "ghost"),
}


def measure(task: Task, turns: int, clock: Callable[[], float]) -> dict[str, Any]:
    """Seconds per step of each row, timed in turns, and the errors of rows that fail."""
    steps: dict[str, Step] = {}
    errors: dict[str, str] = {}
    for name, make in ROWS.items():
        try:
            torch.manual_seed(0)
            steps[name] = make(task)
            steps[name]()
        except Exception as error:  # one row must not take the others with it
            steps.pop(name, None)
            errors[name] = "".join(traceback.format_exception_only(error)).strip()[:300]
    seconds: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(turns):
        for name, step in steps.items():
            gc.collect()
            begin = clock()
            step()
            seconds[name].append(clock() - begin)
    return {"seconds": seconds, "errors": errors}


def ratio(seconds: dict[str, list[float]], over: str, under: str) -> float | None:
    """Median over the turns of how many times as fast `under` is as `over`."""
    if over not in seconds or under not in seconds:
        return None
    return statistics.median(a / b for a, b in zip(seconds[over], seconds[under]))


def main() -> None:
    """Print one line of JSON per model."""
    parser = argparse.ArgumentParser(description="Time private steps beside plain training and Opacus")
    parser.add_argument("--turns", type=int, default=15, help="Set how often each row is timed")
    parser.add_argument("--cpu-time", action="store_true", help="Time one thread by its CPU time, for a machine with other load")
    parser.add_argument("models", nargs="*", default=None, help="Name the models to time; all by default")
    arguments = parser.parse_args()
    if arguments.cpu_time:
        torch.set_num_threads(1)
    clock = time.thread_time if arguments.cpu_time else time.perf_counter
    for name, task in tasks().items():
        if arguments.models and name not in arguments.models:
            continue
        found = measure(task, arguments.turns, clock)
        seconds = found["seconds"]
        best = min((statistics.median(v) for n, v in seconds.items() if n.startswith("opacus")), default=None)
        row = {
            "model": name,
            "threads": torch.get_num_threads(),
            "milliseconds": {n: round(1000 * statistics.median(v), 2) for n, v in seconds.items()},
            "private / plain": ratio(seconds, "plain", "veracity"),
            "private / best Opacus": best and best / statistics.median(seconds["veracity"]),
            "errors": found["errors"],
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
