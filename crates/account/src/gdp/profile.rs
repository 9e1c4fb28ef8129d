//! The privacy profile of one Gaussian: δ from (μ, ε), ε from (μ, δ), μ from (ε, δ), none of them by subtraction of
//! nearly equal numbers.

use veracity_core::numerics::{legendre, normal, root};

/// What the computed δ may be off by, relatively; `gaussian_delta` promises a tenth of it.
pub(crate) const MARGIN: f64 = 1e-12;

/// δ(ε) of N(μ, 1) against N(0, 1), for μ ≥ 0 and ε ≥ 0.
///
/// With a = ε/μ − μ/2 and b = a + μ, and Mills' ratio M, it is φ(a) (M(a) − M(b)) = φ(a) ∫₀^∞ e^{−at − t²/2} (1 − e^{−μt}) dt.
///
/// # Promise    The exact profile, both directions (the pair is symmetric)
/// # Reference  [BalleWang18] Theorem 8: δ = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)
/// # Assumes    The answer moves by at most μ standard deviations
/// # Numerics   Relative error ≤ 1e-13 above 1e-300; below that it may underflow to zero
pub(crate) fn gaussian_delta(mu: f64, epsilon: f64) -> f64 {
    let ratio = epsilon / mu;
    if mu == 0.0 || !ratio.is_finite() {
        return 0.0;
    }
    let half = 0.5 * mu;
    let a = ratio - half;
    let b = ratio + half;
    // What rounding took from a: the exact remainder of the division, and of the difference (Knuth's two-sum).
    let remainder = (-ratio).mul_add(mu, epsilon) / mu;
    let back = a - ratio;
    let rest = (ratio - (a - back)) + (-half - back) + remainder;
    if a < -1.0 {
        return normal::cdf(-a) - density(a, rest) * normal::mills(b);
    }
    let (near, far) = (normal::mills(a), normal::mills(b));
    let difference = if far <= 0.5 * near { near - far } else { mills_drop(a, mu) };
    density(a, rest) * difference
}

/// φ(a + rest) for a small rest, without the error that squaring a large `a` would bring.
fn density(a: f64, rest: f64) -> f64 {
    let square = a * a;
    if square > 1600.0 {
        return 0.0; // e^{−800} underflows, and what rounding lost of a larger square would not
    }
    let lost = a.mul_add(a, -square);
    (-0.5 * square).exp() * (-0.5 * lost - a * rest).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// M(a) − M(a + μ) for a ≥ −1, as the integral of a positive function.
///
/// # Numerics  Ten panels of exponents that vary by a few units each: the rule is exact to rounding; the part beyond
/// the cut is below 1e-18 of the whole.
fn mills_drop(a: f64, mu: f64) -> f64 {
    const PANELS: u32 = 10;
    let cut = 100.0 / ((a * a + 100.0).sqrt() + a);
    let half = 0.5 * cut / f64::from(PANELS);
    let mut total = 0.0;
    for panel in 0..PANELS {
        let centre = half * f64::from(2 * panel + 1);
        for (x, weight) in legendre::rule() {
            let t = centre + half * x;
            total -= weight * (-a * t - 0.5 * t * t).exp() * (-mu * t).exp_m1();
        }
    }
    total * half
}

/// The ε at which N(μ, 1) against N(0, 1) has this δ, from below and from above.
///
/// # Promise    lower ≤ truth ≤ upper
/// # Numerics   Bisection to 1e-15 on δ widened by `MARGIN`; infinite when δ is below the smallest normal float
pub(crate) fn gaussian_epsilon(mu: f64, delta: f64) -> (f64, f64) {
    let upper = gaussian_epsilon_above(mu, delta);
    if upper.is_infinite() {
        return (if delta == 0.0 { f64::INFINITY } else { 0.0 }, upper);
    }
    let beyond = |epsilon: f64| gaussian_delta(mu, epsilon) * (1.0 - MARGIN) > delta;
    let lower = if beyond(0.0) { root::bisect(0.0, upper, 1e-15, beyond).holds } else { 0.0 };
    (lower, upper)
}

/// The upper end of [`gaussian_epsilon`] alone.
pub(crate) fn gaussian_epsilon_above(mu: f64, delta: f64) -> f64 {
    let within = |epsilon: f64| gaussian_delta(mu, epsilon) * (1.0 + MARGIN) + f64::MIN_POSITIVE <= delta;
    if mu == 0.0 {
        return 0.0;
    }
    if delta <= 2.0 * f64::MIN_POSITIVE {
        return f64::INFINITY;
    }
    // The tail bound of the loss; doubled only against rounding.
    let mut top = 0.5 * mu * mu + mu * (-2.0 * delta.ln()).sqrt();
    while top.is_finite() && !within(top) {
        top *= 2.0;
    }
    if top.is_infinite() || within(0.0) {
        return if top.is_infinite() { top } else { 0.0 };
    }
    root::bisect(top, 0.0, 1e-15, within).holds
}

/// The μ whose profile passes through (ε, δ).
///
/// # Numerics  Bisection to 1e-15; relative error about 1e-13
pub(crate) fn gaussian_mu(epsilon: f64, delta: f64) -> f64 {
    let reaches = |mu: f64| gaussian_delta(mu, epsilon) >= delta;
    if delta <= 0.0 {
        return 0.0;
    }
    if epsilon.is_infinite() {
        return f64::INFINITY;
    }
    let mut top = 1.0;
    while !reaches(top) {
        top *= 2.0;
        if top > 1e150 {
            return f64::INFINITY;
        }
    }
    root::bisect(top, 0.0, 1e-15, reaches).holds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// # mpmath 1.4, 60 digits: d=lambda m,e: ncdf(m/2-e/m)-exp(e)*ncdf(-m/2-e/m), arguments as exact floats
    #[test]
    fn delta_keeps_thirteen_digits_at_any_depth() {
        let golden = [
            (1.0, 0.0, 3.829_249_225_480_262e-1),
            (1.0, 1.0, 1.269_367_375_066_439_4e-1),
            (1.0, 4.377178095681, 1.000_000_000_000_963_2e-5),
            (1e-06, 0.0, 3.989_422_804_014_16e-7),
            (1e-06, 1e-06, 8.331_551_224_542_54e-8),
            (1e-06, 2e-05, 1.370_026_194_922_787_7e-96),
            (0.1, 0.5, 6.856_582_455_838_737e-9),
            (0.1, 3.0, 7.304_806_101_754_676e-200),
            (0.5, 10.0, 9.855_120_610_850_166e-89),
            (1.0, 30.0, 4.709_326_318_097_522e-193),
            (3.0, 50.0, 4.822_245_422_850_973e-53),
            (10.0, 60.0, 1.368_353_803_964_612_6e-1),
            (10.0, 40.0, 8.147_794_377_600_818e-1),
            (10.0, 200.0, 1.462_205_177_569_075e-51),
            (30.0, 1000.0, 1.389_915_337_566_352_7e-75),
            (60.0, 1500.0, 9.999_996_863_260_914e-1),
            (100.0, 8000.0, 3.773_207_040_719_912e-198),
            (2.5, 0.3, 7.555_602_789_990_206e-1),
            (0.7, 0.2449, 1.908_929_959_946_717_2e-1),
            (0.001, 1e-07, 3.9889228571816373e-4),
        ];
        for (mu, epsilon, truth) in golden {
            let found = gaussian_delta(mu, epsilon);
            assert!((found / truth - 1.0).abs() < 1e-13, "{mu} {epsilon}: {found:e} {truth:e}");
        }
    }

    #[test]
    fn epsilon_and_mu_undo_delta() {
        for mu in [1e-6, 0.01, 0.3, 1.0, 5.0, 60.0] {
            for delta in [1e-100, 1e-20, 1e-5, 0.01, 0.4] {
                let (lower, upper) = gaussian_epsilon(mu, delta);
                assert!(
                    lower <= upper && upper - lower <= 1e-10 * upper.max(1e-3),
                    "{mu} {delta} {lower} {upper}"
                );
                if lower > 0.0 {
                    let back = gaussian_mu(upper, delta);
                    assert!((back / mu - 1.0).abs() < 1e-9, "{mu} {delta} {back}");
                }
            }
        }
    }
}
