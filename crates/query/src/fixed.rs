//! Clamped numbers as exact integers: the only step at which a float of the data is rounded.
//!
//! The unit is a power of two, so scaling is exact and the rounding is one monotone function of one value. Sums of the
//! integers are exact and do not depend on order; one record moves them by at most what the rounded bounds allow.

use crate::Bounds;

/// How clamped numbers become integers.
///
/// # Examples
///
/// ```
/// use veracity_query::{Bounds, FixedPoint};
///
/// let grid = FixedPoint::for_sums(Bounds::new(0.0, 1.0)?);
/// // Floats lose 0.1 + 0.2; whole numbers do not depend on the order.
/// let sum: i128 = [0.1, 0.2, 1e9, -5.0].iter().map(|&x| grid.encode(x)).sum();
/// assert_eq!(sum, grid.encode(0.1) + grid.encode(0.2) + grid.upper() + grid.lower());
/// assert_eq!(grid.upper() as f64 * grid.unit(), 1.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedPoint {
    bounds: Bounds,
    exponent: i32,
    lower: i128,
    upper: i128,
}

impl FixedPoint {
    /// Bits of the largest value of a sum. With at most 2^61 units in a value and 2^59 rows in any memory, a sum stays
    /// below 2^120.
    pub(crate) const SUM_BITS: i32 = 60;
    /// Bits of the largest distance from the middle where squares are summed: a square is below 2^66, so a sum of at most
    /// 2^59 of them stays below 2^125.
    pub(crate) const SQUARE_BITS: i32 = 32;

    /// Units of about `magnitude`/2^`bits`.
    pub(crate) fn new(bounds: Bounds, magnitude: f64, bits: i32) -> FixedPoint {
        let exponent = exponent_of(magnitude) - bits;
        let (lower, upper) = (round_to(bounds.lower(), exponent), round_to(bounds.upper(), exponent));
        FixedPoint { bounds, exponent, lower, upper }
    }

    /// Integers for plain sums: the larger bound has 61 bits.
    pub fn for_sums(bounds: Bounds) -> FixedPoint {
        FixedPoint::new(bounds, bounds.magnitude(), FixedPoint::SUM_BITS)
    }

    /// Integers for sums of distances from the middle: half the width has 61 bits.
    pub fn for_means(bounds: Bounds) -> FixedPoint {
        FixedPoint::new(bounds, bounds.width() / 2.0, FixedPoint::SUM_BITS)
    }

    /// Integers for sums of squared distances from the middle: half the width has 33 bits.
    pub fn for_squares(bounds: Bounds) -> FixedPoint {
        FixedPoint::new(bounds, bounds.width() / 2.0, FixedPoint::SQUARE_BITS)
    }

    /// The integer of a number: clamped, scaled exactly, rounded, halves up.
    ///
    /// # Promise  Monotone, between [`FixedPoint::lower`] and [`FixedPoint::upper`]
    /// # Assumes  `x` is a number; infinities are clamped
    pub fn encode(&self, x: f64) -> i128 {
        round_to(self.bounds.clamp(x), self.exponent)
    }

    /// The integer of the lower bound.
    pub fn lower(&self) -> i128 {
        self.lower
    }

    /// The integer of the upper bound.
    pub fn upper(&self) -> i128 {
        self.upper
    }

    /// The integer in the middle of the bounds, rounded down.
    pub fn middle(&self) -> i128 {
        (self.lower + self.upper).div_euclid(2)
    }

    /// The farthest that an integer can be from zero.
    pub fn farthest(&self) -> i128 {
        self.lower.abs().max(self.upper.abs())
    }

    /// The farthest that an integer can be from the middle.
    pub fn half_width(&self) -> i128 {
        self.upper - self.middle()
    }

    /// The power of two that is one unit.
    pub fn exponent(&self) -> i32 {
        self.exponent
    }

    /// One unit.
    pub fn unit(&self) -> f64 {
        power_of_two(self.exponent)
    }
}

/// The nearest integer to x/2^`exponent`, halves up, in integers alone.
///
/// Halves up, not to even: then it is ⌊x/2^`exponent` + ½⌋, and numbers m units apart round to integers at most ⌈m⌉ apart.
/// To even, 0.5 and 1.5 would become 0 and 2.
///
/// # Promise  Monotone in x; exact scaling for every finite float, subnormal ones too; past ±2^126 it stops there
pub(crate) fn round_to(x: f64, exponent: i32) -> i128 {
    const STOP: i128 = 1 << 126;
    let bits = x.to_bits();
    let field = ((bits >> 52) & 0x7ff) as i32;
    let fraction = i128::from(bits & ((1 << 52) - 1));
    // x = ± mantissa 2^power
    let (mantissa, power) = if field == 0 { (fraction, -1074) } else { (fraction + (1 << 52), field - 1075) };
    let shift = power - exponent;
    let negative = x.is_sign_negative();
    let rounded = match shift {
        _ if mantissa == 0 => 0,
        73.. => STOP,
        0..73 => mantissa << shift,
        -54..0 => {
            let (floor, rest, half) =
                (mantissa >> -shift, mantissa & ((1 << -shift) - 1), 1i128 << (-shift - 1));
            floor + i128::from(rest > half || rest == half && !negative)
        }
        // A mantissa below 2^53 is less than half a unit.
        _ => 0,
    };
    if negative { -rounded } else { rounded }
}

/// The largest e with 2^e ≤ x.
///
/// # Assumes  `x` is positive, finite and not subnormal
pub(crate) fn exponent_of(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

/// 2^`exponent`, exactly.
///
/// # Assumes  −1022 ≤ `exponent` ≤ 1023
pub(crate) fn power_of_two(exponent: i32) -> f64 {
    debug_assert!((-1022..=1023).contains(&exponent));
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_takes_halves_up_and_knows_all_floats() {
        for (x, exponent, expected) in [
            (2.5, 0, 3),
            (3.5, 0, 4),
            (-2.5, 0, -2),
            (-3.5, 0, -3),
            (0.5, 0, 1),
            (-0.5, 0, 0),
            (0.5f64.next_down(), 0, 0),
            ((-0.5f64).next_down(), 0, -1),
            (-0.0, 0, 0),
            (5e-324, -1074, 1),
            (5e-324, -1073, 1),
            (-5e-324, -1073, 0),
            (5e-324, -1072, 0),
            (1.0, -60, 1 << 60),
            (f64::MAX, 0, 1 << 126),
            (f64::INFINITY, 0, 1 << 126),
            (1e-300, 0, 0),
            (1.0, 60, 0),
        ] {
            assert_eq!(round_to(x, exponent), expected, "{x} {exponent}");
        }
    }
}
