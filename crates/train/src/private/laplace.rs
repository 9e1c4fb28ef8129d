//! Laplace noise for vectors of floats, on a public grid whose step is a power of two.
//!
//! The noise is that of the continuous law rounded to the grid, K = round(X/γ): since round(q + x) = q + round(x) for whole q,
//! the sum on the grid is exactly a post-processing of the continuous mechanism on the rounded vector. It is drawn by exact
//! integer sampling: |X|/(γ/2) rounded down is geometric.

use veracity_core::Refusal;
use veracity_noise::{Bits, Ratio, Stream, exact::discrete_laplace};

/// A scale is between 2^30 and 2^31 steps, so that sums of millions of records are exact.
const STEPS: i32 = 30;
/// Clean values end at 2^16 scales.
const FARTHEST: f64 = (1u64 << 46) as f64;

/// The grid of Laplace noise with one scale.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LaplaceGrid {
    granularity: f64,
    /// The scale in half steps.
    halves: Ratio,
}

impl LaplaceGrid {
    /// The grid for noise of a scale. What is drawn has the scale or, by less than 2^-31 of it, a larger one.
    pub(super) fn new(scale: f64) -> Result<LaplaceGrid, Refusal> {
        if !(1e-100..=1e100).contains(&scale) {
            return Err(Refusal::out_of_range("scale", scale, "1e-100 ≤ scale ≤ 1e100"));
        }
        let granularity = libm::exp2(f64::from(libm::ilogb(scale) - STEPS));
        // Division by a power of two is exact.
        Ok(LaplaceGrid { granularity, halves: Ratio::at_least(2.0 * scale / granularity)? })
    }

    pub(super) fn granularity(&self) -> f64 {
        self.granularity
    }

    /// How much farther apart, in ℓ1, two vectors can be once each is rounded to the grid: one step for each coordinate.
    pub(super) fn extra_l1(&self, dimension: usize) -> f64 {
        self.granularity * dimension as f64
    }

    /// The place of a value. Not a number counts as 0.
    pub(super) fn steps(&self, value: f32) -> i128 {
        let steps = f64::from(value) / self.granularity;
        let steps = if steps.is_nan() { 0.0 } else { steps };
        steps.clamp(-FARTHEST, FARTHEST).round_ties_even() as i128
    }

    /// The float of a place.
    pub(super) fn value(&self, steps: i128) -> f32 {
        (self.granularity * steps as f64) as f32
    }

    /// round(X/γ) for X of the continuous law.
    ///
    /// # Promise  Exact: no floating point decides an output
    pub(super) fn noise(&self, rng: &mut Stream) -> i128 {
        // Given that it is not negative, an integer Laplace number is geometric.
        let halves = loop {
            let drawn = discrete_laplace(self.halves, rng);
            if drawn >= 0 {
                break drawn;
            }
        };
        // Half a step and more rounds up.
        let magnitude = (halves + 1) / 2;
        if rng.bits(1) == 1 { -magnitude } else { magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_noise::{Entropy, Purpose};

    /// The largest distance of the empirical distribution of X/scale from a Laplace law of scale `s`.
    fn distance(draws: &[f64], s: f64) -> f64 {
        let cdf = |x: f64| if x < 0.0 { 0.5 * (x / s).exp() } else { 1.0 - 0.5 * (-x / s).exp() };
        let n = draws.len() as f64;
        draws.iter().enumerate().map(|(i, x)| (cdf(*x) - (i as f64 + 0.5) / n).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn the_noise_has_the_law_and_scale_of_its_name() {
        for scale in [1.0, 0.3, 1234.5] {
            let grid = LaplaceGrid::new(scale).unwrap();
            let mut rng = Entropy::seeded(6).family(Purpose::Noise, 0, 0).stream(0);
            let mut draws: Vec<f64> =
                (0..100_000).map(|_| grid.noise(&mut rng) as f64 * grid.granularity() / scale).collect();
            draws.sort_unstable_by(f64::total_cmp);
            // Kolmogorov's 2.7/√n has chance 1e-6; and half a rank. scipy.special.kolmogi(1e-6) = 2.694
            let most = 2.7 / (draws.len() as f64).sqrt() + 1e-5;
            assert!(distance(&draws, 1.0) < most, "{scale}");
            assert!(distance(&draws, 1.05) > most, "the twin: a scale wrong by a twentieth");
        }
    }

    #[test]
    fn values_are_on_the_grid_and_hostile_ones_fail_closed() {
        let grid = LaplaceGrid::new(0.75).unwrap();
        assert_eq!(grid.granularity(), 2f64.powi(-31));
        for x in [0.0f32, 1.0, -0.123, 3.5e-3] {
            assert!((f64::from(grid.value(grid.steps(x))) - f64::from(x)).abs() <= grid.granularity());
        }
        assert_eq!(grid.steps(f32::NAN), 0);
        assert_eq!(grid.steps(f32::INFINITY), 1 << 46);
        assert_eq!(grid.steps(f32::MIN), -(1 << 46));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(LaplaceGrid::new(wrong).is_err());
        }
    }
}
