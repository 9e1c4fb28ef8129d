//! One canary a run: every bound from counts, bands and bets, held against the exact ε.

use crate::{Erred, STATED, trials};
use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};
use veracity::{Count, Delta, Epsilon, Refusal, Significance};
use veracity_audit::{
    Choice, ClaimedCurve, Counts, Method, Observation, Scores,
    bound::{Basis, FromCounts, LowerBound, sequential::Ladder, trade_off},
    show,
};
use veracity_testkit::known::{Draws, Known, SLACK};

/// Trials of a file.
const TRIALS: u64 = 300;
/// Trials of the files that bets climb on, and rungs up to the truth: a ladder of claims takes long.
const CLIMBED: u64 = 120;
const RUNGS: u32 = 3;

/// Trials of either world for bounds that promise nothing: the posterior takes long, but few different counts come up.
const POSTERIOR: usize = 30;

/// A δ, the ε that is true there, and the threshold that tells most of it.
pub struct Goal {
    row: String,
    delta: f64,
    truth: f64,
    threshold: f64,
    /// What the posterior has shown for such false alarms and misses.
    known: Mutex<BTreeMap<(u64, u64), LowerBound>>,
}

/// What a mechanism's bounds are held against.
pub fn goals(known: &Known) -> Vec<Goal> {
    let goal = |delta: &f64| {
        let truth = known.epsilon_at(*delta);
        let row = format!("{} | {delta} | {truth:.3}", known.name);
        Goal { row, delta: *delta, truth, threshold: known.threshold(*delta), known: Mutex::default() }
    };
    known.deltas.iter().map(goal).collect()
}

/// Which bounds are above the truth on one file.
pub fn errors(known: &Known, goals: &[Goal], rng: &mut Draws) -> Result<Vec<Erred>, Refusal> {
    let seen = trials(known, TRIALS, rng);
    let climbed = trials(known, CLIMBED, rng);
    let mut all = Vec::new();
    for goal in goals {
        let delta = Delta::new(goal.delta)?;
        for (column, shown) in goal.shown(&seen, delta)? {
            let is_promised = match shown.basis {
                Basis::Proved => true,
                Basis::IfGaussian => known.is_gaussian(),
                _ => false,
            };
            let erred = shown.epsilon.0.get() > goal.truth + SLACK;
            all.push(Erred { row: goal.row.clone(), column, stated: STATED, is_promised, erred });
        }
        let (row, erred) = (goal.row.clone(), goal.is_climbed(&climbed, delta)?);
        all.push(Erred { row, column: "bets", stated: STATED, is_promised: true, erred });
    }
    Ok(all)
}

impl Goal {
    /// What all bounds show.
    fn shown(&self, seen: &[Observation], delta: Delta) -> Result<Vec<(&'static str, LowerBound)>, Refusal> {
        let level = || Significance::new(STATED);
        let fixed = Choice::Fixed(self.threshold);
        let counts = |choice| Method::Threshold { choice, group: Count::ONE };
        let gaussian = |choice| Method::Gaussian { choice };
        let by_method = [
            ("Clopper–Pearson, fixed", counts(fixed)),
            ("split", counts(Choice::Split)),
            ("3 folds", counts(Choice::Folds(Count::new(3)?))),
            ("union", counts(Choice::Union)),
            ("Gaussian μ, fixed", gaussian(fixed)),
            ("Gaussian μ, split", gaussian(Choice::Split)),
            ("Gaussian μ, union", gaussian(Choice::Union)),
        ];
        let mut all = Vec::new();
        for (column, method) in by_method {
            all.push((column, show(method, seen, delta, level()?)?.shown));
        }
        let scores = Scores::in_order(seen.iter().map(|seen| (seen.world, seen.counted())))?;
        let band = trade_off::band(&scores, trade_off::Kind::Uniform, level()?);
        all.push(("uniform band", band.bound(delta, Count::ONE)));
        let few = |scores: &[f64]| scores[..POSTERIOR.min(scores.len())].to_vec();
        let few = Scores::new(few(scores.inside()), few(scores.outside()))?;
        let counts = Counts::above(self.threshold, &few);
        all.push(("log-Katz, fixed", FromCounts::LogKatz.bound(counts, delta, Count::ONE, level()?)?));
        all.push(("Bayesian, fixed", self.posterior(counts, delta)?));
        Ok(all)
    }

    /// Whether bets climb a ladder of claims past the last of them, which is the truth.
    fn is_climbed(&self, seen: &[Observation], delta: Delta) -> Result<bool, Refusal> {
        let claim = |rung| {
            let epsilon = self.truth * f64::from(rung) / f64::from(RUNGS) + SLACK;
            ClaimedCurve::new([(Epsilon::new(epsilon)?, delta)])
        };
        let claims = (1..=RUNGS).map(claim).collect::<Result<Vec<_>, Refusal>>()?;
        let mut ladder = Ladder::new(claims, Significance::new(STATED)?);
        for seen in seen {
            ladder.observe(seen.world, seen.score)?;
        }
        Ok(ladder.refuted() == RUNGS as usize)
    }

    fn posterior(&self, counts: Counts, delta: Delta) -> Result<LowerBound, Refusal> {
        let key = (counts.false_positives, counts.false_negatives);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(shown) = known().get(&key) {
            return Ok(*shown);
        }
        let shown = FromCounts::Bayesian.bound(counts, delta, Count::ONE, Significance::new(STATED)?)?;
        known().insert(key, shown);
        Ok(shown)
    }
}
