//! Exact samplers against their formulas, over many seeds and scales from 1/4 to 2^40.
//!
//! Level: each p-value of the right law must exceed 1e-6, for each of the seeds 0 to 99; the same test on all draws together
//! must give a scale that is wrong by 3/2 or 2/3 less than 1e-9. The seeds are fixed, so nothing here changes from run to
//! run.

use veracity_noise::{
    Entropy, Key, Purpose, Ratio, Stream,
    exact::{bernoulli_exp, discrete_gaussian, discrete_laplace, uniform_below},
};
use veracity_testkit::{binomial, chi_squared::goodness_of_fit, kolmogorov, lattice::Law};

const ACCEPTED: f64 = 1e-6;
const REFUTED: f64 = 1e-9;
const SEEDS: u64 = 100;
const DRAWS: usize = 10_000;
/// Expected counts in a cell, so that the χ² law holds well into its tail.
const LEAST: f64 = 25.0;
const CELLS: u32 = 64;

fn stream(seed: u64) -> Stream {
    Entropy::seeded(seed).stream(Purpose::Noise, Key::default())
}

fn scales() -> Vec<Ratio> {
    let pairs = [(1, 4), (1, 2), (2, 3), (1, 1), (7, 3), (10, 1), (1_000_003, 7), (1 << 20, 1), (1 << 40, 1)];
    let mut scales: Vec<Ratio> = pairs.iter().map(|(n, d)| Ratio::new(*n, *d).unwrap()).collect();
    scales.push(Ratio::at_least(10.3).unwrap());
    scales
}

/// The p-value of draws under a law: χ² over cells, and the exact count of zeros, which is all there is to see where
/// nearly every draw is zero. Two looks, so twice the smaller.
fn p_value(draws: &[i128], law: Law) -> f64 {
    let cells = law.cells(CELLS);
    let fit = goodness_of_fit(&cells.count(draws), &cells.probabilities, LEAST).p_value;
    let zeros = draws.iter().filter(|x| **x == 0).count() as u64;
    (2.0 * fit.min(binomial::two_sided(zeros, draws.len() as u64, law.mass(0)))).min(1.0)
}

fn fits_its_formula(sampler: fn(Ratio, &mut Stream) -> i128, formula: fn(f64) -> Law) {
    for scale in scales() {
        let (s, mut all) = (scale.as_f64(), Vec::new());
        let law = formula(s);
        for seed in 0..SEEDS {
            let mut rng = stream(seed);
            let mut draws: Vec<i128> = (0..DRAWS).map(|_| sampler(scale, &mut rng)).collect();
            let p = p_value(&draws, law);
            assert!(p > ACCEPTED, "{scale:?}, seed {seed}: {p}");
            let away = kolmogorov::distance(&mut draws, |x| law.upto(x));
            assert!(kolmogorov::p_value(away, DRAWS) > ACCEPTED, "{scale:?}, seed {seed}: {away}");
            all.extend(draws);
        }
        let p = p_value(&all, law);
        assert!(p > ACCEPTED, "{scale:?}, all seeds: {p}");
        for wrong in [s * 1.5, s / 1.5] {
            let p = p_value(&all, formula(wrong));
            assert!(p < REFUTED, "{scale:?} could be {wrong}: {p}");
        }
        moments_agree(&all, law);
    }
}

/// The mean and the mean square are within 6 standard errors: chance below 1e-8 for each, by the normal limit.
fn moments_agree(draws: &[i128], law: Law) {
    let n = draws.len() as f64;
    let floats = || draws.iter().map(|x| *x as f64);
    let mean = floats().sum::<f64>() / n;
    let square = floats().map(|x| x * x).sum::<f64>() / n;
    let fourth = floats().map(|x| x.powi(4)).sum::<f64>() / n;
    let variance = law.variance();
    assert!(mean.abs() < 6.0 * (variance / n).sqrt(), "{law:?}: mean {mean}");
    let error = ((fourth - square * square) / n).sqrt();
    assert!((square - variance).abs() < 6.0 * error, "{law:?}: mean square {square}, not {variance}");
    assert!((square - 1.5 * variance).abs() > 6.0 * error, "{law:?}: no power");
}

#[test]
fn laplace_noise_fits_its_formula() {
    fits_its_formula(discrete_laplace, Law::laplace);
}

#[test]
fn gaussian_noise_fits_its_formula() {
    fits_its_formula(discrete_gaussian, Law::gaussian);
}

/// Ratios at the ends of what a ratio may be, and what they must lead to.
#[test]
fn extreme_scales_neither_overflow_nor_hang() {
    let most = Ratio::MOST;
    let mut rng = stream(1);
    for (numerator, denominator) in [(1, most), (1, most - 1), (3, most - 2)] {
        let tiny = Ratio::new(numerator, denominator).unwrap();
        for _ in 0..1000 {
            // The next integer has a probability below exp(−2^46).
            assert_eq!(discrete_laplace(tiny, &mut rng), 0);
            assert_eq!(discrete_gaussian(tiny, &mut rng), 0);
        }
    }
    for (numerator, denominator) in [(most, 1), (most - 1, 1), (most, 3), (most, most - 1), (most - 1, most)]
    {
        let scale = Ratio::new(numerator, denominator).unwrap();
        for (sampler, formula) in [
            (discrete_laplace as fn(Ratio, &mut Stream) -> i128, Law::laplace as fn(f64) -> Law),
            (discrete_gaussian, Law::gaussian),
        ] {
            let draws: Vec<i128> = (0..20_000).map(|_| sampler(scale, &mut rng)).collect();
            assert!(p_value(&draws, formula(scale.as_f64())) > ACCEPTED, "{scale:?}");
            assert!(p_value(&draws, formula(1.5 * scale.as_f64())) < REFUTED, "{scale:?}");
        }
    }
}

/// Bounds and exponents too long for enumeration: 20 000 draws each, two-sided exact binomial tails.
#[test]
fn long_numbers_are_uniform_and_long_exponents_right() {
    let mut rng = stream(2);
    for bound in [3, 1 << 63, (1 << 64) - 1, (1 << 64) + 1, 3 << 100, u128::MAX] {
        let draws: Vec<u128> = (0..20_000).map(|_| uniform_below(bound, &mut rng)).collect();
        assert!(draws.iter().all(|x| *x < bound));
        let low = draws.iter().filter(|x| **x < bound / 3).count() as u64;
        let third = (bound / 3) as f64 / bound as f64;
        assert!(binomial::two_sided(low, 20_000, third) > ACCEPTED, "{bound}");
        assert!(binomial::two_sided(low, 20_000, 0.5) < REFUTED, "{bound}");
    }
    for (numerator, denominator) in [(1u128 << 100, 3u128 << 100), (2 << 58, 3 << 58), (5 << 120, 1 << 121)] {
        let yes = (0..20_000).filter(|_| bernoulli_exp(numerator, denominator, &mut rng)).count() as u64;
        let x = numerator as f64 / denominator as f64;
        assert!(binomial::two_sided(yes, 20_000, (-x).exp()) > ACCEPTED, "{x}");
        assert!(binomial::two_sided(yes, 20_000, (-1.5 * x).exp()) < REFUTED, "{x}");
    }
    // An exponent that no coin survives ends at the first few of its factors.
    assert!(!bernoulli_exp(u128::MAX, 1, &mut rng));
}
