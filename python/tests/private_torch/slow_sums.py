"""Reference sums: the gradient of each record by itself, in double precision, clipped, rounded toward zero and added as integers."""

import torch
from torch.func import functional_call

from veracity.torch._clip import Layout, RecordNumbers


class SlowSums:
    def __init__(self, model, loss, *, clip_norm, grid, micro_batch, clipping="flat", precision="fp32"):
        self.model, self.clip, self.grid, self.micro_batch = model, clip_norm, grid, micro_batch
        self.layout = Layout(model)
        self.sums = torch.zeros(self.layout.size, dtype=torch.int64)
        self.loss = loss if not isinstance(loss, torch.nn.Module) else lambda m, batch: loss(m(batch[0]), batch[1])

    def add(self, batch, mask, shares=None):
        assert len(mask) == self.micro_batch
        losses, norms = torch.zeros(len(mask)), torch.zeros(len(mask))
        for at in range(len(mask)):
            if not mask[at]:
                continue
            one = _map(batch, lambda tensor: tensor[at : at + 1])
            gradients, loss = self._gradient(one)
            flat = torch.cat([gradients[name].reshape(-1).to(torch.float64) for name in self.layout.names])
            if not torch.isfinite(flat).all():
                continue
            limit = self.clip * (1.0 if shares is None else float(shares[at])) * (1 - 1e-9)
            flat *= min(1.0, limit / max(float(flat.norm()), 1e-300))
            self.sums += torch.trunc(flat / self.grid).to(torch.int64)
            losses[at], norms[at] = loss, flat.norm()
        return RecordNumbers(losses, norms)

    def _gradient(self, one):
        model, parameters = self.model, {name: p.detach() for name, p in self.layout.parameters.items()}
        for p in parameters.values():
            p.requires_grad_(True)

        class Proxy:
            def __call__(self, *inputs, **named):
                return functional_call(model, parameters, inputs, named, tie_weights=True)

        loss = self.loss(Proxy(), one)
        assert loss.shape == (1,), loss.shape
        found = torch.autograd.grad(loss[0], list(parameters.values()), allow_unused=True)
        return {n: torch.zeros_like(p) if g is None else g for (n, p), g in zip(parameters.items(), found)}, float(loss[0].detach())

    def totals(self):
        return self.sums.clone()

    def clear(self):
        self.sums.zero_()

    def statement(self):
        return {"proved": ["The sums are those of the reference."], "probed": [], "assumed": []}


def _map(batch, function):
    if isinstance(batch, dict):
        return {name: _map(part, function) for name, part in batch.items()}
    if isinstance(batch, (tuple, list)):
        return tuple(_map(part, function) for part in batch)
    return function(batch)
