"""Private fine-tuning of a text classifier with LoRA: only the adapters and the head are trained, and only they need noise.

    python text_lora.py train.tsv dev.tsv out

The files have a header and the columns `label` and `sentence`, as SST-2 has. They may be compressed. Without a pretrained model at hand, the
body is a small transformer with random weights, so the accuracy is low. Replace `Body` by a pretrained model, and keep the rest.
"""

import argparse
import csv
import gzip
import hashlib

import torch
from torch import nn

import veracity as v

WORDS, LENGTH, WIDTH = 8192, 64, 128


def read(path, limit):
    """Token ids of fixed length, and labels. A word is its hash, so no vocabulary is learned from private texts."""
    tokens, labels = [], []
    with (gzip.open(path, "rt") if str(path).endswith(".gz") else open(path)) as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            words = row["sentence"].lower().split()[:LENGTH]
            ids = [1 + int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest(), "little") % (WORDS - 1) for word in words]
            tokens.append(ids + [0] * (LENGTH - len(ids)))
            labels.append(int(row["label"]))
            if len(labels) == limit:
                break
    return torch.tensor(tokens), torch.tensor(labels)


class LowRank(nn.Module):
    """A frozen linear layer with a trained low-rank change, as in LoRA."""

    def __init__(self, base, rank=8):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down, self.up = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


class Block(nn.Module):
    """Attention and a feed-forward layer."""

    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH).requires_grad_(False), nn.LayerNorm(WIDTH).requires_grad_(False)
        self.mix, self.out = LowRank(nn.Linear(WIDTH, 3 * WIDTH)), LowRank(nn.Linear(WIDTH, WIDTH))
        self.widen, self.narrow = LowRank(nn.Linear(WIDTH, 4 * WIDTH)), LowRank(nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        q, k, value = self.mix(self.before(x)).unflatten(-1, (3, 4, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.out(nn.functional.scaled_dot_product_attention(q, k, value).transpose(1, 2).flatten(2))
        return x + self.narrow(nn.functional.gelu(self.widen(self.between(x))))


class Classifier(nn.Module):
    """A frozen embedding, two blocks and a trained head."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH).requires_grad_(False)
        self.blocks, self.head = nn.Sequential(Block(), Block()), nn.Linear(WIDTH, 2)

    def forward(self, tokens):
        known = (tokens > 0).unsqueeze(-1).float()
        x = self.blocks(self.embed(tokens))
        return self.head((x * known).sum(1) / known.sum(1).clamp(min=1))


def loss(model, batch):
    """One number per record."""
    return nn.functional.cross_entropy(model(batch[0]), batch[1], reduction="none")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("train")
    options.add_argument("dev")
    options.add_argument("out")
    options.add_argument("--epsilon", type=float, default=3.0)
    options.add_argument("--epochs", type=float, default=3.0)
    options.add_argument("--batch-size", type=int, default=1024)
    options.add_argument("--limit", type=int, default=10**9, help="read only so many records")
    chosen = options.parse_args()
    torch.manual_seed(0)
    dataset, model = read(chosen.train, chosen.limit), Classifier()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-3)
    run = v.torch.make_private(
        model, optimizer, dataset, loss=loss, epsilon=chosen.epsilon, delta=1e-6, epochs=chosen.epochs, batch_size=chosen.batch_size, clip_norm=1.0
    )
    for batch in run.batches():
        run.step(batch)
        print(f"step {run.steps_done} of {run.plan.steps}: epsilon ≤ {run.epsilon():.3f}", flush=True)
    run.save(chosen.out, trainable_only=True)
    with torch.no_grad():
        tokens, labels = read(chosen.dev, chosen.limit)
        right = (torch.cat([model(part) for part in tokens.split(256)]).argmax(1) == labels).float().mean()
    print(f"accuracy on {chosen.dev}: {100 * right:.1f}% of {len(labels)} records")
    print(run.audit())


if __name__ == "__main__":
    main()
