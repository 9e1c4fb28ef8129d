"""Times one training task of a peer in one process and prints one JSON object: per_second, gflops, peak_kib.

train_peer.py step logistic|network|cnn 64|256|2048 plain|hooks|ghost    examples a second
train_peer.py cohort digits|network opacus|vmap                          complete trainings a second
train_peer.py product                                                    a large matrix product

Batches are of fixed size and drawn by index from a tensor in memory, which spares the peers their data loaders and the
Poisson sampling that we do. Noise multiplier and clip norm are 1. The data are random: speed does not depend on them.
"""

import json
import resource
import sys
import time
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
SECONDS = 1.5


def best(units, work):
    """Units of work a second: the best of runs that together take SECONDS, three at least. The first is not counted."""
    work()
    shortest, runs, begun = float("inf"), 0, time.perf_counter()
    while runs < 3 or time.perf_counter() - begun < SECONDS:
        started = time.perf_counter()
        work()
        shortest = min(shortest, time.perf_counter() - started)
        runs += 1
    return units / shortest


def say(per_second, flops):
    """flops: for one unit of work; 0 where they are not counted."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"tool": "peer", "per_second": per_second, "gflops": per_second * flops / 1e9, "peak_kib": peak}))


def dense(sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def dense_flops(sizes):
    """Two for each multiplication and addition: forward, gradients, and the way back but for the first layer."""
    products = [inputs * outputs for inputs, outputs in zip(sizes, sizes[1:])]
    return 4 * products[0] + 6 * sum(products[1:])


def convolutional():
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(), nn.MaxPool2d(2, 1),
        nn.Flatten(), nn.Linear(32 * 4 * 4, 32), nn.ReLU(), nn.Linear(32, 10),
    )


def models(name):
    """A model, and the operations that one example costs."""
    if name == "cnn":
        # Outputs × weights behind each: 14² × 64 × 16, 5² × 256 × 32, then the dense layers.
        first, others = 14 * 14 * 64 * 16, 5 * 5 * 256 * 32 + 512 * 32 + 32 * 10
        return convolutional(), 4 * first + 6 * others
    sizes = {"logistic": [784, 10], "network": [784, 256, 10]}[name]
    return dense(sizes), dense_flops(sizes)


def private(model, optimizer, rows, batch, mode):
    from opacus import PrivacyEngine

    data = torch.utils.data.TensorDataset(*rows)
    loader = torch.utils.data.DataLoader(data, batch_size=batch)
    criterion = nn.CrossEntropyLoss()
    options = dict(module=model, optimizer=optimizer, data_loader=loader, noise_multiplier=1.0, max_grad_norm=1.0,
                   poisson_sampling=False)
    engine = PrivacyEngine(accountant="rdp")
    if mode == "ghost":
        model, optimizer, criterion, _ = engine.make_private(grad_sample_mode="ghost", criterion=criterion, **options)
    else:
        model, optimizer, _ = engine.make_private(grad_sample_mode="hooks", **options)
    # The accountant's own work is no part of a step.
    optimizer.attach_step_hook(lambda _: None)
    return model, optimizer, criterion


def training(model, optimizer, criterion, rows, batch, steps):
    x, y = rows

    def work():
        for _ in range(steps):
            records = torch.randint(len(x), (batch,))
            optimizer.zero_grad(set_to_none=True)
            criterion(model(x[records]), y[records]).backward()
            optimizer.step()

    return work


def random_rows(count, width):
    return torch.rand(count, width), torch.randint(10, (count,))


def step(name, batch, mode):
    rows = random_rows(10_000, 784)
    model, flops = models(name)
    optimizer, criterion = torch.optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss()
    if mode != "plain":
        model, optimizer, criterion = private(model, optimizer, rows, batch, mode)
    steps = max(2, 4096 // batch)
    say(best(steps * batch, training(model, optimizer, criterion, rows, batch, steps)), flops)


def cohort(name, tool):
    sizes, count, batch = {"digits": ([64, 10], 1797, 64), "network": ([784, 128, 10], 2000, 128)}[name]
    rows = random_rows(count, sizes[0])
    flops = 100 * batch * dense_flops(sizes)
    if tool == "opacus":
        def work():
            model = dense(sizes)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            training(*private(model, optimizer, rows, batch, "ghost"), rows, batch, 100)()

        say(best(1, work), flops)
    else:
        together = 50 if name == "digits" else 4
        say(best(together, lambda: by_vmap(sizes, rows, batch, together)), flops)


def by_vmap(sizes, rows, batch, together):
    """DP-SGD of many models at once, as torch.func has it: gradients of every example of every model."""
    from torch.func import functional_call, grad, stack_module_state, vmap

    modules = [dense(sizes) for _ in range(together)]
    parameters, _ = stack_module_state(modules)
    parameters = {name: value.detach() for name, value in parameters.items()}
    x, y = rows

    def loss(parameters, x, y):
        return nn.functional.cross_entropy(functional_call(modules[0], parameters, (x[None],)), y[None])

    per_example = vmap(vmap(grad(loss), in_dims=(None, 0, 0)))
    for _ in range(100):
        records = torch.randint(len(x), (together, batch))
        gradients = per_example(parameters, x[records], y[records])
        norms = sum(g.flatten(2).square().sum(2) for g in gradients.values()).sqrt()
        factors = (1.0 / norms).clamp(max=1.0)
        for name, g in gradients.items():
            total = torch.einsum("mb,mb...->m...", factors, g)
            parameters[name] = parameters[name] - 0.1 / batch * (total + torch.randn_like(total))


def product():
    left, right = torch.rand(2048, 2048), torch.rand(2048, 2048)
    say(best(1, lambda: left @ right), 2 * 2048**3)


def main(words):
    torch.manual_seed(1)
    match words:
        case ["step", name, batch, mode]:
            step(name, int(batch), mode)
        case ["cohort", name, tool]:
            cohort(name, tool)
        case ["product"]:
            product()
        case _:
            sys.exit(__doc__)


main(sys.argv[1:])
