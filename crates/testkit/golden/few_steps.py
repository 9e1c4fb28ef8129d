"""epsilon of a few steps of the Poisson-sampled Gaussian, without any transform: the recursion

    F_t(s) = E_{x ~ P}[ F_{t-1}(s - L(x)) ],    F_1 in closed form,

whose terms are all positive, so that nothing cancels. F is kept as piecewise Chebyshev series of log F, graded towards
the edge of the support (the loss of one step is a shifted log of a shifted log-normal, rough at every scale down to
q e^{-1/2 sigma^2}). Extended precision (64-bit mantissa) throughout; F_1 and the closed tails by FLINT at 57 digits.

With l(x) = L(x) - log(1-q) > 0, remove has s = v + t log(1-q) and add has s = -t log(1-q) - v; both then read
F_t(v) = tail_t(v) + \\int_{l(x) < v} p(x) F_{t-1}(v - l(x)) dx.
"""

import math

import numpy as np
from flint import arb

LD = np.longdouble
SQRT_HALF = arb(0.5).sqrt()


def upper_tail(x):
    return (x * SQRT_HALF).erfc() / 2


def extended(x):
    """A ball's middle as a long double: leading double and remainder."""
    head = float(x.mid())
    return LD(head) + LD(float((x - head).mid()))


class Table:
    """log F on panels: graded in log v below 1, of width one above."""

    def __init__(self, lowest, highest, order):
        self.order = order
        self.lowest = math.floor(math.log(lowest))
        self.graded = max(0, -self.lowest)
        top = max(highest, 1e-300)
        self.panels = self.graded + (math.ceil(top) if top > 1 else 0)
        if top <= 1:
            self.panels = min(self.panels, math.ceil(math.log(top)) - self.lowest + 1)
        k = np.arange(order, dtype=LD)
        angle = (k + LD(0.5)) * (4 * np.arctan(LD(1))) / order
        self.unit = np.cos(angle)
        basis = np.cos(np.outer(k, angle)) * (LD(2) / order)
        basis[0] /= 2
        self.basis = basis
        position = np.arange(self.panels, dtype=LD)[:, None] + (self.unit[None, :] + 1) / 2
        graded = np.exp(np.minimum(position + self.lowest, LD(0)))
        self.v = np.where(position < self.graded, graded, position - self.graded + 1).ravel()

    def fit(self, log_values):
        self.series = (self.basis @ log_values.reshape(self.panels, self.order).T).copy()

    def log_at(self, v):
        """Clenshaw; below the lowest panel the first panel's left end stands in."""
        position = np.where(v < 1, np.log(np.maximum(v, LD(1e-300))) - self.lowest, v - 1 + self.graded)
        panel = np.clip(np.floor(position).astype(int), 0, self.panels - 1)
        u = np.clip(2 * (position - panel) - 1, LD(-1), LD(1))
        b1 = np.zeros_like(u)
        b2 = np.zeros_like(u)
        for n in range(self.order - 1, 0, -1):
            b1, b2 = self.series[n][panel] + 2 * u * b1 - b2, b1
        return self.series[0][panel] + u * b1 - b2


class Recursion:
    def __init__(self, q, sigma, direction, highest, order, points):
        self.q, self.sigma, self.direction = arb(q), arb(sigma), direction
        self.r = self.q / (1 - self.q)
        self.log_keep = (1 - self.q).log()
        self.lr, self.ls = extended(self.r), LD(sigma)
        self.lq = LD(q)
        lowest = q * math.exp(-12.5 / sigma - 1 / (2 * sigma**2))
        self.table = Table(lowest, highest, order)
        nodes, weights = np.polynomial.legendre.leggauss(points)
        self.gauss = refine_gauss(points, nodes)
        self.cuts = [self.cut(arb(float(v)) + arb(float(v - LD(float(v))))) for v in self.table.v]
        self.steps = 1
        if direction == "remove":
            first = [self.closed(i, 1, one=True) for i in range(len(self.cuts))]
        else:
            first = [self.closed_add(i) for i in range(len(self.cuts))]
        self.table.fit(np.array([extended(f.log()) for f in first]))

    def cut(self, v):
        """v and the x where l(x) = v."""
        s2 = self.sigma * self.sigma
        return v, arb(0.5) + s2 * ((v.exp() - 1) / self.r).log()

    def closed(self, i, t, one=False):
        """P(l > v) - e^s Q(l > v) with s = v + t log(1-q): the part where F_{t-1} is 1 - e^s."""
        v, x = self.cuts[i]
        far, near = upper_tail(x / self.sigma), upper_tail((x - 1) / self.sigma)
        return (1 - self.q) * far + self.q * near - (v + t * self.log_keep).exp() * far

    def closed_add(self, i):
        v, x = self.cuts[i]
        far, near = upper_tail(-x / self.sigma), upper_tail(-(x - 1) / self.sigma)
        value = (1 - (-v).exp()) * far - (-v).exp() * self.r * near
        return value if value > 0 else arb("1e-4000")

    def advance(self):
        """From F_t to F_{t+1}."""
        self.steps += 1
        remove = self.direction == "remove"
        out = []
        for i, v in enumerate(self.table.v):
            total = extended(self.closed(i, self.steps)) if remove else LD(0)
            x, w = self.quadrature(extended(self.cuts[i][1]))
            if len(x):
                p = self.density(x)
                loss = np.log1p(self.lr * np.exp((2 * x - 1) / (2 * self.ls**2)))
                total += np.sum(w * p * np.exp(self.table.log_at(np.maximum(v - loss, LD(0)))))
            out.append(np.log(total) if total > 0 else LD(-9000))
        self.table.fit(np.array(out))

    def density(self, x):
        scale = 1 / (self.ls * np.sqrt(8 * np.arctan(LD(1))))
        base = np.exp(-x * x / (2 * self.ls**2)) * scale
        if self.direction == "add":
            return base
        return (1 - self.lq) * base + self.lq * np.exp(-((x - 1) ** 2) / (2 * self.ls**2)) * scale

    def quadrature(self, cut):
        """Gauss nodes on x < cut: panels graded towards the cut, then of the width that the loss allows."""
        sigma = float(self.ls)
        low, high = -13.5 * sigma, 1 + 13.5 * sigma
        reach = float(cut) - low
        if reach <= 0:
            return np.empty(0, LD), np.empty(0, LD)
        start = max(float(cut) - high, 0.0)
        width = min(sigma, sigma * sigma)
        edges = [start]
        if start < width:
            smallest = max(start, width * math.exp(-62))
            count = math.ceil(math.log(width / smallest)) + 1
            edges += list(np.geomspace(smallest, width, max(count, 2)))
        count = math.ceil(max(reach - edges[-1], 0) / width)
        if count:
            edges += list(np.linspace(edges[-1], reach, count + 1))[1:]
        edges = np.array([e for e in edges if e <= reach], dtype=LD)
        edges = np.unique(edges)
        if len(edges) < 2:
            return np.empty(0, LD), np.empty(0, LD)
        nodes, weights = self.gauss
        half = (edges[1:] - edges[:-1]) / 2
        middle = (edges[1:] + edges[:-1]) / 2
        w = (middle[:, None] + half[:, None] * nodes[None, :]).ravel()
        return cut - w, (half[:, None] * weights[None, :]).ravel()

    def epsilon(self, delta):
        """The s with F(s) = delta, by bisection on the series."""
        target = extended(arb(delta).log())
        low, high = LD(self.table.v[0]), LD(self.table.v[-1])
        rising = self.direction == "add"
        for _ in range(90):
            middle = np.sqrt(low * high) if high > 2 * low else (low + high) / 2
            above = bool(self.table.log_at(np.array([middle]))[0] > target)
            if above != rising:
                low = middle
            else:
                high = middle
        v, edge = (low + high) / 2, self.steps * extended(self.log_keep)
        return v + edge if self.direction == "remove" else -edge - v


def refine_gauss(points, start):
    """Gauss-Legendre nodes and weights to extended precision: Newton from the doubles."""
    x = np.array(start, dtype=LD)
    for _ in range(3):
        a, b = np.ones_like(x), x
        for n in range(2, points + 1):
            a, b = b, ((2 * n - 1) * x * b - (n - 1) * a) / n
        slope = points * (x * b - a) / (x * x - 1)
        x = x - b / slope
    a, b = np.ones_like(x), x
    for n in range(2, points + 1):
        a, b = b, ((2 * n - 1) * x * b - (n - 1) * a) / n
    slope = points * (x * b - a) / (x * x - 1)
    return x, 2 / ((1 - x * x) * slope * slope)
