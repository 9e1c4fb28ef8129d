//! exp and tanh from additions, multiplications and divisions alone: the same bits on every machine, many at a time.

use crate::vectors::dispatch;
use pulp::{Simd, WithSimd};

/// `to` = f(`from`), number by number, with the widest instructions there are; that does not change the bits.
pub(super) fn map(to: &mut [f32], from: &[f32], f: impl Fn(f32) -> f32) {
    dispatch(Map { to, from, f });
}

/// `to` = f(`left`, `right`), likewise.
pub(super) fn map_pairs(to: &mut [f32], left: &[f32], right: &[f32], f: impl Fn(f32, f32) -> f32) {
    dispatch(MapPairs { to, left, right, f });
}

/// `values` = f(`values`).
pub(super) fn apply(values: &mut [f32], f: impl Fn(f32) -> f32) {
    dispatch(Apply { values, f });
}

struct Apply<'a, F> {
    values: &'a mut [f32],
    f: F,
}

impl<F: Fn(f32) -> f32> WithSimd for Apply<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.values.iter_mut().for_each(|x| *x = (self.f)(*x));
    }
}

struct Map<'a, F> {
    to: &'a mut [f32],
    from: &'a [f32],
    f: F,
}

impl<F: Fn(f32) -> f32> WithSimd for Map<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for (y, x) in self.to.iter_mut().zip(self.from) {
            *y = (self.f)(*x);
        }
    }
}

struct MapPairs<'a, F> {
    to: &'a mut [f32],
    left: &'a [f32],
    right: &'a [f32],
    f: F,
}

impl<F: Fn(f32, f32) -> f32> WithSimd for MapPairs<'_, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for ((z, x), y) in self.to.iter_mut().zip(self.left).zip(self.right) {
            *z = (self.f)(*x, *y);
        }
    }
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
