//! Integer Laplace noise.

use super::{
    bernoulli::{coin_exp, one_over_e},
    signed,
    uniform::uniform_below_word,
};
use crate::{Bits, Ratio};

/// An integer x with probability proportional to exp(−|x|/`scale`).
///
/// # Promise    Exact
/// # Reference  [CanonneKamathSteinke20] Algorithm 2
pub fn discrete_laplace(scale: Ratio, bits: &mut impl Bits) -> i128 {
    let (n, d) = (scale.numerator(), scale.denominator()); // scale = n/d
    loop {
        // |x| d + remainder is geometric with ratio exp(−1/n): its low part below n, and its multiple of n.
        let low = uniform_below_word(n, bits);
        if !coin_exp(low, n, bits) {
            continue;
        }
        let mut high = 0u64;
        while one_over_e(bits) {
            high += 1;
        }
        let total = u128::from(n) * u128::from(high) + u128::from(low);
        let magnitude = match u64::try_from(total) {
            Ok(total) => u128::from(total / d),
            Err(_) => total / u128::from(d),
        };
        if let Some(x) = signed(magnitude, bits) {
            return x;
        }
    }
}
