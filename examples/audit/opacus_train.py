"""One private training with Opacus, as `veracity audit --command` runs it: one process for one trial.

    python opacus_train.py --data people.csv --seed 7 --out score

A linear model of the last column is fitted to the others by full-batch gradient descent (a batch of all records is Poisson
sampling at rate 1, so the mechanism is Gaussian). The column `canary` is zero in every record but the canary's own, whose
target is far off: its clipped gradient has norm 1 in every step and shares no coordinate with anyone else's. The score is
the weight of that column.

--halve-noise plants a bug: half of the noise that --noise-multiplier declares is added.
"""

import argparse
import csv

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--data", required=True)
    flags.add_argument("--seed", type=int, required=True)
    flags.add_argument("--out", required=True)
    flags.add_argument("--noise-multiplier", type=float, default=1.6)
    flags.add_argument("--steps", type=int, default=4)
    flags.add_argument("--halve-noise", action="store_true")
    args = flags.parse_args()

    torch.manual_seed(args.seed)
    with open(args.data, newline="") as file:
        header, *rows = csv.reader(file)
    records = torch.tensor([[float(cell) for cell in row] for row in rows])
    features, targets = records[:, :-1], records[:, -1:]

    model = torch.nn.Linear(features.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    loader = DataLoader(TensorDataset(features, targets), batch_size=len(records))
    noise = args.noise_multiplier / 2 if args.halve_noise else args.noise_multiplier
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=noise,
        max_grad_norm=1.0,
    )
    loss = torch.nn.MSELoss(reduction="mean")
    for _ in range(args.steps):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()

    weight = next(model.parameters()).detach()[0, header.index("canary")]
    with open(args.out, "w") as file:
        file.write(repr(float(weight)))


if __name__ == "__main__":
    main()
