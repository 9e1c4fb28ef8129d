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
/// # Reference  \[CanonneKamathSteinke20\] Algorithm 2
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose, Ratio, exact::discrete_laplace};
///
/// let mut stream = Entropy::seeded(5).stream(Purpose::Noise, Key::default());
/// let scale = Ratio::new(10, 1)?;
/// let draws: Vec<i128> = (0..10_000).map(|_| discrete_laplace(scale, &mut stream)).collect();
/// // |x| is 10 on average, up to the grid; its mean over 10,000 draws has a standard error of 0.1.
/// let mean = draws.iter().map(|x| x.abs()).sum::<i128>() as f64 / 10_000.0;
/// assert!((mean - 10.0).abs() < 0.5);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
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

    /// Zeros for a uniform number and as many heads of the 1/e coin as told, then tails and a positive sign.
    struct Heads(u32);

    impl Bits for Heads {
        fn bits(&mut self, count: u32) -> u64 {
            if count != 4 {
                return 0;
            }
            let heads = self.0 > 0;
            self.0 = self.0.saturating_sub(1);
            if heads { 0 } else { 15 }
        }
    }

    #[test]
    fn noise_past_one_word_is_right_though_nobody_will_see_it() {
        let scale = Ratio::new(Ratio::MOST, 3).unwrap();
        for high in [0, 1, 65_535, 65_536, 100_000] {
            assert_eq!(discrete_laplace(scale, &mut Heads(high)), (i128::from(high) << 48) / 3);
        }
    }
}
