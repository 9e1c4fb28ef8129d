"""Records what each layer reads and returns in one forward pass, and makes per-record gradients of it.

Hooks note the input of every layer and the place of its output in the autograd graph. One `torch.autograd.grad` to these places then
gives all output gradients, without a weight gradient. `collect` turns both into leaves (`_sums`): products, table rows and small gradients.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten, tree_map_only

from .._errors import InvalidInput
from ._layers_attention import attend

_BATCH_NORMS = (nn.modules.batchnorm._BatchNorm,)
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d)


@dataclass
class Use:
    """One use of one layer: its input, and where the gradients of its outputs appear."""

    layer: str
    kind: str
    module: nn.Module
    inputs: tuple[Any, ...]
    edges: list[Any]
    names: dict[str, str]  # role of a parameter in the layer → name in the layout
    rows: slice | None = None  # rows of the weight that this use reads
    is_half: bool = False  # whether the layer ran under autocast
    keywords: dict[str, Any] = field(default_factory=dict)
    versions: list[tuple[Tensor, int]] = field(default_factory=list)
    grads: list[Tensor | None] = field(default_factory=list)


class Recorder:
    """Hooks on every layer that has trainable parameters of its own."""

    def __init__(self, model: nn.Module, names: dict[int, str], records: int) -> None:
        self.model, self.names, self.records = model, names, records
        self.uses: list[Use] = []
        self.recording = False
        self.broadcasts = True  # whether parameters of shape (1, …) are read as one copy per record
        self.layers: list[tuple[str, str, nn.Module]] = []
        within: set[nn.Module] = set()
        for path, module in model.named_modules():
            if module in within:
                continue
            if isinstance(module, nn.MultiheadAttention) and any(id(p) in names for p in module.parameters()):
                within.update(module.modules())
                self.layers.append((path, "attention", module))
            elif any(id(p) in names for p in module.parameters(recurse=False)):
                self.layers.append((path, kind_of(module), module))

    @contextlib.contextmanager
    def hooked(self) -> Iterator[None]:
        """Note every use of a layer while this is open."""
        handles = []
        kept: list[tuple[nn.Module, str, nn.Parameter]] = []
        self.uses, self.recording = [], True
        fast_path = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            for path, kind, module in self.layers:
                if isinstance(module, nn.MultiheadAttention):
                    module.forward = self._attention(path, module)  # type: ignore[method-assign]
                elif kind == "vmap" and self.broadcasts and self._is_broadcast(module):
                    for role, name in self._own(module).items():
                        kept.append((module, role, module.get_parameter(role)))
                        self._broadcast(path, module, role, name)
                else:
                    handles.append(module.register_forward_hook(self._hook(path, kind), with_kwargs=True))
            yield
        finally:
            self.recording = False
            torch.backends.mha.set_fastpath_enabled(fast_path)
            for handle in handles:
                handle.remove()
            for module, role, parameter in kept:
                module._parameters[role] = parameter
            for _, kind, module in self.layers:
                if kind == "attention":
                    module.__dict__.pop("forward", None)

    def _own(self, module: nn.Module) -> dict[str, str]:
        return {role: self.names[id(p)] for role, p in module.named_parameters(recurse=False) if id(p) in self.names}

    def _is_broadcast(self, module: nn.Module) -> bool:
        shapes = [module.get_parameter(role).shape for role in self._own(module)]
        return all(len(shape) > 1 and shape[0] == 1 for shape in shapes)

    def _broadcast(self, path: str, module: nn.Module, role: str, name: str) -> None:
        """Give the module one copy of a parameter per record. The probe checks that the module treats them as such."""
        copies = module.get_parameter(role).expand(self.records, *module.get_parameter(role).shape[1:])
        module._parameters[role] = copies  # type: ignore[assignment]
        self.uses.append(Use(path, "broadcast", module, (), [torch.autograd.graph.get_gradient_edge(copies)], {role: name}))

    def _hook(self, path: str, kind: str) -> Callable[..., None]:
        def note(module: nn.Module, args: tuple[Any, ...], keywords: dict[str, Any], output: Any) -> None:
            if not torch.is_grad_enabled() or not self.recording:
                return
            if kind == "vmap":
                self._note(path, kind, module, args, output, self._own(module), keywords=keywords)
            else:
                inputs = args[:1] or tuple(keywords.values())[:1]
                self._note(path, kind, module, inputs, output, self._own(module))

        return note

    def _note(
        self,
        path: str,
        kind: str,
        module: nn.Module,
        inputs: tuple[Any, ...],
        output: Any,
        names: dict[str, str],
        rows: slice | None = None,
        keywords: dict[str, Any] | None = None,
    ) -> None:
        outputs = [output] if isinstance(output, Tensor) else [t for t in tree_flatten(output)[0] if isinstance(t, Tensor)]
        outputs = [t for t in outputs if t.requires_grad]
        plain = keywords is None and all(isinstance(t, Tensor) for t in inputs)
        tensors = list(inputs) if plain else [t for t in tree_flatten((inputs, keywords))[0] if isinstance(t, Tensor)]
        if not outputs:
            return
        first = outputs[0].shape[0] if outputs[0].dim() else 0
        flattened = kind in ("linear", "layer-norm", "rms-norm") and first > 0 and first % self.records == 0
        if any(t.dim() == 0 or t.shape[0] != self.records for t in outputs) and not flattened:
            raise InvalidInput(
                f"layer {path!r} returns {tuple(outputs[0].shape)}, expected the {self.records} records first; "
                "use batch_first=True, or freeze the layer"
            )
        edges = [torch.autograd.graph.get_gradient_edge(t) for t in outputs]
        versions = [(t, t._version) for t in tensors]
        if plain:
            inputs, keywords = tuple(t.detach() for t in inputs), {}
        else:
            inputs, keywords = tree_map_only(Tensor, lambda t: t.detach(), (inputs, keywords or {}))
        is_half = torch.is_autocast_enabled(outputs[0].device.type)
        self.uses.append(Use(path, kind, module, inputs, edges, names, rows, is_half, keywords, versions))

    def _attention(self, path: str, module: nn.MultiheadAttention) -> Callable[..., Any]:
        names = {role: self.names[id(p)] for role, p in module.named_parameters() if id(p) in self.names}

        def linear(x: Tensor, weight: str, bias: str, rows: slice | None = None) -> Tensor:
            w, b = module.get_parameter(weight), None
            if getattr(module if "." not in bias else module.out_proj, bias.split(".")[-1]) is not None:
                b = module.get_parameter(bias)
            y = F.linear(x, w if rows is None else w[rows], b if rows is None or b is None else b[rows])
            own = {role: names[n] for role, n in (("weight", weight), ("bias", bias)) if n in names}
            if own and self.recording and torch.is_grad_enabled():
                self._note(path, "linear", module, (x,), y, own, rows)
            return y

        def forward(*args: Any, **keywords: Any) -> Any:
            return attend(path, module, linear, *args, **keywords)

        return forward

    def backward(self, losses: Tensor, weights: Tensor) -> None:
        """Fill in the output gradients of every use, by one backward pass that makes no weight gradients."""
        edges = [edge for use in self.uses for edge in use.edges]
        if not edges or not losses.requires_grad:
            raise InvalidInput("the loss does not depend on a trainable parameter; unfreeze a layer that the model uses")
        for use in self.uses:
            if any(t._version != version for t, version in use.versions):
                raise InvalidInput(f"the input of layer {use.layer!r} is modified in place after the layer read it; use inplace=False")
        grads = iter(torch.autograd.grad(losses, edges, weights, allow_unused=True))
        for use in self.uses:
            use.grads = [next(grads) for _ in use.edges]
        self.uses = [use for use in self.uses if any(g is not None for g in use.grads)]


def kind_of(module: nn.Module) -> str:
    """Name of the rule that makes the per-record gradients of a layer."""
    plain: dict[str, Any] = {
        "linear": nn.Linear,
        "embedding": nn.Embedding,
        "layer-norm": nn.LayerNorm,
        "group-norm": nn.GroupNorm,
    }
    for kind, known in plain.items():
        if isinstance(module, known) and type(module).forward is known.forward:
            return kind
    parameters = dict(module.named_parameters(recurse=False))
    if isinstance(module, _CONVOLUTIONS) and module.groups == 1 and type(module).forward in [c.forward for c in _CONVOLUTIONS]:
        return "convolution"
    if type(module).__name__.endswith("RMSNorm") and list(parameters) == ["weight"] and parameters["weight"].dim() == 1:
        return "rms-norm"
    if type(module).__name__ == "Conv1D" and hasattr(module, "nf"):
        return "transposed-linear"
    return "vmap"


def refuse_layer(path: str, module: nn.Module) -> None:
    """Refuse a layer that mixes records, keeps statistics of them or has no shape yet.

    Raises:
        InvalidInput: The layer cannot be trained with per-record clipping.
    """
    name = f"layer {path!r} ({type(module).__name__})"
    if isinstance(module, _BATCH_NORMS) and not isinstance(module, nn.modules.instancenorm._InstanceNorm):
        if module.training or not module.track_running_stats:
            raise InvalidInput(f"{name} mixes the records of a batch; use GroupNorm, or .eval() on this layer")
    if isinstance(module, nn.modules.instancenorm._InstanceNorm) and module.track_running_stats and module.training:
        raise InvalidInput(f"{name} keeps statistics of the records; use track_running_stats=False")
    if isinstance(module, nn.RNNBase) and any(p.requires_grad for p in module.parameters()):
        raise InvalidInput(f"{name} hides its time steps; build it from Linear layers, or freeze it")
    if isinstance(module, nn.modules.lazy.LazyModuleMixin) and module.has_uninitialized_params():
        raise InvalidInput(f"{name} has no shape yet; run the model once before you make it private")
    if isinstance(module, nn.Embedding) and (module.max_norm is not None or module.scale_grad_by_freq):
        raise InvalidInput(f"{name} changes with the batch; use max_norm=None and scale_grad_by_freq=False")
    if isinstance(module, nn.EmbeddingBag) and any(p.requires_grad for p in module.parameters()):
        raise InvalidInput(f"{name} joins the ids of several records; use Embedding and a mean")


def by_record(t: Tensor, records: int, last: int = 1) -> Tensor:
    """View as records × positions × features; `last` dimensions are the features."""
    features = t.shape[t.dim() - last :].numel()
    return t.reshape(records, -1, features)


def products(use: Use, records: int) -> tuple[Tensor, Tensor]:
    """Input and output gradient of a layer that is a matrix product, as records × positions × features.

    They are in single precision, or on a CUDA device in that of the output gradient, which is the one that the layer multiplied in.
    """
    x, g = use.inputs[0], use.grads[0]
    assert g is not None
    precision = torch.bfloat16 if g.is_cuda and g.dtype == torch.bfloat16 else torch.float32
    if use.kind == "convolution":
        x, g = unfold(use.module, x), g.flatten(2).transpose(1, 2)  # type: ignore[arg-type]
        return x.to(precision), g.to(precision)
    return by_record(x.to(precision), records), by_record(g.to(precision), records)


def unfold(module: nn.Conv2d, x: Tensor) -> Tensor:
    """Patches that a convolution multiplies with its weight: records × positions × (channels · kernel)."""
    mode = "constant" if module.padding_mode == "zeros" else module.padding_mode
    x = F.pad(x, module._reversed_padding_repeated_twice, mode=mode)
    kernel, stride, dilation = module.kernel_size, module.stride, module.dilation
    if len(kernel) == 1:
        x, kernel, stride, dilation = x.unsqueeze(2), (1, *kernel), (1, *stride), (1, *dilation)  # type: ignore[assignment]
    return F.unfold(x, kernel, dilation, 0, stride).transpose(1, 2)


def small(use: Use, records: int) -> dict[str, Tensor]:
    """Per-record gradients of the small parameters of a layer: name → records × size."""
    g = use.grads[0]
    if use.kind == "vmap":
        return per_record(use, records)
    assert g is not None
    if use.kind == "broadcast":
        return {name: g.float().flatten(1) for name in use.names.values()}
    found: dict[str, Tensor] = {}
    if use.kind in ("linear", "transposed-linear", "convolution"):
        if "bias" in use.names:
            flat = g.float().flatten(2).sum(2) if use.kind == "convolution" else sum_positions(by_record(g.float(), records))
            found[use.names["bias"]] = flat
        return found
    x, module = use.inputs[0], use.module
    if g.is_cuda and use.kind in ("layer-norm", "rms-norm"):
        return _small_on_cuda(use, records)
    with torch.no_grad():
        if use.kind == "layer-norm":
            assert isinstance(module, nn.LayerNorm)
            shape = list(module.normalized_shape)
            h = F.layer_norm(x.float(), shape, None, None, module.eps)
            parts = [by_record(t, records, len(shape)) for t in (g.float(), h)]
        elif use.kind == "rms-norm":
            h = x.float()
            h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + _eps_of(module, x))
            parts = [by_record(t, records) for t in (g.float(), h)]
        else:
            h = F.group_norm(x.float(), module.num_groups, None, None, module.eps)  # type: ignore[arg-type]
            parts = [t.flatten(2).transpose(1, 2) for t in (g.float(), h)]
        if "weight" in use.names:
            found[use.names["weight"]] = sum_positions(parts[0] * parts[1])
        if "bias" in use.names:
            found[use.names["bias"]] = sum_positions(parts[0])
    return found


def _eps_of(module: nn.Module, x: Tensor) -> float:
    """What an RMS norm adds to the mean square."""
    eps = getattr(module, "variance_epsilon", getattr(module, "eps", None))
    return torch.finfo(x.dtype).eps if eps is None else float(eps)


def _small_on_cuda(use: Use, records: int) -> dict[str, Tensor]:
    from ._cuda_kernels import norm_grads

    x, g, is_centered = use.inputs[0], use.grads[0], use.kind == "layer-norm"
    assert g is not None
    shape = use.module.normalized_shape if is_centered else ()
    last = len(shape) if is_centered else 1  # type: ignore[arg-type]
    eps = use.module.eps if is_centered else _eps_of(use.module, x)
    weight, bias = norm_grads(by_record(x, records, last), by_record(g, records, last), eps, is_centered, "bias" in use.names)  # type: ignore[arg-type]
    found = {"weight": weight, "bias": bias}
    return {name: found[role] for role, name in use.names.items()}  # type: ignore[misc]


def sum_positions(t: Tensor) -> Tensor:
    """Sum over the positions of each record."""
    return t[:, 0] if t.shape[1] == 1 else t.sum(1)


def per_record(use: Use, records: int) -> dict[str, Tensor]:
    """Gradients of the parameters of one layer, record by record under vmap of this layer alone."""
    module = use.module
    parameters = {role: module.get_parameter(role).detach() for role in use.names}
    grads = [g for g in use.grads if g is not None]
    kept = [g is not None for g in use.grads]
    flat, spec = tree_flatten((use.inputs, use.keywords))
    has_record = [isinstance(t, Tensor) and t.dim() > 0 and t.shape[0] == records for t in flat]
    batched = [t for t, yes in zip(flat, has_record) if yes]

    def value(parameters: dict[str, Tensor], inputs: list[Tensor], grads: list[Tensor]) -> Tensor:
        one = iter(inputs)
        args, keywords = torch.utils._pytree.tree_unflatten([next(one)[None] if yes else t for t, yes in zip(flat, has_record)], spec)
        output = torch.func.functional_call(module, parameters, args, keywords)
        outputs = [t for t in tree_flatten(output)[0] if isinstance(t, Tensor) and t.is_floating_point()]
        if len(outputs) != len(kept):
            raise InvalidInput(f"layer {use.layer!r} returns tensors without a gradient; return tensors that depend on its parameters")
        chosen = [t for t, yes in zip(outputs, kept) if yes]
        return sum((t[0].float() * g.float()).sum() for t, g in zip(chosen, grads))  # type: ignore[return-value]

    try:
        with torch.autocast(grads[0].device.type, torch.bfloat16, enabled=use.is_half):
            found = torch.func.vmap(torch.func.grad(value), in_dims=(None, 0, 0))(parameters, batched, grads)
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        raise InvalidInput(f"layer {use.layer!r} ({type(module).__name__}) has no rule and does not run under vmap: {reason}; freeze it") from error
    return {use.names[role]: g.float().flatten(1) for role, g in found.items()}
