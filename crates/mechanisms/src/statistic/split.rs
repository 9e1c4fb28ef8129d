//! A mean where the number of rows is private: how far values are above the lower bound, and how far below the upper one.
//!
//! A record has a width of w between the bounds. It gives a to the sum of distances above the lower bound and w − a to the
//! sum of distances below the upper one: always w together, in ℓ1. So both sums are released at the price of one. Their sum is w
//! for each record, which is the count; the mean is where the first has its share of both.
//!
//! # Theorem
//!
//! Let X and Y be independent draws of one log-concave law on the integers, and let f_k be the trade-off function of X
//! against X + k. Then (X, Y) against (X + k, Y + l) is nowhere below f_{k+l}, for k, l ≥ 0: the whole curve of the pair is that of
//! one sum that moves by k + l, or better.
//!
//! Proof. The likelihood ratio of X + k against X rises, since the law is log-concave. So the tests that reject above a
//! threshold (and at it with some chance) are optimal for every shift at once (Neyman and Pearson). Take the one that
//! rejects X with chance α. It rejects X + k with chance β = 1 − f_k(α); it is also the threshold test that rejects X + k
//! with chance β, so it rejects X + k + l with chance 1 − f_l(β); and it is optimal against X, so that this is
//! 1 − f_{k+l}(α). Hence 1 − f_{k+l} = (1 − f_l)∘(1 − f_k). Now take any test of the pair with chance α under (X, Y). Under
//! (X + k, Y) it rejects with chance at most 1 − f_k(α), as Y is the same, and then under (X + k, Y + l) with chance at
//! most (1 − f_l)(1 − f_k(α)) = 1 − f_{k+l}(α). The other direction is the same, as the laws are symmetric; several records are
//! a longer chain. ∎
//!
//! For Gaussian noise a count and a sum of distances from the middle, composed, would be this pair turned by 45 degrees:
//! with σ = w/μ on each sum here, and √2/μ and √2 w/2μ there, the mean has variance (w/μn)² (m² + (1 − m)²) both ways, for a mean at
//! the part m of the width. So they are equal in theory, and one call is cheaper to account for than two.

use super::{MISS, rounding};
use crate::{Bounds, Cell, Contribution, FixedPoint, NoiseKind, NoisySum, shares};
use veracity_core::{NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;

/// The two sums, in steps of one grid.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Split {
    bounds: Bounds,
    fixed: FixedPoint,
    /// One record's width, in steps, rounded up.
    width: i128,
    sums: NoisySum,
}

impl Split {
    pub(crate) fn new(
        bounds: Bounds,
        fixed: FixedPoint,
        noise: (NoiseKind, NoiseMultiplier),
    ) -> Result<Split, Refusal> {
        let width = fixed.upper() - fixed.lower();
        // The second sum is what is left of the width, and not rounded by itself.
        let contribution = Contribution { exponent: fixed.exponent(), ..Contribution::new(width) };
        let sums = NoisySum::new("two sums", contribution, noise)?;
        Ok(Split { bounds, fixed, width: i128::from(sums.sensitivity().get()), sums })
    }

    /// Both sums with noise.
    pub(crate) fn sums(&self) -> &NoisySum {
        &self.sums
    }

    /// Noisy numbers of steps above the lower and below the upper bound, for `count` records that are `above` units above
    /// the lower bound together.
    ///
    /// # Promise  One record moves the pair by exactly its width in ℓ1. It is 0 ≤ a ≤ w units above, with w at most `width`
    /// steps. The first sum, rounded, moves by ⌊a/step⌋ or ⌈a/step⌉, so by 0 ≤ k ≤ `width` steps. The second is what is left of
    /// `width` steps for each record, not rounded by itself, so it moves by `width` − k ≥ 0
    fn release(&self, above: i128, count: usize, rng: &mut NoiseStream) -> (i128, i128) {
        let first = self.sums.coarse(above);
        let noisy = self.sums.add(&[first, count as i128 * self.width - first], rng);
        (noisy[0], noisy[1])
    }

    /// The mean, with its error bar.
    pub(crate) fn mean(&self, above: i128, count: usize, rng: &mut NoiseStream) -> Cell {
        let (above, below) = self.release(above, count, rng);
        // Where there is less than one record, the answer tends to the middle.
        let total = (above + below).max(self.width) as f64;
        let width = self.sums.value(self.width);
        let off_middle = (above - below) as f64 / (2.0 * total);
        let middle = self.fixed.lower() as f64 * self.fixed.unit() + width / 2.0;
        let value = self.bounds.clamp(middle + width * off_middle);
        let bar = match above + below >= self.width {
            true => self.error_bar(off_middle, total) + rounding(2.0 * self.bounds.magnitude()),
            false => f64::INFINITY,
        };
        Cell::plain(value, bar.min(self.bounds.reach(value)))
    }

    /// About the error bar of the mean of so many values with their mean in the middle.
    pub(crate) fn expected(&self, rows: u64) -> f64 {
        self.error_bar(0.0, rows as f64 * self.width as f64)
    }

    /// How far the mean may be off, where its share of `total` noisy steps is `off_middle` from a half.
    fn error_bar(&self, off_middle: f64, total: f64) -> f64 {
        let error = shares::mean_error(self.sums.noise(), 0.5 + off_middle, total, MISS);
        error * self.sums.value(self.width) + self.fixed.unit()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{super::neighbors, *};
    use veracity_noise::{Distance, Entropy, Key, Noise, Purpose};
    use veracity_testkit::short;

    fn split(lower: f64, upper: f64, kind: NoiseKind, multiplier: f64) -> Split {
        let bounds = Bounds::new(lower, upper).unwrap();
        let noise = (kind, short::noise(multiplier));
        Split::new(bounds, FixedPoint::for_means(bounds), noise).unwrap()
    }

    fn stream(step: u64) -> veracity_noise::Stream {
        Entropy::seeded(3).stream(Purpose::Noise, Key { step, ..Key::default() })
    }

    /// What goes into the noise call, and what is declared of it.
    fn heard(split: &Split, values: &[f64]) -> (Vec<i128>, Distance) {
        let mut rng = NoiseStream::recording(stream(0));
        let above = values.iter().map(|x| split.fixed.encode(*x) - split.fixed.lower()).sum();
        split.release(above, values.len(), &mut rng);
        let call = rng.into_tape().unwrap().calls.remove(0);
        (call.input, call.declared)
    }

    #[test]
    fn a_record_moves_the_pair_by_what_is_declared_and_no_less_would_do() {
        neighbors::move_by_what_is_declared(|bounds, multiplier| {
            let split = split(bounds.lower(), bounds.upper(), NoiseKind::Laplace, multiplier);
            move |values: &[f64]| heard(&split, values)
        });
    }

    /// The law of the module on its own noise: composing the curves of two shifts gives the curve of their sum, and so the pair is
    /// as the theorem says, by brute force over all pairs of integers. Twin: a law with a dent is not log-concave, and fails.
    #[test]
    fn a_chain_of_shifts_is_one_shift_for_log_concave_noise_alone() {
        let laplace: Vec<f64> = (-60i32..=60).map(|x| (-f64::from(x.abs()) / 3.0).exp()).collect();
        let gaussian: Vec<f64> = (-60i32..=60).map(|x| (-0.5 * (f64::from(x) / 3.0).powi(2)).exp()).collect();
        let mut dented = gaussian.clone();
        dented[60] /= 4.0;
        // The δ of a pair of laws at e^ε: it has the trade-off function's whole content.
        let delta = |p: &[f64], q: &[f64], ratio: f64| {
            p.iter().zip(q).map(|(p, q)| (p - ratio * q).max(0.0)).sum::<f64>()
        };
        let pair_is_no_worse = |law: &[f64], k: usize, l: usize| {
            let whole: f64 = law.iter().sum();
            let law: Vec<f64> = law.iter().map(|p| p / whole).collect();
            let moved = |by: usize| {
                let padded = std::iter::repeat_n(0.0, by).chain(law.iter().copied());
                padded.chain(std::iter::repeat_n(0.0, 20 - by)).collect::<Vec<f64>>()
            };
            let product = |p: &[f64], q: &[f64]| -> Vec<f64> {
                p.iter().flat_map(|p| q.iter().map(move |q| p * q)).collect()
            };
            let (still, both) = (product(&moved(0), &moved(0)), product(&moved(k), &moved(l)));
            [0.2, 0.5, 0.9, 1.0, 1.1, 2.0, 5.0, 20.0]
                .iter()
                .all(|ratio| delta(&both, &still, *ratio) <= delta(&moved(k + l), &moved(0), *ratio) + 1e-9)
        };
        for (k, l) in [(0, 5), (1, 4), (2, 3), (5, 5), (1, 1)] {
            assert!(pair_is_no_worse(&laplace, k, l) && pair_is_no_worse(&gaussian, k, l), "{k} {l}");
        }
        assert!([(1, 1), (1, 2), (2, 3)].iter().any(|(k, l)| !pair_is_no_worse(&dented, *k, *l)));
    }

    /// 4000 releases at each place of the mean, seed 3: misses at most those of chance 5 % at level 1e-6. Control: 0.85 of
    /// the bar is too short.
    #[test]
    fn error_bars_hold_wherever_the_mean_is_and_shorter_ones_do_not() {
        use veracity_core::numerics::binomial::log_upper_tail;
        const RUNS: u64 = 4000;
        let too_many = |misses: u64| log_upper_tail(RUNS, misses, MISS) < 1e-6f64.ln();
        for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
            for (part, count, multiplier) in [
                (0.0, 500, 2.0),
                (0.1, 40, 2.0),
                (0.37, 500, 1.0),
                (0.5, 3, 0.5),
                (0.5, 500, 3.0),
                (1.0, 100, 2.0),
            ] {
                let split = split(-20.0, 80.0, kind, multiplier);
                let value = -20.0 + 100.0 * part;
                let above = count as i128 * (split.fixed.encode(value) - split.fixed.lower());
                let (mut missed, mut short) = (0, 0);
                for step in 0..RUNS {
                    let cell = split.mean(above, count, &mut NoiseStream::new(stream(step)));
                    let off = (cell.value - value).abs();
                    missed += u64::from(off > cell.error_bar);
                    short += u64::from(off > 0.85 * cell.error_bar);
                }
                assert!(!too_many(missed), "{kind:?} at {part}: {missed}");
                // At a bound half of all draws are moved into it.
                assert!(
                    count < 100 || part == 0.0 || part == 1.0 || too_many(short),
                    "{kind:?} at {part}: {short}"
                );
            }
        }
    }

    /// In the middle the error is that of one sum of half the width with all of ε: 1/√2 of a mean with a public count.
    #[test]
    fn the_error_is_as_the_formula_has_it() {
        let split = split(0.0, 1.0, NoiseKind::Laplace, 1.0);
        let Noise::Laplace { scale } = split.sums.noise() else { panic!("laplace was asked for") };
        assert!((scale.as_f64() / split.width as f64 - 1.0).abs() < 1e-9);
        for part in [0.0f64, 0.2, 0.5, 0.9] {
            let (count, runs) = (100_000, 4000);
            let above = count as i128 * (split.fixed.encode(part) - split.fixed.lower());
            let square: f64 = (0..runs)
                .map(|step| {
                    let (a, b) = split.release(above, count, &mut NoiseStream::new(stream(step)));
                    (a as f64 / (a + b) as f64 - part).powi(2)
                })
                .sum();
            let found = (square / runs as f64).sqrt() * count as f64;
            let expected = (2.0 * (part.powi(2) + (1.0 - part).powi(2))).sqrt();
            // A root mean square of 4000 draws is off by 2 %.
            assert!((found / expected - 1.0).abs() < 0.08, "{part}: {found} {expected}");
        }
    }
}
