//! The vector Gaussian as its users see it: the right law on the grid, in the middle, in the tails and in the last bit.
//!
//! Every check is seeded, errs with probability at most 1e-6 on a right sampler, and has a twin that it refuses.

use veracity_core::numerics::{binomial, normal};
use veracity_noise::{Entropy, Key, Purpose, Stream, vector};

const DRAWS: usize = 10_000_000;
const SCALE: f64 = (1u64 << vector::UNIT_BITS) as f64;
/// Probability that a check fails by chance.
const LEVEL: f64 = 1e-6;

fn stream(seed: u64) -> Stream {
    Entropy::seeded(seed).stream(Purpose::Noise, Key::default())
}

fn draws(seed: u64) -> Vec<i32> {
    let mut out = vec![0; DRAWS];
    vector::fill(&mut out, &mut stream(seed));
    out
}

/// P(K ≤ k) for K = round(σ·2²⁰·Z).
fn cdf(k: i32, sigma: f64) -> f64 {
    normal::cdf((f64::from(k) + 0.5) / (sigma * SCALE))
}

/// Whether Pearson's statistic of counts is one that chance gives, by the cube-root normal approximation of its law.
fn counts_fit(counts: &[u64], probabilities: &[f64]) -> bool {
    let total: u64 = counts.iter().sum();
    let statistic: f64 = counts
        .iter()
        .zip(probabilities)
        .map(|(&count, p)| {
            let expected = p * total as f64;
            (count as f64 - expected).powi(2) / expected
        })
        .sum();
    let freedom = (counts.len() - 1) as f64;
    let spread = 2.0 / (9.0 * freedom);
    let z = ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt();
    z < -normal::quantile(LEVEL)
}

/// Counts in cells of a 25th of σ out to 4σ, against the law with a given σ.
fn middle_fits(draws: &[i32], sigma: f64) -> bool {
    let edge = |cell: i32| (f64::from(cell) * SCALE / 25.0).round() as i32;
    let edges: Vec<i32> = (-100..=100).map(edge).collect();
    let mut counts = vec![0; edges.len() + 1];
    for k in draws {
        counts[edges.partition_point(|edge| edge < k)] += 1;
    }
    let below: Vec<f64> =
        [0.0].into_iter().chain(edges.iter().map(|&k| cdf(k, sigma))).chain([1.0]).collect();
    let probabilities: Vec<f64> = below.windows(2).map(|pair| pair[1] - pair[0]).collect();
    counts_fit(&counts, &probabilities)
}

#[test]
fn the_law_is_normal_on_the_grid() {
    let draws = draws(1);
    assert!(middle_fits(&draws, 1.0));
    assert!(!middle_fits(&draws, 1.01));
    assert!(!middle_fits(&draws, 0.99));
}

/// Whether the number of draws beyond ±`deviations` is one that chance gives, by exact binomial tails.
fn tail_fits(draws: &[i32], deviations: f64) -> bool {
    let last = (deviations * SCALE) as i32;
    let found = draws.iter().filter(|k| k.abs() > last).count() as u64;
    let (n, p) = (draws.len() as u64, 2.0 * cdf(-last - 1, 1.0));
    let half = (LEVEL / 2.0).ln();
    binomial::log_upper_tail(n, found, p) > half && binomial::log_lower_tail(n, found, p) > half
}

#[test]
fn tails_are_as_heavy_as_they_should_be() {
    // Several seeds, so that five deviations are met too: 0.57 in a million.
    let draws: Vec<i32> = (10..14).flat_map(draws).collect();
    for deviations in [3.0, 3.9, 4.0, 4.5, 5.0] {
        assert!(tail_fits(&draws, deviations), "{deviations}");
    }
    // Without the continuation of rare radii, nothing lies beyond 3.9.
    let last = (3.9 * SCALE) as i32;
    let cut: Vec<i32> = draws.iter().map(|k| (*k).clamp(-last, last)).collect();
    assert!(!tail_fits(&cut, 4.0));
    let wide: Vec<i32> = draws.iter().map(|k| k + k / 50).collect();
    assert!(!tail_fits(&wide, 4.0));
    let doubled: Vec<i32> = draws.iter().map(|k| if k.abs() > 4 << 20 { k + k / 5 } else { *k }).collect();
    assert!(!tail_fits(&doubled, 5.0));
}

/// Whether the mean product of a function of draws and its value `lag` places on is one that chance gives.
fn is_uncorrelated(draws: &[i32], lag: usize, of: impl Fn(f64) -> f64) -> bool {
    let values: Vec<f64> = draws.iter().map(|k| of(f64::from(*k) / SCALE)).collect();
    let sum: f64 = values.iter().zip(&values[lag..]).map(|(a, b)| a * b).sum();
    let squares: f64 = values.iter().map(|a| a * a).sum();
    let n = values.len() as f64;
    // Central limit over 10⁷ products of unit variance; two sides.
    (sum / squares).abs() * n.sqrt() < -normal::quantile(LEVEL / 2.0)
}

#[test]
fn draws_are_independent_of_their_neighbours() {
    let draws = draws(2);
    let square = |z: f64| (z * z - 1.0) / 2f64.sqrt();
    // 16 is the distance within a pair, which shares one radius; 32 and 1024 are groups and blocks.
    for lag in [1, 15, 16, 17, 32, 1024] {
        assert!(is_uncorrelated(&draws, lag, |z| z), "lag {lag}");
        assert!(is_uncorrelated(&draws, lag, square), "squares at lag {lag}");
    }
    let mixed: Vec<i32> = draws.windows(17).map(|w| w[0] + w[16] / 200).collect();
    assert!(!is_uncorrelated(&mixed, 16, |z| z));
    // A pair whose radius were a constant would have uncorrelated members and correlated squares.
    let mut circle = draws;
    for group in circle.chunks_exact_mut(32) {
        for lane in 0..16 {
            let (x, y) = (f64::from(group[lane]), f64::from(group[lane + 16]));
            let r = 2f64.sqrt() * SCALE / x.hypot(y);
            (group[lane], group[lane + 16]) = ((x * r) as i32, (y * r) as i32);
        }
    }
    assert!(is_uncorrelated(&circle, 16, |z| z));
    assert!(!is_uncorrelated(&circle, 16, square));
}

/// Whether the last four bits are uniform.
fn last_bits_fit(draws: &[i32]) -> bool {
    let mut counts = [0; 16];
    for k in draws {
        counts[(k & 15) as usize] += 1;
    }
    counts_fit(&counts, &[1.0 / 16.0; 16])
}

#[test]
fn the_last_bits_are_used() {
    let all = draws(3);
    let outer: Vec<i32> = all.iter().copied().filter(|k| k.abs() > 2 << 20).collect();
    let inner: Vec<i32> = all.iter().copied().filter(|k| k.abs() <= 1 << 10).collect();
    assert!(last_bits_fit(&all) && last_bits_fit(&outer) && last_bits_fit(&inner));
    // What single precision would do beyond two deviations: one in eight, a half, goes to an even integer.
    let single: Vec<i32> =
        outer.iter().enumerate().map(|(i, k)| if i % 8 == 0 { k & !1 } else { *k }).collect();
    assert!(!last_bits_fit(&single));
}

#[test]
fn noisy_values_lie_on_the_grid_and_have_the_right_spread() {
    let sigma = 0.731;
    let grid = vector::Grid::new(sigma).unwrap();
    let mut values = vec![0.123_456f32; 1_000_000];
    grid.add_noise(&mut values, &mut stream(4));
    let step = grid.granularity();
    let mut sum = 0.0;
    let mut squares = 0.0;
    for value in &values {
        let steps = (f64::from(*value) / step).round();
        assert_eq!((step * steps) as f32, *value);
        let z = (f64::from(*value) - 0.123_456) / sigma;
        sum += z;
        squares += z * z;
    }
    let n = values.len() as f64;
    let bound = -normal::quantile(LEVEL / 4.0);
    assert!((sum / n.sqrt()).abs() < bound);
    let spread = |squares: f64| ((squares - n) / (2.0 * n).sqrt()).abs();
    assert!(spread(squares) < bound);
    assert!(spread(squares * 1.01 * 1.01) > bound);
}
