//! Power: exact sums against a slow twin and a simulation of the plan they make.

use crate::worlds::Fixed;
use veracity_audit::{
    ClaimUnderTest, ClaimedCurve, Counts, Declared, IdealAttacker, Method,
    bound::{clopper_pearson, sequential::Rounds},
    is_refuted_by_bets, judge, observe,
    power::{self, Trial, Truth},
    threshold::Choice,
};
use veracity_core::numerics::{binomial, normal};
use veracity_core::{
    Adjacency, Claim, Count, Delta, Epsilon, NoiseMultiplier, Probability, Refusal, SamplingRate,
    Significance, Upper, Verdict,
};

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
    assert!(told.starts_with("a claim of epsilon 1.5 is true"), "{told}");
    assert!(Truth::gaussian(Epsilon::new(1.0).unwrap(), Delta::new(0.0).unwrap()).is_err());
}

/// Gaussian noise of one sensitivity, times 1/μ.
struct Gaussian(f64);

impl Declared for Gaussian {
    fn with_noise(&self, part: f64) -> Result<ClaimedCurve, Refusal> {
        let mu = self.0 / part;
        let delta = |e: f64| normal::cdf(mu / 2.0 - e / mu) - e.exp() * normal::cdf(-mu / 2.0 - e / mu);
        let pair = |at: i32| {
            let e = f64::from(at) * mu / 8.0;
            Ok((Epsilon::new(e)?, Delta::new((delta(e) * (1.0 + 1e-9)).clamp(0.0, 1.0 - 1e-12))?))
        };
        ClaimedCurve::new((0..60).map(pair).collect::<Result<Vec<_>, Refusal>>()?)
    }
}

/// Seeded audits of a Gaussian mechanism that adds `part` of its declared noise, by its likelihood ratio: how many refute the claim.
fn refuted(method: Method, mu: f64, part: f64, trials: u64, audits: u64) -> u64 {
    let declared = Gaussian(mu);
    let noise = NoiseMultiplier::new(part / mu).unwrap();
    let point = Claim {
        epsilon: Upper(Epsilon::new(1.0).unwrap()),
        delta: Delta::new(1e-5).unwrap(),
        adjacency: Adjacency::AddRemove,
    };
    let claimed = ClaimUnderTest { point, declared: Some(&declared) };
    let curve = claimed.curve(Count::ONE).unwrap();
    let is_refuted = |audit: &u64| {
        let honest = IdealAttacker::honest(SamplingRate::new(1.0).unwrap(), noise, Count::ONE);
        let subject = IdealAttacker { seed: 1000 + audit, ..honest };
        let seen: Vec<_> = observe(&subject, 1000 + audit, &(0..trials).collect::<Vec<_>>(), 1)
            .into_iter()
            .flat_map(|outcome| outcome.observations)
            .collect();
        match method {
            // The verdict alone, without the limits on noise that take longer.
            Method::Sequential { .. } => {
                is_refuted_by_bets(&seen, &claimed, Count::ONE, Significance::new(0.01).unwrap()).unwrap()
            }
            _ => {
                let claimed = ClaimUnderTest { point, declared: Some(&Fixed(curve.clone())) };
                let judged = judge(method, &seen, &claimed, Significance::new(0.01).unwrap()).unwrap();
                matches!(judged.verdict, Verdict::Refuted { .. })
            }
        }
    };
    (0..audits).filter(is_refuted).count() as u64
}

/// Noise planted at the stated value is caught in at least 88 % of 400 audits, for few trials and many; or no power is stated.
#[test]
fn noise_is_caught_as_often_as_stated() {
    let ones = Count::ONE;
    let cases = [
        (Method::Sequential { group: ones, rounds: Rounds::Trials }, 400),
        (Method::Threshold { choice: Choice::Split, group: ones }, 400),
        (Method::Threshold { choice: Choice::Union, group: ones }, 50),
        (Method::Threshold { choice: Choice::Folds(Count::new(3).unwrap()), group: ones }, 50),
    ];
    let claims =
        [(1.0, 20), (1.0, 40), (1.0, 100), (1.0, 400), (1.0, 2000), (0.4, 100), (3.0, 40), (3.0, 400)];
    let mut wrong = Vec::new();
    for (method, audits) in cases {
        for (mu, trials) in claims {
            let seen = (Count::new(trials).unwrap(), ones);
            let chance = Probability::new(0.9).unwrap();
            let level = Significance::new(0.01).unwrap();
            let Some(part) = power::caught(method, seen, &Gaussian(mu), chance, level).unwrap() else {
                println!("{} mu {mu}, {trials} trials: no power stated", method.name());
                continue;
            };
            let caught = refuted(method, mu, part, trials, audits);
            println!(
                "{method:?} mu {mu}, {trials} trials: noise {part:.3} is caught in {caught} of {audits}"
            );
            if caught * 100 < audits * 88 {
                wrong.push((method.name(), mu, trials, part, caught));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
