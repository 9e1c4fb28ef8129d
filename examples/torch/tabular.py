"""Private training of a tabular transformer by person: each row is a visit, and the unit of privacy is the patient.

    python tabular.py out
"""

import argparse

import torch
from torch import nn

import veracity as v

COLUMNS, WIDTH = 8, 32


class TabularTransformer(nn.Module):
    """One token per column."""

    def __init__(self):
        super().__init__()
        self.scale, self.place = nn.Linear(1, WIDTH), nn.Embedding(COLUMNS, WIDTH)
        self.attention, self.norm = nn.Linear(WIDTH, 3 * WIDTH), nn.LayerNorm(WIDTH)
        self.head = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, 2))

    def forward(self, rows):
        places = torch.arange(COLUMNS, device=rows.device).expand(len(rows), -1)
        x = self.scale(rows.unsqueeze(-1)) + self.place(places)
        q, k, value = self.attention(self.norm(x)).chunk(3, -1)
        return self.head((x + nn.functional.scaled_dot_product_attention(q, k, value)).mean(1))


def visits(patients, seed):
    """Made-up visits: 1 to 200 rows per patient, and a label that two columns decide."""
    generator = torch.Generator().manual_seed(seed)
    counts = (torch.rand(patients, generator=generator) ** -0.7).clamp(1, 200).long()
    rows = torch.randn(int(counts.sum()), COLUMNS, generator=generator)
    return rows, (rows[:, 0] * rows[:, 1] > 0).long(), torch.arange(patients).repeat_interleave(counts)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("out")
    options.add_argument("--patients", type=int, default=4000)
    options.add_argument("--epochs", type=float, default=10.0)
    chosen = options.parse_args()
    rows, labels, who = visits(chosen.patients, 1)
    torch.manual_seed(0)
    model = TabularTransformer()
    run = v.torch.make_private(
        model,
        torch.optim.Adam(model.parameters(), lr=5e-3),
        (rows, labels),
        loss=nn.CrossEntropyLoss(reduction="none"),
        person=who,
        unit="patient",
        epsilon=3,
        delta=1e-5,
        epochs=chosen.epochs,
        batch_size=200,
        clip_norm=1.0,
    )
    for batch in run.batches():
        run.step(batch)
    claim = run.save(chosen.out)
    rows, labels, _ = visits(500, 2)
    with torch.no_grad():
        right = (model(rows).argmax(1) == labels).float().mean()
    print(claim)
    print(f"accuracy on new patients: {100 * right:.1f}%")


if __name__ == "__main__":
    main()
