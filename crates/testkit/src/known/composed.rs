//! Steps of a Poisson-sampled Gaussian, all of them seen: the law of the summed log-likelihood ratio on a grid.
//!
//! One step's law without the canary is cut into cells of the ratio; steps are added by plain convolution. Rounded up, ratios speak for
//! the canary more than they do; rounded down, against it: each direction takes the rounding that makes its δ larger.

use super::Draws;
use veracity_core::numerics::normal;

/// The width of a cell.
const CELL: f64 = 1e-3;
/// Noise beyond so many deviations has a chance below 1e-18.
const DEVIATIONS: f64 = 9.0;

#[derive(Debug)]
pub(super) struct Composed {
    rate: f64,
    sigma: f64,
    steps: u64,
    /// Chances without the canary; the ratio of the first cell, rounded up and rounded down.
    chances: Vec<f64>,
    first: [f64; 2],
}

impl Composed {
    pub(super) fn new(rate: f64, sigma: f64, steps: u64) -> Composed {
        let ratio = |x: f64| (rate * ((2.0 * x - 1.0) / (2.0 * sigma * sigma)).exp_m1()).ln_1p();
        // Where a ratio is reached; the ratio only rises.
        let place = |ratio: f64| sigma * sigma * (ratio.exp_m1() / rate).ln_1p() + 0.5;
        let lowest = ratio(-DEVIATIONS * sigma);
        let highest = ratio(DEVIATIONS * sigma + 1.0);
        let cells = ((highest - lowest) / CELL).ceil() as usize;
        let cdf = |cell: usize| match cell {
            0 => 0.0,
            cell => normal::cdf(place(lowest + CELL * cell as f64) / sigma),
        };
        let once: Vec<f64> = (0..cells).map(|cell| cdf(cell + 1) - cdf(cell)).collect();
        let mut chances = once.clone();
        for _ in 1..steps {
            chances = convolve(&chances, &once);
        }
        let n = steps as f64;
        // What is beyond the lowest is in the first cell; the ratio never is below ln(1 − q).
        let first = [n * (lowest + CELL), n * (-rate).ln_1p().min(lowest)];
        Composed { rate, sigma, steps, chances, first }
    }

    pub(super) fn run(&self, is_in: bool, rng: &mut Draws) -> f64 {
        let step = |_| {
            let sampled = f64::from(u8::from(is_in && rng.coin(self.rate)));
            let x = sampled + self.sigma * rng.normal();
            (self.rate * ((2.0 * x - 1.0) / (2.0 * self.sigma * self.sigma)).exp_m1()).ln_1p()
        };
        (0..self.steps).map(step).sum()
    }

    pub(super) fn delta_at(&self, epsilon: f64) -> f64 {
        let cells = || self.chances.iter().enumerate();
        let at = |first: f64, cell: usize| first + CELL * cell as f64;
        let with: f64 = cells()
            .map(|(cell, chance)| chance * (at(self.first[0], cell).exp() - epsilon.exp()).max(0.0))
            .sum();
        let without: f64 = cells()
            .map(|(cell, chance)| chance * (1.0 - (epsilon + at(self.first[1], cell)).exp()).max(0.0))
            .sum();
        with.max(without)
    }
}

fn convolve(long: &[f64], once: &[f64]) -> Vec<f64> {
    let mut sum = vec![0.0; long.len() + once.len() - 1];
    for (at, weight) in long.iter().enumerate().filter(|(_, weight)| **weight > 1e-25) {
        sum[at..at + once.len()].iter_mut().zip(once).for_each(|(total, chance)| *total += weight * chance);
    }
    sum
}
