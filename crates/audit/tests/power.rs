//! Power: exact sums against a slow twin and a simulation of the plan they make.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

use veracity_audit::{
    Counts,
    bound::clopper_pearson,
    power::{self, Trial, Truth},
    threshold::Choice,
};
use veracity_core::{Count, Delta, Epsilon, Probability, Significance};
use veracity_numerics::binomial;

fn trial(claim: f64, choice: Choice) -> Trial {
    Trial { claim: Epsilon::new(claim).unwrap(), delta: Delta::new(1e-5).unwrap(), choice }
}

fn level(p: f64) -> Significance {
    Significance::new(p).unwrap()
}

/// Twin: the whole table of both counts for randomized response, each judged by the bound itself.
#[test]
fn the_chance_is_the_sum_over_all_outcomes() {
    let (epsilon, n) = (3.0f64, 60u64);
    let error = 1.0 / (1.0 + epsilon.exp());
    let claim = trial(1.7, Choice::Fixed(0.0));
    let mut chance = 0.0;
    for alarms in 0..=n {
        for misses in 0..=n {
            let counts = Counts {
                true_positives: n - misses,
                false_negatives: misses,
                false_positives: alarms,
                true_negatives: n - alarms,
            };
            let shown = clopper_pearson::bound(counts, claim.delta, Count::ONE, level(0.05));
            if shown.epsilon.0 > claim.claim {
                chance += (binomial::log_probability(n, alarms, error)
                    + binomial::log_probability(n, misses, error))
                .exp();
            }
        }
    }
    let truth = Truth::Pure(Epsilon::new(epsilon).unwrap());
    let plan = power::plan(claim, truth, Count::new(2 * n).unwrap(), level(0.05)).unwrap();
    assert!(chance > 0.5 && chance < 0.999, "{chance}");
    assert!((plan.chance.get() - chance).abs() < 1e-9, "{plan:?} {chance}");
}

#[test]
fn a_plan_reaches_what_was_asked_and_hardly_more_trials_than_that() {
    let wanted = Probability::new(0.9).unwrap();
    let truth = Truth::gaussian(Epsilon::new(4.0).unwrap(), Delta::new(1e-5).unwrap()).unwrap();
    for choice in [Choice::Fixed(0.0), Choice::Split, Choice::Union, Choice::Folds(Count::new(5).unwrap())] {
        let claim = trial(1.0, choice);
        let plan = power::needed(claim, truth, wanted, level(0.05)).unwrap();
        assert!(plan.chance.get() >= 0.9 && plan.ceiling > claim.claim, "{choice:?}: {plan:?}");
        let fewer = Count::new(plan.trials.get() * 9 / 10).unwrap();
        let less = power::plan(claim, truth, fewer, level(0.05)).unwrap();
        assert!(less.chance.get() < 0.9, "{choice:?}: {plan:?} {less:?}");
    }
}

/// # scipy 1.17: a = 1-(level/2)**(1/n); log((1-a-d)/a) for an attacker who never errs
#[test]
fn ceilings_are_those_of_the_bound() {
    let ceiling = |trials, choice| {
        let delta = Delta::new(0.0).unwrap();
        power::ceiling(Count::new(trials).unwrap(), choice, delta, Count::ONE, level(0.05)).unwrap().get()
    };
    // Errata: 95 %, T = 100, 500, 1000, 10^4, 10^5 runs a side: 3.28, 4.91, 5.60, 7.90, 10.2.
    for (each, figure, digits) in [
        (100, 3.28, 0.005),
        (500, 4.91, 0.005),
        (1000, 5.60, 0.005),
        (10_000, 7.90, 0.008),
        (100_000, 10.2, 0.02),
    ] {
        let ours = ceiling(2 * each, Choice::Fixed(0.0));
        assert!((ours - figure).abs() < digits, "{each}: {ours}");
        assert_eq!(ours, ceiling(4 * each, Choice::Split));
    }
    assert!(ceiling(2000, Choice::Union) < ceiling(2000, Choice::Fixed(0.0)));
    assert!(ceiling(2000, Choice::Union) > ceiling(2000, Choice::Split) - 2.0);
}

#[test]
fn a_truth_within_the_claim_has_no_plan() {
    let truth = Truth::Pure(Epsilon::new(1.0).unwrap());
    let wanted = Probability::new(0.8).unwrap();
    let told = power::needed(trial(1.5, Choice::Split), truth, wanted, level(0.05)).unwrap_err().to_string();
    assert!(told.starts_with("the claim of epsilon 1.5 holds"), "{told}");
    assert!(Truth::gaussian(Epsilon::new(1.0).unwrap(), Delta::new(0.0).unwrap()).is_err());
}
