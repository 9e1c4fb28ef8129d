//! The audit as a whole: what it must refute, what it must not, and that its answer does not depend on the machine.

use veracity_audit::{
    AuditSubject, Choice, Evidence, Failure, IdealAttacker, Method, Observation, World, bound::Basis,
    observe, show,
};
use veracity_core::{
    Adjacency, Claim, Count, Delta, Epsilon, NoiseMultiplier, SamplingRate, Significance, Upper, Verdict,
};
use veracity_noise::{Bits, Entropy, Key, Purpose};

/// What the demonstration leaks at δ = 1e-5, add-remove.
/// # testkit/golden/make_truth.py, 57 digits: Poisson rate 0.3, noise 1.5, 30 steps
const TRUTH: f64 = 6.201_668_765_323_526;

fn claim(epsilon: f64) -> Claim {
    Claim {
        epsilon: Upper(Epsilon::new(epsilon).unwrap()),
        delta: Delta::new(1e-5).unwrap(),
        adjacency: Adjacency::AddRemove,
    }
}

fn audit(subject: &IdealAttacker, trials: u64, level: f64) -> Evidence {
    audit_with(subject, trials, 7, level)
}

/// Randomized response at ε = ln 3: it tells the truth with chance ¾.
struct Response;

impl AuditSubject for Response {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let mut bits = Entropy::seeded(5).stream(Purpose::Attack, Key { trial, ..Key::default() });
        let mut tell = |world: &World| {
            let truth = bits.bits(2) != 0;
            if (*world == World::In) == truth { 1.0 } else { 0.0 }
        };
        Ok(worlds.iter().map(&mut tell).collect())
    }
}

fn responses(trials: u64) -> Vec<Observation> {
    let trials: Vec<u64> = (0..trials).collect();
    observe(&Response, 5, &trials, 2).into_iter().flat_map(|outcome| outcome.observations).collect()
}

/// Seed 5, significance 0.01. The bound for Gaussian mechanisms shows more than three times what randomized response leaks,
/// and refutes nothing; the bound that assumes nothing refutes what is false, and only that.
#[test]
fn an_assumption_refutes_no_honest_claim() {
    let seen = responses(4000);
    let judged = |method, epsilon: f64| {
        let evidence =
            show(method, &seen, Delta::new(1e-5).unwrap(), Significance::new(0.01).unwrap()).unwrap();
        (evidence.shown, matches!(evidence.judge(&claim(epsilon)), Verdict::Refuted { .. }))
    };
    let (truth, choice) = (3f64.ln(), Choice::Fixed(0.5));
    let (shown, refuted) = judged(Method::Gaussian { choice }, truth);
    assert!(shown.epsilon.0.get() > 3.0 * truth && shown.basis == Basis::IfGaussian, "{shown:?}");
    assert!(!refuted, "a true claim is refuted by {shown:?}");
    let plain = Method::Threshold { choice, group: Count::ONE };
    assert!(!judged(plain, truth).1 && judged(plain, 0.5 * truth).1);
}

/// Half of the runs choose the threshold, the others are counted.
fn audit_with(subject: &IdealAttacker, trials: u64, seed: u64, level: f64) -> Evidence {
    let subject = IdealAttacker { seed, ..*subject };
    let trials: Vec<u64> = (0..trials).collect();
    let outcomes = observe(&subject, seed, &trials, 2);
    let seen: Vec<_> = outcomes.into_iter().flat_map(|outcome| outcome.observations).collect();
    let method = Method::Threshold { choice: Choice::Split, group: Count::ONE };
    show(method, &seen, Delta::new(1e-5).unwrap(), Significance::new(level).unwrap()).unwrap()
}

/// Seed 7, significance 1e-6: an honest subject is refuted with chance at most that.
#[test]
fn an_honest_run_is_not_refuted() {
    let evidence = audit(&IdealAttacker::demonstration().unwrap(), 200_000, 1e-6);
    match evidence.judge(&claim(TRUTH)) {
        Verdict::NotRefuted { shown, ceiling } => {
            assert!(shown.0.get() > 0.3 * TRUTH, "the attack should come near: {shown:?}");
            assert!(ceiling.get() > TRUTH, "this many runs could have refuted it: {ceiling}");
        }
        other => panic!("{other:?} against {TRUTH}"),
    }
}

/// Seed 7, significance 0.01: the twin of the test above, which shows that it can fail.
#[test]
fn half_the_declared_noise_is_refuted() {
    let subject = IdealAttacker::demonstration().unwrap().adding(NoiseMultiplier::new(0.75).unwrap());
    let verdict = audit(&subject, 400_000, 0.01).judge(&claim(TRUTH));
    assert!(matches!(verdict, Verdict::Refuted { .. }), "{verdict:?}");
}

/// Seed 7, significance 0.01: an ε claimed at half of what is true is too small to survive.
#[test]
fn a_claim_of_half_the_truth_is_refuted() {
    let verdict = audit(&IdealAttacker::demonstration().unwrap(), 400_000, 0.01).judge(&claim(0.5 * TRUTH));
    assert!(matches!(verdict, Verdict::Refuted { .. }), "{verdict:?}");
}

/// Coins let exactly half of ten canaries in only sometimes, and worlds that alternate always. Whoever guesses five "in" and five
/// "out" blindly is then right ten times once in 252, not once in 1024 as the theorem for coins has it.
#[test]
fn worlds_that_alternate_are_no_coins() {
    let method = Method::ManyCanaries { guessed: Some(1.0) };
    let by = |seen: &[Observation]| {
        show(method, seen, Delta::new(0.0).unwrap(), Significance::new(2e-3).unwrap()).map(|_| ())
    };
    let alternating: Vec<Observation> =
        responses(10).into_iter().map(|seen| Observation { score: Some(0.0), ..seen }).collect();
    let refused = by(&alternating).unwrap_err().to_string();
    assert!(refused.starts_with("a run has one canary, but "), "{refused}");
    let in_one_run: Vec<Observation> =
        alternating.iter().map(|seen| Observation { trial: 0, canary: seen.trial as u32, ..*seen }).collect();
    by(&in_one_run).unwrap();
}

#[test]
fn too_few_runs_can_show_nothing() {
    for trials in [1, 2, 3, 8] {
        let evidence = audit(&IdealAttacker::demonstration().unwrap(), trials, 0.05);
        assert_eq!(evidence.shown.epsilon.0, Epsilon::ZERO, "{trials}");
        assert!(evidence.shown.ceiling.get() < 0.5, "{trials}");
    }
}

#[test]
fn the_same_seed_gives_the_same_evidence() {
    let subject = IdealAttacker::honest(
        SamplingRate::new(0.5).unwrap(),
        NoiseMultiplier::new(2.0).unwrap(),
        Count::ONE,
    );
    assert_eq!(audit(&subject, 3001, 0.05), audit(&subject, 3001, 0.05));
}

/// 200 audits with seeds 0 to 199 of one use at significance 0.2: the bound may exceed the truth in at most a fifth.
/// P[Binomial(200, 0.2) ≥ 75] < 1e-8, so a failure here is a bug and not bad luck.
#[test]
fn bounds_exceed_the_truth_no_more_often_than_they_say() {
    let subject = IdealAttacker::honest(
        SamplingRate::new(1.0).unwrap(),
        NoiseMultiplier::new(1.0).unwrap(),
        Count::ONE,
    );
    // # scipy 1.17: analytic Gaussian mechanism, noise 1, delta 1e-5
    let truth = 4.377_178_095_681_224;
    let exceeded =
        (0..200).filter(|seed| audit_with(&subject, 2000, *seed, 0.2).shown.epsilon.0.get() > truth);
    assert!(exceeded.count() < 75);
}
