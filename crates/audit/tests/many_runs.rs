//! Bets on runs with many canaries: they catch what they say, and honest claims stand.

use crate::worlds::Draws;
use veracity_audit::{
    AuditSubject, ClaimUnderTest, ClaimedCurve, Declared, Failure, Method, Observation, RunGuesses, World,
    judge, observe, power,
};
use veracity_core::numerics::normal;
use veracity_core::{
    Adjacency, Claim, Count, Delta, Epsilon, Probability, Refusal, Significance, Upper, Verdict,
};

const CANARIES: usize = 40;
const RUNS: u64 = 400;
const METHOD: Method = Method::ManyRuns { guessed: 0.05, rule: RunGuesses::Past };

/// Noise that is declared: μ = 1 with all of it.
struct Gaussian;

impl Declared for Gaussian {
    fn with_noise(&self, part: f64) -> Result<ClaimedCurve, Refusal> {
        let mu = 1.0 / part;
        let delta = |e: f64| normal::cdf(mu / 2.0 - e / mu) - e.exp() * normal::cdf(-mu / 2.0 - e / mu);
        let pair = |e: f64| Ok((Epsilon::new(e)?, Delta::new((delta(e) * (1.0 + 1e-9)).clamp(0.0, 1.0))?));
        ClaimedCurve::new((0..40).map(|i| pair(f64::from(i) * mu / 8.0)).collect::<Result<Vec<_>, _>>()?)
    }
}

/// Canaries under this part of the noise, each with noise of its own.
struct Noisy {
    part: f64,
    seed: u64,
}

impl AuditSubject for Noisy {
    fn canaries(&self) -> usize {
        CANARIES
    }

    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let mut draws = Draws::of(self.seed, trial);
        let shift = |world: &World| f64::from(u8::from(*world == World::In)) / self.part;
        Ok(worlds.iter().map(|world| shift(world) + draws.normal()).collect())
    }
}

fn verdict(part: f64, seed: u64) -> Verdict {
    let trials: Vec<u64> = (0..RUNS).collect();
    let outcomes = observe(&Noisy { part, seed }, seed, &trials, 1);
    let seen: Vec<Observation> = outcomes.into_iter().flat_map(|outcome| outcome.observations).collect();
    let point = Claim {
        epsilon: Upper(Epsilon::new(4.3772).unwrap()),
        delta: Delta::new(1e-5).unwrap(),
        adjacency: Adjacency::AddRemove,
    };
    let claimed = ClaimUnderTest { point, declared: Some(&Gaussian) };
    judge(METHOD, &seen, &claimed, Significance::new(0.01).unwrap()).unwrap().verdict
}

/// Forty files each, seeds 0 to 39. At a chance of 0.9 fewer than 29 are caught with chance below 1e-3; honest ones are refuted with
/// chance 0.01 each, more than 4 of them with chance below 1e-4.
#[test]
fn noise_is_caught_as_often_as_is_said_and_honest_noise_stands() {
    let observations = Count::new(RUNS * CANARIES as u64).unwrap();
    let caught = power::caught(
        METHOD,
        (observations, Count::new(CANARIES as u64).unwrap()),
        &Gaussian,
        Probability::new(0.9).unwrap(),
        Significance::new(0.01).unwrap(),
    );
    let part = caught.unwrap().unwrap();
    assert!((0.7..1.0).contains(&part), "{part}");
    let refuted =
        |part: f64| (0..40).filter(|seed| matches!(verdict(part, *seed), Verdict::Refuted { .. })).count();
    let (missing, honest) = (refuted(part), refuted(1.0));
    assert!(missing >= 29, "{missing} of 40 at {part}");
    assert!(honest <= 4, "{honest} of 40");
}
