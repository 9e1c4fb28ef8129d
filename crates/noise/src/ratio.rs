//! A positive ratio of whole numbers: what exact samplers take as a scale, a probability or a rate.

use veracity_core::Refusal;

/// A positive ratio in lowest terms, both numbers at most 2^48. Products of a few of them fit 128 bits.
///
/// # Examples
///
/// ```
/// use veracity_noise::Ratio;
///
/// let ratio = Ratio::new(6, 4)?;
/// assert_eq!((ratio.numerator(), ratio.denominator()), (3, 2));
/// assert!(Ratio::new(1, 0).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// The largest numerator and denominator.
    pub const MOST: u64 = 1 << 48;
    /// Significant bits of a ratio that stands for a float.
    const BITS: i32 = 40;

    /// Checks that both are at least 1 and, in lowest terms, at most 2^48.
    ///
    /// # Errors
    /// Refuses zeros, and numbers above 2^48 in lowest terms.
    pub fn new(numerator: u64, denominator: u64) -> Result<Ratio, Refusal> {
        if numerator == 0 || denominator == 0 {
            return Err(Refusal::out_of_range(
                "ratio",
                format!("{numerator}/{denominator}"),
                "both numbers ≥ 1",
            ));
        }
        let shared = gcd(numerator, denominator);
        let (numerator, denominator) = (numerator / shared, denominator / shared);
        if numerator.max(denominator) > Ratio::MOST {
            return Err(Refusal::out_of_range(
                "ratio",
                format!("{numerator}/{denominator}"),
                "both numbers ≤ 2^48 in lowest terms",
            ));
        }
        Ok(Ratio { numerator, denominator })
    }

    /// The least ratio ≥ `x` with a power of two below the line and about 40 significant bits: a float holds it exactly,
    /// so what is drawn and what is claimed are the same number.
    ///
    /// # Promise  `x` ≤ ratio, and ratio − `x` ≤ 2^-39 `x` for 2^-8 ≤ `x` ≤ 2^47; no more than 2^-48 below that
    ///
    /// # Errors
    /// Refuses numbers that are not positive or above 2^47.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_noise::Ratio;
    ///
    /// let scale = Ratio::at_least(0.1)?;
    /// // Rounded up, by little, and a float holds it.
    /// assert!(scale.as_f64() >= 0.1 && scale.as_f64() < 0.1 * (1.0 + 1e-11));
    /// assert!(scale.denominator().is_power_of_two());
    /// assert!(Ratio::at_least(f64::NAN).is_err());
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn at_least(x: f64) -> Result<Ratio, Refusal> {
        if !(x > 0.0 && x <= (1u64 << 47) as f64) {
            return Err(Refusal::out_of_range("ratio", x, "0 < ratio ≤ 2^47"));
        }
        let exponent = x.log2().floor() as i32;
        let shift = (Ratio::BITS - 1 - exponent).clamp(0, 48);
        // Scaling by a power of two is exact, and the ceiling of a float below 2^53 too.
        let scaled = (x * (shift as f64).exp2()).ceil();
        Ratio::new(scaled as u64, 1 << shift)
    }

    /// The number above the line.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The number below the line.
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// The ratio as a float: exact when it came from [`Ratio::at_least`], else the nearest.
    pub fn as_f64(self) -> f64 {
        // Both are exact floats, so the division is the only rounding.
        self.numerator as f64 / self.denominator as f64
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_for_a_float_is_never_below_it_and_is_a_float_itself() {
        for x in [1e-14, 1e-6, 0.1, 1.0 / 3.0, 1.0, 1.5, std::f64::consts::PI, 12345.678, 1e9, 1e14] {
            let ratio = Ratio::at_least(x).unwrap();
            assert!(ratio.as_f64() >= x, "{x}");
            assert!(ratio.as_f64() - x <= x * 2f64.powi(-39) + 2f64.powi(-48), "{x}");
            assert!(ratio.denominator().is_power_of_two());
            assert_eq!(ratio.as_f64() * ratio.denominator() as f64, ratio.numerator() as f64);
        }
        assert_eq!(Ratio::at_least(1.0).unwrap(), Ratio::new(1, 1).unwrap());
    }

    #[test]
    fn what_is_no_ratio_is_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e15] {
            assert!(Ratio::at_least(bad).is_err(), "{bad}");
        }
        assert!(Ratio::new(0, 1).is_err() && Ratio::new(1, 0).is_err());
        assert!(Ratio::new((1 << 48) + 1, 1).is_err());
        assert_eq!(Ratio::new(1 << 50, 1 << 49).unwrap(), Ratio::new(2, 1).unwrap());
    }
}
