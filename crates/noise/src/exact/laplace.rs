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
    loop {
        if let Some(x) = attempt(scale, bits) {
            return x;
        }
    }
}

#[inline]
fn attempt(scale: Ratio, bits: &mut impl Bits) -> Option<i128> {
    let (n, d) = (scale.numerator(), scale.denominator()); // scale = n/d
    // |x| d + remainder is geometric with ratio exp(−1/n): its low part below n, and its multiple of n.
    let low = uniform_below_word(n, bits);
    if !coin_exp(low, n, bits) {
        return None;
    }
    let mut high = 0u64;
    while one_over_e(bits) {
        high += 1;
    }
    let total = u128::from(n) * u128::from(high) + u128::from(low);
    // Division of long numbers is slow, and only for noise that nobody will see.
    let magnitude = match u64::try_from(total) {
        Ok(total) => u128::from(total / d),
        Err(_) => total / u128::from(d),
    };
    signed(magnitude, bits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::written::{assert_attempts_fit, attempts};
    use veracity_testkit::lattice::Law;

    #[test]
    fn an_attempt_has_the_law_of_its_formula_on_every_string() {
        for (numerator, denominator) in [(1, 4), (1, 2), (2, 3), (1, 1), (3, 2), (2, 1)] {
            let scale = Ratio::new(numerator, denominator).unwrap();
            let found = attempts(|bits| attempt(scale, bits));
            assert_attempts_fit(&found, scale, Law::laplace);
            // The promise itself: outputs next to each other differ by a factor e^(1/scale), and by no less.
            let (zero, one) = (found.masses[&Some(0)] as f64, found.masses[&Some(1)] as f64);
            let (undecided, factor) = (found.undecided as f64, (1.0 / scale.as_f64()).exp());
            assert!(zero <= factor * (one + undecided) && factor * one <= zero + undecided, "{scale:?}");
            // Twin: half of it is not enough.
            let less = (0.5 / scale.as_f64()).exp();
            assert!(zero > less * (one + undecided), "{scale:?} would be more private than it is");
        }
    }
}
