"""Small models of many kinds with a loss per record, and random records for them."""


import torch
import torch.nn.functional as F
from torch import nn

RECORDS = 6
torch.set_num_threads(1)  # threads cost these small models more than they give


class Transformer(nn.Module):
    """A causal language model with PyTorch's own layers."""

    def __init__(self, tied=False, vocabulary=23, width=16, steps=7):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.place = nn.Embedding(steps, width)
        self.block = nn.TransformerEncoderLayer(width, 2, 32, 0.0, batch_first=True, norm_first=True)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.head.weight = self.table.weight

    def forward(self, ids):
        steps = ids.shape[1]
        x = self.table(ids) + self.place(torch.arange(steps, device=ids.device).expand(ids.shape))
        mask = torch.ones(steps, steps, dtype=torch.bool, device=ids.device).triu(1)
        return self.head(self.norm(self.block(x, src_mask=mask)))


class Lora(nn.Module):
    """A frozen layer and a trained product of low rank."""

    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)

    def forward(self, x):
        return self.base(x) + 2.0 * self.up(self.down(x))


class Warp(nn.Module):
    """A layer that no rule covers."""

    def __init__(self, width):
        super().__init__()
        self.a, self.b = nn.Parameter(torch.randn(width)), nn.Parameter(torch.randn(1))

    def forward(self, x):
        return x * torch.tanh(self.a) + self.b


class Patches(nn.Module):
    """A small vision transformer, with a class token and positions of its own."""

    def __init__(self, width=16):
        super().__init__()
        self.cut = nn.Conv2d(3, width, 4, stride=4)
        self.token = nn.Parameter(torch.randn(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 5, width))
        self.block = nn.TransformerEncoderLayer(width, 2, 32, 0.0, batch_first=True)
        self.head = nn.Linear(width, 4)

    def forward(self, x):
        x = self.cut(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        return self.head(self.block(x)[:, 0])


class Repeated(nn.Module):
    """A parameter of shape (1, …) that does not stand for one copy per record."""

    def __init__(self):
        super().__init__()
        self.scale, self.head = nn.Parameter(torch.rand(1, 9)), nn.Linear(9, 4)

    def forward(self, x):
        return self.head(x * self.scale.repeat(len(x), 1) * self.scale.sum())


class Twice(nn.Module):
    """A layer that is used twice, an RMS norm, and a bias that is trained beside a frozen weight."""

    def __init__(self):
        super().__init__()
        self.inner, self.norm, self.head = nn.Linear(9, 9), nn.RMSNorm(9), nn.Linear(9, 4)
        self.head.weight.requires_grad_(False)

    def forward(self, x):
        return self.head(self.norm(self.inner(torch.relu(self.inner(x)))))


class Crossed(nn.Module):
    """Attention of one sequence to another."""

    def __init__(self):
        super().__init__()
        self.attend, self.head = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 4)

    def forward(self, x):
        mixed, _ = self.attend(x[:, :3], x[:, 3:], x[:, 3:], need_weights=False)
        return self.head(mixed.mean(1))


def token_loss(model, ids):
    """Next-token loss per record."""
    logits = model(ids[:, :-1])
    logits = getattr(logits, "logits", logits)
    return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none").view(len(ids), -1).mean(1)


def class_loss(model, batch):
    """Loss of a classifier per record."""
    inputs, labels = batch
    return F.cross_entropy(model(inputs), labels, reduction="none")


def _llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    size = dict(hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=3, num_key_value_heads=1, head_dim=8)
    return LlamaForCausalLM(LlamaConfig(**size, vocab_size=31, tie_word_embeddings=True, use_cache=False))


def _peft():
    from peft import LoraConfig, get_peft_model

    model = get_peft_model(_llama(), LoraConfig(r=2, target_modules=["q_proj", "v_proj", "up_proj"], init_lora_weights=False))
    return model


def _lora():
    model = Transformer()
    for p in model.parameters():
        p.requires_grad_(False)
    model.block.linear1, model.block.linear2 = Lora(model.block.linear1), Lora(model.block.linear2)
    return model


def _images():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(), nn.Conv2d(8, 4, 3, stride=2, padding="valid"), nn.Flatten(), nn.Linear(36, 4)
    )


def _series():
    return nn.Sequential(nn.Conv1d(3, 6, 3, dilation=2), nn.Tanh(), nn.Conv1d(6, 6, 3, groups=2), nn.Flatten(), nn.Linear(12, 4))


def _mlp():
    return nn.Sequential(nn.Linear(9, 12), nn.ReLU(), nn.Linear(12, 4))


def _custom():
    return nn.Sequential(nn.Linear(9, 12), Warp(12), nn.LayerNorm(12), nn.Linear(12, 4))


# Name → (model, shape of a record or None for tokens).
MODELS = {
    "mlp": (_mlp, (9,)),
    "transformer": (Transformer, None),
    "tied": (lambda: Transformer(tied=True), None),
    "lora": (_lora, None),
    "group-norm-cnn": (_images, (3, 8, 8)),
    "conv1d": (_series, (3, 8)),
    "vision": (Patches, (3, 8, 8)),
    "custom": (_custom, (9,)),
    "repeated": (Repeated, (9,)),
    "twice": (Twice, (5, 9)),
    "cross-attention": (Crossed, (7, 8)),
    "llama": (_llama, None),
    "peft": (_peft, None),
}


class Mean(nn.Module):
    """Makes a sequence of classifications one."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x).mean(1)


def build(name, seed=0):
    """Model, loss and records of one architecture."""
    torch.manual_seed(seed)
    make, shape = MODELS[name]
    model = make()
    if name == "twice":
        model = Mean(model)
    if shape is None:
        return model, token_loss, torch.randint(0, 23, (RECORDS, 8))
    return model, class_loss, (torch.randn(RECORDS, *shape), torch.randint(0, 4, (RECORDS,)))


def pick(batch, chosen):
    """Some records of a batch."""
    return tuple(t[chosen] for t in batch) if isinstance(batch, tuple) else batch[chosen]


def slow_gradients(model, loss, batch):
    """Gradients in double precision, one record at a time, as one row per record."""
    import copy

    model = copy.deepcopy(model).double()
    double = lambda t: t.double() if t.is_floating_point() else t
    batch = tuple(map(double, batch)) if isinstance(batch, tuple) else double(batch)
    parameters = [p for p in model.parameters() if p.requires_grad]
    rows = []
    for record in range(RECORDS):
        grads = torch.autograd.grad(loss(model, pick(batch, slice(record, record + 1))).sum(), parameters)
        rows.append(torch.cat([g.flatten() for g in grads]))
    return torch.stack(rows)
