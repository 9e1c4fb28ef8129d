//! Subjects that drift, depend on their past or have heavy tails, and keep their claim: no method may refute them too often.
//!
//! Each test counts refutations over seeded audits and takes their exact binomial tail at the stated level; below 1e-5 the
//! method does not keep its level. `cargo xtask reproduce coverage` runs 2,000 audits of each kind.

use veracity_audit::{
    Choice, ClaimUnderTest, Method, Observation, World, bound::sequential::Rounds, is_refuted_by_bets, judge,
};
use veracity_core::numerics::binomial;
use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Significance, Upper, Verdict};
use veracity_testkit::known::{Draws, Drifting};

const AUDITS: u64 = 150;
const TRIALS: u64 = 800;
const STATED: f64 = 0.05;
/// The level of the test on the number of refutations.
const ALPHA: f64 = 1e-5;

fn observations(kind: Drifting, seed: u64, audit: u64) -> Vec<Observation> {
    let played = kind.play(TRIALS, &mut Draws::of(seed, audit));
    let observe = |(trial, (is_in, score)): (usize, (bool, Option<f64>))| Observation {
        trial: trial as u64,
        canary: 0,
        world: if is_in { World::In } else { World::Out },
        score,
    };
    played.into_iter().enumerate().map(observe).collect()
}

/// What is true of each trial, and nothing more.
fn claim(kind: Drifting) -> Claim {
    Claim {
        epsilon: Upper(Epsilon::new(kind.epsilon() + 1e-9).unwrap()),
        delta: Delta::new(0.0).unwrap(),
        adjacency: Adjacency::AddRemove,
    }
}

fn keeps_its_level(name: &str, seed: u64, is_refuted: impl Fn(&[Observation], &ClaimUnderTest<'_>) -> bool) {
    let mut broken = Vec::new();
    for (which, kind) in (0..).zip(Drifting::ALL) {
        let claimed = ClaimUnderTest::from(claim(kind));
        let refuted = (0..AUDITS)
            .filter(|audit| is_refuted(&observations(kind, seed + which, *audit), &claimed))
            .count() as u64;
        if refuted > 0 && binomial::log_upper_tail(AUDITS, refuted, STATED) < ALPHA.ln() {
            broken.push(format!("{}: {refuted} of {AUDITS}", kind.name()));
        }
    }
    assert!(broken.is_empty(), "{name}: {broken:?}");
}

fn level() -> Significance {
    Significance::new(STATED).unwrap()
}

/// Seeds 300 to 314.
#[test]
fn bets_refute_no_subject_for_drifting() {
    keeps_its_level("bets", 300, |seen, claimed| {
        is_refuted_by_bets(seen, claimed, Count::ONE, level()).unwrap()
    });
}

/// Seed 320, the control: bets on pairs compare trials of different times, and refute a subject that leaks nothing.
#[test]
fn bets_on_pairs_refute_a_subject_that_drifts() {
    let claimed = ClaimUnderTest::from(claim(Drifting::Step));
    let method = Method::Sequential { group: Count::ONE, rounds: Rounds::Pairs };
    let is_refuted = |audit: &u64| {
        let seen = observations(Drifting::Step, 320, *audit);
        matches!(judge(method, &seen, &claimed, level()).unwrap().verdict, Verdict::Refuted { .. })
    };
    let refuted = (0..AUDITS).filter(is_refuted).count() as u64;
    assert!(binomial::log_upper_tail(AUDITS, refuted, STATED) < ALPHA.ln(), "{refuted} of {AUDITS}");
}

/// Seeds 340 to 354.
#[test]
fn thresholds_refute_no_subject_for_drifting() {
    for choice in [Choice::Split, Choice::Union, Choice::Folds(Count::new(3).unwrap()), Choice::Fixed(0.5)] {
        keeps_its_level(&format!("{choice:?}"), 340, |seen, claimed| {
            let method = Method::Threshold { choice, group: Count::ONE };
            matches!(judge(method, seen, claimed, level()).unwrap().verdict, Verdict::Refuted { .. })
        });
    }
}
