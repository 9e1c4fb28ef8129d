//! Corners where a certified side was once wrong: each was found by attacking the accountant with numbers from outside.

use veracity_account::{Profile, Question};
use veracity_core::{Adjacency, Buckets, Count, Mechanism};
use veracity_testkit::short::{self, noise, probability};

fn profile(mechanism: Mechanism, adjacency: Adjacency) -> Profile {
    Profile::new(&Question { mechanism, adjacency }).unwrap()
}

fn epsilon(profile: &Profile, delta: f64) -> (f64, f64) {
    let found = profile.epsilon_at(short::delta(delta)).unwrap();
    (found.lower.0.get(), found.upper.0.get())
}

fn delta(profile: &Profile, epsilon: f64) -> (f64, f64) {
    let found = profile.delta_at(short::epsilon(epsilon)).unwrap();
    (found.lower.0.get(), found.upper.0.get())
}

fn holds((lower, upper): (f64, f64), truth: f64) {
    assert!(lower <= truth && truth <= upper, "{lower} {truth} {upper}");
}

/// # mpmath 1.3, 700 digits: 0.5 ncdf(...) - ...
#[test]
fn an_epsilon_beyond_the_largest_exponent_is_no_overflow() {
    let step = short::dp_sgd(0.5, 0.02, 1);
    let profile = profile(step, Adjacency::ReplaceOne);
    holds(delta(&profile, 800.0), 0.5 - 7e-20);
    let (lower, upper) = epsilon(&profile, 1e-5);
    assert!(1450.0 < lower && upper < 1463.0, "{lower} {upper}");
}

#[test]
fn noise_on_all_integers_has_no_pure_epsilon() {
    let discrete = Mechanism::DiscreteGaussian { sigma: noise(10.0), sensitivity: Count::ONE };
    let profile = profile(discrete, Adjacency::AddRemove);
    assert!(profile.epsilon_at(short::delta(0.0)).is_err());
}

/// # mpmath 1.3, 50 digits: log(1 + (1-p)*k/p)
#[test]
fn randomized_response_keeps_its_digits_when_it_is_nearly_all_noise() {
    let response = |buckets, noise| {
        let (buckets, noise) = (Buckets::new(buckets).unwrap(), probability(noise));
        profile(Mechanism::RandomizedResponse { buckets, noise }, Adjacency::ReplaceOne)
    };
    let (lower, upper) = epsilon(&response(1_000_000, 0.999_999), 0.0);
    assert!(lower <= 0.693_147_680_574_697_7 + 1e-14 && 0.693_147_680_574_69 <= upper, "{lower} {upper}");
    assert_eq!(epsilon(&response(3, 1.0), 0.0), (0.0, 0.0));
}

/// # mpmath 1.3, 50 digits: ncdf(mu/2 - e/mu) - exp(e) ncdf(-mu/2 - e/mu)
#[test]
fn a_gaussian_with_next_to_no_noise_is_still_bracketed() {
    let profile = profile(Mechanism::Gaussian { noise_multiplier: noise(0.0039) }, Adjacency::AddRemove);
    holds(delta(&profile, 32_874.126_029_084_87), 0.496_863_057_924_127_7);
}

#[test]
fn the_largest_loss_is_rounded_and_delta_there_is_not_zero() {
    let laplace = |x| profile(Mechanism::Laplace { noise_multiplier: noise(x) }, Adjacency::AddRemove);
    // # mpmath 1.3, 50 digits: 1 - exp((e - 1/x)/2)
    holds(delta(&laplace(6.002_807_825_835_597e-6), 166_588.707_986_965_9), 4.27e-12);
    let (_, upper) = epsilon(&laplace(3.0), 1e-300);
    assert!(upper > 1.0 / 3.0, "{upper}");
}

/// # mpmath 1.3, 60 digits: q (ncdf(mu - x) - ncdf(-x)) - expm1(e) ncdf(-x), x = log1p(expm1(e)/q)/mu + mu/2
#[test]
fn a_tail_below_the_least_float_still_counts_against_a_large_epsilon() {
    let rate = short::rate(0.289_113_198_317_592_4);
    let step = Mechanism::sampled_gaussian(rate, noise(0.184_760_719_343_895_65), Count::ONE);
    let (lower, upper) = delta(&profile(step, Adjacency::ZeroOut), 209.450_358_692_500_83);
    holds((lower, upper), 5.286_036_642_729_115e-289);
    assert!(upper - lower < 1e-9 * upper, "{lower} {upper}");
}

#[test]
fn a_delta_below_the_declared_failure_is_refused() {
    let declared = Mechanism::Approximate { epsilon: short::epsilon(1.0), delta: short::delta(1e-7) };
    let profile = profile(declared, Adjacency::AddRemove);
    assert!(profile.epsilon_at(short::delta(9.999_999_999_999_998e-8)).is_err());
    holds(epsilon(&profile, 1e-7), 1.0);
}
