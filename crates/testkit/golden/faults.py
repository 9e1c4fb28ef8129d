#!/usr/bin/env python3
"""Truths of the questions at which the accountant was once wrong, wide or silent, written to faults.csv beside it.

    pip install mpmath==1.3.0
    python faults.py > faults.csv

Everything at 60 digits. Sampled Gaussians go down the contour twice, with another abscissa and other steps; both must
agree to 30 digits. Outcomes are enumerated. Numbers are asked as the floats that the Rust code is asked.
"""

from mpmath import binomial, cos, erfc, exp, expm1, findroot, log, log1p, mp, mpc, mpf, nstr, pi, sin, sqrt

mp.dps = 60


def tail(x):
    return erfc(x / sqrt(mpf(2))) / 2


def gaussian_delta(mu, e):
    return tail(e / mu - mu / 2) - exp(e) * tail(e / mu + mu / 2)


class Contour:
    """One setting of the double trapezoid sum for `steps` Poisson-sampled Gaussians."""

    def __init__(self, q, sigma, steps, direction, c, h, inner, reach):
        q, mu = mpf(q), 1 / mpf(sigma)
        self.c, self.h, self.values = c, h, []
        points = []
        for k in range(-int(reach / inner), int(reach / inner) + 1):
            t = k * inner
            up = log1p(q * expm1(mu * t - mu * mu / 2))
            down = log1p(q * expm1(-mu * t - mu * mu / 2))
            base = exp(-t * t / 2) * inner / sqrt(2 * pi)
            weight, loss = {"remove": (exp(up), up), "add": (1, -up), "replace": (exp(up), up - down)}[direction]
            w = base * weight * exp(c * loss)
            points.append([mpc(w), mpc(cos(h * loss), sin(h * loss))])
        k, quiet = 0, 0
        while quiet < 3:
            z = mpc(c, k * h)
            phi = sum(p[0] for p in points)
            value = exp(steps * log(phi)) / (z * (z + 1)) * (mpf(1) / 2 if k == 0 else 1)
            self.values.append((z, value))
            quiet = quiet + 1 if abs(value) < mpf(10) ** -50 * abs(self.values[0][1]) else 0
            for p in points:
                p[0] *= p[1]
            k += 1

    def delta(self, e):
        return sum((value * exp(-z * e)).real for z, value in self.values) * self.h / pi


def sampled_epsilon(q, sigma, steps, delta, adjacency, guess):
    worst = mpf(0)
    for direction in ["remove", "add"] if adjacency == "add-remove" else ["replace"]:
        spread = mpf(q) / mpf(sigma) * sqrt(mpf(steps)) * (2 if direction == "replace" else 1)
        found = []
        for factor, finer in [(mpf(4), 1), (mpf(3), mpf("1.3"))]:
            c = factor / spread
            h = 2 * pi * c / (150 * finer)
            setting = Contour(q, sigma, steps, direction, c, h, mpf("0.2") / finer, 22)
            found.append(findroot(lambda e: log(setting.delta(e)) - log(mpf(delta)), mpf(guess)))
        assert abs(found[0] / found[1] - 1) < mpf(10) ** -30, (found, q, sigma, steps)
        worst = max(worst, found[0])
    return worst


def coins_delta(q, epsilon, times, e, direction):
    """Poisson-sampled worst pairs of pure epsilon: every number of heads."""
    q, epsilon = mpf(q), mpf(epsilon)
    heads, tails = 1 / (1 + exp(-epsilon)), 1 / (1 + exp(epsilon))
    first = [(1 - q) * tails + q * heads, (1 - q) * heads + q * tails]
    second = [tails, heads]
    if direction == "add":
        first, second = second, first
    losses = [log(a / b) for a, b in zip(first, second)]
    total = mpf(0)
    for k in range(times + 1):
        loss = k * losses[0] + (times - k) * losses[1]
        if loss > e:
            total -= binomial(times, k) * first[0] ** k * first[1] ** (times - k) * expm1(e - loss)
    return total


def coins_epsilon(q, epsilon, times, delta):
    worst = mpf(0)
    for direction in ["remove", "add"]:
        low, high = mpf(0), times * log1p(mpf(q) * expm1(mpf(epsilon)))
        for _ in range(150):
            middle = (low + high) / 2
            if coins_delta(q, epsilon, times, middle, direction) > mpf(delta):
                low = middle
            else:
                high = middle
        worst = max(worst, high)
    return worst


def replaced_once(q, sigma, e):
    q, mu, e = mpf(q), 1 / mpf(sigma), mpf(e)
    loss = lambda x: log1p(q * expm1(mu * x - mu * mu / 2)) - log1p(q * expm1(-mu * x - mu * mu / 2)) - e
    low, high = mpf(0), mpf(1)
    while loss(high) < 0:
        high *= 2
    for _ in range(260):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) < 0 else (low, middle)
    return q * tail(low - mu) - expm1(e) * (1 - q) * tail(low) - exp(e) * q * tail(low + mu)


def row(fault, question, adjacency, wanted, at, truth):
    print(f"{fault},{question},{adjacency},{wanted},{at!r},{nstr(truth, 32)}")


print("# python faults.py; mpmath 1.3.0, 60 digits; contours in two settings that agree to 30 digits")
print("fault,question,adjacency,wanted,at,truth")
for q, sigma, steps, delta, adjacency, guess in [
    (0.1, 3000.0, 100, 1e-5, "add-remove", 4.9663e-4),
    (0.99, 50.0, 2, 1e-6, "add-remove", 0.1015),
    (0.5, 3500.0, 100, 1e-5, "add-remove", 0.003),
    (0.1, 3000.0, 100, 1e-5, "replace-one", 1e-3),
]:
    truth = sampled_epsilon(q, sigma, steps, delta, adjacency, guess)
    row(3, f"dp-sgd {q} {sigma} x{steps}", adjacency, "epsilon", delta, truth)
row(5, "sampled-pure 0.1 1.0 x100", "add-remove", "epsilon", 1e-5, coins_epsilon(0.1, 1.0, 100, 1e-5))
row(5, "sampled-pure 0.1 2.0 x1000", "add-remove", "epsilon", 1e-6, coins_epsilon(0.1, 2.0, 1000, 1e-6))
row(6, "randomized-response 2 1e-16 x1", "zero-out", "epsilon", 0.0, -log(mpf(1e-16)))
p = 2.0422142517008274e-10
row(6, f"randomized-response 3 {p} x10", "zero-out", "epsilon", 0.0, -10 * log(mpf(p)))
row(7, "laplaces 800", "add-remove", "epsilon", 0.0, sum(1 / mpf(0.37 + 0.013 * i) for i in range(800)))
mu = sqrt(sum(1 / mpf(20.37 + 0.13 * i) ** 2 for i in range(1000)))
for e in [0.0, 1.0, 3.0]:
    row(7, "gaussians 1000", "add-remove", "delta", e, gaussian_delta(mu, mpf(e)))
mu = sqrt(mpf(181542)) / mpf(216749.6152197478)
row(7, "gaussian 216749.6152197478 x181542", "add-remove", "delta", 0.0, gaussian_delta(mu, mpf(0)))
for q, sigma, e in [
    (0.0027838681765687307, 1.312316138242045, 27.31562447223534),
    (0.5, 1.0, 120.0),
    (0.5, 1.0, 200.0),
]:
    row(8, f"dp-sgd {q} {sigma} x1", "replace-one", "delta", e, replaced_once(q, sigma, e))
