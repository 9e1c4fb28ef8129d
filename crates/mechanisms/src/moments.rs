//! Means, variances and the covariance of two columns, read off six noisy sums.
//!
//! A record with values at the parts a and b of their ranges adds the six numbers
//!
//! > ab, a(1 − b), (1 − a)b, (1 − a)(1 − b), a(1 − a), b(1 − b).
//!
//! None is negative, the first four sum to 1, and the last two are at most ¼ each. So one record moves all six by at most 3/2 in ℓ1, where
//! five moments released one by one would cost five. By the chain of moves of `statistic::split`, which holds for any
//! number of sums with independent log-concave noise, the six cost what one sum with a move of 3/2 does.
//!
//! Let T be the exact total of the first four, which is the number of records, Xᵢ the noise on each sum with what rounding adds, and T̂
//! the noisy total. A share is s = Σ cᵢSᵢ/T with known c, and with tᵢ = 1 for the first four sums and 0 for the last two,
//!
//! > ŝ − s = Σ (cᵢ − s tᵢ) Xᵢ/T̂, exactly.
//!
//! A covariance is s₁ − s₂s₃ for three shares. With Dⱼ = ŝⱼ − sⱼ, exactly,
//!
//! > (ŝ₁ − ŝ₂ŝ₃) − (s₁ − s₂s₃) = D₁ − s₂D₃ − s₃D₂ − D₂D₃.
//!
//! The first three are one weighted sum of the same Xᵢ, so they are bounded together. All numbers are in parts of the ranges, and
//! totals in steps of the grid on which the noise is drawn.

use crate::{shares::farthest_error, tail::combined_half_width};
use veracity_noise::Noise;

/// The probability that a share is not within its first reach, over that of the whole, where it only bounds terms of second order.
const FIRST_MISS: f64 = 0.01;

/// Which sums are counted in the total.
const TOTAL: Weights = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0];
const OF_FIRST: Weights = [1.0, 1.0, 0.0, 0.0, 0.0, 0.0];
const OF_SECOND: Weights = [1.0, 0.0, 1.0, 0.0, 0.0, 0.0];
const OF_PRODUCT: Weights = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0];
const OF_FIRST_SQUARED: Weights = [1.0, 1.0, 0.0, 0.0, -1.0, 0.0];
const OF_SECOND_SQUARED: Weights = [1.0, 0.0, 1.0, 0.0, 0.0, -1.0];

type Weights = [f64; 6];

/// One of the two columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // Their order says it.
pub enum Side {
    First,
    Second,
}

/// Six noisy sums of two columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JointMoments {
    noise: Noise,
    /// Each noisy sum over the noisy total.
    shares: Weights,
    /// In steps.
    total: f64,
}

impl JointMoments {
    /// From noisy sums in steps, in the order of the module. None where less than one record is left, of which a record is `one` steps.
    pub fn new(noise: Noise, noisy: &[f64], one: f64) -> Option<JointMoments> {
        let noisy: &Weights = noisy.try_into().ok()?;
        let total: f64 = noisy[..4].iter().sum();
        (total >= one && total > 0.0).then(|| JointMoments {
            noise,
            shares: noisy.map(|sum| sum / total),
            total,
        })
    }

    /// The mean of a column, and how far it may be off.
    ///
    /// # Promise  Exceeded with probability at most `miss`. Each sum was rounded by at most half a step
    pub fn mean(&self, side: Side, miss: f64) -> (f64, f64) {
        let share = self.share(&linear(side));
        let error = farthest_error(share, self.total, |share| {
            let weights = [1.0 - share, 1.0 - share, share, share];
            0.5 * weights.iter().sum::<f64>() + combined_half_width(self.noise, &weights, miss)
        });
        (share, error)
    }

    /// The population variance of a column, and how far it may be off.
    ///
    /// # Promise  As of [`JointMoments::mean`]
    pub fn variance(&self, side: Side, miss: f64) -> (f64, f64) {
        let squared = match side {
            Side::First => OF_FIRST_SQUARED,
            Side::Second => OF_SECOND_SQUARED,
        };
        self.product(&squared, (&linear(side), &linear(side)), miss)
    }

    /// The population covariance, and how far it may be off.
    ///
    /// # Promise  As of [`JointMoments::mean`]
    pub fn covariance(&self, miss: f64) -> (f64, f64) {
        self.product(&OF_PRODUCT, (&OF_FIRST, &OF_SECOND), miss)
    }

    fn share(&self, weights: &Weights) -> f64 {
        weights.iter().zip(&self.shares).map(|(weight, share)| weight * share).sum()
    }

    /// s₁ − s₂s₃, and how far it may be off.
    fn product(&self, first: &Weights, (second, third): (&Weights, &Weights), miss: f64) -> (f64, f64) {
        let (s1, s2, s3) = (self.share(first), self.share(second), self.share(third));
        let off = |weights: &Weights, share: f64| self.reach_of_share(weights, share, FIRST_MISS * miss);
        let (r1, r2, r3) = (off(first, s1), off(second, s2), off(third, s3));
        // The weights of D₁ − s₂D₃ − s₃D₂ at the noisy shares, and how far those at the exact ones may be from them.
        let weights: Vec<f64> = (0..6)
            .map(|at| {
                let total = TOTAL[at];
                let here = first[at] - s2 * third[at] - s3 * second[at] + total * (2.0 * s2 * s3 - s1);
                let slope_of_second = (2.0 * s3 * total - third[at]).abs();
                let slope_of_third = (2.0 * s2 * total - second[at]).abs();
                here.abs() + total * r1 + slope_of_second * r2 + slope_of_third * r3 + 2.0 * total * r2 * r3
            })
            .collect();
        let error = self.reach(&weights, (1.0 - 3.0 * FIRST_MISS) * miss) + r2 * r3;
        (s1 - s2 * s3, error)
    }

    /// How far a share may be off, with weights that cover all exact shares within reach of the noisy one.
    fn reach_of_share(&self, weights: &Weights, share: f64, miss: f64) -> f64 {
        // Every share is between 0 and 1.
        let most: Vec<f64> = weights
            .iter()
            .zip(TOTAL)
            .map(|(weight, total)| weight.abs().max((weight - total).abs()))
            .collect();
        let far = self.reach(&most, miss);
        let near: Vec<f64> = (0..6)
            .map(|at| ((weights[at] - share * TOTAL[at]).abs() + far * TOTAL[at]).min(most[at]))
            .collect();
        self.reach(&near, miss)
    }

    fn reach(&self, weights: &[f64], miss: f64) -> f64 {
        let rounded = 0.5 * weights.iter().map(|weight| weight.abs()).sum::<f64>();
        (combined_half_width(self.noise, weights, miss) + rounded) / self.total
    }
}

fn linear(side: Side) -> Weights {
    match side {
        Side::First => OF_FIRST,
        Side::Second => OF_SECOND,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use veracity_core::numerics::binomial::log_upper_tail;
    use veracity_noise::{Distance, Entropy, Key, NoiseStream, Purpose, Ratio};

    /// By enumeration: no pair of parts adds more than 3/2, the first four add 1, and the middle adds 3/2.
    #[test]
    fn a_record_adds_at_most_three_halves() {
        let at = |a: f64, b: f64| {
            [a * b, a * (1.0 - b), (1.0 - a) * b, (1.0 - a) * (1.0 - b), a * (1.0 - a), b * (1.0 - b)]
        };
        let mut most = 0.0f64;
        for i in 0..=200 {
            for j in 0..=200 {
                let all = at(f64::from(i) / 200.0, f64::from(j) / 200.0);
                assert!(all.iter().all(|part| *part >= 0.0));
                assert!((all[..4].iter().sum::<f64>() - 1.0).abs() < 1e-12);
                most = most.max(all.iter().sum());
            }
        }
        assert!((most - 1.5).abs() < 1e-12, "{most}");
    }

    /// 4000 releases of each column pair, seed 5: misses at most those of probability 5% at level 1e-6. Control: 0.7 of a bar is too
    /// short where there are many records.
    #[test]
    fn error_bars_hold_and_shorter_ones_do_not() {
        const RUNS: u64 = 4000;
        let too_many = |misses: u64| log_upper_tail(RUNS, misses, 0.05) < 1e-6f64.ln();
        let spread =
            |n: u32, f: fn(f64) -> (f64, f64)| (0..n).map(|i| f(f64::from(i) / f64::from(n - 1))).collect();
        let pairs: [Vec<(f64, f64)>; 5] = [
            spread(600, |x| (x, x)),
            spread(600, |x| (x, (7.0 * x).fract())),
            spread(600, |x| (x, 1.0 - x)),
            spread(600, |x| (0.1 * x, 0.9 + 0.1 * x)),
            spread(9, |x| (x, 0.5 * x)),
        ];
        let width = 128.0;
        for noise in [
            Noise::Laplace { scale: Ratio::at_least(width).unwrap() },
            Noise::Gaussian { sigma: Ratio::at_least(width).unwrap() },
        ] {
            for (which, values) in pairs.iter().enumerate() {
                let n = values.len() as f64;
                let sum = |f: &dyn Fn(f64, f64) -> f64| values.iter().map(|(a, b)| f(*a, *b)).sum::<f64>();
                let exact = [
                    sum(&|a, b| a * b),
                    sum(&|a, b| a * (1.0 - b)),
                    sum(&|a, b| (1.0 - a) * b),
                    sum(&|a, b| (1.0 - a) * (1.0 - b)),
                    sum(&|a, _| a * (1.0 - a)),
                    sum(&|_, b| b * (1.0 - b)),
                ];
                let (mean, other) = (sum(&|a, _| a) / n, sum(&|_, b| b) / n);
                let truths = [
                    other,
                    sum(&|a, _| (a - mean) * (a - mean)) / n,
                    sum(&|a, b| (a - mean) * (b - other)) / n,
                ];
                let coarse = exact.map(|sum| (sum * width).round() as i128);
                let (mut missed, mut short) = ([0; 3], [0; 3]);
                for run in 0..RUNS {
                    let key = Key { step: run, ..Key::default() };
                    let mut rng = NoiseStream::new(Entropy::seeded(5).stream(Purpose::Noise, key));
                    let noisy = noise.add("x", &coarse, Distance::L1(1), &mut rng);
                    let noisy: Vec<f64> = noisy.into_iter().map(|sum| sum as f64).collect();
                    let Some(moments) = JointMoments::new(noise, &noisy, width) else { continue };
                    let found = [
                        moments.mean(Side::Second, 0.05),
                        moments.variance(Side::First, 0.05),
                        moments.covariance(0.05),
                    ];
                    for (at, ((value, bar), truth)) in found.into_iter().zip(truths).enumerate() {
                        missed[at] += u64::from((value - truth).abs() > bar);
                        short[at] += u64::from((value - truth).abs() > 0.7 * bar);
                    }
                }
                assert!(missed.iter().all(|missed| !too_many(*missed)), "{noise:?} {which}: {missed:?}");
                assert!(
                    which == 4 || short.iter().all(|short| too_many(*short)),
                    "{noise:?} {which}: {short:?}"
                );
            }
        }
    }
}
