//! Calibration: what is found keeps within the budget, and nothing better could be found.

use veracity_account::{Method, Profile, Question, best, calibrate, epsilon_at};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal, Rho};
use veracity_testkit::short::{self, count, noise};

fn gaussian(noise_multiplier: NoiseMultiplier) -> Mechanism {
    Mechanism::Gaussian { noise_multiplier }
}

fn laplace(noise_multiplier: NoiseMultiplier) -> Mechanism {
    Mechanism::Laplace { noise_multiplier }
}

fn dp_sgd(rate: f64, noise: NoiseMultiplier, steps: u64) -> Mechanism {
    Mechanism::sampled_gaussian(short::rate(rate), noise, count(steps))
}

fn budget(epsilon: f64, delta: f64) -> (Epsilon, Delta) {
    (short::epsilon(epsilon), short::delta(delta))
}

/// The certified ε from both sides.
fn certified(mechanism: Mechanism, adjacency: Adjacency, delta: f64) -> (f64, f64) {
    let question = Question { mechanism, adjacency };
    let found = Profile::new(&question).unwrap().epsilon_at(short::delta(delta)).unwrap();
    (found.lower.0.get(), found.upper.0.get())
}

/// Calibrates, then checks that the noise keeps within and that a millionth less cannot.
fn best_noise(
    family: &dyn Fn(NoiseMultiplier) -> Mechanism,
    adjacency: Adjacency,
    epsilon: f64,
    delta: f64,
) -> f64 {
    noise_within(1e-6, family, adjacency, epsilon, delta)
}

/// As [`best_noise`], with another share than a millionth.
fn noise_within(
    share: f64,
    family: &dyn Fn(NoiseMultiplier) -> Mechanism,
    adjacency: Adjacency,
    epsilon: f64,
    delta: f64,
) -> f64 {
    let (target, slack) = budget(epsilon, delta);
    let found = calibrate::noise(family, adjacency, target, slack).unwrap();
    let (_, upper) = certified(family(found), adjacency, delta);
    assert!(upper <= epsilon, "{upper} is over {epsilon} at {delta}");
    let (lower, _) = certified(family(noise(found.get() * (1.0 - share))), adjacency, delta);
    assert!(lower > epsilon, "{lower} with less noise is still within {epsilon} at {delta}");
    found.get()
}

/// # mpmath 1.4, 50 digits: d=lambda m,e: ncdf(m/2-e/m)-exp(e)*ncdf(-m/2-e/m); 1/m by 160 geometric bisections of
/// # d(m,mpf(e)) < mpf(delta) on [1e-6, 50]
const ANALYTIC_GAUSSIAN: [(f64, f64, f64); 8] = [
    (1e-3, 1e-3, 276.128_875_569_202_78),
    (1e-3, 1e-15, 6_486.490_638_320_443),
    (0.1, 1e-5, 30.749_566_131_977_45),
    (1.0, 1e-5, 3.730_631_634_815_942),
    (3.0, 1e-9, 1.943_724_263_511_969_3),
    (10.0, 1e-5, 0.499_888_619_709_008_5),
    (100.0, 1e-15, 0.120_176_179_148_239_62),
    (100.0, 1e-3, 0.087_362_736_714_413_18),
];

#[test]
fn gaussian_noise_is_the_analytic_one_rounded_up() {
    for (epsilon, delta, truth) in ANALYTIC_GAUSSIAN {
        let once = best_noise(&gaussian, Adjacency::AddRemove, epsilon, delta);
        assert!(truth <= once && once <= truth * (1.0 + 1e-7), "{once} {truth}");
        // A replaced record moves the answer twice as far, and a hundred uses count as ten times one.
        let replaced = best_noise(&gaussian, Adjacency::ReplaceOne, epsilon, delta);
        assert!((replaced / truth - 2.0).abs() < 4e-7, "{replaced} {truth}");
        let hundred = |noise| gaussian(noise).repeated(count(100));
        let often = best_noise(&hundred, Adjacency::AddRemove, epsilon, delta);
        assert!((often / truth - 10.0).abs() < 2e-6, "{often} {truth}");
    }
}

#[test]
fn noisy_descent_gets_the_least_noise() {
    let rate = 256.0 / 60_000.0;
    let long = |noise| dp_sgd(rate, noise, 14_000);
    let found = best_noise(&long, Adjacency::AddRemove, 3.0, 1e-5);
    assert!((found - 0.967_198_5).abs() < 1e-6, "{found}");
    assert_eq!(found, best_noise(&long, Adjacency::ZeroOut, 3.0, 1e-5));
    let replaced = best_noise(&long, Adjacency::ReplaceOne, 3.0, 1e-5);
    assert!(replaced > found, "{replaced}");
    for (epsilon, delta) in [(1e-3, 1e-5), (1e-3, 1e-15), (0.5, 1e-15), (100.0, 1e-5), (100.0, 1e-15)] {
        best_noise(&long, Adjacency::AddRemove, epsilon, delta);
    }
}

#[test]
fn every_noise_of_one_kind_is_calibrated() {
    let integers = |sigma| Mechanism::DiscreteGaussian { sigma, sensitivity: count(3) }.repeated(count(4));
    // The bracket of a sum of integer noise is wider than that of continuous noise.
    let close = noise_within(1e-5, &integers, Adjacency::AddRemove, 1.0, 1e-5);
    // Integer noise this wide leaks nearly as its continuous twin: 3·√4 times the noise of one Gaussian.
    assert!((close / (6.0 * 3.730_631_634_8) - 1.0).abs() < 1e-4, "{close}");
    let shifted = |scale| Mechanism::DiscreteLaplace { scale, sensitivity: count(2) }.repeated(count(10));
    best_noise(&shifted, Adjacency::AddRemove, 2.0, 1e-6);
    let repeated = |noise| laplace(noise).repeated(count(30));
    best_noise(&repeated, Adjacency::AddRemove, 1.0, 1e-6);
}

#[test]
fn without_delta_pure_noise_adds_up() {
    for (epsilon, times) in [(1e-3, 1), (0.5, 7), (100.0, 1000)] {
        let family = |noise| laplace(noise).repeated(count(times));
        let found = best_noise(&family, Adjacency::AddRemove, epsilon, 0.0);
        let truth = times as f64 / epsilon;
        assert!(truth <= found && found <= truth * (1.0 + 1e-7), "{found} {truth}");
    }
}

#[test]
fn where_exact_has_no_theorem_the_tightest_method_keeps_within() {
    let (epsilon, delta) = budget(2.0, 1e-5);
    let batches = |noise| {
        let step = Box::new(gaussian(noise));
        let drawn =
            Mechanism::FixedSizeSampled { batch: count(100), population: count(10_000), mechanism: step };
        drawn.repeated(count(200))
    };
    let declared = Mechanism::Zcdp { rho: Rho::new(0.01).unwrap() };
    let beside = |noise| Mechanism::Composed(vec![declared.clone(), gaussian(noise)]);
    let families: [(&dyn Fn(NoiseMultiplier) -> Mechanism, Adjacency); 2] =
        [(&batches, Adjacency::ReplaceOne), (&beside, Adjacency::AddRemove)];
    for (family, adjacency) in families {
        let found = calibrate::noise(family, adjacency, epsilon, delta).unwrap();
        let leak = |noise| {
            let question = Question { mechanism: family(noise), adjacency };
            best::epsilon_at(&question, delta).unwrap().finding.upper().unwrap().0
        };
        // The grid settles to a few parts in 10^4, so that noise a thousandth smaller is over the budget.
        assert!(leak(found) <= epsilon && leak(noise(found.get() * (1.0 - 1e-3))) > epsilon, "{found:?}");
        let question = Question { mechanism: family(found), adjacency };
        let renyi = epsilon_at(&question, delta, Method::Rdp).unwrap().upper().unwrap().0;
        assert!(renyi.get() > epsilon.get() * (1.0 - 1e-6), "{renyi:?}");
    }
}

#[test]
fn one_more_step_is_over_the_budget() {
    let cases = [
        (dp_sgd(256.0 / 60_000.0, noise(1.0), 1), 3.0, 1e-5),
        (dp_sgd(0.01, noise(0.6), 1), 7.43, 1e-5),
        (gaussian(noise(20.0)), 11.993, 1e-12),
        (gaussian(noise(1.0)), 4.378, 1e-5),
        (laplace(noise(10.0)), 1.0, 1e-6),
        (laplace(noise(2.0)), 3.6, 0.0),
    ];
    for (mechanism, epsilon, delta) in cases {
        let (target, slack) = budget(epsilon, delta);
        let found = calibrate::steps(&mechanism, Adjacency::AddRemove, target, slack).unwrap().get();
        let at = |n| certified(mechanism.clone().repeated(count(n)), Adjacency::AddRemove, delta);
        assert!(at(found).1 <= epsilon && at(found + 1).0 > epsilon, "{found}");
    }
}

#[test]
fn known_numbers_of_steps_are_found() {
    let steps = |mechanism: &Mechanism, epsilon, delta| {
        let (epsilon, delta) = budget(epsilon, delta);
        calibrate::steps(mechanism, Adjacency::AddRemove, epsilon, delta).unwrap().get()
    };
    // Seven uses of ε = ½ make 3½, and the bound on their sum is rounded up.
    assert_eq!(steps(&laplace(noise(2.0)), 3.6, 0.0), 7);
    // 4.3771780957 for one use of unit noise at 1e-5: a million uses of a thousand times the noise.
    assert_eq!(steps(&gaussian(noise(1000.0)), 4.377_178_097, 1e-5), 1_000_000);
    // So much noise that the count ends first, alone and inside a repetition.
    assert_eq!(steps(&gaussian(noise(1e9)), 1.0, 1e-5), Count::MOST);
    let nested = gaussian(noise(1e9)).repeated(count(1_000));
    assert_eq!(steps(&nested, 1.0, 1e-5), Count::MOST / 1_000);
}

#[test]
fn a_larger_sampling_rate_is_over_the_budget() {
    for (steps, multiplier, epsilon, delta) in
        [(14_000, 1.0, 3.0, 1e-5), (1_000, 0.6, 7.43, 1e-5), (100, 5.0, 1e-2, 1e-9), (1, 0.8, 1.0, 1e-5)]
    {
        let family = |rate| Mechanism::sampled_gaussian(rate, noise(multiplier), count(steps));
        let (target, slack) = budget(epsilon, delta);
        let found = calibrate::sampling_rate(&family, Adjacency::AddRemove, target, slack).unwrap();
        let (_, upper) = certified(family(found), Adjacency::AddRemove, delta);
        let larger = short::rate(found.get() * (1.0 + 1e-6));
        let (lower, _) = certified(family(larger), Adjacency::AddRemove, delta);
        assert!(upper <= epsilon && lower > epsilon, "{found}: {upper}, {larger}: {lower}");
    }
    let family = |rate| Mechanism::sampled_gaussian(rate, noise(10.0), count(2));
    let (epsilon, delta) = budget(3.0, 1e-5);
    let all = calibrate::sampling_rate(&family, Adjacency::AddRemove, epsilon, delta).unwrap();
    assert_eq!(all.get(), 1.0);
}

#[test]
fn what_cannot_be_kept_is_refused_in_one_line() {
    let (one, none) = budget(1.0, 0.0);
    let (little, slack) = budget(1e-3, 1e-5);
    let sampled = |rate| Mechanism::sampled_gaussian(rate, noise(1.0), count(100));
    let endless = |noise| gaussian(noise).repeated(count(Count::MOST)).repeated(Count::ONE);
    let told = [
        calibrate::noise(&gaussian, Adjacency::AddRemove, one, none).unwrap_err(),
        calibrate::noise(&endless, Adjacency::AddRemove, budget(1e-9, 1e-15).0, budget(1.0, 1e-15).1)
            .unwrap_err(),
        calibrate::noise(&gaussian, Adjacency::AddRemove, Epsilon::ZERO, slack).unwrap_err(),
        calibrate::steps(&gaussian(noise(1.0)), Adjacency::AddRemove, little, slack).unwrap_err(),
        calibrate::steps(&laplace(noise(1.0)), Adjacency::AddRemove, little, none).unwrap_err(),
        calibrate::sampling_rate(&sampled, Adjacency::AddRemove, one, none).unwrap_err(),
    ];
    let expected = [
        "epsilon is infinite at delta 0",
        "every noise multiplier up to 1e9 leaks more than epsilon",
        "epsilon is 0, expected a finite number > 0",
        "even one use leaks more than epsilon 0.001 at delta 1e-5; use a larger epsilon or delta",
        "even one use leaks more than epsilon 0.001 at delta 0.0; use a larger epsilon",
        "epsilon is infinite at delta 0",
    ];
    for (told, expected) in told.iter().map(Refusal::to_string).zip(expected) {
        assert!(told.starts_with(expected) && !told.contains('\n'), "{told}\n  expected: {expected}");
    }
}
