//! Elementwise functions, among them exp and tanh. They use additions, multiplications and divisions only, so that every
//! machine gives the same bits.

use crate::vectors::vectorize;

/// `to` = f(`from`).
pub(super) fn map(to: &mut [f32], from: &[f32], f: impl Fn(f32) -> f32) {
    vectorize(
        #[inline(always)]
        || to.iter_mut().zip(from).for_each(|(y, x)| *y = f(*x)),
    );
}

/// `to` = f(`left`, `right`).
pub(super) fn map_pairs(to: &mut [f32], left: &[f32], right: &[f32], f: impl Fn(f32, f32) -> f32) {
    vectorize(
        #[inline(always)]
        || to.iter_mut().zip(left).zip(right).for_each(|((z, x), y)| *z = f(*x, *y)),
    );
}

/// `values` = f(`values`).
pub(super) fn apply(values: &mut [f32], f: impl Fn(f32) -> f32) {
    vectorize(
        #[inline(always)]
        || values.iter_mut().for_each(|x| *x = f(*x)),
    );
}

/// eˣ for −87 ≤ x ≤ 88; beyond, its value there.
///
/// # Numerics  x = n ln 2 + r, 2ⁿ from the exponent bits, eʳ by its Taylor series to r⁷, which leaves out at most 6e-9 for
/// |r| ≤ ln 2/2; relative error ≤ 2e-7
#[inline(always)]
pub(super) fn exp(x: f32) -> f32 {
    /// Adding it leaves the nearest integer in the low bits.
    const ROUND: f32 = 12_582_912.0;
    /// ln 2 in two parts, the first with so few bits that n times it is exact.
    const LN_2: (f32, f32) = (355.0 / 512.0, -2.121_944_4e-4);
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = (x - n * LN_2.0) - n * LN_2.1;
    let tail = 1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0))));
    let series = 1.0 + (r + r * r * (0.5 + r * tail));
    series * f32::from_bits(shifted.to_bits().wrapping_add(127) << 23)
}

/// tanh x.
///
/// # Numerics  1 − 2/(e²ˣ + 1), and for |x| < 0.625, where that cancels, Lambert's continued fraction to its fifth term;
/// relative error ≤ 4e-7
#[inline(always)]
pub(super) fn tanh(x: f32) -> f32 {
    let size = x.abs();
    let square = x * x;
    let near = x * (945.0 + square * (105.0 + square)) / (945.0 + square * (420.0 + square * 15.0));
    let far = (1.0 - 2.0 / (exp(2.0 * size) + 1.0)).copysign(x);
    if size < 0.625 { near } else { far }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The largest relative error against double precision over a grid.
    fn worst(from: f32, to: f32, ours: fn(f32) -> f32, truth: fn(f64) -> f64) -> f64 {
        (0..=400_000)
            .map(|i| from + (to - from) * (i as f32 / 400_000.0))
            .map(|x| (f64::from(ours(x)) / truth(f64::from(x)) - 1.0).abs())
            .fold(0.0, f64::max)
    }

    #[test]
    fn exp_and_tanh_are_as_accurate_as_stated() {
        assert!(worst(-87.0, 88.0, exp, libm::exp) < 2e-7, "{}", worst(-87.0, 88.0, exp, libm::exp));
        for (from, to) in [(1e-6, 0.01), (0.01, 1.0), (1.0, 12.0), (-3.0, -1e-5)] {
            assert!(worst(from, to, tanh, libm::tanh) < 4e-7, "{}", worst(from, to, tanh, libm::tanh));
        }
        assert_eq!((tanh(0.0), tanh(100.0), tanh(f32::NEG_INFINITY)), (0.0, 1.0, -1.0));
        assert!(tanh(f32::NAN).is_nan() && exp(f32::NAN).is_nan());
    }
}
