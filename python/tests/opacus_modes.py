"""One small Opacus training in each clipping mode and loop that the tests audit, with all or none of its noise."""

import contextlib
import warnings

import torch
from opacus import PrivacyEngine
from opacus.utils.batch_memory_manager import BatchMemoryManager

RECORDS, RATE, STEPS, NOISE = 64, 0.5, 8, 1.0
ADAPTIVE = dict(
    target_unclipped_quantile=0.5, clipbound_learning_rate=0.2, max_clipbound=10.0, min_clipbound=0.1, unclipped_num_std=10.0
)


def network():
    """Two layers; four parameters of different shapes."""
    return torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))


def loader_of(records=RECORDS):
    features = torch.randn(records, 4)
    dataset = torch.utils.data.TensorDataset(features, (features[:, :1] > 0).float())
    return torch.utils.data.DataLoader(dataset, batch_size=int(RATE * RECORDS))


def made(part=1.0, *, clipping="flat", grad_sample_mode="hooks", engine=PrivacyEngine, poisson=True, model=None, **more):
    """(model, optimizer, criterion, loader) of a private training with `part` of the declared noise."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    model = network() if model is None else model
    bound = 0.7
    if clipping == "per_layer":
        bound = [0.2, 0.3, 0.4, 0.5][: len([p for p in model.parameters() if p.requires_grad])]
    if clipping == "adaptive":
        more = {**ADAPTIVE, **more}
    criterion = torch.nn.BCEWithLogitsLoss()
    found = engine().make_private(
        module=model,
        optimizer=torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1),
        criterion=criterion,
        data_loader=loader_of(),
        noise_multiplier=NOISE,
        max_grad_norm=bound,
        clipping=clipping,
        grad_sample_mode=grad_sample_mode,
        poisson_sampling=poisson,
        **more,
    )
    model, optimizer, *rest = found
    criterion, loader = rest if len(rest) == 2 else (criterion, *rest)
    optimizer.noise_multiplier *= part
    return model, optimizer, criterion, loader


def loop(model, optimizer, criterion, loader, *, autocast=False, physical=None, closure=False, accumulate=1):
    """A function that trains for STEPS steps."""

    def backward(x, y):
        with torch.autocast("cpu", torch.bfloat16) if autocast else contextlib.nullcontext():
            loss = criterion(model(x), y)
        loss.backward()

    def train():
        taken = 0
        # A skipped step of a memory manager is no step.
        managed = (
            BatchMemoryManager(data_loader=loader, max_physical_batch_size=physical, optimizer=optimizer)
            if physical
            else contextlib.nullcontext(loader)
        )
        with managed as batches:
            while taken < STEPS:
                for number, (x, y) in enumerate(batches):
                    if closure:
                        optimizer.zero_grad()
                        optimizer.step(lambda: backward(x, y))
                    else:
                        if number % accumulate == 0:
                            optimizer.zero_grad()
                        backward(x, y)
                        if number % accumulate == accumulate - 1:
                            optimizer.step()
                    taken += not optimizer._is_last_step_skipped

    return train


def flat(seed, part=1.0, **more):
    model, optimizer, criterion, loader = made(part)
    return optimizer, loop(model, optimizer, criterion, loader, **more)


def per_layer(seed, part=1.0):
    model, optimizer, criterion, loader = made(part, clipping="per_layer")
    return optimizer, loop(model, optimizer, criterion, loader)


def adaptive(seed, part=1.0):
    model, optimizer, criterion, loader = made(part, clipping="adaptive")
    return optimizer, loop(model, optimizer, criterion, loader)


def ghost(seed, part=1.0, **more):
    model, optimizer, criterion, loader = made(part, grad_sample_mode="ghost")
    return optimizer, loop(model, optimizer, criterion, loader, **more), criterion


def virtual_steps(seed, part=1.0):
    return flat(seed, part, physical=10)


def ghost_virtual_steps(seed, part=1.0):
    return ghost(seed, part, physical=10)


def mixed_precision(seed, part=1.0):
    return flat(seed, part, autocast=True)


def closures(seed, part=1.0):
    return flat(seed, part, closure=True)


def accumulation(seed, part=1.0):
    """Two backward passes for each step; Opacus forbids it for Poisson batches."""
    model, optimizer, criterion, loader = made(part, poisson=False)
    return optimizer, loop(model, optimizer, criterion, loader, accumulate=2)


def functorch(seed, part=1.0):
    model, optimizer, criterion, loader = made(part, grad_sample_mode="functorch")
    return optimizer, loop(model, optimizer, criterion, loader)


def expanded_weights(seed, part=1.0):
    model, optimizer, criterion, loader = made(part, grad_sample_mode="ew")
    return optimizer, loop(model, optimizer, criterion, loader)


def frozen(seed, part=1.0):
    """The first layer is not trained."""
    model = network()
    for parameter in model[0].parameters():
        parameter.requires_grad = False
    model, optimizer, criterion, loader = made(part, model=model)
    return optimizer, loop(model, optimizer, criterion, loader)


def unwrapped(seed, part=1.0):
    """The hooks are on the model itself, which is not wrapped."""
    own = network()
    _, optimizer, criterion, loader = made(part, model=own, wrap_model=False)
    return optimizer, loop(own, optimizer, criterion, loader)


#: The modes that an audit attacks.
SUPPORTED = [
    flat,
    per_layer,
    adaptive,
    ghost,
    virtual_steps,
    ghost_virtual_steps,
    mixed_precision,
    closures,
    functorch,
    expanded_weights,
    frozen,
    unwrapped,
]
