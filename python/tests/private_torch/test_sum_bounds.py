"""Bounds of single leaves against exact arithmetic, with data made to break them."""

import math
import random
from fractions import Fraction

import pytest
import torch

from veracity.torch import _sums
from veracity.torch._clip import RecordSums
from veracity.torch._sums import Product, Rows, Small, Target, Tied
from veracity.torch._sums_limbs import BASE, MOST, limbs_are_exact

RECORDS = 4


def exact(t):
    """A float tensor as nested lists of fractions."""
    return [exact(part) for part in t] if t.dim() else Fraction(t.item())


def exact_product(x, g):
    """Gradient of one record, outputs × inputs, in rational arithmetic."""
    x, g = exact(x), exact(g)
    return [[sum(gt[o] * xt[i] for gt, xt in zip(g, x)) for i in range(len(x[0]))] for o in range(len(g[0]))]


def squared(rows):
    return sum(value * value for row in rows for value in row)


def cancelling(steps, width, generator):
    """Positions that almost cancel each other."""
    x = torch.randn(RECORDS, steps, width, generator=generator)
    x[:, 1::2] = x[:, ::2] * (1 + 1e-6 * torch.randn(RECORDS, steps // 2, width, generator=generator))
    return x


def cases():
    generator = torch.Generator().manual_seed(5)
    normal = lambda *shape: torch.randn(*shape, generator=generator)
    for steps, inputs, outputs in [(1, 6, 5), (4, 20, 12), (24, 5, 4), (12, 3, 9)]:
        shape = (RECORDS, steps)
        x, g = normal(*shape, inputs), normal(*shape, outputs)
        yield x, g
        yield x.exp().pow(6), g.exp().pow(6)
        yield x * 1e-22, g * 1e-22
        yield x * 1e18, g * 1e-30
        yield x.bfloat16().float(), g.bfloat16().float()
        spiked = x.clone()
        spiked[:, 0, 0] = 1e6
        yield spiked, g * torch.logspace(-8, 0, steps)[:, None]
        yield torch.zeros_like(x), g
        if steps > 1:
            alternating = torch.ones(steps)
            alternating[1::2] = -1
            yield cancelling(steps, inputs, generator), g[:, :1] * alternating[:, None]
            yield torch.ones_like(x) + 1e-7 * x, torch.ones_like(g) * alternating[:, None]


CASES = list(cases())


@pytest.mark.parametrize("form", ["_direct", "_gram"])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_squared_norms_are_upper_bounds(case, form):
    x, g = CASES[case]
    leaf = Product(x, [Target("w", g)])
    leaf.squares()
    found = getattr(leaf, form)()
    for record in range(RECORDS):
        bound = found[record].item()
        # A record without a finite bound contributes zero.
        assert not math.isfinite(bound) or Fraction(bound) >= squared(exact_product(x[record], g[record]))


def test_without_the_error_bound_a_norm_can_be_too_small():
    """Control: some of these cases break a norm that is computed in single precision and believed."""
    broken = 0
    for x, g in CASES:
        inner, outer = torch.bmm(x, x.transpose(1, 2)), torch.bmm(g, g.transpose(1, 2))
        believed = (inner * outer).sum((1, 2))
        broken += sum(Fraction(max(believed[r].item(), 0)) < squared(exact_product(x[r], g[r])) for r in range(RECORDS))
    assert broken > 10


def contribution(leaf, factor, shape):
    """Integers that a leaf adds for a factor, and the bound of their norm."""
    return added(leaf, factor, leaf.squares().sqrt(), shape)


def added(leaf, factor, norm, shape):
    rounding = leaf.spread(factor)
    factor = torch.minimum(factor, leaf.limit(factor))
    sums = {"w": torch.zeros(shape, dtype=torch.int64)}
    leaf.add(factor, sums)
    return sums["w"], torch.where(factor > 0, factor * norm, 0.0) + rounding


@pytest.mark.parametrize("limbs", [True, False])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_a_contribution_is_at_most_factor_times_norm_and_the_rounding(case, limbs):
    x, g = CASES[case]
    for unit in (2.0**33, 2.0**20, 1.0):
        for record in range(RECORDS):
            alone = (torch.arange(RECORDS) == record).double()
            leaf = Product(x, [Target("w", g)])
            leaf.use_limbs = limbs
            norm = leaf.squares().sqrt()
            factor = torch.where(alone.bool() & norm.isfinite(), unit / norm.clamp(min=1e-30), 0.0)
            if not norm.isfinite().all():   # `RecordSums` drops such a record
                leaf.drop(~norm.isfinite())
            integers, bound = added(leaf, factor, norm, (g.shape[2], x.shape[2]))
            assert sum(k * k for k in integers.flatten().tolist()) <= Fraction(bound[record].item()) ** 2


@pytest.mark.skipif(not limbs_are_exact(torch.device("cpu")), reason="this processor saturates 8-bit products")
@pytest.mark.parametrize("case", range(len(CASES)))
def test_products_of_limbs_and_of_doubles_are_integers_of_the_same_factors(case):
    """Both products against Python integers of the factors that the leaf chose."""
    x, g = CASES[case]
    for limbs in (True, False):
        leaf = Product(x, [Target("w", g)])
        leaf.use_limbs = limbs
        norm = leaf.squares().sqrt()
        factor = torch.where(norm.isfinite(), 2.0**30 / norm.clamp(min=1e-20), 0.0)
        integers, _ = contribution(leaf, factor, (g.shape[2], x.shape[2]))
        factor = torch.minimum(factor, leaf.limit(factor))
        steps_g = (factor[:, None] * leaf.step).float()
        live = steps_g > 0
        left = torch.mul(g, steps_g[..., None]).round().flatten(0, 1).tolist()
        right = torch.mul(x, ((1 / leaf.step).float() * live)[..., None]).round().flatten(0, 1).tolist()
        for o in range(g.shape[2]):
            for i in range(x.shape[2]):
                assert integers[o, i].item() == sum(int(a[o]) * int(b[i]) for a, b in zip(left, right))


def test_two_limbs_hold_their_largest_integer():
    assert MOST == 127 * BASE + 126
    t = torch.tensor([[MOST, -MOST, 127.5, -127.5, 0.5, 381.0, -381.0, 32_258.5]])
    scratch = _sums.SCRATCH
    found = _sums_limbs_of(t, scratch)
    assert torch.equal(found, t.round().long())


def _sums_limbs_of(t, scratch):
    from veracity.torch._sums_limbs import limbs

    parts = limbs(t[None], torch.ones(1, 1), scratch, "test").long()
    return parts[:, : t.shape[1]] * BASE + parts[:, t.shape[1] :]


def test_rows_of_a_table_and_their_bound():
    generator = torch.Generator().manual_seed(2)
    ids = torch.tensor([[0, 1, 2, 3], [1, 1, 1, 1], [4, 0, 4, 0], [2, 2, 2, 0]])
    g = torch.randn(RECORDS, 4, 3, generator=generator)
    g[1, 1] = -g[1, 0]   # repeated ids whose gradients cancel
    g[1, 3] = -g[1, 2]
    for record in range(RECORDS):
        wanted = torch.zeros(5, 3, dtype=torch.float64).index_add_(0, ids[record], g[record].double())
        factor = torch.where(torch.arange(RECORDS) == record, 2.0**20, 0.0).double()
        leaf = Rows("w", ids, g)
        integers, bound = contribution(leaf, factor, (5, 3))
        assert (integers.double() / 2**20 - wanted).abs().max() < 2e-6
        assert leaf.squares()[record] >= wanted.square().sum() * (1 - 1e-6)
        assert sum(k * k for k in integers.flatten().tolist()) <= bound[record].item() ** 2


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_two_parts_of_a_tied_table_meet(sign):
    """The head's gradient is made to double or to cancel that of the table."""
    generator = torch.Generator().manual_seed(4)
    ids = torch.tensor([[0, 1, 2]]).expand(RECORDS, 3)
    x = torch.randn(RECORDS, 3, 4, generator=generator)
    g = torch.eye(3).expand(RECORDS, 3, 3).contiguous()
    e = sign * x.clone()   # the head's gradient is x row by row
    leaf = Tied(Rows("w", ids, e), Product(x, [Target("w", g)]))
    found = leaf.squares()
    for record in range(RECORDS):
        wanted = sum((a + b) ** 2 for a, b in zip(exact(x[record].flatten()), exact(e[record].flatten())))
        assert Fraction(found[record].item()) >= wanted
        assert found[record] <= float(wanted) * 1.0001 + 1e-4


def test_small_gradients_and_their_bound():
    for scale in (1.0, 1e-30, 1e17):
        g = torch.randn(RECORDS, 37, generator=torch.Generator().manual_seed(1)) * scale
        for record in range(RECORDS):
            factor = (torch.arange(RECORDS) == record).double() * (2.0**33 / (6 * scale))
            integers, bound = contribution(Small("w", g), factor, (37,))
            assert 0 < sum(k * k for k in integers.tolist()) <= Fraction(bound[record].item()) ** 2


def hostile_factors(seed):
    """Inputs and output gradients of widely different sizes, some of which cancel and some of which are not finite."""
    generator, pick = torch.Generator().manual_seed(seed), random.Random(seed)
    steps, inputs, outputs = pick.choice([(1, 5, 7), (3, 8, 4), (16, 20, 30), (8, 40, 3), (24, 6, 6)])
    spread, middle = pick.choice([0, 0, 6, 20, 40]), pick.choice([0, 0, 5, 20, 30])

    def draw(width):
        sizes = 10 ** (torch.rand(RECORDS, steps, 1, generator=generator) * spread - middle)
        return torch.randn(RECORDS, steps, width, generator=generator) * sizes

    x, g = draw(inputs), draw(outputs)
    if steps > 1 and pick.random() < 0.4:
        even = slice(0, steps // 2 * 2, 2)
        g[:, 1::2] = -g[:, even]
        x[:, 1::2] = x[:, even] * (1 + 1e-6 * torch.randn(RECORDS, steps // 2, inputs, generator=generator))
    if pick.random() < 0.3:
        x[0, 0, 0] = pick.choice([float("inf"), float("nan"), 3e38, 1e-45])
    return x, g, pick


def test_a_search_finds_no_record_that_passes_the_clip_norm():
    largest, moved = Fraction(0), 0
    for seed in range(80):
        x, g, pick = hostile_factors(seed)
        clip_norm = 10 ** pick.uniform(-6, 6)
        sums = RecordSums(
            torch.nn.Linear(x.shape[2], g.shape[2]),
            lambda model, batch: batch,
            clip_norm=clip_norm,
            grid=clip_norm * 2.0 ** -pick.choice([10, 20, 26, 33, 39]),
            micro_batch=RECORDS,
            clipping=pick.choice(["flat", "per-layer", "automatic"]),
        )
        for record in range(RECORDS):
            sums.clear()
            sums.clip([Product(x, [Target("weight", g)]), Small("bias", g.sum(1))], torch.arange(RECORDS) == record)
            share = sum(k * k for k in sums.sums.tolist()) * (Fraction(sums.unit) / Fraction(clip_norm)) ** 2
            largest, moved = max(largest, share), moved + (share > 0)
    # Most of the ordinary and many of the hostile records do contribute, so that the search is not empty.
    assert Fraction(99, 100) < largest <= 1
    assert moved > 80


def test_a_factor_whose_sum_would_pass_double_precision_is_lowered():
    generator = torch.Generator().manual_seed(9)
    x, g = torch.randn(RECORDS, 8, 6, generator=generator), torch.randn(RECORDS, 8, 5, generator=generator)
    leaf = Product(x, [Target("w", g)])
    leaf.squares()
    wanted = torch.full((RECORDS,), 2.0**54, dtype=torch.float64)
    leaf.spread(wanted)
    factor = leaf.limit(wanted)
    assert (factor < wanted).all() and (factor > 2.0**40).all()
    sums = {"w": torch.zeros(5, 6, dtype=torch.int64)}
    leaf.add(factor, sums)
    left = torch.mul(g, (factor[:, None] * leaf.step).float()[..., None]).round().flatten(0, 1).tolist()
    right = torch.mul(x, (1 / leaf.step).float()[..., None]).round().flatten(0, 1).tolist()
    for o in range(5):
        for i in range(6):
            terms = [int(a[o]) * int(b[i]) for a, b in zip(left, right)]
            assert sums["w"][o, i].item() == sum(terms) and sum(map(abs, terms)) <= 2**53
