"""epsilon of compositions whose losses can be enumerated: lattices by powers of polynomials, Laplace by residues.

Everything in ball arithmetic with digits to spare; the radius of the result says how many are left.
"""

from flint import acb, arb, arb_poly, ctx


def epsilon_of_law(law, delta):
    """The epsilon at delta of a finite law [(loss, probability)]: on each gap between losses, delta = A - e^eps B."""
    law = sorted(law, key=lambda atom: -float(atom[0]))
    a, b = arb(0), arb(0)
    for i, (loss, p) in enumerate(law):
        a += p
        b += p * (-loss).exp()
        low = law[i + 1][0] if i + 1 < len(law) else None
        at_low = a - b * low.exp() if low is not None else a
        if low is None or at_low > delta:
            return ((a - delta) / b).log()
    raise ValueError("unreachable")


def power_of_lattice(masses, times):
    """The law of a sum of `times` independent whole numbers 0, 1, .. with these masses."""
    return (arb_poly(masses) ** times).coeffs()


def randomized_response(buckets, noise, times, adjacency):
    """Replace-one: the true bucket against another. Zero-out: against a uniformly random report; both directions."""
    p = arb(noise)
    other = p / buckets
    keep = 1 - p + other
    if adjacency == "replace-one":
        unit = (keep / other).log()
        masses = power_of_lattice([other, other * (buckets - 2), keep], times)
        return [[(unit * (i - times), m) for i, m in enumerate(masses)]]
    up, down = (keep * buckets).log(), p.log()
    laws = []
    for chance, sign in ((keep, 1), (arb(1) / buckets, -1)):
        masses = power_of_lattice([1 - chance, chance], times)
        laws.append([(sign * (up * i + down * (times - i)), m) for i, m in enumerate(masses)])
    return laws


def discrete_laplace(scale, shift, times):
    b = arb(scale)
    r = (-1 / b).exp()
    unit = (1 - r) / (1 + r)
    # Losses (2i - shift)/b for i = 0 .. shift, from x = shift - i; both ends gather a whole tail.
    masses = [unit * r ** (shift - i) for i in range(shift + 1)]
    masses[0] = unit * r**shift / (1 - r)
    masses[shift] = unit / (1 - r)
    powers = power_of_lattice(masses, times)
    return [((2 * arb(i) - shift * times) / b, m) for i, m in enumerate(powers)]


def discrete_gaussian(sigma, shift, times):
    s2 = arb(sigma) ** 2
    far = int(sigma * (2 * ctx.prec * 0.7) ** 0.5) + 2
    masses = [(-(arb(x) ** 2) / (2 * s2)).exp() for x in range(-far, far + 1)]
    whole = sum(masses, arb(0))
    powers = power_of_lattice([m / whole for m in masses], times)
    # i - far * times is minus the sum of the noises (they are symmetric); the loss of one use is (d^2 - 2 d x)/(2 s2).
    return [((2 * shift * arb(i - far * times) + arb(shift) ** 2 * times) / (2 * s2), m) for i, m in enumerate(powers)]


def laplace_delta(scale, times, eps, radius, count):
    """delta and its slope by residues: the binomial expansion of e^{T K}, each term around its poles 0, -1/2, -1.

    With w = z + 1/2 on a circle of this radius; terms whose exponent is negative close on the other side and vanish.
    """
    e = 1 / arb(scale)
    whole, slope = arb(0), arb(0)
    terms = [k for k in range(times + 1) if (2 * k - times) * e > eps]
    if not terms:
        return whole, slope
    for j in range(count // 2 + 1):
        w = radius * acb(0, 2 * arb.pi() * j / count).exp()
        z = w - arb(0.5)
        weight = 1 if j in (0, count // 2) else 2
        up, down = (z + 1) * (z * e).exp(), z * (-(z + 1) * e).exp()
        value = acb(0)
        ratio = up / down
        power = up ** terms[0] * down ** (times - terms[0])
        choose = arb(1)
        for i in range(terms[0]):
            choose = choose * (times - i) / (i + 1)
        for k in terms:
            value += choose * power
            power *= ratio
            choose = choose * (times - k) / (k + 1)
        value *= w * (-z * eps).exp() / ((2 * z + 1) ** times * z * (z + 1))
        whole += weight * value.real
        slope -= weight * (value * z).real
    return whole / count, slope / count


def laplace(scale, times, delta, radius):
    """epsilon at delta: bisection to the smooth piece, then Newton."""
    count = 2 * (times + 250)
    low, high = arb(0), times / arb(scale)
    # Few uses: delta may bend sharply next to the largest loss, so go close before Newton.
    for _ in range(24 if times > 20 else 70):
        middle = ((low + high) / 2).mid()
        if laplace_delta(scale, times, middle, radius, count)[0] > delta:
            low = middle
        else:
            high = middle
    eps = ((low + high) / 2).mid()
    for _ in range(8):
        value, slope = laplace_delta(scale, times, eps, radius, count)
        move = (value - delta) / slope
        eps = (eps - move).mid()
        if abs(float(move)) < 1e-40:
            break
    return eps, float(move.rad())
