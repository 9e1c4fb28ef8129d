//! Error bars of means and variances that are read off the shares of noisy sums.
//!
//! Let S₁ … S_k be exact sums with the total N, Xᵢ the noise on each with what rounding adds, and N̂ = N + ΣXᵢ the noisy total, which is
//! known. The noisy share of the first sum is (S₁ + X₁)/N̂, the exact one is s = S₁/N, and their difference is
//!
//! > (X₁ − s ΣXᵢ)/N̂, exactly.
//!
//! The exact share s is not random. So the numerator is a sum of independent draws with fixed weights, and its distribution is known
//! except for s. A bar for all s would be too wide: the weights are taken at the s that is farthest out among those within reach of the
//! noisy share. That the noise is within its half-width at the true s has the probability asked for, and then the true s is within reach.
//!
//! All errors are in shares, and totals in steps of the grid on which the noise is drawn.

use crate::tail::combined_half_width;
use veracity_noise::Noise;

/// The part of the probability of a miss that is left to the share of a sum, where that only bounds a second-order term.
const FIRST_MISS: f64 = 0.05;
/// How often a bar is used to shorten itself.
const ROUNDS: usize = 4;

/// How far the share of the first of two noisy sums may be from its exact share.
///
/// # Promise  Exceeded with probability at most `miss`. Each sum was rounded by at most half a step, or the second is the rest of the first
pub fn mean_error(noise: Noise, share: f64, total: f64, miss: f64) -> f64 {
    // Half a step for rounding: (1 − s)/2 + s/2.
    farthest_error(share, total, |share| 0.5 + combined_half_width(noise, &[1.0 - share, share], miss))
}

/// How far the share p of the first with half of the second of three noisy sums may be from its exact share: by
/// ((1 − p) X₁ + (½ − p) X₂ − p X₃)/N̂.
///
/// # Promise  Exceeded with probability at most `miss`. Each sum was rounded by at most half a step
pub fn linear_error(noise: Noise, share: f64, total: f64, miss: f64) -> f64 {
    farthest_error(share, total, |share| {
        let weights = [1.0 - share, (0.5 - share).abs(), share];
        0.5 * weights.iter().sum::<f64>() + combined_half_width(noise, &weights, miss)
    })
}

/// The error at the share that is farthest from a half among those within reach. There it is widest: the more unequal two weights of
/// one sum are, the wider \[Proschan65\], and a third weight that grows makes it wider \[Birnbaum48\].
pub(crate) fn farthest_error(share: f64, total: f64, reach: impl Fn(f64) -> f64) -> f64 {
    let off_middle = (share - 0.5).abs();
    let farthest = (off_middle + reach(1.0) / total).min(0.5);
    reach(0.5 + farthest) / total
}

/// How far v = q − p²/r may be from its exact value. Of three noisy sums, q is the share of the first and p that of the first with half of
/// the second, and r is `ratio`.
///
/// With the exact p and v, the noisy V and P, and D = P − p = ((1 − p) X₁ + (½ − p) X₂ − p X₃)/N̂, exactly:
///
/// > V + D²/r − v = Σ cᵢXᵢ/N̂,  c₁ = 1 − (2p − p²)/r − v, c₂ = −(p − p²)/r − v, c₃ = p²/r − v.
///
/// Neither p nor v is random, so the weights are fixed. That D is within its reach bounds p. Then v is within the reach of the largest
/// weights, which bounds v, and so the weights.
///
/// # Promise  Exceeded with probability at most `miss`. The first two sums were rounded by at most half a step each, the third by one
pub fn variance_error(noise: Noise, (square, linear): (f64, f64), ratio: f64, total: f64, miss: f64) -> f64 {
    let reach = |weights: [f64; 3], miss: f64| {
        let rounded = 0.5 * weights[0].abs() + 0.5 * weights[1].abs() + weights[2].abs();
        (combined_half_width(noise, &weights, miss) + rounded) / total
    };
    // Weights of all p from 0 to 1 first, then of those within that reach.
    let near = |at: f64, off: f64| (at.abs() + off).min(1.0);
    let off_linear = reach([1.0, 0.5, 1.0], FIRST_MISS * miss);
    let most = [near(1.0 - linear, off_linear), near(0.5 - linear, off_linear), near(linear, off_linear)];
    let off_linear = reach(most, FIRST_MISS * miss).min(off_linear);
    let [least, most] = [linear - off_linear, linear + off_linear].map(|p| p.clamp(0.0, 1.0));
    // Each part of a weight falls or rises with p, except that p − p² is largest at a half.
    let first = |p: f64| 1.0 - (2.0 * p - p * p) / ratio;
    let second = |p: f64| (p * p - p) / ratio;
    let third = |p: f64| p * p / ratio;
    let parts = [
        (first(most), first(least)),
        (second(0.5f64.clamp(least, most)), second(least).max(second(most))),
        (third(least), third(most)),
    ];
    let found = square - linear * linear / ratio;
    let mut error = f64::INFINITY;
    for _ in 0..ROUNDS {
        // q is from 0 to 1.
        let [low, high] = [found - error, found + error].map(|v| v.clamp(-1.0 / ratio, 1.0));
        let weights = parts.map(|(least, most)| (most - low).max(high - least));
        let reached = reach(weights, (1.0 - FIRST_MISS) * miss);
        error = error.min(reached + off_linear * off_linear / ratio);
    }
    error
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use veracity_noise::{Distance, Entropy, Key, NoiseStream, Purpose, Ratio};

    /// Median of 200 bars over the 95% quantile of the errors of 20,000 draws, seed 8, at ε = 1. The bar of a mean is at most 1.04 times as
    /// wide as it must be, and 1.08 times with 50 rows. That of a variance is at most 1.06 times with 5,000 rows, 1.15 times with 400, and twice
    /// with 50, where the term of second order counts.
    #[test]
    fn bars_are_nearly_as_short_as_they_can_be() {
        const RUNS: usize = 20_000;
        let width = 128.0;
        for noise in [
            Noise::Laplace { scale: Ratio::at_least(width).unwrap() },
            Noise::Gaussian { sigma: Ratio::at_least(width).unwrap() },
        ] {
            for (rows, most_of_mean, most_of_variance) in
                [(5000.0, 1.04, 1.06), (400.0, 1.04, 1.15), (50.0, 1.08, 2.0)]
            {
                for place in [0.1, 0.35, 0.5] {
                    // Values at the place and at the upper end, as many of each.
                    let shares =
                        [0.5 * place * place + 0.5, place * (1.0 - place), 0.5 * (1.0f64 - place).powi(2)];
                    let exact = shares.map(|share| share * rows * width);
                    let linear = exact[0] + 0.5 * exact[1];
                    let (mut of_mean, mut of_variance) = (Vec::new(), Vec::new());
                    let (mut mean_bars, mut variance_bars) = (Vec::new(), Vec::new());
                    for run in 0..RUNS {
                        let stream = Entropy::seeded(8)
                            .stream(Purpose::Noise, Key { step: run as u64, ..Key::default() });
                        let drawn =
                            noise.add("x", &[0, 0, 0], Distance::L1(1), &mut NoiseStream::new(stream));
                        let noisy: Vec<f64> =
                            exact.iter().zip(&drawn).map(|(sum, noise)| sum + *noise as f64).collect();
                        let below = rows * width - linear + drawn[1] as f64;
                        let total = linear + drawn[0] as f64 + below;
                        let share = (linear + drawn[0] as f64) / total;
                        of_mean.push((share - linear / (rows * width)).abs());
                        let all: f64 = noisy.iter().sum();
                        let (q, p) = (noisy[0] / all, (noisy[0] + 0.5 * noisy[1]) / all);
                        let truth = shares[0] - (linear / (rows * width)).powi(2);
                        of_variance.push((q - p * p - truth).abs());
                        if run % 100 == 0 {
                            mean_bars.push(mean_error(noise, share, total, 0.05));
                            variance_bars.push(variance_error(noise, (q, p), 1.0, all, 0.05));
                        }
                    }
                    let quantile = |mut errors: Vec<f64>, part: f64| {
                        errors.sort_by(f64::total_cmp);
                        errors[(part * errors.len() as f64) as usize]
                    };
                    let both =
                        [(mean_bars, of_mean, most_of_mean), (variance_bars, of_variance, most_of_variance)];
                    for (bars, errors, most) in both {
                        let ratio = quantile(bars, 0.5) / quantile(errors, 0.95);
                        assert!((0.97..most).contains(&ratio), "{noise:?}, {rows} rows, {place}: {ratio}");
                    }
                }
            }
        }
    }
}
