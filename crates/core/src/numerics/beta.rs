//! The beta law: cumulative probabilities by a continued fraction.

use std::f64::consts::PI;

/// P[X ≤ x] for X ~ Beta(a, b), with a, b ≥ ½.
///
/// # Reference  \[DidonatoMorris92\] (the continued fraction, evaluated by Lentz's method)
/// # Numerics   Relative error about 1e-14 × (a + b) from the logarithms of Γ, 1e-12 for small parameters
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::beta;
///
/// // Beta(1, 3) is the law of the least of three uniform numbers: P[X ≤ x] = 1 − (1 − x)³.
/// let x = 0.2f64;
/// assert!((beta::cdf(1.0, 3.0, x) - (1.0 - (1.0 - x).powi(3))).abs() < 1e-14);
/// ```
pub fn cdf(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on its own side of the mean.
    if x < (a + 1.0) / (a + b + 2.0) { lower(a, b, x, 1.0 - x) } else { 1.0 - lower(b, a, 1.0 - x, x) }
}

/// log of the beta function B(a, b).
pub fn log_function(a: f64, b: f64) -> f64 {
    libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b)
}

fn lower(a: f64, b: f64, x: f64, y: f64) -> f64 {
    let log_front = a * x.ln() + b * y.ln() - log_function(a, b);
    log_front.exp() / (a * fraction(a, b, x))
}

/// 1 + d1/(1 + d2/(1 + …)).
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    let (mut value, mut above, mut below) = (1.0, 1.0, 0.0);
    let most = 200 + (20.0 * (a + b).sqrt()) as u64;
    for j in 1..=most {
        let m = (j / 2) as f64;
        let step = if j.is_multiple_of(2) {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        below = 1.0 / away_from_zero(1.0 + step * below);
        above = away_from_zero(1.0 + step / above);
        let change = above * below;
        value *= change;
        if (change - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

fn away_from_zero(x: f64) -> f64 {
    if x.abs() < 1e-300 { 1e-300 } else { x }
}

/// The density in θ of X = sin²θ for X ~ Beta(a, b): bounded for a, b ≥ ½, where that in x is not.
pub fn angle_density(a: f64, b: f64, theta: f64) -> f64 {
    if !(0.0..=PI / 2.0).contains(&theta) {
        return 0.0;
    }
    let (sine, cosine) = theta.sin_cos();
    let power = |base: f64, exponent: f64| if exponent == 0.0 { 0.0 } else { exponent * base.ln() };
    (std::f64::consts::LN_2 + power(sine, 2.0 * a - 1.0) + power(cosine, 2.0 * b - 1.0) - log_function(a, b))
        .exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// # mpmath 1.4, 40 digits: betainc(a, b, 0, x, regularized=True)
    const GOLDEN: [(f64, f64, f64, f64); 8] = [
        (0.5, 0.5, 0.3, 0.369_010_119_565_545_4),
        (0.5, 487.5, 0.001, 0.676_560_608_063_112_1),
        (512.5, 1.5, 0.99, 0.016_131_805_525_165_083),
        (512.5, 1.5, 0.5, 9.542321619605101e-154),
        (100.5, 300.5, 0.25, 0.496_155_412_680_373_07),
        (100.5, 300.5, 0.4, 0.999_999_999_861_017_7),
        (4922.5, 95078.5, 0.05, 0.871_259_769_952_130_4),
        (50000.5, 50000.5, 0.501, 0.736_456_094_586_673_2),
    ];

    #[test]
    fn cumulative_probabilities_keep_their_digits() {
        for (a, b, x, truth) in GOLDEN {
            let ours = cdf(a, b, x);
            assert!((ours - truth).abs() <= 1e-14 * (100.0 + a + b) * truth, "{a} {b} {x}: {ours} {truth}");
        }
        assert_eq!((cdf(0.5, 0.5, 0.0), cdf(0.5, 0.5, 1.0)), (0.0, 1.0));
    }

    #[test]
    fn the_density_in_the_angle_adds_up() {
        for (a, b) in [(0.5, 0.5), (3.5, 100.5), (0.5, 40.5)] {
            let n = 20_000;
            let width = PI / 2.0 / f64::from(n);
            let sum: f64 = (0..n).map(|i| angle_density(a, b, (f64::from(i) + 0.5) * width) * width).sum();
            assert!((sum - 1.0).abs() < 1e-6, "{a} {b}: {sum}");
        }
    }
}
