"""Examples per second of private training on a CUDA device, beside plain PyTorch and Opacus in the same run.

    python -m veracity.torch.bench_cuda                # every row
    python -m veracity.torch.bench_cuda lm-full check  # some models; `check` compares sums with float64 gradients

One step has 1,024 records: SmolLM2-135M's shape with random weights and 128 tokens (full tuning, or LoRA of rank 16), or ViT-B/16. It needs
transformers, and Opacus for its rows. Private rows include sampling-free micro-batches, exact noise and the optimizer.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

RECORDS, TOKENS, CLIP, NOISE = 1024, 128, 1.0, 1.0
MICRO = {"lm-full": 256, "lm-lora": 256, "vit": 128}
CASES = tuple(MICRO)


class Lora(nn.Module):
    """Frozen linear layer beside a trained product of rank r."""

    def __init__(self, base: nn.Linear, rank: int = 16) -> None:
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        nn.init.normal_(self.up.weight, std=0.01)

    def forward(self, x: Tensor) -> Tensor:
        return self.base(x) + 2.0 * self.up(self.down(x))


def model_of(case: str, is_tied: bool = True) -> nn.Module:
    """Model of a case, with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM, ViTConfig, ViTForImageClassification

    torch.manual_seed(0)
    if case == "vit":
        model: nn.Module = ViTForImageClassification(ViTConfig(num_labels=100, attn_implementation="sdpa"))
        model.vit.pooler = None
    else:
        config = LlamaConfig(
            hidden_size=576, intermediate_size=1536, num_hidden_layers=30, num_attention_heads=9, num_key_value_heads=3, vocab_size=49152,
            head_dim=64, tie_word_embeddings=is_tied, max_position_embeddings=2048, rope_theta=100000.0, attn_implementation="sdpa", use_cache=False,
        )  # fmt: skip
        model = LlamaForCausalLM(config)
    if case == "lm-lora":
        model.requires_grad_(False)
        places = [(parent, name, child) for parent in model.modules() for name, child in parent.named_children() if isinstance(child, nn.Linear)]
        for parent, name, child in places:
            if name != "lm_head":
                setattr(parent, name, Lora(child))
    return model.cuda()


def loss_of(case: str) -> Callable[[nn.Module, Any], Tensor]:
    """One loss per record."""

    def language(model: nn.Module, ids: Tensor) -> Tensor:
        logits = model(input_ids=ids[:, :-1].contiguous()).logits
        return F.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(len(ids), -1).mean(1)

    def picture(model: nn.Module, batch: tuple[Tensor, Tensor]) -> Tensor:
        return F.cross_entropy(model(pixel_values=batch[0]).logits.float(), batch[1], reduction="none")

    return picture if case == "vit" else language


def records_of(case: str, count: int, seed: int) -> Any:
    """Random records of a case."""
    generator = torch.Generator().manual_seed(seed)
    if case == "vit":
        return (torch.randn(count, 3, 224, 224, generator=generator).cuda(), torch.randint(0, 100, (count,), generator=generator).cuda())
    return torch.randint(0, 49152, (count, TOKENS + 1), generator=generator).cuda()


def plain(case: str, mode: str) -> Callable[[], None]:
    """One step of ordinary training: eager, recorded as a CUDA graph, or compiled."""
    from torch.utils._pytree import tree_flatten

    model, loss = model_of(case), loss_of(case)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5, fused=True)
    data = [records_of(case, MICRO[case], seed) for seed in range(RECORDS // MICRO[case])]
    for p in model.parameters():
        if p.requires_grad:
            p.grad = torch.zeros_like(p)

    def losses(batch: Any) -> Tensor:
        with torch.autocast("cuda", torch.bfloat16, cache_enabled=mode != "graph"):
            return loss(model, batch)

    run = torch.compile(losses) if mode == "compiled" else losses
    micro = lambda batch: (run(batch).sum() / RECORDS).backward()
    if mode == "graph":
        kept = torch.utils._pytree.tree_map(torch.clone, data[0])
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                micro(kept)
        torch.cuda.current_stream().wait_stream(side)
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            micro(kept)

    def step() -> None:
        for batch in data:
            if mode == "graph":
                for mine, given in zip(tree_flatten(kept)[0], tree_flatten(batch)[0]):
                    mine.copy_(given)
                graph.replay()
            else:
                micro(batch)
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)

    return step


def private(case: str, mode: str) -> Callable[[], None]:
    """One step of `v.torch`: exact sums, canaries, exact noise and the optimizer."""
    from veracity.torch import make_private
    from veracity.torch._batches import MicroBatch

    model, loss = model_of(case), loss_of(case)
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5, fused=True)
    micro = MICRO[case]
    data = [records_of(case, micro, seed) for seed in range(RECORDS // micro)]
    dataset = tuple(torch.utils._pytree.tree_flatten(data[0])[0])
    taken = (lambda m, b: loss(m, b[0])) if len(dataset) == 1 else loss
    run = make_private(
        model, optimizer, dataset, loss=taken, delta=1e-6, batch_size=RECORDS, dataset_size=100 * RECORDS, clip_norm=CLIP,
        noise_multiplier=NOISE, steps=1000, micro_batch=micro, precision="bf16",
    )  # fmt: skip
    run._sums.is_recorded = mode == "graph"
    mask = torch.ones(micro, dtype=torch.bool, device="cuda")
    parts = [MicroBatch((batch,) if len(dataset) == 1 else batch, mask, None) for batch in data]

    def step() -> None:
        run._add(parts)
        run._finish_sum()
        run.optimizer.step()

    return step


def opacus(case: str, mode: str) -> Callable[[], None]:
    """One step of Opacus, by hooks or ghost clipping."""
    from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping, register_grad_sampler
    from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
    from opacus.utils.fast_gradient_clipping_utils import DPTensorFastGradientClipping
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    @register_grad_sampler(LlamaRMSNorm)  # otherwise Opacus runs a vmap of the layer, which is slower
    def _(layer: Any, activations: Any, backprops: Tensor) -> Any:
        h = activations[0].float()
        h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + layer.variance_epsilon)
        return {layer.weight: (h * backprops).flatten(1, -2).sum(1)}

    inner = model_of(case, is_tied=mode != "ghost" or case != "lm-full")
    if case == "vit":
        inner.vit.embeddings.cls_token.requires_grad_(False)
        inner.vit.embeddings.position_embeddings.requires_grad_(False)
    loss = loss_of(case)

    class WithLoss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, *batch: Tensor) -> Tensor:
            return loss(self.inner, batch if len(batch) > 1 else batch[0])

    model = WithLoss().train()
    base = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-5, fused=True)
    settings = dict(noise_multiplier=NOISE, max_grad_norm=CLIP, expected_batch_size=RECORDS)
    if mode == "hooks":
        wrapped: Any = GradSampleModule(model, strict=False)
        optimizer: Any = DPOptimizer(base, **settings)
    else:
        wrapped = GradSampleModuleFastGradientClipping(model, strict=False, max_grad_norm=CLIP, use_ghost_clipping=True)
        optimizer = DPOptimizerFastGradientClipping(base, **settings)
    data = [records_of(case, MICRO[case], seed) for seed in range(RECORDS // MICRO[case])]

    def step() -> None:
        for number, batch in enumerate(data):
            optimizer.signal_skip_step(number + 1 < len(data))
            with torch.autocast("cuda", torch.bfloat16):
                losses = wrapped(*(batch if isinstance(batch, tuple) else (batch,)))
            if mode == "hooks":
                losses.mean().backward()
            else:
                DPTensorFastGradientClipping(wrapped, optimizer, losses, "mean").backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    return step


def check(case: str) -> dict[str, Any]:
    """Compare the integer sum of some records with gradients made one by one in double precision, and bound each record's share."""
    from veracity.torch._clip import RecordSums

    model, loss = model_of(case), loss_of(case)
    count = 8
    sums = RecordSums(model, loss, clip_norm=CLIP, grid=NOISE * CLIP / 2**20, micro_batch=count, precision="bf16")
    batch = records_of(case, count, 5)
    mask = torch.ones(count, dtype=torch.bool, device="cuda")
    numbers = sums.add(batch, mask)
    together = sums.sums.clone()
    norms, total = [], torch.zeros_like(together)
    for record in range(count):
        sums.clear()
        sums.add(batch, torch.arange(count, device="cuda") == record)
        norms.append(float(sums.sums.double().norm()) * sums.unit / CLIP)
        total += sums.sums
    sums.clear()
    sums.is_recorded = False
    sums.add(batch, mask)
    is_eager_same = bool(torch.equal(sums.sums, together))
    exact = torch.zeros(sums.layout.size, dtype=torch.float64, device="cuda")
    double = model.double()
    for record in range(count):
        one = torch.utils._pytree.tree_map(lambda t: t[record : record + 1].double() if t.is_floating_point() else t[record : record + 1], batch)
        grads = torch.autograd.grad(loss(double, one).sum(), list(sums.layout.parameters.values()))
        flat = torch.cat([g.flatten() for g in grads])
        exact += flat * min(1.0, CLIP / float(flat.norm()))
    error = float((together.double() * sums.unit - exact).norm() / exact.norm())
    return {
        "case": case, "check": True, "share_most": max(norms), "share_least": min(norms), "adds_up": bool(torch.equal(total, together)),
        "recorded_is_eager": is_eager_same, "error_to_float64": error, "norms_above": [round(float(n), 4) for n in numbers.norms[:3]],
    }  # fmt: skip


def measured(name: str, case: str, mode: str, make: Callable[[str, str], Callable[[], None]]) -> dict[str, Any]:
    """Median examples per second of some steps after a warm-up, and the peak memory of those steps."""
    begin = time.time()
    step = make(case, mode)
    step()
    torch.cuda.synchronize()
    first = time.time() - begin
    torch.cuda.reset_peak_memory_stats()
    seconds: list[float] = []
    while len(seconds) < 3 or (sum(seconds) < 3 and len(seconds) < 8):
        begin = time.time()
        step()
        torch.cuda.synchronize()
        seconds.append(time.time() - begin)
    return {
        "case": case, "row": f"{name} {mode}", "examples_s": round(RECORDS / statistics.median(seconds), 1), "spread": round(max(seconds) / min(seconds), 3),
        "first_s": round(first, 1), "gib": round(torch.cuda.max_memory_allocated() / 2**30, 1),
    }  # fmt: skip


ROWS: list[tuple[str, str, Callable[[str, str], Callable[[], None]]]] = [
    ("plain", "graph", plain),
    ("private", "graph", private),
    ("plain", "eager", plain),
    ("opacus", "hooks", opacus),
    ("opacus", "ghost", opacus),
    ("private", "eager", private),
    ("plain", "compiled", plain),
]


def main(arguments: list[str]) -> None:
    """Print one JSON line per row."""
    torch.backends.cuda.matmul.allow_tf32 = False
    cases = [a for a in arguments if a in CASES] or list(CASES)
    wanted = [a for a in arguments if a not in CASES and a != "check"]
    print(torch.cuda.get_device_name(), torch.__version__, flush=True)
    for case in cases:
        todo: list[Callable[[], dict[str, Any]]] = [partial(check, case)] if "check" in arguments else []
        for name, mode, make in ROWS:
            if not wanted or f"{name}-{mode}" in wanted:
                todo.append(partial(measured, name, case, mode, make))
        for one in todo:
            try:
                row = one()
            except Exception as error:
                row = {"case": case, "error": f"{type(error).__name__}: {str(error)[:300]}"}
                import traceback

                traceback.print_exc(limit=-5)
            print(json.dumps(row), flush=True)
            torch._dynamo.reset()
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.argv[1:])
