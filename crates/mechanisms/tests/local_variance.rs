//! Estimates are right on average and spread as the formulas say, over thousands of runs on fixed people.
//!
//! Level: each variance is judged by the 99.9% interval of χ² with 3999 degrees of freedom, each bias by 4 standard errors.
//! All runs are seeded.

use veracity_mechanisms::local::{
    CellNoise, Domain, Hadamard, LocalHashing, Mean, Protocol, RandomizedResponse, Rappor, RapporSettings,
    ReportShape, Sketch, Unary, UnaryKind,
};
use veracity_noise::{Entropy, Key, Purpose};
use veracity_testkit::short::epsilon;

const RUNS: u64 = 4000;
/// scipy 1.17: scipy.stats.chi2.ppf([0.0005, 0.9995], 3999) / 3999
const CHI_SQUARED: std::ops::RangeInclusive<f64> = 0.928_046_68..=1.075_229_74;

/// How many people have each of six values.
const HOLDERS: [u32; 6] = [0, 3, 17, 60, 120, 200];

/// Mean and unbiased variance.
fn moments(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    (mean, sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (n - 1.0))
}

/// Counts of every value in every run. The protocol may differ from run to run: a sketch draws its hash functions anew.
fn counts(seed: u64, protocol: impl Fn(u64) -> Protocol) -> Vec<Vec<f64>> {
    let entropy = Entropy::seeded(seed);
    let mut by_value = vec![Vec::new(); HOLDERS.len()];
    for run in 0..RUNS {
        let protocol = protocol(run);
        let mut rng = entropy.stream(Purpose::Report, Key { run, ..Key::default() });
        let mut reports = Vec::new();
        for (value, holders) in (0..).zip(HOLDERS) {
            reports.extend((0..holders).map(|_| protocol.encode(value, &mut rng).unwrap()));
        }
        let mut tally = protocol.tally();
        tally.absorb(&reports).unwrap();
        let estimates = tally.estimate();
        by_value.iter_mut().zip(estimates.values).for_each(|(counts, estimate)| counts.push(estimate.count));
    }
    by_value
}

/// Whether the variance of a sample is within the interval for the variance claimed.
fn is_as_claimed(sample: &[f64], variance: f64) -> bool {
    CHI_SQUARED.contains(&(moments(sample).1 / variance))
}

fn is_unbiased(sample: &[f64], truth: f64) -> bool {
    let (mean, variance) = moments(sample);
    (mean - truth).abs() <= 4.0 * (variance / sample.len() as f64).sqrt()
}

fn check(seed: u64, protocol: impl Fn(u64) -> Protocol) {
    let any = protocol(0);
    let holders = HOLDERS.map(f64::from);
    for (place, sample) in (0..).zip(counts(seed, &protocol)) {
        let variance = any.variance(place, &holders);
        let truth = holders[place as usize];
        assert!(
            is_unbiased(&sample, truth),
            "{} value {place}: {:?}, truth {truth}",
            any.name(),
            moments(&sample)
        );
        assert!(
            is_as_claimed(&sample, variance),
            "{} value {place}: {} against {variance}",
            any.name(),
            moments(&sample).1
        );
    }
}

fn response(eps: f64) -> Protocol {
    Protocol::RandomizedResponse(RandomizedResponse::new(6, epsilon(eps)).unwrap())
}

#[test]
fn randomized_response_is_unbiased_and_spreads_as_the_formula_says() {
    for eps in [0.5, 1.0, 3.0] {
        check(1, |_| response(eps));
    }
}

#[test]
fn unary_encodings_are_unbiased_and_spread_as_the_formula_says() {
    for kind in [UnaryKind::Symmetric, UnaryKind::Optimised] {
        for eps in [0.5, 1.0, 3.0] {
            check(2, |_| Protocol::Unary(Unary::new(6, epsilon(eps), kind).unwrap()));
        }
    }
}

#[test]
fn local_hashing_is_unbiased_and_spreads_as_the_formula_says() {
    for eps in [0.5, 1.0, 3.0] {
        check(3, |_| Protocol::LocalHashing(LocalHashing::new(6, epsilon(eps)).unwrap()));
    }
}

#[test]
fn hadamard_response_is_unbiased_and_spreads_as_the_formula_says() {
    for eps in [0.5, 1.0, 3.0] {
        check(4, |_| Protocol::Hadamard(Hadamard::new(6, epsilon(eps)).unwrap()));
    }
}

/// A pool so small that collisions are a good part of the variance.
fn sketch(noise: CellNoise, seed: u64) -> Protocol {
    Protocol::Sketch(Sketch::new(6, epsilon(2.0), noise, 16, 32, seed).unwrap())
}

#[test]
fn sketches_are_unbiased_and_spread_as_the_formula_says_collisions_included() {
    check(5, |run| sketch(CellNoise::Symmetric, run));
    check(6, |run| sketch(CellNoise::Hadamard, run));
}

#[test]
fn without_its_collisions_the_variance_of_a_sketch_is_refuted() {
    let sample = &counts(5, |run| sketch(CellNoise::Symmetric, run))[0];
    let Protocol::Sketch(any) = sketch(CellNoise::Symmetric, 0) else { panic!() };
    let n: u32 = HOLDERS.iter().sum();
    assert!(!is_as_claimed(sample, any.chances().variance(0.0, f64::from(n))));
}

#[test]
fn rappor_is_unbiased_and_spreads_as_the_formula_says() {
    let names = ["anna", "ben", "cleo", "dora", "emil", "fay"].map(String::from).to_vec();
    let domain = Domain::categories(names).unwrap();
    let settings = RapporSettings { bits: 16, hashes: 2, cohorts: 4, ..RapporSettings::usual() };
    let rappor = Rappor::new(&domain, epsilon(6.0), settings).unwrap();
    check(7, |_| Protocol::Rappor(rappor.clone()));
}

#[test]
fn a_wrong_epsilon_is_refuted_by_variance_and_by_bias() {
    let samples = counts(1, |_| response(1.0));
    let holders = HOLDERS.map(f64::from);
    // The formula of an ε a tenth larger.
    assert!(!is_as_claimed(&samples[0], response(1.1).variance(0, &holders)));
    // An estimator that takes the chances for those of ε = 1.1.
    let (ours, theirs) = (response(1.0).chances().unwrap(), response(1.1).chances().unwrap());
    let n: f64 = holders.iter().sum();
    let wrong: Vec<f64> = samples[5]
        .iter()
        .map(|count| theirs.count(count * (ours.own - ours.other) + n * ours.other, n))
        .collect();
    assert!(is_unbiased(&samples[5], holders[5]) && !is_unbiased(&wrong, holders[5]));
}

#[test]
fn standard_errors_are_those_of_the_formula_at_the_estimate_and_intervals_hold() {
    use veracity_mechanisms::local::Confidence;
    let protocol = Protocol::Unary(Unary::new(6, epsilon(1.0), UnaryKind::Optimised).unwrap());
    let confidence = Confidence::new(0.95).unwrap();
    let entropy = Entropy::seeded(11);
    let mut held = 0;
    for run in 0..RUNS {
        let mut rng = entropy.stream(Purpose::Report, Key { run, ..Key::default() });
        let mut tally = protocol.tally();
        for (value, holders) in (0..).zip(HOLDERS) {
            for _ in 0..holders {
                tally.absorb(&[protocol.encode(value, &mut rng).unwrap()]).unwrap();
            }
        }
        let interval = tally.estimate().values[4].interval(confidence);
        held += u32::from((interval.low..=interval.high).contains(&f64::from(HOLDERS[4])));
    }
    // scipy 1.17: scipy.stats.binom.ppf([0.0005, 0.9995], 4000, 0.95)
    assert!((3753..=3844).contains(&held), "{held} of {RUNS}");
}

#[test]
fn means_are_unbiased_and_spread_as_the_formula_says() {
    let values = [-2.0, -1.234_567, 0.0, 0.5, 3.0, 7.999_999, 8.0, 2.5, 2.500_000_1, 1.0];
    let truth = values.iter().sum::<f64>() / values.len() as f64;
    let each = 12; // people of each value, so that the sum is near normal
    for (seed, shape, eps) in [
        (21, ReportShape::OneBit, 0.5),
        (22, ReportShape::OneBit, 2.0),
        (23, ReportShape::Window, 0.5),
        (24, ReportShape::Window, 4.0),
    ] {
        let mean = Mean::shaped(-2.0, 8.0, epsilon(eps), shape).unwrap();
        let entropy = Entropy::seeded(seed);
        let sample: Vec<f64> = (0..RUNS)
            .map(|run| {
                let mut rng = entropy.stream(Purpose::Report, Key { run, ..Key::default() });
                let mut tally = mean.tally();
                for value in values.iter().flat_map(|value| std::iter::repeat_n(*value, each)) {
                    tally.absorb(&[mean.encode(value, &mut rng).unwrap()]).unwrap();
                }
                tally.estimate().unwrap().mean
            })
            .collect();
        let n = (each * values.len()) as f64;
        let variance =
            values.iter().map(|value| mean.variance(*value).unwrap()).sum::<f64>() * each as f64 / (n * n);
        assert!(is_unbiased(&sample, truth), "{shape:?} {eps}: {:?} truth {truth}", moments(&sample));
        assert!(
            is_as_claimed(&sample, variance),
            "{shape:?} {eps}: {} against {variance}",
            moments(&sample).1
        );
        assert!(!is_as_claimed(&sample, variance * 1.25), "the test would not see a quarter more");
    }
}
