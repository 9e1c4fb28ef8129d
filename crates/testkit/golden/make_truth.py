#!/usr/bin/env python3
"""The slow, plain twin of the accountants: privacy losses to 15 digits and more, written to the CSV files beside it.

    pip install numpy==2.4.6 scipy==1.17.1 python-flint==0.9.0 mpmath==1.4.1
    python make_truth.py dp_sgd            # or laplace, mixtures, lattice, replace_one, few_steps

Method: the tilted Fourier inversion

    delta(eps) = (1/2 pi i) \\int_{Re z = c} exp(sum_j T_j K_j(z) - z eps) / (z (z+1)) dz

summed by brute force in ball arithmetic (FLINT, 192 bits = 57 digits: rounding is tracked, not estimated). Every number
is computed twice, with another abscissa c, other steps and other cut-offs in both integrals; a number is written only
where both agree to 15 digits. What does not agree, or is too slow, is left out.

Nothing here is shared with the Rust code: no error bounds, no saddle-point search, no tricks for small q.
"""

import itertools
import math
import pathlib
import sys
import time

import flint
import numpy as np
import scipy
from flint import acb, acb_mat, arb, ctx
from scipy.optimize import minimize_scalar

ctx.prec = 192
NATS = 115.0  # what is dropped from an integrand lies this far below its peak: e^-115 = 1e-50
AGREE = 2e-16


def ball(x):
    """A decimal as it is written in the CSV, not the nearest binary fraction."""
    return arb(x) if isinstance(x, str) else arb(str(x)) if isinstance(x, float) else arb(x)


class Sampled:
    """One Poisson-sampled Gaussian step. direction: remove, add or replace."""

    def __init__(self, q, sigma, direction):
        # f64 questions: the twin must be asked the very numbers that the Rust code is asked.
        self.q, self.sigma, self.direction = float(q), float(sigma), direction
        self.aq, self.asigma = arb(float(q)), arb(float(sigma))

    def tilt(self, z):
        return z if self.direction == "add" else z + 1

    def log_density_and_loss(self, x):
        """In floats, for ranges and steps: log of the base density (up to a constant), and the loss."""
        q, s2 = self.q, self.sigma**2
        with np.errstate(divide="ignore"):
            up = np.logaddexp(np.log1p(-q), math.log(q) + (2 * x - 1) / (2 * s2))
            down = np.logaddexp(np.log1p(-q), math.log(q) + (-2 * x - 1) / (2 * s2))
        base = -x * x / (2 * s2) - 0.5 * math.log(2 * math.pi * s2)
        if self.direction == "remove":
            return base, up
        if self.direction == "add":
            return base, -up
        return base + down, up - down

    def span(self, c):
        a = self.tilt(c)
        far = 40 * self.sigma + abs(a) + 3
        x = np.linspace(-far, far, 200001)
        w, loss = self.log_density_and_loss(x)
        height = w + a * loss
        kept = x[height > height.max() - NATS]
        return float(kept[0]), float(kept[-1])

    def cumulant(self, c):
        """K(c) in floats."""
        lo, hi = self.span(c)
        x = np.linspace(lo, hi, 20001)
        w, loss = self.log_density_and_loss(x)
        height = w + self.tilt(c) * loss
        top = height.max()
        return float(top + math.log(np.exp(height - top).sum() * (x[1] - x[0])))

    def nodes(self, c, step):
        """Weighted nodes of the trapezoid rule in x: (weight times e^{tilt loss}, loss), as balls."""
        lo, hi = self.span(c)
        step = ball(step)
        count = int((hi - lo) / float(step)) + 2
        s2, q = self.asigma * self.asigma, self.aq
        unit = step / (2 * arb.pi() * s2).sqrt()
        a = self.tilt(arb(c))
        out = []
        for j in range(count):
            x = arb(lo) + step * j
            up = (1 - q + q * ((2 * x - 1) / (2 * s2)).exp()).log()
            log_w = -x * x / (2 * s2)
            if self.direction == "remove":
                loss = up
            elif self.direction == "add":
                loss = -up
            else:
                down = (1 - q + q * ((-2 * x - 1) / (2 * s2)).exp()).log()
                loss, log_w = up - down, log_w + down
            out.append((unit * (log_w + a * loss).exp(), loss))
        return out

    def step(self, y):
        """A step in x fine enough for |Im z| <= y: the trapezoid error falls like e^{-2 pi d/step} for a strip d."""
        d = 0.9 * math.pi * self.sigma**2
        if self.direction == "replace":
            d *= 0.5
        return 2 * math.pi * d / (NATS + d * d / (2 * self.sigma**2) + y * d / self.sigma**2)

    def transform(self, c, h, count, step):
        """e^{K(c + i k h)} for k = 0 .. count-1, by products of matrices of powers."""
        nodes = self.nodes(c, step)
        wide = max(1, math.isqrt(count))
        tall = -(-count // wide)
        # Each power by its own exponential: repeated products of complex balls grow by a factor sqrt(2) each time.
        fine = [[acb(0, h * k * loss).exp() for k in range(wide)] for _, loss in nodes]
        coarse = [[w * acb(0, h * wide * k * loss).exp() for w, loss in nodes] for k in range(tall)]
        product = acb_mat(coarse) * acb_mat(fine)
        return product.entries()[:count]

    def cost(self, y):
        return 30 * self.sigma / self.step(y)


class Gaussian:
    def __init__(self, sigma, shift=1):
        self.mu2 = arb(shift) ** 2 / arb(float(sigma)) ** 2

    def cumulant(self, c):
        return float(self.mu2) * c * (c + 1) / 2

    def transform(self, c, h, count, _step):
        zs = [acb(arb(c), h * k) for k in range(count)]
        return [(self.mu2 * z * (z + 1) / 2).exp() for z in zs]

    def step(self, _y):
        return 1.0

    def cost(self, _y):
        return 1


class Laplace:
    def __init__(self, scale):
        self.e = 1 / arb(float(scale))

    def cumulant(self, c):
        e = float(self.e)
        return c * e + math.log(((c + 1) + c * math.exp(-(2 * c + 1) * e)) / (2 * c + 1))

    def transform(self, c, h, count, _step):
        e = self.e
        zs = [acb(arb(c), h * k) for k in range(count)]
        return [((z + 1) * (z * e).exp() + z * (-(z + 1) * e).exp()) / (2 * z + 1) for z in zs]

    def step(self, _y):
        return 1.0

    def cost(self, _y):
        return 1


def total(parts, c):
    return sum(times * part.cumulant(c) for part, times in parts)


def chernoff(parts, delta):
    """The tilt and the epsilon that the Chernoff bound gives: near enough to place the contour."""

    def epsilon(log_c):
        c = math.exp(log_c)
        kappa = c * math.log(c) - (1 + c) * math.log1p(c)
        return (total(parts, c) + kappa - math.log(delta)) / c

    best = minimize_scalar(epsilon, bounds=(-4, 9), method="bounded", options={"xatol": 1e-3})
    return math.exp(best.x), best.fun


def spacing(parts, c, eps, delta, nats=60.0):
    """The largest step along the contour whose aliases lie `nats` below delta: those from below and from above."""
    from_below = 2 * math.pi * c / (nats - math.log(delta))
    here = total(parts, c) - c * eps
    best = 0.0
    for factor in np.geomspace(1.02, 30, 40):
        gap = total(parts, c * factor) - c * factor * eps - here
        if math.isfinite(gap):
            best = max(best, 2 * math.pi * (factor - 1) * c / (nats + max(gap, 0)))
    return min(from_below, best)


LIMIT = 1.2e9


def inversion(parts, c, h, deltas, ceilings, refine, reach):
    """epsilon at each delta, from one contour."""
    h = arb(h)
    height = reach_of(parts, c) * reach
    count = int(height / float(h)) + 2
    steps = [part.step(height) * refine for part, _ in parts]
    if count * sum(p.cost(height) / refine for p, _ in parts) > LIMIT:
        raise OverflowError(f"{count} outer nodes up to {height:.3g}")
    transform = [acb(1)] * count
    for (part, times), step in zip(parts, steps):
        transform = [a * m**times for a, m in zip(transform, part.transform(c, h, count, step))]
    zs = [acb(arb(c), h * k) for k in range(count)]
    kernel = [a / (z * (z + 1)) for a, z in zip(transform, zs)]
    kernel[0] /= 2
    tail = abs(kernel[-1]) * height
    floats = np.array([complex(g / abs(kernel[0])) for g in kernel])
    heights = float(h) * np.arange(count)
    scale = float((abs(kernel[0]) * h / arb.pi()).log())
    out = []
    for delta, high in zip(deltas, ceilings):
        # From the Chernoff bound downwards: further down the float sum cancels, and its noise would mislead.
        def above(eps):
            value = np.dot(floats, np.exp(-1j * heights * eps)).real
            return value > 0 and math.log(value) + scale - c * eps > math.log(float(delta))

        low = high
        while low > 1e-4 and not above(low):
            low, high = 0.98 * low, low
        for _ in range(34):
            middle = (low + high) / 2
            low, high = (middle, high) if above(middle) else (low, middle)
        eps = arb((low + high) / 2)
        target = ball(delta).log()
        for _ in range(6):
            turn = -h * eps
            value, slope = acb(0), acb(0)
            for k, (g, z) in enumerate(zip(kernel, zs)):
                term = g * acb(0, k * turn).exp()
                value += term
                slope += term * z
            shift = value.real.log() - c * eps + (h / arb.pi()).log() - target
            move = shift * value.real / slope.real
            eps = (eps + move).mid()
            if abs(float(move)) < 1e-30 * max(abs(float(eps)), 1e-3):
                break
        loose = float(move.rad()) + float(abs(tail / slope.real))
        out.append((eps, loose))
    return out


def reach_of(parts, c):
    """How high the contour must go: where the transform's modulus is e^-75 of its value on the axis, in floats."""
    tables = []
    for part, times in parts:
        if isinstance(part, Sampled):
            lo, hi = part.span(c)
            x = np.linspace(lo, hi, 100001)
            w, loss = part.log_density_and_loss(x)
            tilted = w + part.tilt(c) * loss
            tilted = np.exp(tilted - tilted.max())
            tables.append((tilted / tilted.sum(), loss, times))
        elif isinstance(part, Gaussian):
            tables.append((None, float(part.mu2), times))
    y, last = 1.0, 1.0
    while y < 3e6:
        fell = 2 * math.log(max(y / max(c, 1.0), 1.0))
        for weights, loss, times in tables:
            if weights is None:
                fell += times * loss * y * y / 2
            else:
                size = abs(np.dot(weights, np.exp(1j * y * loss)))
                fell -= times * math.log(max(size, 1e-15))
        # The modulus may pass near zero and come back: believe it only when it stays down.
        if fell < 75:
            last = y
        elif y > 6 * last:
            return 1.1 * last
        y *= 1.06
    raise OverflowError("the transform does not fall off")


def epsilons(parts, deltas):
    """epsilon at each delta to 15 digits, or None where two settings disagree."""
    middle = deltas[len(deltas) // 2]
    c, eps = chernoff(parts, float(middle))
    # Below the Chernoff point, never above: there the cumulant climbs like e^{c^2/2 sigma^2} and the aliases with it.
    c, other = 0.9 * c, 0.8 * c
    ceilings = [chernoff(parts, float(delta))[1] for delta in deltas]
    first = inversion(parts, c, spacing(parts, c, eps, float(min(deltas, key=float))), deltas, ceilings, 1.0, 1.0)
    second = inversion(parts, other, spacing(parts, other, eps, float(min(deltas, key=float))) * 0.61, deltas, ceilings, 0.71, 1.25)
    out = []
    for (a, loose), (b, loose_b) in zip(first, second):
        gap = abs(float(a - b)) + loose + loose_b
        out.append(a if gap <= AGREE * abs(float(a)) else None)
        if out[-1] is None:
            print(f"    disagree: {float(a)!r} {float(b)!r} gap {gap:.1e}", file=sys.stderr)
    return out


def digits(x):
    return x.str(20, radius=False) if isinstance(x, arb) else f"{x:.20g}"


def provenance(name):
    """The first line of a file: how it was made, and to what its numbers were checked."""
    made = f"python make_truth.py {name}; python {sys.version.split()[0]}"
    tools = f"python-flint {flint.__version__}, numpy {np.__version__}, scipy {scipy.__version__}"
    checked = {
        "few_steps": f"recursion in 64-bit mantissas; two orders of series and quadrature agree to {FEW_AGREE:.0e}",
        "laplace": f"residues in balls of 300 + 6 times bits; two circles agree to {AGREE:.0e}",
        "lattice": f"exact enumeration in 700-bit balls; radius at most {AGREE:.0e}",
    }.get(name, f"192-bit balls; two contours agree to {AGREE:.0e}")
    return f"# {made}, {tools}; {checked}, relatively"


def sampled_row(kind, q, sigma, steps, adjacency, deltas):
    """Rows for one Poisson-sampled Gaussian, both directions; only deltas that both directions answer."""
    if q == 1.0:
        shift = 2 if adjacency == "replace-one" else 1
        both = [("both", epsilons([(Gaussian(sigma, shift), steps)], deltas))]
    elif adjacency == "replace-one":
        both = [("both", epsilons([(Sampled(q, sigma, "replace"), steps)], deltas))]
    else:
        both = [(d, epsilons([(Sampled(q, sigma, d), steps)], deltas)) for d in ("remove", "add")]
    for i, delta in enumerate(deltas):
        found = [(name, values[i]) for name, values in both]
        if any(e is None or not 0.001 <= float(e) <= 300 for _, e in found):
            continue
        name, worst = max(found, key=lambda pair: float(pair[1]))
        known = dict(found)
        remove, add = known.get("remove", worst), known.get("add", worst)
        yield f"{kind},{q!r},{sigma!r},{steps},{delta},{adjacency},{digits(worst)},{name},{digits(remove)},{digits(add)}"


SAMPLED_HEAD = "kind,q,sigma,steps,delta,adjacency,epsilon,direction,epsilon_remove,epsilon_add"
MNIST = 256 / 60000
COMMON = ["1e-5", "1e-9", "1e-3"]
SMALL = ["1e-6", "1e-12", "1e-15"]

# (q, sigma, steps, deltas): the anchors, then by falling q.
DP_SGD = [
    (MNIST, 1.0, 600, ["1e-5"]), (MNIST, 1.0, 3500, ["1e-5"]), (MNIST, 1.0, 14000, ["1e-5"]),
    (MNIST, 1.1, 14000, ["1e-5"]), (1.0, 1.0, 1, ["1e-5"]), (1.0, 20.0, 1000, ["1e-12"]),
    (0.01, 0.6, 1000, COMMON), (0.0128, 2.5, 72000, COMMON), (1e-5, 1.0, 1000000, SMALL),
    (1e-3, 1.0, 10000, SMALL), (0.1, 0.5, 1000, COMMON), (1e-5, 0.5, 1000000, SMALL),
    (1.0, 0.3, 3, SMALL), (1.0, 50.0, 1000000, COMMON), (1.0, 5.0, 100, SMALL), (1.0, 0.5, 10, COMMON),
    (0.7, 1.0, 100, COMMON), (0.7, 0.5, 30, SMALL), (0.7, 5.0, 3500, SMALL), (0.7, 50.0, 72000, COMMON),
    (0.3, 0.5, 100, COMMON), (0.3, 0.8, 30, SMALL), (0.3, 1.5, 30, COMMON), (0.3, 1.5, 600, SMALL), (0.3, 20.0, 72000, COMMON),
    (0.1, 0.6, 100, SMALL), (0.1, 1.0, 600, COMMON), (0.1, 5.0, 14000, SMALL), (0.1, 50.0, 1000000, COMMON),
    (0.05, 0.5, 100, COMMON), (0.05, 1.0, 600, SMALL), (0.05, 2.5, 14000, COMMON), (0.05, 20.0, 1000000, SMALL),
    (0.01, 0.4, 600, SMALL), (0.01, 0.5, 600, COMMON), (0.01, 0.8, 3500, SMALL), (0.01, 1.5, 14000, COMMON),
    (0.01, 5.0, 1000000, COMMON), (0.01, 20.0, 10000000, SMALL),
    (MNIST, 0.4, 600, SMALL), (MNIST, 0.6, 3500, COMMON), (MNIST, 1.5, 72000, SMALL), (MNIST, 2.5, 1000000, COMMON),
    (1e-3, 0.3, 3500, COMMON), (1e-3, 0.4, 600, COMMON), (1e-3, 0.5, 3500, SMALL), (1e-3, 0.6, 600, COMMON),
    (1e-3, 0.8, 72000, SMALL), (1e-3, 1.5, 1000000, COMMON), (1e-3, 5.0, 10000000, SMALL),
    (1e-4, 0.3, 14000, COMMON), (1e-4, 0.4, 14000, SMALL), (1e-4, 0.5, 14000, COMMON), (1e-4, 0.6, 3500, COMMON),
    (1e-4, 0.6, 72000, SMALL), (1e-4, 0.8, 1000000, COMMON), (1e-4, 1.0, 10000000, SMALL),
    (1e-5, 0.3, 72000, COMMON), (1e-5, 0.6, 1000000, COMMON), (1e-5, 0.8, 10000000, SMALL),
    (1e-6, 0.5, 10000000, COMMON), (1e-6, 0.8, 10000000, SMALL), (1e-5, 0.4, 72000, SMALL),
    (1e-6, 0.4, 1000000, SMALL), (1e-6, 0.3, 1000000, COMMON),
]

REPLACE_ONE = [
    (MNIST, 1.0, 600, COMMON), (MNIST, 1.0, 14000, COMMON), (MNIST, 2.0, 14000, SMALL), (0.01, 0.6, 1000, COMMON),
    (0.01, 1.0, 10000, SMALL), (0.05, 1.5, 600, COMMON), (0.1, 1.0, 100, SMALL), (0.1, 5.0, 14000, COMMON),
    (0.3, 1.5, 100, SMALL), (0.7, 5.0, 600, COMMON), (1.0, 2.0, 1, COMMON), (1.0, 20.0, 1000, SMALL),
    (0.0128, 2.5, 72000, COMMON), (1e-3, 0.8, 72000, SMALL), (1e-3, 0.5, 3500, COMMON), (1e-4, 0.6, 72000, COMMON),
    (1e-5, 1.0, 1000000, COMMON), (0.3, 0.8, 10, COMMON), (0.1, 0.5, 30, SMALL), (0.5, 1.0, 5, COMMON),
]


# (q, sigma, the most steps, the largest epsilon asked): few rough steps, by the recursion of few_steps.py.
FEW_STEPS = [
    (1e-2, 0.5, 10, 30), (1e-3, 0.4, 5, 30), (1e-2, 0.4, 5, 40), (0.1, 0.5, 10, 40), (1e-3, 0.3, 3, 45), (0.3, 0.8, 30, 55),
    (1e-2, 0.6, 30, 22), (0.05, 1.0, 10, 12), (0.1, 0.3, 3, 75), (1e-4, 0.3, 2, 45), (0.7, 0.6, 5, 60), (1e-3, 0.5, 30, 22),
]
ALL_DELTAS = ["1e-3", "1e-5", "1e-6", "1e-9", "1e-12", "1e-15"]
FEW_AGREE = 5e-16


def few_rows():
    """All deltas after 1, 2, 3, 5, 10 and 30 steps; two orders of series and quadrature must agree."""
    from few_steps import Recursion

    for q, sigma, most, highest in FEW_STEPS:
        start = time.time()
        found = {}
        for direction in ("remove", "add"):
            top = highest if direction == "remove" else -most * math.log1p(-q) * 1.001
            settings = [Recursion(q, sigma, direction, top, *orders) for orders in ((18, 10), (22, 13))]
            for t in range(1, most + 1):
                if t > 1:
                    for one in settings:
                        one.advance()
                if t in (1, 2, 3, 5, 10, 30):
                    for delta in ALL_DELTAS:
                        found[t, delta, direction] = [one.epsilon(delta) for one in settings]
        count = 0
        for t in (1, 2, 3, 5, 10, 30):
            for delta in ALL_DELTAS:
                pairs = [found.get((t, delta, direction)) for direction in ("remove", "add")]
                if any(pair is None for pair in pairs):
                    continue
                if any(abs(a - b) > FEW_AGREE * abs(a) or not 1e-5 <= a for a, b in pairs):
                    continue
                remove, add = pairs[0][1], pairs[1][1]
                if not 0.001 <= max(remove, add) < 0.98 * highest:
                    continue
                name = "remove" if remove >= add else "add"
                shown = [np.format_float_positional(x, 18, fractional=False) for x in (max(remove, add), remove, add)]
                count += 1
                yield f"dp-sgd,{q!r},{sigma!r},{t},{delta},add-remove,{shown[0]},{name},{shown[1]},{shown[2]}"
        print(f"few {q} {sigma}: {count}, {time.time() - start:.1f} s", file=sys.stderr)


# (scale, times)
LAPLACE = [
    (10.0, 100), (1.0, 1), (1.0, 2), (1.0, 5), (0.5, 3), (2.0, 10), (2.0, 30), (5.0, 50), (3.0, 100), (0.25, 1), (30.0, 10),
]


def laplace_rows():
    from enumerate_laws import laplace

    for scale, times in LAPLACE:
        ctx.prec = 300 + 6 * times
        for delta in ["1e-3", "1e-5", "1e-9", "1e-15"]:
            (a, loose), (b, _) = (laplace(scale, times, ball(delta), radius) for radius in (arb(1), arb("1.5")))
            gap = abs(float(a - b)) + loose
            if gap <= AGREE * float(a) and float(a) >= 0.001:
                yield f"laplace,{scale!r},{times},{delta},add-remove,{digits(a)}"
            else:
                print(f"    left out: laplace {scale} {times} {delta} {float(a)} gap {gap:.1e}", file=sys.stderr)
        ctx.prec = 192


# Lists of laplace (scale, uses), gaussian (sigma, uses), sampled gaussian (q, sigma, uses), then deltas.
MIXTURES = [
    ([(10.0, 20)], [(5.0, 10)], [(0.01, 1.0, 600)]),
    ([(1.0, 1)], [(2.0, 1)], [(0.1, 1.0, 100)]),
    ([(2.0, 5)], [(4.0, 3)], []),
    ([(20.0, 1)], [(20.0, 1)], [(MNIST, 1.0, 3500)]),
    ([], [(10.0, 7)], [(1e-3, 0.6, 3500), (0.05, 2.0, 600)]),
    ([], [(3.0, 1)], [(1e-5, 0.8, 1000000)]),
    ([(5.0, 2), (50.0, 40)], [(8.0, 4), (30.0, 100)], [(0.01, 0.8, 1000), (0.3, 5.0, 200)]),
    ([(0.5, 1)], [(1.0, 2)], [(1e-4, 0.5, 14000)]),
    ([(1.0, 10)], [(1.0, 10)], []),
    ([(100.0, 1)], [(0.7, 1)], [(0.01, 5.0, 72000)]),
]


def mixture_rows():
    deltas = ["1e-3", "1e-5", "1e-9", "1e-12"]
    for laplaces, gaussians, sampled in MIXTURES:
        fixed = [(Laplace(b), n) for b, n in laplaces] + [(Gaussian(sigma), n) for sigma, n in gaussians]
        both = {}
        for direction in ("remove", "add"):
            parts = fixed + [(Sampled(q, sigma, direction), n) for q, sigma, n in sampled]
            try:
                both[direction] = epsilons(parts, deltas)
            except OverflowError as reason:
                both[direction] = [None] * len(deltas)
                print(f"    left out: {reason}", file=sys.stderr)
        words = [f"laplace {b!r} x{n}" for b, n in laplaces] + [f"gaussian {s!r} x{n}" for s, n in gaussians]
        words += [f"dp-sgd {q!r} {s!r} x{n}" for q, s, n in sampled]
        for delta, remove, add in zip(deltas, both["remove"], both["add"]):
            if remove is None or add is None or float(remove) < 0.001:
                continue
            name, worst = ("remove", remove) if float(remove) >= float(add) else ("add", add)
            yield f"{' + '.join(words)},{delta},add-remove,{digits(worst)},{name},{digits(remove)},{digits(add)}"


# (kind, first parameter, second, uses, adjacency)
LATTICE = [
    *[("randomized-response", k, p, n, a) for k, p in ((2, 0.5), (3, 0.5), (10, 0.75)) for n in (1, 10, 50)
      for a in ("replace-one", "zero-out")],
    ("randomized-response", 2, 0.95, 1000, "replace-one"), ("randomized-response", 10, 0.99, 300, "zero-out"),
    *[("discrete-laplace", b, d, n, "add-remove") for b, d, n in
      ((1.0, 1, 1), (2.0, 1, 10), (10.0, 1, 100), (4.0, 3, 30), (20.0, 5, 600), (0.5, 2, 3), (50.0, 7, 1000))],
    *[("discrete-gaussian", s, d, n, "add-remove") for s, d, n in
      ((1.0, 1, 1), (0.5, 1, 5), (2.0, 1, 10), (5.0, 3, 30), (10.0, 1, 300), (3.5, 2, 100), (20.0, 7, 100))],
    *[("skellam", v, d, n, "add-remove") for v, d, n in
      ((1.0, 1, 1), (4.0, 2, 1), (30.0, 3, 1), (1000.0, 10, 1), (0.5, 1, 2), (100.0, 4, 2), (2.0, 1, 3), (0.25, 1, 4))],
]


def skellam(variance, shift, times):
    """P(x) = e^-v I_|x|(v), by mpmath. The losses lie on no lattice, so every choice of outcomes is listed."""
    import mpmath

    mpmath.mp.dps = 210
    far = 20 + int(15 * variance**0.5)
    bessel = [arb(mpmath.nstr(mpmath.exp(-variance) * mpmath.besseli(x, variance), 205)) for x in range(far + shift + 1)]
    once = [((bessel[abs(x)] / bessel[abs(x - shift)]).log(), bessel[abs(x)]) for x in range(-far, far + shift + 1)]
    law = []
    for chosen in itertools.combinations_with_replacement(range(len(once)), times):
        orders = math.factorial(times)
        for i in set(chosen):
            orders //= math.factorial(chosen.count(i))
        loss, mass = arb(0), arb(orders)
        for i in chosen:
            loss, mass = loss + once[i][0], mass * once[i][1]
        if mass > 1e-60:
            law.append((loss, mass))
    return law


def lattice_rows():
    from enumerate_laws import discrete_gaussian, discrete_laplace, epsilon_of_law, randomized_response

    ctx.prec = 700
    known = known_rows("lattice")
    for kind, first, second, times, adjacency in LATTICE:
        if earlier := [row for row in known if row.startswith(f"{kind},{first!r},{second!r},{times},") and adjacency in row]:
            yield from earlier
            continue
        match kind:
            case "randomized-response":
                laws = randomized_response(first, second, times, adjacency)
            case "discrete-laplace":
                laws = [discrete_laplace(first, second, times)]
            case "discrete-gaussian":
                laws = [discrete_gaussian(first, second, times)]
            case "skellam":
                laws = [skellam(first, second, times)]
        for delta in ["1e-3", "1e-5", "1e-9", "1e-12"]:
            eps = max((epsilon_of_law(law, ball(delta)) for law in laws), key=float)
            if float(eps.rad()) <= AGREE * float(eps) and float(eps) >= 0.001:
                yield f"{kind},{first!r},{second!r},{times},{delta},{adjacency},{digits(eps)}"
            else:
                print(f"    left out: {kind} {first} {second} {times} {delta} {eps}", file=sys.stderr)
    ctx.prec = 192


def path_of(name):
    return pathlib.Path(__file__).with_name(f"{name}.csv")


def known_rows(name):
    """What an earlier run found: a case that is complete is not computed again."""
    try:
        return [line for line in path_of(name).read_text().splitlines() if not line.startswith(("#", "kind,"))]
    except FileNotFoundError:
        return []


def write(name, head, rows):
    rows = iter(rows)
    first = next(rows, None)  # reads what is known before the file is emptied
    with path_of(name).open("w") as file:
        print(provenance(name), file=file)
        print(head, file=file, flush=True)
        for row in itertools.chain([first], rows):
            print(row, file=file, flush=True)


def sampled_rows(name, cases, adjacency):
    kind, known = "dp-sgd", known_rows(name)
    for q, sigma, steps, deltas in cases:
        start = time.time()
        heads = [f"{kind},{q!r},{sigma!r},{steps},{delta}," for delta in deltas]
        earlier = [row for row in known if row.startswith(tuple(heads))]
        if len(earlier) == len(deltas):
            yield from earlier
            continue
        try:
            rows = list(sampled_row(kind, q, sigma, steps, adjacency, deltas))
        except OverflowError as reason:
            rows = []
            print(f"    left out: {reason}", file=sys.stderr)
        print(f"{q} {sigma} {steps}: {len(rows)} of {len(deltas)}, {time.time() - start:.1f} s", file=sys.stderr)
        yield from rows


if __name__ == "__main__":
    match sys.argv[1]:
        case "dp_sgd":
            write("dp_sgd", SAMPLED_HEAD, sampled_rows("dp_sgd", DP_SGD, "add-remove"))
        case "few_steps":
            write("few_steps", SAMPLED_HEAD, few_rows())
        case "laplace":
            write("laplace", "kind,scale,times,delta,adjacency,epsilon", laplace_rows())
        case "mixtures":
            head = "mechanism,delta,adjacency,epsilon,direction,epsilon_remove,epsilon_add"
            write("mixtures", head, mixture_rows())
        case "lattice":
            write("lattice", "kind,first,second,times,delta,adjacency,epsilon", lattice_rows())
        case "replace_one":
            write("replace_one", SAMPLED_HEAD, sampled_rows("replace_one", REPLACE_ONE, "replace-one"))
