//! Integer Gaussian noise.

use super::{bernoulli_exp, discrete_laplace};
use crate::{Bits, Ratio};

/// An integer x with probability proportional to exp(−x²/2`sigma`²).
///
/// Integer Laplace noise of scale σ is kept with probability exp(−(|y| − σ)²/2σ²): any scale serves for the proposal, and
/// σ itself keeps every product within 128 bits.
///
/// # Promise    Exact
/// # Reference  [CanonneKamathSteinke20] Algorithm 3, with t = σ
pub fn discrete_gaussian(sigma: Ratio, bits: &mut impl Bits) -> i128 {
    let (n, d) = (u128::from(sigma.numerator()), u128::from(sigma.denominator())); // σ = n/d
    loop {
        let y = discrete_laplace(sigma, bits);
        let gap = (y.unsigned_abs() * d).abs_diff(n); // (|y| − σ) d
        // gap = whole n + rest, so gap²/2n² = whole²/2 + whole rest/n + rest²/2n², each within 128 bits.
        let (whole, rest) = (gap / n, gap % n);
        let keep = bernoulli_exp(whole * whole, 2, bits)
            && bernoulli_exp(whole * rest, n, bits)
            && bernoulli_exp(rest * rest, 2 * n * n, bits);
        if keep {
            return y;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Entropy, Key, Purpose};

    /// Seed 1, 200 000 draws: the mean square of σ = 3/2 is outside 2.25 ± 0.05 with chance below 1e-10.
    #[test]
    fn the_variance_is_that_of_sigma() {
        let mut stream = Entropy::seeded(1).stream(Purpose::Noise, Key::default());
        let sigma = Ratio::new(3, 2).unwrap();
        let squares = (0..200_000).map(|_| discrete_gaussian(sigma, &mut stream).pow(2)).sum::<i128>();
        let mean = squares as f64 / 200_000.0;
        assert!((mean - 2.25).abs() < 0.05, "{mean}");
    }
}
