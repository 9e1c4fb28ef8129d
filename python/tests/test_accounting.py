"""What a mechanism leaks, asked from Python."""

import veracity as v


def test_the_gaussian_is_certified_from_both_sides():
    # mpmath 1.3, 50 digits: the root of Φ(1/2 − ε) − e^ε Φ(−1/2 − ε) = 1e-5 is 4.37717809568122...
    epsilon = v.gaussian(noise_multiplier=1).epsilon(1e-5)
    assert epsilon.lower <= 4.377178095681225 <= epsilon.upper
    assert epsilon.upper - epsilon.lower < 1e-9
    assert float(epsilon) == epsilon.upper
