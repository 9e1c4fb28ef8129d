//! Bounds and verdicts on mechanisms whose leak is known exactly, beyond Gaussians: a small part of what docs/coverage.md counts.
//!
//! Each test takes the exact binomial tail of its failures at the stated level and fails below 1e-4. Twins are bounds and claims that
//! are known to lie; the same count must find them out.

use crate::worlds::Fixed;
use veracity_audit::{
    Choice, ClaimUnderTest, ClaimedCurve, Method, Observation, World,
    bound::{FromGuesses, one_run::Guesses},
    is_refuted_by_bets, judge, show,
};
use veracity_core::numerics::binomial;
use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Significance, Upper, Verdict};
use veracity_testkit::known::{Crowd, Draws, Known, SLACK};

const ALPHA: f64 = 1e-4;
const STATED: f64 = 0.05;
const FILES: u64 = 100;

fn is_kept(failed: u64, files: u64) -> bool {
    binomial::log_upper_tail(files, failed, STATED) >= ALPHA.ln()
}

fn level() -> Significance {
    Significance::new(STATED).unwrap()
}

/// The claim that a mechanism keeps to `part` of its own curve.
fn part_of(known: &Known, part: f64) -> Fixed {
    let pair = |at: i32| {
        let epsilon = 0.2 * f64::from(at);
        let delta = part * known.delta_at(epsilon) + 1e-12;
        (Epsilon::new(epsilon).unwrap(), Delta::new(delta).unwrap())
    };
    Fixed(ClaimedCurve::new((0..40).map(pair)).unwrap())
}

fn file(known: &Known, trials: u64, rng: &mut Draws) -> Vec<Observation> {
    let one = |trial| {
        let is_in = rng.coin(0.5);
        let world = if is_in { World::In } else { World::Out };
        Observation { trial, canary: 0, world, score: known.run(is_in, rng) }
    };
    (0..trials).map(one).collect()
}

fn counted(files: u64, seed: u64, errs: impl Fn(&mut Draws) -> bool) -> u64 {
    (0..files).filter(|file| errs(&mut Draws::of(seed, *file))).count() as u64
}

/// Seeds 201 to 213: atoms, crashes, heavy tails, names, sampled and composed noise.
#[test]
fn thresholds_hold_whatever_the_mechanism() {
    for (seed, known) in (201..).zip(Known::all().unwrap()) {
        let delta = *known.deltas.last().unwrap();
        let truth = known.epsilon_at(delta);
        for choice in [Choice::Fixed(known.threshold(delta)), Choice::Split, Choice::Union] {
            let method = Method::Threshold { choice, group: Count::ONE };
            let failed = counted(FILES, seed, |rng| {
                let seen = file(&known, 200, rng);
                let shown = show(method, &seen, Delta::new(delta).unwrap(), level()).unwrap().shown;
                shown.epsilon.0.get() > truth + SLACK
            });
            assert!(is_kept(failed, FILES), "{} {choice:?}: {failed}", known.name);
        }
    }
}

/// Seeds 221 to 223. Twin: a bound for Gaussians, on mechanisms that are none.
#[test]
fn a_bound_for_gaussians_is_found_out_on_others() {
    let all = Known::all().unwrap();
    for (seed, name) in (221..).zip(["Laplace", "randomized response of 10", "names"]) {
        let known = all.iter().find(|known| known.name.starts_with(name)).unwrap();
        let truth = known.epsilon_at(known.deltas[0]);
        let method = Method::Gaussian { choice: Choice::Fixed(known.threshold(known.deltas[0])) };
        let failed = counted(FILES, seed, |rng| {
            let seen = file(known, 400, rng);
            let shown = show(method, &seen, Delta::new(known.deltas[0]).unwrap(), level()).unwrap().shown;
            shown.epsilon.0.get() > truth + SLACK
        });
        assert!(!is_kept(failed, FILES), "{name}: {failed}");
    }
}

/// How often a claim of part of a mechanism's curve is refuted, by a threshold that half of the trials choose and by bets that are
/// looked at after every pair.
fn refuted(known: &Known, part: f64, seed: u64) -> [u64; 2] {
    let curve = part_of(known, part);
    let delta = known.deltas[0];
    let point = Claim {
        epsilon: Upper(Epsilon::new(known.epsilon_at(delta) + SLACK).unwrap()),
        delta: Delta::new(delta).unwrap(),
        adjacency: Adjacency::AddRemove,
    };
    let claimed = ClaimUnderTest { point, declared: Some(&curve) };
    let split = Method::Threshold { choice: Choice::Split, group: Count::ONE };
    let by_split = |rng: &mut Draws| {
        let judged = judge(split, &file(known, 200, rng), &claimed, level()).unwrap();
        matches!(judged.verdict, Verdict::Refuted { .. })
    };
    let by_bets =
        |rng: &mut Draws| is_refuted_by_bets(&file(known, 200, rng), &claimed, Count::ONE, level()).unwrap();
    [counted(FILES, seed, by_split), counted(FILES, seed + 100, by_bets)]
}

/// Seeds 231 to 243 and 331 to 343.
#[test]
fn true_curves_stand() {
    for (seed, known) in (231..).zip(Known::all().unwrap()) {
        let failed = refuted(&known, 1.0, seed);
        assert!(failed.iter().all(|failed| is_kept(*failed, FILES)), "{}: {failed:?}", known.name);
    }
}

/// Seeds 251 to 254 and 351 to 354. Twin: a third of each mechanism's δ is claimed.
#[test]
fn curves_that_are_not_true_fall() {
    let all = Known::all().unwrap();
    let names = ["Gaussian, μ = 1", "randomized response", "silent half", "crashes"];
    for (seed, name) in (251..).zip(names) {
        let known = all.iter().find(|known| known.name.starts_with(name)).unwrap();
        let failed = refuted(known, 1.0 / 3.0, seed);
        assert!(failed.iter().all(|failed| !is_kept(*failed, FILES)), "{name}: {failed:?}");
    }
}

const CANARIES: usize = 400;

/// The guesses of one run, half of the canaries at each end.
fn game(crowd: &Crowd<'_>, rng: &mut Draws) -> Guesses {
    let ins: Vec<bool> = (0..CANARIES).map(|_| rng.coin(0.5)).collect();
    let scores = crowd.run(&ins, rng);
    let of =
        |is_in| scores.iter().zip(&ins).filter(move |(_, coin)| **coin == is_in).map(|(score, _)| *score);
    let scores = veracity_audit::Scores::new(of(true).collect(), of(false).collect()).unwrap();
    Guesses::count(&scores, CANARIES as u64 / 2, CANARIES as u64 / 2).unwrap()
}

/// How often a bound is above the truth; more right guesses show more, so the fewest that show too much decide.
fn too_high(crowd: &Crowd<'_>, bound: FromGuesses, delta: f64, seed: u64) -> u64 {
    let truth = crowd.epsilon_at(delta, CANARIES) + SLACK;
    let all = CANARIES as u64;
    let exceeds = |correct| {
        let seen = Guesses::new(all, all, correct).unwrap();
        bound.bound(seen, Delta::new(delta).unwrap(), level()).epsilon.0.get() > truth
    };
    let (mut below, mut above) = (0, all + 1);
    while above - below > 1 {
        let middle = u64::midpoint(below, above);
        if exceeds(middle) { above = middle } else { below = middle }
    }
    counted(2000, seed, |rng| game(crowd, rng).correct() >= above)
}

/// Seeds 261 to 263: canaries that share noise, a coin, or the wrong of two answers. Twin: the bound that takes them for independent.
#[test]
fn canaries_that_hang_together_do_not_break_what_is_proved() {
    let crowds = [
        Crowd::SharedNoise { mu: 1.0, shared: 0.5 },
        Crowd::Antithetic { wrong: 0.05 },
        Crowd::AllOrNone { speaks: 0.3, wrong: 0.16 },
    ];
    for (seed, crowd) in (261..).zip(&crowds) {
        let delta = *crowd.deltas().last().unwrap();
        for bound in [FromGuesses::OneRun, FromGuesses::Binomial] {
            let failed = too_high(crowd, bound, delta, seed);
            assert!(is_kept(failed, 2000), "{} {}: {failed}", crowd.name(), bound.name());
        }
    }
    let fooled = too_high(&crowds[2], FromGuesses::Independent, 0.1, 263);
    assert!(!is_kept(fooled, 2000), "{fooled}");
}
