"""Times private steps beside plain training and Opacus, in one run: `python -m veracity.torch.bench`.

Rows of one model are timed in turns, so that other load hits all of them. A ratio is the median over the turns. Each row is printed as soon as
it is known, and a row that fails prints its error.

    python -m veracity.torch.bench                        # a transformer and an MLP on the CPU

`python -m veracity.torch.bench_cuda` times larger models on a CUDA device.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import statistics
import time
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from .._veracity import _Randomness
from . import _clip
from ._bench_models import Task, tasks

CLIP_NORM, NOISE = 1.0, 1.0
Step = Callable[[], None]


def optimizer_of(model: torch.nn.Module) -> torch.optim.Optimizer:
    """The optimizer of every row."""
    return torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5)


def plain(task: Task) -> Step:
    """Ordinary training."""
    model = task.make().train()
    optimizer = optimizer_of(model)

    def step() -> None:
        optimizer.zero_grad()
        for batch in task.batches:
            (task.loss(model, batch).sum() / task.records).backward()
        optimizer.step()

    return step


def ours(task: Task) -> Step:
    """Exact integer sums, exact integer noise, the same optimizer."""
    model = task.make().train()
    optimizer = optimizer_of(model)
    grid = NOISE * CLIP_NORM * 2.0**-20
    sums = _clip.RecordSums(
        model, task.loss, clip_norm=CLIP_NORM, grid=grid, micro_batch=task.micro_batch
    )
    sums.prepare(task.batches[0])
    mask = torch.ones(task.micro_batch, dtype=torch.bool)
    randomness, steps = _Randomness(1), itertools.count()
    flat = torch.zeros(sums.layout.size)
    for name, view in sums.layout.views(flat).items():
        sums.layout.parameters[name].grad = view

    def step() -> None:
        sums.clear()
        for batch in task.batches:
            sums.add(batch, mask)
        totals = sums.totals()
        randomness.add_noise(totals.numpy(), next(steps), torch.get_num_threads())
        torch.mul(totals, grid / task.records, out=flat)
        optimizer.step()

    return step


def opacus(task: Task, mode: str) -> Step:
    """Opacus with hooks, or with ghost clipping."""
    from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping

    model = task.make().train()
    same: dict[str, Any] = dict(noise_multiplier=NOISE, max_grad_norm=CLIP_NORM, expected_batch_size=task.records)
    if mode == "hooks":
        wrapped = GradSampleModule(model)
        optimizer = DPOptimizer(optimizer_of(model), **same)
    else:
        wrapped = GradSampleModuleFastGradientClipping(model, max_grad_norm=CLIP_NORM, use_ghost_clipping=True)
        optimizer = DPOptimizerFastGradientClipping(optimizer_of(model), **same)

    def step() -> None:
        for i, batch in enumerate(task.batches):
            optimizer.signal_skip_step(i + 1 < len(task.batches))
            losses: Tensor = task.loss(wrapped, batch)
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


class Timer:
    """Times rows of one model, and prints each."""

    def __init__(self, model: str, task: Task, clock: Callable[[], float]) -> None:
        self.model, self.task, self.clock = model, task, clock
        self.seconds: dict[str, list[float]] = {}

    def once(self, step: Step) -> float:
        """Seconds of one step."""
        begin = self.clock()
        step()
        return self.clock() - begin

    def run(self, rows: list[str], turns: int) -> None:
        """Time the rows in turns."""
        steps: dict[str, Step] = {}
        for name in rows:
            try:
                torch.manual_seed(0)
                step = ROWS[name](self.task)
                step()
                steps[name], self.seconds[name] = step, []
            except Exception as error:  # one row must not take the others with it
                self.seconds.pop(name, None)
                self.show(name, error="".join(traceback.format_exception_only(error)).strip()[:300])
            step = lambda: None
            gc.collect()
        for _ in range(turns if steps else 0):
            for name, step in steps.items():
                self.seconds[name].append(self.once(step))
        for name in steps:
            self.show(name)
        self.summarize()

    def show(self, row: str, **more: Any) -> None:
        """Print a row."""
        found: dict[str, Any] = {"model": self.model, "row": row}
        if self.seconds.get(row):
            middle = statistics.median(self.seconds[row])
            found |= {"milliseconds": round(1000 * middle, 2), "records per second": round(self.task.records / middle, 1)}
        print(json.dumps(found | more), flush=True)

    def summarize(self) -> None:
        """Print the ratios of this run."""
        best = [name for name in self.seconds if name.startswith("opacus")]
        best = sorted(best, key=lambda name: statistics.median(self.seconds[name]))[:1]
        ratios = {f"veracity / {other}": self.ratio(other) for other in ["plain", *best] if other in self.seconds}
        print(json.dumps({"model": self.model, "threads": torch.get_num_threads(), **ratios}), flush=True)

    def ratio(self, other: str) -> float | None:
        """How many times as fast as another row ours is: the median over the turns."""
        if "veracity" not in self.seconds:
            return None
        return round(statistics.median(b / a for a, b in zip(self.seconds["veracity"], self.seconds[other])), 3)


def main() -> None:
    """Print one line of JSON per row, and one with the ratios per model."""
    parser = argparse.ArgumentParser(description="Time private steps beside plain training and Opacus")
    parser.add_argument("models", nargs="*", help="Name the models: transformer, mlp")
    parser.add_argument("--turns", type=int, default=15, help="Set how often each row is timed")
    parser.add_argument("--rows", default=None, help="Name the rows, separated by commas")
    parser.add_argument("--cpu-time", action="store_true", help="Time one thread by its CPU time, for a machine with other load")
    arguments = parser.parse_args()
    if arguments.cpu_time:
        torch.set_num_threads(1)
    clock = time.process_time if arguments.cpu_time else time.perf_counter
    rows = arguments.rows.split(",") if arguments.rows else list(ROWS)
    for name, task in tasks(arguments.models).items():
        Timer(name, task, clock).run(rows, arguments.turns)


if __name__ == "__main__":
    main()
