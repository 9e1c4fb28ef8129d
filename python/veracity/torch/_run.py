"""The run: batches → clipped integer sums → noise → gradient → optimizer, with its ledger, its checkpoints, its claim and its audit.

Everything that protects a record happens in `PrivateRun.compute_gradient`. What comes after it is post-processing of noisy sums.
"""

from __future__ import annotations

import itertools
import os
import shutil
import uuid
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from .. import _veracity
from .._errors import InvalidInput
from .._ledger import Ledger
from .._veracity import AuditResult, Claim, Interval, _Randomness
from . import _checkpoint, _model_file
from ._batches import Batch, MicroBatch, Source
from ._canaries import Canaries
from ._noise_ahead import NoiseAhead
from ._plan import Plan
from ._processes import Processes

#: Canaries below which an audit says nothing.
LEAST_CANARIES = 100


class PrivateRun:
    """A private training. `make_private` makes it.

    Attributes:
        model: the model.
        optimizer: its optimizer.
        plan: the public numbers: rate, steps, noise multiplier.
        steps_done: the number of steps so far.
        unprotected_loss: the mean loss of the last batch of this process. It is not private: do not publish it, and decide nothing by it.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
        plan: Plan,
        source: Source,
        sums: Any,
        seed: int | None,
        canaries: int | None,
        canary_block: int,
        ledger: Ledger | None,
        request_id: str | None,
        name: str,
        resume: str | None,
    ) -> None:
        self.model, self.optimizer, self.plan = model, optimizer, plan
        self._source, self._sums, self._ledger, self._name = source, sums, ledger, name
        self._seed, self._request_id = seed, request_id
        self._processes = Processes()
        source.rank, source.processes = self._processes.rank, self._processes.count
        self.steps_done = 0
        self.unprotected_loss = float("nan")
        self._also: dict[str, Any] = {}
        self._payment: Any = None
        self._path: str | None = None
        self._is_resumed = False
        self._ahead: NoiseAhead | None = None
        self._sealed: dict[str, Any] | None = None
        self._check_trains_something()
        if ledger is not None and request_id is None and resume is None:
            # Before the first checkpoint, so that a resumed run finds its charge.
            self._request_id = self._processes.share(uuid.uuid4().hex)
        saved = None if resume is None else self._found(resume)
        self._randomness = self._processes.share_randomness(None if saved is None else saved[1], seed)
        self._canaries = Canaries(plan, self._randomness, sums.layout.size, canaries, canary_block)
        self._canaries.to(sums.sums.device)
        self._processes.share_weights(model)
        if saved is not None:
            self._take_up(saved[0])

    @property
    def noise_multiplier(self) -> float:
        """The standard deviation of the noise divided by the clip norm."""
        return self.plan.noise_multiplier

    @property
    def is_done(self) -> bool:
        """Whether all planned steps are done."""
        return self.steps_done >= self.plan.steps

    def epsilon(self, steps: int | None = None) -> Interval | float:
        """Compute ε of the steps so far, at δ of the plan.

        Args:
            steps: another number of steps, for example `run.plan.steps` for the whole plan.

        Returns:
            An `Interval`, or 0 before the first step.
        """
        return self.plan.epsilon_after(self.steps_done if steps is None else steps)

    def batches(self) -> Batches:
        """Draw the batches of the steps that are left.

        The ledger, if there is one, is charged for the whole plan before the first one.

        Returns:
            An iterator with a length. Call `step` for each batch before you take the next one.
        """
        return Batches(self)

    def draw(self) -> Batch:
        """Draw the batch of the next step."""
        self._pay()
        return self._source.batch(self._randomness, self.plan.rate, self.steps_done)

    def step(self, batch: Batch) -> None:
        """Clip, add up, add noise, and step the optimizer.

        Args:
            batch: the next batch of `batches()`.

        Raises:
            InvalidInput: if the batch is not the next one, or if the step changes no parameter.
        """
        self.compute_gradient(batch)
        self.apply()

    def apply(self) -> None:
        """Step the optimizer, and check that it changes the model."""
        before = None if self._changes_seen else [p.detach().clone() for p in self._trained()]
        self.optimizer.step()
        self._check_changed(before)

    def compute_gradient(self, batch: Batch) -> None:
        """Set the gradient of each parameter to the noisy mean, and leave the optimizer to you.

        Use it instead of `step` in a loop of your own, followed by one `optimizer.step()`.

        Args:
            batch: the next batch of `batches()`.
        """
        self._pay()
        if self.is_done or batch.step != self.steps_done:
            raise InvalidInput("the batch is not the next one, expected the batches of run.batches() in their order, each once")
        try:
            self._add(batch)
        except BaseException:
            self._sums.clear()
            raise
        self._finish_sum()

    def _add(self, micro_batches: Any) -> None:
        if self._sums.sums.is_cuda:
            self._noise_ahead().begin(self.steps_done)
        losses, records = 0.0, 0
        kept = {name: (buffer, buffer._version, buffer.clone()) for name, buffer in self.model.named_buffers()}
        try:
            for number, micro in enumerate(micro_batches):
                numbers = self._add_one(micro, number)
                _refuse_changed(self.model, kept)
                losses += float(numbers.losses[micro.mask].sum())
                records += int(micro.mask.sum())
        except BaseException:
            _put_back(self.model, kept)
            raise
        self.unprotected_loss = losses / records if records else float("nan")

    def _add_one(self, micro: MicroBatch, number: int) -> Any:
        """Add one micro-batch. Layers that draw, such as dropout, draw the same when a killed run is resumed."""
        with torch.random.fork_rng(devices=_cuda_devices(self._sums.sums)):
            torch.manual_seed(self._randomness.layer_seed(self.steps_done, number * self._processes.count + self._processes.rank))
            if micro.shares is None:
                return self._sums.add(micro.data, micro.mask)
            return self._sums.add(micro.data, micro.mask, micro.shares)

    def _finish_sum(self) -> None:
        """Turn the sums into noisy means, and count the step."""
        self._processes.add_up(self._sums.sums)
        totals = self._sums.totals()
        self._sums.clear()
        added = self._canaries.plant(totals, self.steps_done)
        self._add_noise(totals)
        self._canaries.read(totals, added)
        means = totals.to(torch.float32).mul_(self.plan.grid / self.plan.batch_size)
        views = self._sums.layout.views(means)
        for name, parameter in self._sums.layout.parameters.items():
            parameter.grad = views[name].to(parameter.dtype)
        self.steps_done += 1

    def _add_noise(self, totals: torch.Tensor) -> None:
        """Add the noise of this step, in place: the same bits in each process, whatever its threads."""
        if totals.is_cuda:
            self._noise_ahead().add(totals, self.steps_done)
        else:
            self._randomness.add_noise(totals.numpy(), self.steps_done, torch.get_num_threads())

    def _noise_ahead(self) -> NoiseAhead:
        if self._ahead is None:
            self._ahead = NoiseAhead(self._randomness, self._sums.layout.size, self.plan.steps, self._sums.sums.device)
        return self._ahead

    # The guarantee, and what it rests on.

    def statement(self) -> dict[str, list[str]]:
        """List what the guarantee rests on.

        Returns:
            Sentences under `proved`, `probed` and `assumed`.
        """
        stated = self._sums.statement()
        return {
            "proved": [*stated["proved"], "The noise is exact: an integer, the rounded value of a true normal, added to the integer sum of each step."],
            "probed": list(stated["probed"]),
            "assumed": [
                *stated["assumed"],
                f"dataset_size = {self.plan.dataset_size} is public, and the loss uses no number that depends on several records.",
            ],
        }

    def claim(self) -> Claim:
        """Make the claim of the model as it is now, for all planned steps.

        It covers the whole plan also if you stop early, because your decision to stop may depend on the model.

        Returns:
            A `Claim` that is tied to the tensors of the model. One of a seeded run says that it is not for release.
        """
        return self._written(None, "fresh", False, [])

    def audit(self, out: str | os.PathLike[str] | None = None, significance: float = 0.01) -> AuditResult:
        """Audit this run by its canaries: a proved lower bound on ε, and a test of the noise.

        The number of guesses is planned by the declared mechanism before a score is read. Look once: each look has its own significance.

        Args:
            out: a new folder for the scores, the certificate and the report.
            significance: the largest probability of refuting a true claim.

        Returns:
            An `AuditResult`. `effective_noise` and `detects_noise_below` say what noise the scores allow and what they could have refuted.

        Raises:
            InvalidInput: if no step is done, or there are too few canaries.
        """
        if self.steps_done == 0:
            raise InvalidInput("no step is done, expected at least one step before an audit")
        if self._canaries.count < LEAST_CANARIES:
            raise InvalidInput(f"canaries is {self._canaries.count}, expected at least {LEAST_CANARIES} for an audit")
        plan, steps = self.plan, self.steps_done
        settings = {
            "canaries": self._canaries.count,
            "parameters_per_canary": self._canaries.block,
            "canary_norm": self._canaries.norm,
            "rate": plan.rate,
            "noise_multiplier": plan.noise_multiplier,
            "steps": steps,
        }
        return _veracity._audit_run(
            claim=plan.mechanism_after(steps).claim(delta=plan.delta),
            worlds=self._canaries.worlds,
            scores=self._canaries.scores,
            rate=plan.rate,
            noise_multiplier=plan.noise_multiplier,
            steps=steps,
            significance=significance,
            settings=settings,
            out=None if out is None else os.fspath(out),
        )

    def save(self, folder: str | os.PathLike[str], *, replace: bool = False, trainable_only: bool = False, audit: bool = True) -> Claim:
        """Write model.safetensors, the claim that is tied to it, report.html, and the audit of the run.

        `veracity verify FOLDER` recomputes the claim and the audit, and compares the model with its claim. After the last step, the
        checkpoint and its key are removed.

        Args:
            folder: the folder.
            replace: replace the model of another run in the folder. Its claim is kept under a number.
            trainable_only: leave out frozen parameters, for example the base model of LoRA.
            audit: audit the run too, in the folder `audit`. A run with fewer than 100 canaries has no audit.

        Returns:
            The `Claim`.

        Raises:
            InvalidInput: if the folder holds another run, or weights are not finite.
        """
        return self._processes.first_does(lambda: self._save(os.fspath(folder), replace, trainable_only, audit))  # type: ignore[no-any-return]

    def _save(self, folder: str, replace: bool, trainable_only: bool, audit: bool) -> Claim:
        audits = audit and self._canaries.count >= LEAST_CANARIES and self.steps_done > 0
        # Judged before the report is written, which quotes it, and moved into the folder once that is known to be free.
        staged = f"{os.path.abspath(folder)}.audit-{os.getpid()}"
        audited = self.audit(staged) if audits else None
        if self._path is not None and self.is_done and self._sealed is None:
            # From here on nothing is drawn, so the key goes before the model comes.
            worlds = torch.from_numpy(self._canaries.worlds)
            _checkpoint.write(self._path, {**self._state(), "is_sealed": True, "worlds": worlds})
            self._sealed = {}
            _Randomness.destroy(_checkpoint.key_of(self._path))
        entry = "force" if replace else "resume" if self._is_resumed else "fresh"
        try:
            claim = self._written(folder, entry, trainable_only, _facts(audited))
        except BaseException:
            shutil.rmtree(staged, ignore_errors=True)
            raise
        if audited is not None:
            os.rename(staged, _free_name(folder))
        if self._payment is not None:
            self._payment.commit(f'{{"model": "{os.path.basename(os.path.abspath(folder))}", "steps": {self.steps_done}}}')
            self._payment = None
        if self._path is not None and self.is_done:
            _checkpoint.remove(self._path)
        return claim

    def _written(self, folder: str | None, entry: str, trainable_only: bool, facts: list[tuple[str, str]]) -> Claim:
        plan, layout = self.plan, self._sums.layout
        tensors, card = _model_file.tensors_of(self.model, self._randomness.is_releasable, trainable_only)
        known = [
            ("Model", f"{type(self.model).__name__}; {layout.size:,} trained parameters"),
            ("Loss and optimizer", f"set by the caller; {type(self.optimizer).__name__}"),
            ("Population", f"{plan.dataset_size:,} (this number is public)"),
            ("Sampling", f"{plan.batch_size:,} on average, each included independently with the same probability (poisson)"),
            ("Steps", f"{self.steps_done:,} of {plan.steps:,} that the guarantee covers"),
            ("Clipping", f"to ℓ2 norm {plan.clip_norm:g} ({plan.clipping})"),
            ("Noise", f"gaussian, with standard deviation {plan.noise_multiplier:g}× the clipping norm, added to the sum of each step"),
        ]
        stated = self.statement()
        points = [f"{kind.capitalize()}: {sentence}" for kind in ("proved", "probed", "assumed") for sentence in stated[kind]]
        return _veracity._save_run(
            folder=folder,
            entry=entry,
            tensors=tensors,
            card=card,
            mechanism=plan.mechanism,
            noise_multiplier=plan.noise_multiplier,
            steps=plan.steps,
            delta=plan.delta,
            seeded=not self._randomness.is_releasable,
            dataset=self._name,
            noise=plan.noted(),
            facts=[*known, *facts],
            points=points,
        )

    # Resuming.

    def state_dict(self) -> dict[str, Any]:
        """Return the position of the run: its step, its root of randomness and the scores of its canaries.

        The root is a secret: with it and the model, the noise can be subtracted. A seeded run has none. Save the model and the optimizer
        beside it, or use `save_checkpoint`, which does all of this.

        Returns:
            A dict of numbers, text and tensors.
        """
        root = list(self._randomness.root()) if self._seed is None else None
        return {**self._position(), "root": None if root is None else torch.tensor(root, dtype=torch.uint8)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue a run from its `state_dict`. Load the model and the optimizer of the same step beside it.

        Args:
            state: the dict that `state_dict` returned.

        Raises:
            InvalidInput: if steps were done already, or the plan or the records differ.
        """
        if self.steps_done:
            raise InvalidInput("steps were done already, expected a new run for load_state_dict")
        root = state["root"]
        self._randomness = _Randomness(self._seed) if root is None else _Randomness.resume(bytes(root.tolist()))
        self._canaries = Canaries(self.plan, self._randomness, self._sums.layout.size, self._canaries.count, self._canaries.block)
        self._canaries.to(self._sums.sums.device)
        self._take_position(state)

    def save_checkpoint(self, path: str | os.PathLike[str], **also: Any) -> None:
        """Save everything that a killed run needs to go on with the same bits: `make_private(..., resume=path)`.

        The file `PATH.key` beside it is secret. `save` removes both after the last step.

        Args:
            path: the file. It is replaced whole.
            **also: further objects with a `state_dict`, such as `scheduler=scheduler`. Give them to `restore` after you resumed.

        Raises:
            FileError: if the file cannot be written.
        """
        self._processes.first_does(lambda: self._save_checkpoint(os.fspath(path), also))

    def _save_checkpoint(self, path: str, also: dict[str, Any]) -> None:
        self._also = {name: thing.state_dict() for name, thing in also.items()}
        if self._path is None:
            if self._seed is None:
                self._randomness.keep(_checkpoint.key_of(path))
            self._path = path
        elif path != self._path:
            raise InvalidInput("path is another one than before, expected one place for all checkpoints of a run")
        _checkpoint.write(path, self._state())

    def restore(self, **also: Any) -> None:
        """Load what `save_checkpoint` saved beside the run.

        Args:
            **also: the objects, under the same names.
        """
        for name, thing in also.items():
            if name not in self._also:
                raise InvalidInput(f"the checkpoint has no {name}, expected the names of save_checkpoint")
            thing.load_state_dict(self._also[name])

    def _position(self) -> dict[str, Any]:
        return {
            "step": self.steps_done,
            "canaries": self._canaries.state(),
            "request_id": self._request_id,
            "mark": _checkpoint.mark(self._randomness, self._source, self._stated()),
        }

    def _state(self) -> dict[str, Any]:
        return {
            **self._position(),
            "seeded": self._seed is not None,
            "is_sealed": False,
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "also": self._also,
        }

    def _stated(self) -> dict[str, Any]:
        layout = self._sums.layout
        return {"plan": repr(self.plan), "layout": {name: list(layout.shapes[name]) for name in layout.names}, "micro_batch": self._source.micro_batch}

    def _found(self, path: str) -> tuple[dict[str, Any], _Randomness | None]:
        """Read a checkpoint and the root beside it."""
        state = _checkpoint.read(path)
        if state["seeded"] != (self._seed is not None):
            raise InvalidInput("seed differs from that of the checkpoint, expected the same seed, or none")
        self._path = path
        if self._seed is not None:
            return state, None
        root = _Randomness.find(_checkpoint.key_of(path))
        if root is None and not state["is_sealed"]:
            raise InvalidInput(f"the key of the checkpoint is missing, expected {_checkpoint.key_of(path)}")
        return state, root

    def _take_up(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self._also = state["also"]
        if state["is_sealed"]:
            # The key is gone, so the coins cannot be drawn again. They were saved when it went.
            self._sealed, self._canaries.worlds = state, state["worlds"].numpy()
        self._take_position(state)

    def _take_position(self, state: Mapping[str, Any]) -> None:
        if self._sealed is None and state["mark"] != _checkpoint.mark(self._randomness, self._source, self._stated()):
            raise InvalidInput("the plan, the model or the records differ from those of the saved run, expected the same: noise must not be used twice")
        if self._request_id not in (None, state["request_id"]):
            raise InvalidInput("request_id differs from that of the saved run, expected the same, or none")
        self._request_id, self._is_resumed = state["request_id"], True
        self.steps_done = state["step"]
        self._canaries.load(state["canaries"])

    # What is checked before and after steps.

    def _pay(self) -> None:
        """Charge the whole plan, once."""
        if self._ledger is None or self._payment is not None:
            return
        self._payment = self._processes.first_does(self._charge) if not self._processes.is_group else self._charged_in_group()

    def _charged_in_group(self) -> Any:
        charged: list[Any] = [False]
        self._processes.first_does(lambda: charged.__setitem__(0, self._charge()))
        return charged[0]

    def _charge(self) -> Any:
        ledger: Any = self._ledger
        attempt = "resumed" if self._is_resumed else "resumable"
        payment = ledger._ledger.request(self.plan.mechanism, "training in PyTorch", self._name, self._request_id, None, attempt)
        if not payment.enter():
            raise InvalidInput("request_id was answered before, expected a new one, or none: the model of that request is in its folder")
        return payment

    def _trained(self) -> list[nn.Parameter]:
        return list(self._sums.layout.parameters.values())

    _changes_seen = False

    def _check_trains_something(self) -> None:
        trained = {id(parameter) for group in self.optimizer.param_groups for parameter in group["params"]}
        parameters = self._trained()
        if not parameters:
            raise InvalidInput("every parameter is frozen, expected at least one with requires_grad=True")
        if not any(id(parameter) in trained for parameter in parameters):
            raise InvalidInput(
                "the optimizer has no trainable parameter of the model, expected one made from the parameters of this model, after it was "
                "moved to its device and after LoRA was added"
            )
        foreign = [p for group in self.optimizer.param_groups for p in group["params"] if p.requires_grad and id(p) not in {id(q) for q in parameters}]
        if foreign:
            raise InvalidInput("the optimizer has a parameter that is not in the model, expected parameters of the model only")

    def _check_changed(self, before: list[torch.Tensor] | None) -> None:
        if before is None or all(float(group["lr"]) == 0.0 for group in self.optimizer.param_groups if "lr" in group):
            return
        if all(torch.equal(old, new) for old, new in zip(before, self._trained(), strict=True)):
            raise InvalidInput("the step changed no parameter, expected an optimizer over trainable parameters of the model on the same device")
        self._changes_seen = True


#: Each buffer by name, with the number of its changes and a copy.
Buffers = dict[str, tuple[torch.Tensor, int, torch.Tensor]]


def _refuse_changed(model: nn.Module, kept: Buffers) -> None:
    """Refuse layers that note records in a buffer, such as a running mean: it would be saved with the model, without noise."""
    for name, buffer in model.named_buffers():
        before = kept.get(name)
        if before is None or buffer is not before[0] or buffer._version != before[1]:
            raise InvalidInput(f"a forward pass changed the buffer {name}, expected layers that keep nothing of the records; it was put back")


def _put_back(model: nn.Module, kept: Buffers) -> None:
    """Give each buffer its earlier values, and forget new ones."""
    with torch.no_grad():
        for name in [name for name, _ in model.named_buffers()]:
            owner, _, last = name.rpartition(".")
            module = model.get_submodule(owner)
            if name in kept:
                setattr(module, last, kept[name][0].copy_(kept[name][2]))
            else:
                delattr(module, last)


class Batches:
    """The batches of the steps that are left. Its length is their number, so loops that fetch ahead without one do not."""

    def __init__(self, run: PrivateRun) -> None:
        self._run, self._drawn = run, -1

    def __len__(self) -> int:
        return self._run.plan.steps - self._run.steps_done

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Batch:
        run = self._run
        if self._drawn == run.steps_done:
            raise InvalidInput("the batch was not used, expected run.step(batch) before the next batch")
        if run.is_done:
            raise StopIteration
        batch = run.draw()
        self._drawn = run.steps_done
        return batch


def _cuda_devices(tensor: torch.Tensor) -> list[torch.device]:
    return [tensor.device] if tensor.is_cuda else []


def _facts(result: AuditResult | None) -> list[tuple[str, str]]:
    """Return what the report says of the audit."""
    if result is None:
        return [("Audit of this run", "none")]
    noise = "any" if result.effective_noise is None else f"at most {result.effective_noise:.3g}× the declared noise"
    detects = result.detects_noise_below
    power = "nothing" if detects is None else f"noise below {detects:.3g}× the declared level, with probability 0.9 for an optimal attack"
    return [
        ("Audit of this run", f"{result.verdict}: ε ≥ {result.epsilon_lower:.4g} at {100 * (1 - result.significance):g}% confidence"),
        ("Noise that the audit allows", noise),
        ("Noise that the audit detects", power),
    ]


def _free_name(folder: str) -> str:
    """Return where the audit of a run goes: beside those of earlier runs in the folder."""
    names = ("audit" if number == 0 else f"audit-{number}" for number in itertools.count())
    return next(path for name in names if not os.path.exists(path := os.path.join(folder, name)))
