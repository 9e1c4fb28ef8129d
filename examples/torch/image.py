"""Private training of a small convolutional network on images.

    python image.py out                     # 1,797 digits of scikit-learn, if it is installed, else random images
    python image.py out --images train.npz  # arrays x (n × height × width) and y (n)
"""

import argparse

import numpy as np
import torch
from torch import nn

import veracity as v


def images(path):
    """Images between 0 and 1 with one channel, and labels."""
    if path is not None:
        with np.load(path) as arrays:
            x, y = arrays["x"].astype("float32"), arrays["y"]
            return torch.from_numpy(x / max(1.0, float(x.max())))[:, None], torch.from_numpy(y.astype("int64"))
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        generator = torch.Generator().manual_seed(0)
        y = torch.randint(10, (1797,), generator=generator)
        return torch.rand(1797, 1, 8, 8, generator=generator) * 0.1 + nn.functional.one_hot(y, 64).float().view(-1, 1, 8, 8), y
    digits = load_digits()
    return torch.from_numpy(digits.images.astype("float32") / 16)[:, None], torch.from_numpy(digits.target.astype("int64"))


def network(size):
    """Convolutions with group norm: batch norm mixes records, and is refused."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.GroupNorm(4, 16), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.GroupNorm(4, 32), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        nn.Flatten(), nn.Linear(32 * 4, 10),
    )  # fmt: skip


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("out")
    options.add_argument("--images")
    options.add_argument("--epsilon", type=float, default=3.0)
    options.add_argument("--epochs", type=float, default=10.0)
    chosen = options.parse_args()
    x, y = images(chosen.images)
    held_out = torch.arange(len(x)) % 6 == 0
    torch.manual_seed(0)
    model = network(x.shape[-1])
    run = v.torch.make_private(
        model,
        torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9),
        (x[~held_out], y[~held_out]),
        loss=nn.CrossEntropyLoss(reduction="none"),
        epsilon=chosen.epsilon,
        delta=1e-5,
        epochs=chosen.epochs,
        batch_size=128,
        clip_norm=1.0,
        micro_batch=64,
    )
    for batch in run.batches():
        run.step(batch)
    run.save(chosen.out)
    with torch.no_grad():
        right = (model(x[held_out]).argmax(1) == y[held_out]).float().mean()
    print(f"epsilon ≤ {run.epsilon():.3f} at delta 1e-05, accuracy {100 * right:.1f}% of {int(held_out.sum())} held-out images")


if __name__ == "__main__":
    main()
