//! Integer Laplace noise.

use super::{bernoulli_exp, uniform_below};
use crate::{Bits, Ratio};

/// An integer x with probability proportional to exp(−|x|/`scale`).
///
/// # Promise    Exact
/// # Reference  [CanonneKamathSteinke20] Algorithm 2
pub fn discrete_laplace(scale: Ratio, bits: &mut impl Bits) -> i128 {
    let (n, d) = (u128::from(scale.numerator()), u128::from(scale.denominator())); // scale = n/d
    loop {
        // |x| d + remainder is geometric with ratio exp(−1/n): its low part below n, and its multiple of n.
        let low = uniform_below(n, bits);
        if !bernoulli_exp(low, n, bits) {
            continue;
        }
        let mut high = 0;
        while bernoulli_exp(1, 1, bits) {
            high += 1;
        }
        let magnitude = ((low + n * high) / d) as i128;
        let negative = bits.bits(1) == 1;
        // Zero has one sign only, or it would come up twice as often.
        if !(negative && magnitude == 0) {
            return if negative { -magnitude } else { magnitude };
        }
    }
}
