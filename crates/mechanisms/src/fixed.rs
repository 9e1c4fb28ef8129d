//! Clamped numbers as exact integers: the step at which a number of a column is rounded.
//!
//! The unit is a power of two, so scaling is exact and the rounding is one monotone function of one value. Sums of the
//! integers are exact and do not depend on order; one record moves them by at most what the rounded bounds allow.

use crate::{Bounds, column::present};

/// How clamped numbers become integers.
///
/// # Examples
///
/// ```
/// use veracity_mechanisms::{Bounds, FixedPoint};
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

    /// The sum over all numbers that are there of their integers less `from`, and how many there are.
    ///
    /// # Promise  The same as of [`FixedPoint::encode`], one by one
    pub(crate) fn total(&self, values: &[f64], from: i128) -> (i128, usize) {
        let (mut total, mut count) = (0, 0);
        self.each(values, |integer| {
            // From first, or integers far from zero would overflow.
            total += integer - from;
            count += 1;
        });
        (total, count)
    }

    /// Sums over all numbers that are there of their integers less `from` and of the squares of these, and how many there are.
    pub(crate) fn moments(&self, values: &[f64], from: i128) -> (i128, i128, usize) {
        let (mut total, mut squares, mut count) = (0, 0, 0);
        self.each(values, |integer| {
            let distance = integer - from;
            total += distance;
            squares += distance * distance;
            count += 1;
        });
        (total, squares, count)
    }

    /// The integer of each number that is there, in order.
    fn each(&self, values: &[f64], mut take: impl FnMut(i128)) {
        // Of a number of 64 bits, the machine converts in one instruction; of others it takes ten times as long.
        let zeros = self.zeros();
        let scale = power_of_two(-self.exponent - zeros);
        match zeros {
            _ if self.farthest() >> zeros >= 1 << 62 => {
                for x in present(values) {
                    take(self.encode(x));
                }
            }
            0 => {
                for x in present(values) {
                    take(i128::from(round_small(self.bounds.clamp(x) * scale)));
                }
            }
            _ => {
                for x in present(values) {
                    take(i128::from(round_small(self.bounds.clamp(x) * scale)) << zeros);
                }
            }
        }
    }

    /// How many zeros every integer ends with: where the bounds are far from zero, floats between them are coarser than a unit.
    fn zeros(&self) -> i32 {
        let smallest = self.bounds.lower().abs().min(self.bounds.upper().abs());
        let one_sign = self.bounds.lower() > 0.0 || self.bounds.upper() < 0.0;
        if one_sign && smallest.is_normal() { (exponent_of(smallest) - 52 - self.exponent).max(0) } else { 0 }
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

/// ⌊y + ½⌋.
///
/// What is cut off is an exact float, so nothing is rounded twice. A y that is too small for an exact power of two has 0 whole, and
/// no half.
///
/// # Assumes  |y| < 2^63
fn round_small(y: f64) -> i64 {
    let whole = y as i64;
    let rest = y - whole as f64;
    whole + i64::from(rest >= 0.5) - i64::from(rest < -0.5)
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
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};

    /// All floats, and those where rounding goes wrong first: halves of units, their neighbours, both zeros, the far ends.
    fn any_value(fixed: &FixedPoint) -> impl Strategy<Value = f64> + use<> {
        let (unit, bounds) = (fixed.unit(), fixed.bounds);
        let half = (-1_000_000i64..1_000_000).prop_map(move |k| (k as f64 + 0.5) * unit);
        let near = half.clone().prop_map(f64::next_up);
        let ends = [0.0, -0.0, 5e-324, -5e-324, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, bounds.lower()];
        let within = (0.0..=1.0).prop_map(move |part| bounds.lower() + bounds.width() * part);
        prop_oneof![
            any::<u64>().prop_map(f64::from_bits),
            half.clone(),
            half.prop_map(f64::next_down),
            near,
            within,
            proptest::sample::select(ends.to_vec()),
        ]
    }

    fn any_fixed() -> impl Strategy<Value = FixedPoint> {
        let ends =
            prop_oneof![-1e100..1e100, -1e3..1e3, -1e-50..1e-50, Just(0.0), Just(1e15), Just(1e15 + 0.25)];
        let bounds = (ends.clone(), ends)
            .prop_filter_map("no bounds", |(a, b): (f64, f64)| Bounds::new(a.min(b), a.max(b)).ok());
        // Far from zero and close together, so that integers end with zeros.
        let far =
            (-1e6..1e6, 1e-9..1.0).prop_map(|(at, width): (f64, f64)| Bounds::new(at, at + width).unwrap());
        let bounds = prop_oneof![bounds, far];
        (bounds, 0..3).prop_map(|(bounds, which)| match which {
            0 => FixedPoint::for_sums(bounds),
            1 => FixedPoint::for_means(bounds),
            _ => FixedPoint::for_squares(bounds),
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, rng_seed: RngSeed::Fixed(2), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn sums_of_many_are_those_of_one_by_one(
            (fixed, values) in any_fixed().prop_flat_map(|fixed| {
                (Just(fixed), proptest::collection::vec(any_value(&fixed), 0..12))
            })
        ) {
            for from in [0, fixed.lower(), fixed.middle()] {
                let slow: Vec<i128> =
                    values.iter().filter(|x| !x.is_nan()).map(|x| fixed.encode(*x) - from).collect();
                prop_assert_eq!(fixed.total(&values, from), (slow.iter().sum(), slow.len()));
                if from != 0 && fixed.half_width() < 1 << 34 {
                    let squares = slow.iter().map(|d| d * d).sum();
                    prop_assert_eq!(fixed.moments(&values, from), (slow.iter().sum(), squares, slow.len()));
                }
            }
        }

        /// Small powers of two and large ones: every float that is scaled to less than 2^62.
        #[test]
        fn the_fast_rounding_is_the_slow_one(bits in any::<u64>(), exponent in -400..400i32, near in 0..4u64) {
            let x = f64::from_bits(bits);
            let far = power_of_two(exponent + 62);
            // Half of all floats are far too large or small: some are brought near the unit.
            let x = if near > 0 { x.clamp(-1e300, 1e300) } else { x };
            let x = if near > 1 { f64::from_bits(bits & !(0x7ff << 52) | (1023 + exponent.unsigned_abs() as u64 % 60) << 52) * power_of_two(exponent) } else { x };
            if x.is_nan() || x.abs() >= far {
                return Ok(());
            }
            prop_assert_eq!(i128::from(round_small(x * power_of_two(-exponent))), round_to(x, exponent), "{:e} {}", x, exponent);
        }
    }

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
