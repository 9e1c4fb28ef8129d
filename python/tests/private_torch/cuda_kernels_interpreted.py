"""The CUDA kernels on this machine, by the interpreter of Triton: exact sums, and norms against double precision. Prints `ok` at the end."""

import os

os.environ["TRITON_INTERPRET"] = "1"

import torch
from veracity.torch import _cuda, _cuda_kernels
from veracity.torch._sums import Target

torch.manual_seed(7)


def expected(g: torch.Tensor, x: torch.Tensor, factor: torch.Tensor) -> torch.Tensor:
    """Sum of the rounded products, where a record without a factor has none."""
    live = [b for b in range(len(g)) if factor[b] != 0]
    return sum(((g[b].T @ x[b]) * factor[b]).round().long() for b in live)


def sums_are_exact() -> None:
    for records, steps, inputs, outputs in ((5, 7, 20, 33), (3, 1, 16, 70), (2, 40, 65, 64)):
        # Integers below 2^24 whose products are exact in single precision, so that the reference rounds the same number.
        x = torch.randint(-9, 10, (records, steps, inputs)).float()
        g = torch.randint(-9, 10, (records, steps, outputs)).float()
        factor = torch.tensor([2.0**-1, 2.0**7, 0.0, 2.0**-3, 1.0])[:records]
        if records == 5:
            g[2, 0, 0], x[2, 1, 1] = torch.nan, torch.inf
        into = torch.full((outputs, inputs), 2**40)
        _cuda_kernels.add_products(into, g, x, factor)
        assert torch.equal(into - 2**40, expected(g, x, factor))
        # Rows of a larger table, and a transposed one.
        table = torch.zeros(outputs + 4, inputs, dtype=torch.int64)
        _cuda_kernels.add_products(table[2:-2], g, x, factor)
        assert torch.equal(table[2:-2], expected(g, x, factor)) and not table[:2].any() and not table[-2:].any()
    for size in (1, 511, 1025):
        grads = torch.randint(-(2**20), 2**20, (4, size)).float() / 2
        factor = torch.tensor([1.0, 0.0, 2.0, 4.0])
        grads[1] = torch.nan
        into = torch.zeros(size, dtype=torch.int64)
        _cuda_kernels.add_rows(into, grads, factor)
        live = [0, 2, 3]
        assert torch.equal(into, (grads[live] * factor[live, None]).round().long().sum(0))


def norms_are_bounded() -> None:
    for steps, scale in ((1, 1.0), (5, 1e3), (130, 1e-3)):
        x, first, second = (scale * torch.randn(3, steps, width) for width in (24, 33, 17))
        x[1] = x[1, :1]  # equal positions, which cancel nothing
        first[2, ::2] = -first[2, 1::2][: len(first[2, ::2])] if steps % 2 == 0 else first[2, ::2]
        leaf = _cuda.CudaProduct(x, [Target("a", first), Target("b", second)])
        truth = sum(torch.bmm(g.double().transpose(1, 2), x.double()).square().sum((1, 2)) for g in (first, second))
        found = leaf.squares()
        assert (found >= truth).all(), (steps, found, truth)
        assert (found <= truth * 1.3 + 1e-20).all(), (steps, found / truth)
        for g, name in ((first, "a"), (second, "b")):
            factor = 2.0**20 / found.sqrt()
            sums = {name: torch.zeros(g.shape[2], 24, dtype=torch.int64)}
            one = _cuda.CudaProduct(x, [Target(name, g)])
            norm = one.squares().sqrt()
            for record in range(3):
                sums[name].zero_()
                alone = torch.where(torch.arange(3) == record, factor, 0.0)
                one.add(alone, sums)
                assert float(sums[name].double().norm()) <= float((factor * norm + one.spread(factor))[record])


def norm_layers_are_right() -> None:
    for steps, width in ((1, 5), (9, 48)):
        x, g = torch.randn(3, steps, width, dtype=torch.float64), torch.randn(3, steps, width, dtype=torch.float64)
        for is_centered in (True, False):
            h = x - x.mean(2, keepdim=True) if is_centered else x
            h = h * torch.rsqrt(h.square().mean(2, keepdim=True) + 1e-5)
            weight, bias = _cuda_kernels.norm_grads(x.float(), g.float(), 1e-5, is_centered, True)
            assert torch.allclose(weight.double(), (g * h).sum(1), atol=1e-4) and torch.allclose(bias.double(), g.sum(1), atol=1e-4)


def leaves_together_are_the_same() -> None:
    class Layout:
        slices = {"a": slice(0, 30 * 24), "n": slice(720, 725), "m": slice(725, 731), "b": slice(731, 731 + 17 * 24)}

    x, first, second = (torch.randn(3, 5, width) for width in (24, 30, 17))
    y = torch.randn(3, 9, 24)
    third = torch.randn(3, 9, 17)
    factor = torch.tensor([1e4, 0.0, 3e4], dtype=torch.float64)
    def leaves() -> list:
        return [
            _cuda.CudaProduct(x, [Target("a", first)]), _cuda.CudaProduct(y, [Target("b", third)]),
            _cuda.CudaSmall("m", torch.ones(3, 6) / 3), _cuda.CudaSmall("n", torch.ones(3, 5) / 7),
        ]  # fmt: skip

    found = []
    for joined in (leaves(), _cuda.together(leaves(), Layout)):
        flat = torch.zeros(731 + 17 * 24, dtype=torch.int64)
        views = {"a": flat[:720].view(30, 24), "n": flat[720:725], "m": flat[725:731], "b": flat[731:].view(17, 24), _cuda.FLAT: flat}
        squares = sum(leaf.squares() for leaf in joined)
        for leaf in joined:
            leaf.drop(torch.tensor([False, True, False]))
        spread = sum(leaf.spread(factor).square() for leaf in joined).sqrt()
        for leaf in joined:
            leaf.add(factor, views)
        found.append((squares, spread, flat))
    (squares, spread, flat), (squares_too, spread_too, flat_too) = found
    assert len(joined) == 2 and torch.equal(flat, flat_too)
    assert torch.allclose(squares, squares_too) and torch.allclose(spread, spread_too)


def tables_are_bounded() -> None:
    ids = torch.tensor([[0, 1, 1, 1, 2], [3, 3, 3, 3, 3], [4, 0, 2, 1, 3]])
    grads, head, x = torch.randn(3, 5, 16), torch.randn(3, 5, 6), torch.randn(3, 5, 16)
    leaf = _cuda.CudaTied(_cuda.CudaRows("t", ids, grads), _cuda.CudaProduct(x, [Target("t", head)]))
    truth = torch.zeros(3, 6, 16, dtype=torch.float64)
    for record in range(3):
        truth[record].index_add_(0, ids[record], grads[record].double())
        truth[record] += head[record].double().T @ x[record].double()
    found = leaf.squares()
    assert (found >= truth.square().sum((1, 2))).all() and (found <= 1.1 * truth.square().sum((1, 2))).all()
    factor = 2.0**20 / found.sqrt()
    for record in range(3):
        sums = {"t": torch.zeros(6, 16, dtype=torch.int64)}
        leaf.add(torch.where(torch.arange(3) == record, factor, 0.0), sums)
        moved = sums["t"].double() - truth[record] * factor[record]
        assert float(moved.norm()) <= float(leaf.spread(factor)[record]) + 1e-6 * 2**20
        assert float(sums["t"].double().norm()) <= float((factor * found.sqrt() + leaf.spread(factor))[record])


sums_are_exact()
norms_are_bounded()
tables_are_bounded()
norm_layers_are_right()
leaves_together_are_the_same()
print("ok")
