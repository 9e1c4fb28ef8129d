"""Small trainings for tests: 200 records with 6 numbers and 3 classes."""

import torch
from torch import nn

import veracity.torch as private


def records(count=200, seed=1):
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(count, 6, generator=generator)
    return features, (features[:, :3].argmax(1))


def model(width=8):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, 3))


def loss(model, batch):
    return nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="none")


def make(data=None, net=None, optimizer=None, **changes):
    net = model() if net is None else net
    settings = dict(
        loss=loss, noise_multiplier=1.0, delta=1e-3, steps=6, batch_size=20, clip_norm=1.0, micro_batch=8, seed=5, dataset_size=200, canaries=0
    )
    settings.update(changes)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9) if optimizer is None else optimizer(net)
    return private.make_private(net, optimizer, records() if data is None else data, **settings)


def train(run, steps=None):
    for batch in run.batches():
        run.step(batch)
        if steps is not None and run.steps_done >= steps:
            break
    return run


def weights(run):
    return torch.cat([p.detach().reshape(-1) for p in run.model.parameters()])
