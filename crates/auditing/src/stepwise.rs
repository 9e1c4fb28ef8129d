//! An audit whose trials are run elsewhere, in whatever order, and brought one by one: by another language, or by other machines.
//!
//! A [`Stepwise`] audit hands out trials, each a world and a seed, keeps the scores that come back, and ends as soon as it knows. The
//! certificate is that of a run on one machine, to the bit: the order in which scores come makes no difference.

use crate::{
    AuditDone, AuditProtocol, AuditSettings, Journal, Progress, Retention,
    claim::Curves,
    command::seed_of,
    conduct::{RunningTest, check_failures, keep},
    job,
    signature::SigningKey,
};
use veracity_audit::{Failure, Observation, Outcome, Shard, World, worlds};
use veracity_core::Error;

/// A trial to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trial {
    /// Its number.
    pub number: u64,
    /// Whether the canary is in.
    pub world: World,
    /// What its randomness is drawn from; it tells nothing of the world.
    pub seed: u32,
}

/// An audit under way, which [`Audit::begin`](crate::Audit::begin) opens.
///
/// ```
/// use std::collections::BTreeMap;
/// use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Upper};
/// use veracity_auditing::{Audit, AuditDone, AuditSettings, Case, World};
///
/// let claim = Claim {
///     epsilon: Upper(Epsilon::new(1.0)?),
///     delta: Delta::new(1e-5)?,
///     adjacency: Adjacency::AddRemove,
/// };
/// let case =
///     Case::of_brought_scores("a telltale", BTreeMap::new(), claim, Count::new(400)?, 1, Count::ONE);
/// let settings = AuditSettings::default();
/// let mut audit = Audit::new(&case, &settings)?.begin()?;
/// // A score for every trial that is asked for, until the claim has fallen.
/// while let Some(trial) = audit.hand_out() {
///     audit.keep(trial.number, Ok(if trial.world == World::In { 1.0 } else { 0.0 }))?;
/// }
/// let AuditDone::Judged { audited, trials, .. } = audit.judge()? else { panic!() };
/// assert!(audited.is_refuted() && trials.observations().len() < 100);
/// # Ok::<(), veracity_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Stepwise {
    journal: Journal,
    keep: Retention,
    sign: Option<SigningKey>,
    curves: Option<Curves>,
    watching: Option<RunningTest>,
    /// Trials that are not in the journal, the last to be handed out first.
    waiting: Vec<u64>,
    progress: Progress,
    has_fallen: bool,
}

impl Stepwise {
    /// Opens what is kept of an earlier run.
    pub(crate) fn new(
        protocol: AuditProtocol,
        curves: Option<Curves>,
        settings: &AuditSettings,
    ) -> Result<Stepwise, Error> {
        if settings.retries > 0 || settings.retry_failed || settings.shard != Shard::WHOLE {
            return Err(Error::invalid("retries and shards cannot be used with trials that run elsewhere"));
        }
        let mut journal = job::open(&protocol, &settings.keep)?;
        check_failures(journal.trials(), &protocol)?;
        let mut watching = RunningTest::new(&journal, curves.as_ref(), Shard::WHOLE)?;
        let has_fallen = watching.as_mut().map_or(Ok(false), |test| test.has_fallen(&mut journal))?;
        let waiting: Vec<u64> =
            journal.missing(Shard::WHOLE).into_iter().rev().map(|(trial, _)| trial).collect();
        let progress = Progress { done: 0, of: waiting.len() as u64, failed: journal.trials().failures() };
        let (keep, sign) = (settings.keep.clone(), settings.sign.clone());
        Ok(Stepwise { journal, keep, sign, curves, watching, waiting, progress, has_fallen })
    }

    /// What was fixed beforehand.
    pub fn protocol(&self) -> &AuditProtocol {
        self.journal.protocol()
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        self.progress
    }

    /// The next trial that is to be run; none when all are handed out or the claim has fallen.
    pub fn hand_out(&mut self) -> Option<Trial> {
        let number = self.waiting.pop().filter(|_| !self.has_fallen)?;
        let seed = self.journal.protocol().seed;
        let world = worlds(seed, number, 1).first().copied().unwrap_or(World::Out);
        Some(Trial { number, world, seed: seed_of(seed, number) })
    }

    /// Takes back trials that were handed out and lost, to hand them out again.
    pub fn take_back(&mut self, trials: impl IntoIterator<Item = u64>) {
        let kept =
            |trial: &u64| *trial < self.journal.protocol().trials && !self.journal.trials().has(*trial, 1);
        let lost: Vec<u64> = trials.into_iter().filter(kept).collect();
        self.waiting.extend(lost);
        // The first of them next: a test that is watched waits for it.
        self.waiting.sort_unstable_by(|a, b| b.cmp(a));
        self.waiting.dedup();
    }

    /// Keeps the score of a trial, or why there is none; whether the claim has fallen, so that no more is needed.
    ///
    /// # Promise  A score that is no number is a failure. The same score again is one; another one is refused.
    ///
    /// # Errors
    /// A trial that is not missing, more failures than the protocol allows, or a file that cannot be written.
    pub fn keep(&mut self, trial: u64, score: Result<f64, Failure>) -> Result<bool, Error> {
        let protocol = self.journal.protocol();
        if trial >= protocol.trials {
            return Err(Error::out_of_range("trial", trial, "the number of a started trial"));
        }
        // What came too late to be needed is not kept.
        if self.has_fallen {
            return Ok(true);
        }
        let score = match score {
            Ok(score) if score.is_nan() => Err(Failure::Run("a score is not a number".into())),
            other => other,
        };
        let world = worlds(protocol.seed, trial, 1).first().copied().unwrap_or(World::Out);
        let observation = Observation { trial, canary: 0, world, score: score.as_ref().ok().copied() };
        let outcome = Outcome { observations: vec![observation], failure: score.err(), attempts: 1 };
        let is_new = !self.journal.trials().has(trial, 1);
        if is_new {
            keep(&mut self.journal, &[outcome], &mut self.progress)?;
        } else {
            self.journal.keep(&outcome)?;
        }
        if let Some(watching) = &mut self.watching {
            self.has_fallen = watching.has_fallen(&mut self.journal)?;
        }
        Ok(self.has_fallen)
    }

    /// Whether every trial that is needed has come.
    pub fn is_complete(&self) -> bool {
        self.journal.missing(Shard::WHOLE).is_empty()
    }

    /// Judges, and keeps what is to be kept.
    ///
    /// # Errors
    /// Missing trials, or files that cannot be written.
    pub fn judge(self) -> Result<AuditDone, Error> {
        if !self.is_complete() {
            let protocol = Box::new(self.journal.protocol().clone());
            return Ok(AuditDone::Share { protocol, trials: self.journal.settle(&[])? });
        }
        job::judge(self.journal, self.curves.as_ref(), &self.keep, self.sign.as_ref())
    }
}
