//! Exponentials of many numbers at once, and the softmax made of them.
//!
//! Written for one number, without branches or fused operations: the compiler runs as many side by side as the machine has
//! lanes, and the bits are the same on all of them.

use crate::vectors::vectorize;
#[cfg(target_arch = "x86_64")]
use crate::{softmax_avx2, vectors::avx2};
#[cfg(target_arch = "x86_64")]
use pulp::Simd;

/// Below this the answer is zero: it would not be a normal number.
const LOWEST: f32 = -87.0;
/// Adding and taking it away rounds to an integer, which its low bits then hold.
const ROUNDER: f32 = 12_582_912.0; // 1.5·2²³
/// The first 14 bits of ln 2: times an integer below 2⁸ it is exact.
const LN_2_HIGH: f32 = 0.693_145_75;
/// The rest of it: ln 2 − LN_2_HIGH.
const LN_2_LOW: f32 = 1.428_606_8e-6;

/// eˣ for x ≤ 88.
///
/// # Numerics  Relative error at most 2e-7 on −87 ≤ x ≤ 88; zero below; NaN stays NaN. Taylor's polynomial of degree 7 on
/// |r| ≤ ln 2 / 2, where its remainder is 5.2e-9
#[inline(always)]
pub(crate) fn exponential(x: f32) -> f32 {
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let n = shifted - ROUNDER;
    let r = (x - n * LN_2_HIGH) - n * LN_2_LOW;
    let high = 1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r * (1.0 / 5040.0)));
    let series = 1.0 + (r + r * r * (0.5 + r * (1.0 / 6.0 + r * high)));
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(1f32.to_bits()));
    if x < LOWEST { 0.0 } else { series * power }
}

/// Writes the softmax of each row of `width` numbers: positive numbers of sum 1 in proportion to their exponentials.
pub(crate) fn softmax(rows: &[f32], width: usize, probabilities: &mut [f32]) {
    #[cfg(target_arch = "x86_64")]
    if width == softmax_avx2::TEN
        && let Some(simd) = avx2()
    {
        // Ten classes are the commonest: eight rows at a time, and what is left one after another.
        let done = rows.len() / softmax_avx2::BLOCK * softmax_avx2::BLOCK;
        let ((rows, rest), (some, others)) = (rows.split_at(done), probabilities.split_at_mut(done));
        Simd::vectorize(simd, softmax_avx2::Softmax { simd, rows, probabilities: some });
        return softmax_by_rows(rest, width, others);
    }
    softmax_by_rows(rows, width, probabilities);
}

/// As [`softmax`], row after row.
pub(crate) fn softmax_by_rows(rows: &[f32], width: usize, probabilities: &mut [f32]) {
    vectorize(
        #[inline(always)]
        || match width {
            // Ten classes are the commonest: the compiler unrolls what it knows the length of.
            10 => softmax_plainly(rows, 10, probabilities),
            width => softmax_plainly(rows, width, probabilities),
        },
    );
}

/// Three passes, so that the exponentials, which are most of the work, come in one long row.
#[inline(always)]
fn softmax_plainly(rows: &[f32], width: usize, probabilities: &mut [f32]) {
    for (row, shifted) in rows.chunks_exact(width).zip(probabilities.chunks_exact_mut(width)) {
        let largest = row.iter().fold(f32::NEG_INFINITY, |most, x| if *x > most { *x } else { most });
        for (y, x) in shifted.iter_mut().zip(row) {
            *y = x - largest;
        }
    }
    for x in &mut *probabilities {
        *x = exponential(*x);
    }
    for row in probabilities.chunks_exact_mut(width) {
        let total: f32 = row.iter().sum();
        let scale = 1.0 / total;
        for x in row {
            *x *= scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_within_their_stated_error() {
        let worst = |f: fn(f32) -> f32| {
            let points = (0..=3_500_000).map(|i| -87.0 + i as f32 * 5e-5);
            points.fold(0f64, |worst, x| {
                let truth = libm::exp(f64::from(x));
                worst.max((f64::from(f(x)) - truth).abs() / truth)
            })
        };
        let found = worst(exponential);
        assert!(found <= 2e-7, "{found:e}");
        // The twin: a number of the last place off in the argument is seen.
        assert!(worst(|x| exponential(x * (1.0 + f32::EPSILON))) > 2e-7);
        assert_eq!((exponential(0.0), exponential(-1e9), exponential(f32::NEG_INFINITY)), (1.0, 0.0, 0.0));
        assert!(exponential(f32::NAN).is_nan());
    }

    #[test]
    fn softmax_is_that_of_the_definition_and_keeps_bad_rows_apart() {
        let mut rows: Vec<f32> = (0..70).map(|i| (i * 37 % 23) as f32 - 11.0).collect();
        rows[33] = f32::NAN;
        rows[45] = f32::INFINITY;
        rows[56] = f32::NEG_INFINITY;
        let mut found = [0.0; 70];
        softmax(&rows, 10, &mut found);
        for (at, (row, found)) in rows.chunks(10).zip(found.chunks(10)).enumerate() {
            let total: f64 = row.iter().map(|x| libm::exp(f64::from(*x))).sum();
            for (x, y) in row.iter().zip(found) {
                match at {
                    3 | 4 => assert!(y.is_nan(), "row {at}"),
                    _ => assert!((f64::from(*y) - libm::exp(f64::from(*x)) / total).abs() < 3e-7),
                }
            }
        }
    }
}
