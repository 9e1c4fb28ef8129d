//! The zoo: for each planted bug, the claimed upper bound, the lower bound of its audit, and the number of trials.

pub mod planted;
mod powers;

pub use powers::{AuditAttempt, Powers, powers};

pub use crate::zoo::planted::{Exhibit, Specimen, exhibits};
use crate::zoo::planted::{Replays, Runs};
use std::time::{Duration, Instant};
use veracity_account::claims::{Choice, Subject, Target, account};
use veracity_audit::{Observation, observe, show};
use veracity_core::Claim;
use veracity_core::{Epsilon, Error, Lower, PrivacyUnit, Significance, Upper, Verdict};

/// Which of a pair is audited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// The code with its bug.
    Buggy,
    /// The same code without it.
    Correct,
}

/// How an exhibit is audited.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// What trials draw from.
    pub seed: u64,
    /// The chance of error to spend on each exhibit.
    pub significance: f64,
    /// How many trials are run at once.
    pub threads: usize,
}

/// What an audit said of an exhibit.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The exhibit's name.
    pub name: &'static str,
    /// Its bug, in one line.
    pub what: &'static str,
    /// What was claimed.
    pub claim: Claim,
    /// Which audit it was.
    pub audit: &'static str,
    /// What it found.
    pub found: VisitOutcome,
    /// How many trials, or pairs of datasets, it took.
    pub trials: u64,
    /// How long it took, with the proof of the claim.
    pub took: Duration,
}

/// What an audit found.
#[derive(Debug, Clone, PartialEq)]
pub enum VisitOutcome {
    /// A lower bound, judged against the claim.
    Bound(Verdict),
    /// A fault that a replay saw, whatever the ε.
    Fault(String),
    /// No fault; this part of what was declared was used.
    NoFault {
        /// The largest movement over the declared one.
        used: f64,
    },
}

impl Visit {
    /// Whether the claim is refuted.
    pub fn is_refuted(&self) -> bool {
        match &self.found {
            VisitOutcome::Bound(Verdict::Refuted { .. }) | VisitOutcome::Fault(_) => true,
            VisitOutcome::Bound(_) | VisitOutcome::NoFault { .. } => false,
        }
    }

    /// The ε that was shown; none by a replay, which needs none.
    pub fn shown(&self) -> Option<Lower<Epsilon>> {
        match &self.found {
            VisitOutcome::Bound(verdict) => Some(verdict.shown()),
            VisitOutcome::Fault(_) | VisitOutcome::NoFault { .. } => None,
        }
    }
}

/// Proves the claim of an exhibit, audits its specimen or its twin, and judges.
///
/// # Errors
/// A claim that the accountant cannot prove, or code that fails.
pub fn visit(exhibit: &Exhibit, breed: Variant, terms: Terms) -> Result<Visit, Error> {
    let start = Instant::now();
    let claim = Claim { epsilon: proved(exhibit)?, delta: exhibit.delta, adjacency: exhibit.adjacency };
    let specimen = match breed {
        Variant::Buggy => &exhibit.specimen,
        Variant::Correct => &exhibit.twin,
    };
    let (audit, found, trials) = match specimen {
        Specimen::Runs(runs) => {
            (runs.method.name(), VisitOutcome::Bound(attack(runs, &claim, terms)?), runs.trials.get())
        }
        Specimen::Replays(replays) => {
            let (found, pairs) = replay(replays)?;
            ("replay", found, pairs)
        }
    };
    Ok(Visit { name: exhibit.name, what: exhibit.what, claim, audit, found, trials, took: start.elapsed() })
}

/// The ε that an accountant proves of what is claimed.
fn proved(exhibit: &Exhibit) -> Result<Upper<Epsilon>, Error> {
    let subject = Subject {
        mechanism: exhibit.claimed.clone(),
        adjacency: exhibit.adjacency,
        unit: PrivacyUnit::default(),
    };
    let answer = account(&subject, Target::Delta(exhibit.delta), Choice::Best)?;
    answer
        .epsilon
        .upper()
        .ok_or_else(|| Error::invalid(format!("{} has no upper bound to claim", exhibit.name)))
}

fn attack(runs: &Runs, claim: &Claim, terms: Terms) -> Result<Verdict, Error> {
    let trials: Vec<u64> = (0..runs.trials.get()).collect();
    let outcomes = observe(&*runs.subject, terms.seed, &trials, terms.threads);
    if let Some(failure) = outcomes.iter().find_map(|outcome| outcome.failure.as_ref()) {
        return Err(Error::invalid(format!("a planted bug failed to run: {failure}")));
    }
    let seen: Vec<Observation> = outcomes.into_iter().flat_map(|outcome| outcome.observations).collect();
    Ok(show(runs.method, &seen, claim.delta, Significance::new(terms.significance)?)?.judge(claim))
}

/// Replays pair after pair until a fault is found.
fn replay(replays: &Replays) -> Result<(VisitOutcome, u64), Error> {
    let mut used = 0.0f64;
    for pair in 0..replays.pairs() {
        let replayed = replays.replay(pair)?;
        if let Some(fault) = replayed.fault {
            return Ok((VisitOutcome::Fault(fault.to_string()), pair + 1));
        }
        used = used.max(replayed.used);
    }
    Ok((VisitOutcome::NoFault { used }, replays.pairs()))
}
