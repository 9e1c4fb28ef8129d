//! Many canaries a run: the bounds of one run held against the exact ε, and verdicts on true curves by guesses.

use crate::{Erred, STATED, claims, claims::True};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use veracity::{Delta, Refusal, Significance, Verdict};
use veracity_audit::{
    ClaimUnderTest, Method, Observation, RunGuesses, Scores, World,
    bound::{FromGuesses, one_run::Guesses},
    judge, show,
};
use veracity_testkit::known::{Crowd, Draws, SLACK};

/// Canaries of the runs whose bounds are looked at, and the guesses at each end.
const CANARIES: usize = 500;
const ENDS: [u64; 2] = [25, 250];
/// Runs and canaries of each where a verdict is asked for.
const RUNS: u64 = 4;
const EACH: usize = 64;
/// Runs that are bet on, and the parts of their canaries that are guessed.
const MANY_RUNS: u64 = 48;
const PARTS: [f64; 2] = [0.1, 0.5];

/// A crowd with what is true of it.
pub struct Game<'a> {
    crowd: &'a Crowd<'a>,
    claim: True,
    /// Each δ with the ε that is true there.
    truths: Vec<(f64, f64)>,
    /// What bounds have shown for so many right guesses: few numbers come up.
    known: Mutex<BTreeMap<(usize, u64, u64, u64), f64>>,
}

impl<'a> Game<'a> {
    pub fn new(crowd: &'a Crowd<'a>) -> Result<Game<'a>, Refusal> {
        let delta = crowd.deltas()[0];
        let claim = match crowd {
            Crowd::Apart(known) => claims::of_known(known)?,
            _ => True::exact(|epsilon| crowd.delta_at(epsilon, EACH), delta, crowd.epsilon_at(delta, EACH))?,
        };
        let truth = |delta: f64| (delta, crowd.epsilon_at(delta, CANARIES));
        let truths = crowd.deltas().into_iter().map(truth).collect();
        Ok(Game { crowd, claim, truths, known: Mutex::new(BTreeMap::new()) })
    }

    /// Which bounds are above the truth on one run.
    pub fn bounds(&self, rng: &mut Draws) -> Result<Vec<Erred>, Refusal> {
        let seen = self.play(0, CANARIES, rng);
        let scores = Scores::in_order(seen.iter().map(|seen| (seen.world, seen.counted())))?;
        let mut all = Vec::new();
        for ends in ENDS {
            let guesses = Guesses::count(&scores, ends, ends)?;
            for (delta, truth) in self.truths.iter().copied() {
                let row = format!("{} | {delta} | {truth:.3} | {}", self.crowd.name(), 2 * ends);
                for (which, bound) in FromGuesses::ALL.into_iter().enumerate() {
                    let erred = self.shown(which, bound, guesses, delta)? > truth + SLACK;
                    let (column, is_promised) = (bound.name(), self.is_promised(bound));
                    all.push(Erred { row: row.clone(), column, stated: STATED, is_promised, erred });
                }
            }
        }
        Ok(all)
    }

    fn shown(&self, which: usize, bound: FromGuesses, seen: Guesses, delta: f64) -> Result<f64, Refusal> {
        let key = (which, seen.guesses(), seen.correct(), delta.to_bits());
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shown) = known().get(&key) {
            return Ok(*shown);
        }
        let shown = bound.bound(seen, Delta::new(delta)?, Significance::new(STATED)?).epsilon.0.get();
        known().insert(key, shown);
        Ok(shown)
    }

    /// Whether a bound is a theorem about this crowd.
    fn is_promised(&self, bound: FromGuesses) -> bool {
        match bound {
            FromGuesses::OneRun | FromGuesses::Binomial => true,
            FromGuesses::Gaussian => self.crowd.is_gaussian(),
            FromGuesses::Independent => self.crowd.is_independent(),
            FromGuesses::IndependentGaussian => self.crowd.is_independent() && self.crowd.is_gaussian(),
            _ => false,
        }
    }

    /// Which verdicts refute the true claim on a few runs.
    pub fn verdicts(&self, rng: &mut Draws) -> Result<Vec<Erred>, Refusal> {
        let mut seen = Vec::new();
        for run in 0..RUNS {
            seen.extend(self.play(run, EACH, rng));
        }
        let (whole, point) = (self.claim.whole(), ClaimUnderTest::from(self.claim.point));
        let is_refuted = |guessed, claimed: &ClaimUnderTest<'_>| {
            let judged = judge(Method::ManyCanaries { guessed }, &seen, claimed, Significance::new(STATED)?)?;
            Ok::<_, Refusal>(matches!(judged.verdict, Verdict::Refuted { .. }))
        };
        let found = [
            ("curve, all guessed", is_refuted(Some(1.0), &whole)?),
            ("curve, a quarter guessed", is_refuted(Some(0.25), &whole)?),
            ("curve, a quarter of the runs chooses", is_refuted(None, &whole)?),
            ("ε, all guessed", is_refuted(Some(1.0), &point)?),
            ("ε, a tenth guessed", is_refuted(Some(0.1), &point)?),
        ];
        let row = format!("{} | {}", self.crowd.name(), self.claim.source);
        let erred =
            |(column, erred)| Erred { row: row.clone(), column, stated: STATED, is_promised: true, erred };
        Ok(found.into_iter().map(erred).collect())
    }

    /// Which bounds are above the truth, and which verdicts refute the true claim, where runs are bet on one by one.
    pub fn many_runs(&self, rng: &mut Draws) -> Result<Vec<Erred>, Refusal> {
        let mut seen = Vec::new();
        for run in 0..MANY_RUNS {
            seen.extend(self.play(run, EACH, rng));
        }
        let mut all = Vec::new();
        let mut add = |row: String, column, erred| {
            all.push(Erred { row, column, stated: STATED, is_promised: true, erred });
        };
        for delta in self.crowd.deltas() {
            let truth = self.crowd.epsilon_at(delta, EACH);
            for (part, column) in PARTS.into_iter().zip(["ε, a tenth guessed", "ε, half guessed"]) {
                let method = Method::ManyRuns { guessed: part, rule: RunGuesses::Past };
                let found = show(method, &seen, Delta::new(delta)?, Significance::new(STATED)?)?;
                let row = format!("{} | {delta} | {truth:.3}", self.crowd.name());
                add(row, column, found.shown.epsilon.0.get() > truth + SLACK);
            }
        }
        let method = Method::ManyRuns { guessed: PARTS[0], rule: RunGuesses::Past };
        let judged = judge(method, &seen, &self.claim.whole(), Significance::new(STATED)?)?;
        let row = format!("{} | {} | –", self.crowd.name(), self.claim.source);
        add(row, "whole curve", matches!(judged.verdict, Verdict::Refuted { .. }));
        Ok(all)
    }

    /// One run with canaries by fair coins.
    fn play(&self, trial: u64, canaries: usize, rng: &mut Draws) -> Vec<Observation> {
        let ins: Vec<bool> = (0..canaries).map(|_| rng.coin(0.5)).collect();
        let scores = self.crowd.run(&ins, rng);
        let one = |(canary, (is_in, score)): (usize, (&bool, f64))| Observation {
            trial,
            canary: canary as u32,
            world: if *is_in { World::In } else { World::Out },
            score: Some(score),
        };
        ins.iter().zip(scores).enumerate().map(one).collect()
    }
}
