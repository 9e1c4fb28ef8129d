"""Training loops of Opacus that the tests audit; in a module of their own, so that other processes can import them."""

import warnings

import torch
from opacus import PrivacyEngine

RECORDS, RATE, STEPS, NOISE = 64, 0.5, 8, 1.0


def honest(seed, part=1.0):
    """Logistic regression; `part` is the part of the noise that is really added."""
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    features = torch.randn(RECORDS, 4)
    labels = (features[:, 0] > 0).float()
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(features, labels), batch_size=int(RATE * RECORDS))
    model = torch.nn.Linear(4, 1)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=loader,
        noise_multiplier=NOISE,
        max_grad_norm=0.7,
    )
    optimizer.noise_multiplier *= part

    def train():
        taken = 0
        while taken < STEPS:
            for x, y in loader:
                optimizer.zero_grad()
                torch.nn.functional.binary_cross_entropy_with_logits(model(x).squeeze(-1), y).backward()
                optimizer.step()
                taken += 1

    return optimizer, train


def half_noise(seed):
    """The same with half of the declared noise."""
    return honest(seed, 0.5)


def sum_of_unclipped(seed):
    """Gradients are summed without being clipped."""
    optimizer, train = honest(seed)

    def clip_nothing():
        for parameter in optimizer.params:
            parameter.summed_grad = parameter.grad_sample.sum(0)

    optimizer.clip_and_accumulate = clip_nothing
    return optimizer, train


def without_steps(seed):
    """Nothing is trained."""
    return honest(seed)[0], lambda: None
