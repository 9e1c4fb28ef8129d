"""Answers aggregates of the groups in a folder with the peers, and prints one JSON object a line, like our own program.

diffprivlib knows the number of rows, and its neighbors replace a row: its means and variances need no noisy count. OpenDP and the textbook
get add-remove neighbors, as we do, and divide noisy sums. Nobody here states an error bar for the statistics below, so only errors are
compared. Every answer has ε = 1.
"""

import json
import math
import pathlib
import sys

import diffprivlib
import numpy as np
import opendp.prelude as dp

dp.enable_features("contrib", "honest-but-curious")
LOWER, UPPER, EPSILON = 0.0, 100.0, 1.0
random = np.random.default_rng(5)


def laplace(scale):
    return random.laplace(scale=scale)


def moments(count, total, squares):
    """A mean and a variance from noisy sums; in the range of the bounds, whatever the noise."""
    count = max(count, 1.0)
    mean = min(max(total / count, LOWER), UPPER)
    variance = min(max(squares / count - mean * mean, 0.0), (UPPER - LOWER) ** 2 / 4)
    return mean, variance


def exponential(x, rank, scale):
    """The exponential mechanism on the rank, over all numbers between the bounds."""
    ends = np.concatenate([[LOWER], np.sort(x), [UPPER]])
    ranks = np.arange(len(x) + 1)
    with np.errstate(divide="ignore"):
        weights = np.log(np.diff(ends)) - np.abs(ranks - rank * len(x)) / scale
    chosen = int(np.argmax(weights + random.gumbel(size=len(weights))))
    return random.uniform(ends[chosen], ends[chosen + 1])


def textbook(x):
    top = max(abs(LOWER), abs(UPPER))
    # The noise of each part is for its share of ε.
    pair = [len(x) + laplace(2 / EPSILON), x.sum() + laplace(2 * top / EPSILON)]
    three = [
        len(x) + laplace(3 / EPSILON),
        x.sum() + laplace(3 * top / EPSILON),
        (x * x).sum() + laplace(3 * top * top / EPSILON),
    ]
    variance = moments(*three)[1]
    return {
        "count": len(x) + laplace(1 / EPSILON),
        "sum": x.sum() + laplace(top / EPSILON),
        "mean": moments(*pair, 0.0)[0],
        "variance": variance,
        "deviation": math.sqrt(variance),
        "median": exponential(x, 0.5, 2 / EPSILON),
        "0.9 quantile": exponential(x, 0.9, 2 / EPSILON),
    }


def with_diffprivlib(x):
    bounds = {"bounds": (LOWER, UPPER), "epsilon": EPSILON}
    tools = diffprivlib.tools
    return {
        "count": tools.count_nonzero(np.ones(len(x)), epsilon=EPSILON),
        "sum": tools.sum(x, **bounds),
        "mean": tools.mean(x, **bounds),
        "variance": tools.var(x, **bounds),
        "deviation": tools.std(x, **bounds),
        "median": tools.median(x, **bounds),
        "0.9 quantile": tools.quantile(x, 0.9, **bounds),
    }


def build_opendp():
    rows = dp.vector_domain(dp.atom_domain(bounds=(LOWER, UPPER), nan=False)), dp.symmetric_distance()
    plain = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.symmetric_distance()

    def additive(chain, epsilon):
        return dp.binary_search_chain(lambda scale: chain >> dp.m.then_laplace(scale), 1, epsilon)

    counted = plain >> dp.t.then_count()
    # The rounding of float sums is paid for by the number of rows that a table may have.
    summed = rows >> dp.t.then_sum()
    squares = dp.vector_domain(dp.atom_domain(bounds=(LOWER**2, UPPER**2), nan=False)), dp.symmetric_distance()
    squared = squares >> dp.t.then_sum()
    # A quantile among a thousand even candidates.
    candidates = np.linspace(LOWER, UPPER, 1001).tolist()
    quantiles = {}
    for name, alpha in (("median", 0.5), ("0.9 quantile", 0.9)):
        quantiles[name] = dp.binary_search_chain(
            lambda scale, alpha=alpha: plain >> dp.m.then_private_quantile(dp.max_divergence(), candidates, alpha, scale),
            1,
            EPSILON,
        )
    half = [additive(counted, EPSILON / 2), additive(summed, EPSILON / 2)]
    third = [additive(counted, EPSILON / 3), additive(summed, EPSILON / 3), additive(squared, EPSILON / 3)]
    count, total = additive(counted, EPSILON), additive(summed, EPSILON)

    def answer(x):
        x = x.tolist()
        variance = moments(third[0](x), third[1](x), third[2]([value * value for value in x]))[1]
        found = {
            "count": count(x),
            "sum": total(x),
            "mean": moments(half[0](x), half[1](x), 0.0)[0],
            "variance": variance,
            "deviation": math.sqrt(variance),
        }
        return found | {name: quantile(x) for name, quantile in quantiles.items()}

    return answer


def main():
    folder, repeats = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    tools = {"textbook": textbook, "diffprivlib": with_diffprivlib, "opendp": build_opendp()}
    for path in sorted(folder.glob("*.csv")):
        data, rows, group = path.stem.rsplit("-", 2)
        x = np.loadtxt(path, ndmin=1)
        for tool, answer in tools.items():
            for _ in range(repeats):
                for statistic, number in answer(x).items():
                    line = {
                        "tool": tool,
                        "statistic": statistic,
                        "data": data,
                        "rows": int(rows),
                        "group": int(group),
                        "answer": float(number),
                    }
                    print(json.dumps(line))


if __name__ == "__main__":
    main()
