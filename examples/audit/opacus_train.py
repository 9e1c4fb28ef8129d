"""Private trainings with Opacus, as `veracity audit --worker --command` runs them: one process for many trials.

    python opacus_train.py [--noise-multiplier 1.6] [--steps 4] [--planned-records 64] [--halve-noise]

It reads a trial from each line of its standard input, {"id": 1, "seed": 7, "data": "people.csv"}, and answers {"id": 1, "score": 0.25}.

A linear model of the last column is fitted to the others by full-batch gradient descent (a batch of all records is Poisson
sampling at rate 1, so the mechanism is Gaussian). The column `canary` is zero in every record but the canary's own, whose
target is far off: its clipped gradient has norm 1 in every step and shares no coordinate with anyone else's. The score is
the weight of that column.

The data have one record more in one of the two worlds. Opacus would take the batch size that it divides gradients by from their number, and
the worlds would differ in more than the canary. So gradients are summed, and --planned-records, which is public, sets the step.

--halve-noise plants a bug: half of the noise that --noise-multiplier declares is added.
"""

import argparse
import csv
import json
import sys
import warnings

import torch
from opacus import PrivacyEngine
from torch.utils.data import DataLoader, TensorDataset


def train(path, seed, noise_multiplier, steps, planned_records):
    """The weight of the canary's column after one private training."""
    torch.manual_seed(seed)
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    records = torch.tensor([[float(cell) for cell in row] for row in rows])
    features, targets = records[:, :-1], records[:, -1:]

    model = torch.nn.Linear(features.shape[1], 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0 / planned_records)
    loader = DataLoader(TensorDataset(features, targets), batch_size=len(records))
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=noise_multiplier,
        max_grad_norm=1.0,
        loss_reduction="sum",
    )
    loss = torch.nn.MSELoss(reduction="sum")
    for _ in range(steps):
        for x, y in loader:
            optimizer.zero_grad()
            loss(model(x), y).backward()
            optimizer.step()
    return float(next(model.parameters()).detach()[0, header.index("canary")])


def main():
    flags = argparse.ArgumentParser()
    flags.add_argument("--noise-multiplier", type=float, default=1.6)
    flags.add_argument("--steps", type=int, default=4)
    flags.add_argument("--planned-records", type=int, default=64)
    flags.add_argument("--halve-noise", action="store_true")
    args = flags.parse_args()
    noise = args.noise_multiplier / 2 if args.halve_noise else args.noise_multiplier
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    for line in sys.stdin:
        trial = json.loads(line)
        score = train(trial["data"], trial["seed"], noise, args.steps, args.planned_records)
        print(json.dumps({"id": trial["id"], "score": score}), flush=True)


if __name__ == "__main__":
    main()
