"""Opacus' call and its loop: `make_private_with_epsilon`, then `loss.backward()` and `optimizer.step()`.

The loop stays as it is. What happens inside is another thing: `loss.backward()` computes per-record gradients of the batch by a pass of its
own, clips them and adds them up as integers, and `optimizer.step()` adds the noise. So three limits hold, and each is checked:

- the loss is `criterion(module(inputs), targets)`, with the criterion that was passed,
- one batch of the loader has one `backward()` and one `optimizer.step()`,
- other terms of the loss that depend on records are not protected, because `backward()` does not see them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.utils.data import DataLoader

from .._errors import InvalidInput
from ._batches import Batch
from ._make import make_private
from ._run import PrivateRun


def make_private_with_epsilon(
    *,
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    data_loader: DataLoader[Any],
    target_epsilon: float,
    target_delta: float,
    epochs: int,
    max_grad_norm: float,
    criterion: nn.Module | None = None,
    batch_size: int | None = None,
    **options: Any,
) -> tuple[PrivateModule, PrivateOptimizer, PrivateCriterion, PrivateLoader]:
    """Make a training loop that was written for Opacus private.

    Args:
        module: the model.
        optimizer: its optimizer.
        data_loader: a DataLoader. Its dataset, batch size and `collate_fn` are used, its order is not: batches are Poisson-sampled.
        target_epsilon: ε of the budget.
        target_delta: δ of the budget.
        epochs: the number of passes over the data.
        max_grad_norm: the norm to which the gradient of each record is clipped.
        criterion: the loss of the outputs and the targets. None takes `nn.CrossEntropyLoss()`.
        batch_size: the planned batch size. None takes that of the loader.
        **options: further arguments of `make_private`, such as `ledger`, `person` or `seed`.

    Returns:
        The module, the optimizer, the criterion and the loader for your loop. `optimizer.run` is the `PrivateRun`, with `save`, `claim`
        and `audit`.

    Example:
        >>> module, optimizer, criterion, loader = v.torch.make_private_with_epsilon(    # doctest: +SKIP
        ...     module=module, optimizer=optimizer, data_loader=loader, target_epsilon=3, target_delta=1e-5,
        ...     epochs=3, max_grad_norm=1.0)
    """
    size = data_loader.batch_size if batch_size is None else batch_size
    if size is None:
        raise InvalidInput("batch_size is missing, expected one, because the loader has a batch sampler of its own")
    loss = nn.CrossEntropyLoss() if criterion is None else criterion
    run = make_private(
        module,
        optimizer,
        data_loader.dataset,
        loss=_without_reduction(loss),
        epsilon=target_epsilon,
        delta=target_delta,
        epochs=epochs,
        batch_size=size,
        clip_norm=max_grad_norm,
        collate=None if data_loader.collate_fn is torch.utils.data.default_collate else data_loader.collate_fn,
        **options,
    )
    loop = _Loop(run)
    return PrivateModule(module, loop), PrivateOptimizer(run, loop), PrivateCriterion(loss, loop), PrivateLoader(run, loop, epochs)


def _without_reduction(criterion: nn.Module) -> nn.Module:
    """Return the criterion with one loss per record."""
    if getattr(criterion, "reduction", None) not in ("mean", "none"):
        raise InvalidInput("criterion has no reduction mean, expected a loss module of torch such as nn.CrossEntropyLoss()")
    single: Any = copy.deepcopy(criterion)
    single.reduction = "none"
    return single


class _Loop:
    """State of a loop: which batch was drawn, and whether its gradient was computed."""

    def __init__(self, run: PrivateRun) -> None:
        self.run = run
        self.batch: Batch | None = None
        self.has_gradient = False
        self.outputs: Any = None

    def backward(self) -> None:
        """Compute the noisy gradient of the batch."""
        if self.batch is None or self.has_gradient:
            raise InvalidInput("backward has no batch, expected one backward for each batch of the loader")
        self.run.compute_gradient(self.batch)
        self.has_gradient = True

    def step(self) -> None:
        """Note that the optimizer made a step."""
        if not self.has_gradient:
            raise InvalidInput("the optimizer has no new gradient, expected one step after one backward for each batch of the loader")
        self.batch, self.has_gradient = None, False


class PrivateModule(nn.Module):
    """The model in a loop. Its outputs are for the criterion and for metrics, and carry no gradient."""

    def __init__(self, module: nn.Module, loop: _Loop) -> None:
        super().__init__()
        self._module = module
        self.__dict__["_loop"] = loop

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Run the model."""
        with torch.no_grad():
            outputs = self._module(*inputs, **named)
        self.__dict__["_loop"].outputs = outputs
        return outputs


class PrivateCriterion:
    """The criterion in a loop. Its value has `backward()` and `item()`."""

    def __init__(self, criterion: nn.Module, loop: _Loop) -> None:
        self._criterion, self._loop = criterion, loop

    def __call__(self, outputs: Any, targets: Any) -> PrivateLoss:
        """Compute the loss of the batch. The number is not private."""
        if outputs is not self._loop.outputs:
            raise InvalidInput("the outputs are not those of the module, expected criterion(module(inputs), targets)")
        with torch.no_grad():
            return PrivateLoss(self._criterion(outputs, targets), self._loop)


class PrivateLoss:
    """The loss of a batch: its number, which is not private, and `backward`, which computes the private gradient."""

    def __init__(self, value: torch.Tensor, loop: _Loop) -> None:
        self._value, self._loop = value, loop

    def backward(self) -> None:
        """Compute per-record gradients, clip and add them up, and set the noisy mean as gradient."""
        self._loop.backward()

    def item(self) -> float:
        """Return the mean loss. It is not private: do not publish it."""
        return float(self._value)

    def detach(self) -> torch.Tensor:
        """Return the mean loss as a tensor. It is not private."""
        return self._value


class PrivateOptimizer:
    """The optimizer in a loop. `run` is the `PrivateRun`."""

    def __init__(self, run: PrivateRun, loop: _Loop) -> None:
        self.run, self._loop = run, loop

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Do nothing: each backward replaces the gradient."""

    def step(self) -> None:
        """Step the optimizer with the noisy gradient."""
        self._loop.step()
        self.run.apply()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.run.optimizer, name)


class PrivateLoader:
    """The loader in a loop: Poisson batches, as many per epoch as the plan has."""

    def __init__(self, run: PrivateRun, loop: _Loop, epochs: int) -> None:
        self._run, self._loop = run, loop
        self._batches = run.batches()
        self._per_epoch = -(-run.plan.steps // epochs)

    def __len__(self) -> int:
        return self._per_epoch

    def __iter__(self) -> Iterator[Any]:
        for _, batch in zip(range(self._per_epoch), self._batches, strict=False):
            self._loop.batch = batch
            yield batch.records()
