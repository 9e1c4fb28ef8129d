//! Sums kept in two floats, so that thousands of terms lose nothing that could be seen in one.

use std::cmp::Ordering;

/// A sum as a leading float and what it lacks.
///
/// # Numerics  Each operation on sums of one sign errs by at most 2^-102 relatively, so n of them by n·2^-102
///
/// # Examples
///
/// ```
/// use veracity_core::numerics::twofold::Twofold;
///
/// // Ten thousand terms, each too small to be seen beside 1.
/// let terms = vec![1e-17; 10_000];
/// let plain = terms.iter().fold(1.0, |sum, term| sum + term);
/// let twofold = terms.iter().fold(Twofold::from(1.0), |sum, &term| sum.plus(term.into()));
/// assert_eq!(plain, 1.0);
/// // The upper end is not below the truth, 1 + 1e-13, and close to it.
/// assert!(twofold.upper() >= 1.0 + 1e-13 && twofold.upper() < 1.0 + 1.01e-13);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Twofold {
    high: f64,
    low: f64,
}

impl Twofold {
    /// Nothing added yet.
    pub const ZERO: Twofold = Twofold { high: 0.0, low: 0.0 };

    /// The exact square of a float.
    pub fn square_of(x: f64) -> Twofold {
        let high = x * x;
        Twofold { high, low: x.mul_add(x, -high) }
    }

    /// The square.
    pub fn square(self) -> Twofold {
        let exact = Twofold::square_of(self.high);
        Twofold::near(exact.high, exact.low + 2.0 * self.high * self.low)
    }

    /// The sum.
    pub fn plus(self, other: Twofold) -> Twofold {
        let (high, error) = two_sum(self.high, other.high);
        let (low, rest) = two_sum(self.low, other.low);
        let first = Twofold::near(high, error + low);
        Twofold::near(first.high, first.low + rest)
    }

    /// The product with a float.
    pub fn times(self, x: f64) -> Twofold {
        let high = self.high * x;
        Twofold::near(high, self.high.mul_add(x, -high) + self.low * x)
    }

    /// The quotient of two floats.
    pub fn quotient(a: f64, b: f64) -> Twofold {
        let high = a / b;
        Twofold::near(high, (-high).mul_add(b, a) / b)
    }

    /// One over it.
    pub fn reciprocal(self) -> Twofold {
        let high = 1.0 / self.high;
        let rest = (-high).mul_add(self.high, 1.0) - high * self.low;
        Twofold::near(high, rest / self.high)
    }

    /// The product.
    pub fn product(self, other: Twofold) -> Twofold {
        let high = self.high * other.high;
        let rest = self.high.mul_add(other.high, -high) + (self.high * other.low + self.low * other.high);
        Twofold::near(high, rest)
    }

    /// The float that is nearest to it.
    pub fn nearest(self) -> f64 {
        self.high
    }

    /// Its natural logarithm, as a float.
    ///
    /// # Numerics  Relative error of four units of round-off, also next to 1
    pub fn ln(self) -> f64 {
        if (0.5..=2.0).contains(&self.high) { ((self.high - 1.0) + self.low).ln_1p() } else { self.high.ln() }
    }

    /// The larger of two.
    pub fn max(self, other: Twofold) -> Twofold {
        if self < other { other } else { self }
    }

    /// A float that is not below the sum, nor more than three units of the last place above it.
    ///
    /// # Promise  Holds after up to 2^40 additions of one sign
    pub fn upper(self) -> f64 {
        (self.high + self.low).next_up()
    }

    /// A float that is not below the root of a sum ≥ 0, nor more than two units of the last place above it.
    pub fn root_upper(self) -> f64 {
        let root = (self.high + self.low).sqrt();
        // The leading float is within half a unit of the sum, its root within a quarter, and rounded within a half.
        if root == 0.0 && self.high + self.low == 0.0 { 0.0 } else { root.next_up() }
    }

    fn near(high: f64, low: f64) -> Twofold {
        let sum = high + low;
        Twofold { high: sum, low: low - (sum - high) }
    }
}

impl From<f64> for Twofold {
    fn from(x: f64) -> Twofold {
        Twofold { high: x, low: 0.0 }
    }
}

impl PartialOrd for Twofold {
    fn partial_cmp(&self, other: &Twofold) -> Option<Ordering> {
        match self.high.partial_cmp(&other.high) {
            Some(Ordering::Equal) => self.low.partial_cmp(&other.low),
            order => order,
        }
    }
}

/// The sum of two floats and what its rounding lost, exactly.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_ulps_are_not_swallowed() {
        let ulp = f64::EPSILON / 4.0;
        let mut sum = Twofold::from(1.0);
        let mut plain = 1.0;
        for _ in 0..1_000_000 {
            sum = sum.plus(Twofold::from(ulp));
            plain += ulp;
        }
        assert_eq!(plain, 1.0, "the twin in one float swallows them");
        let truth = 1.0 + 250_000.0 * f64::EPSILON;
        assert!(sum.upper() >= truth && sum.upper() <= truth.next_up());
    }

    /// Products and quotients keep twice the digits of a float: 49 · (1/49) is 1 to far more digits than a float has.
    #[test]
    fn products_and_quotients_keep_twice_the_digits() {
        for n in 1u32..2000 {
            let x = Twofold::quotient(f64::from(n), 7.0);
            let one = x.product(x.reciprocal());
            let off = (one.high - 1.0) + one.low;
            assert!(off.abs() < 1e-30, "{n}: {off:e}");
            assert!(
                one.ln().abs() < 1e-30
                    && (x.ln() - (f64::from(n) / 7.0).ln()).abs() < 1e-15 * (1.0 + x.ln().abs())
            );
        }
    }

    #[test]
    fn roots_are_never_below() {
        for n in 1u32..2000 {
            let x = f64::from(n) / 7.0;
            let root = Twofold::from(x).root_upper();
            assert!(Twofold::square_of(root) >= Twofold::from(x), "{x}");
            let below = root.next_down().next_down();
            assert!(Twofold::square_of(below) < Twofold::from(x), "{x}");
        }
        assert_eq!(Twofold::ZERO.root_upper(), 0.0);
    }

    #[test]
    fn products_and_squares_agree_with_whole_numbers() {
        let big = Twofold::from(f64::from(1u32 << 30)).plus(Twofold::from(2f64.powi(-50)));
        let square = big.square();
        // (2^30 + 2^-50)² = 2^60 + 2^-19 + 2^-100
        assert_eq!(square.high, 2f64.powi(60));
        assert_eq!(square.low, 2f64.powi(-19));
        assert_eq!(Twofold::square_of(3.0).times(5.0).upper(), 45f64.next_up());
    }
}
