//! The zoo as a table of powers: the same audits for every bug, none of them told which one it faces, and what each of them takes.
//!
//! Code that can be replayed is attacked, replayed and traced in one way. Other exhibits are run with the score that their attacker has
//! of what they publish; the audit of those scores is the same for all.

use super::{Exhibit, Specimen, Terms, Variant};
use crate::AuditClaim;
use crate::zoo::planted::Replays;
use veracity_account::claims::Subject;
use veracity_audit::{
    AuditSubject, ClaimUnderTest, ClaimedCurve, bound::sequential::Test, observe, replay::examine,
};
use veracity_core::{Count, Error, Mechanism, PrivacyUnit, Refusal, Significance};

/// Trainings that are run before bets are looked at.
const CHUNK: u64 = 250;
/// Why there is no replay and no trace.
const NOT_REPLAYED: &str = "its noise goes through no call that can be replayed";

/// What one audit made of an exhibit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuditAttempt {
    /// Refuted after so many trainings, pairs of datasets, or recorded runs.
    Refuted {
        /// So many.
        after: u64,
    },
    /// Not refuted.
    Stood {
        /// In so many.
        tried: u64,
    },
    /// The audit cannot be applied.
    Unfit {
        /// Why not.
        why: &'static str,
    },
}

impl AuditAttempt {
    /// Whether it refuted.
    pub fn is_refuted(self) -> bool {
        matches!(self, AuditAttempt::Refuted { .. })
    }
}

/// What each of the generic audits takes for one exhibit.
#[derive(Debug, Clone, PartialEq)]
pub struct Powers {
    /// The exhibit's name.
    pub name: &'static str,
    /// Its bug, in one line.
    pub what: &'static str,
    /// The part of the claimed noise that the bug leaves, where it is of that kind.
    pub noise_left: Option<f64>,
    /// Bets against the whole curve of the claimed mechanism, in trainings.
    pub curve: AuditAttempt,
    /// Bets against its (ε, δ) alone, on the same trainings.
    pub epsilon: AuditAttempt,
    /// Sums that move farther than declared, in pairs of datasets.
    pub replay: AuditAttempt,
    /// Noise that is not what is declared, in recorded runs.
    pub trace: AuditAttempt,
}

impl Powers {
    /// All four, by their names.
    pub fn audits(&self) -> [(&'static str, AuditAttempt); 4] {
        [("curve", self.curve), ("epsilon", self.epsilon), ("replay", self.replay), ("trace", self.trace)]
    }
}

/// Tries all generic audits on an exhibit or its twin, each at the significance of the terms, with at most so many trainings.
///
/// # Errors
/// A claim that the accountant cannot prove, or code that fails.
pub fn powers(exhibit: &Exhibit, breed: Variant, terms: Terms, most: Count) -> Result<Powers, Error> {
    let subject = Subject {
        mechanism: exhibit.claimed.clone(),
        adjacency: exhibit.adjacency,
        unit: PrivacyUnit::default(),
    };
    let claim = AuditClaim::of_subject(&subject, exhibit.delta, None)?;
    let curves =
        claim.curves().ok_or_else(|| Error::invalid("a claimed mechanism cannot be written down"))?;
    let point = ClaimUnderTest::from(claim.point).curve(Count::ONE)?;
    // Of a claim that is no more than a point, the point is the curve.
    let whole = match exhibit.claimed {
        Mechanism::Approximate { .. } => point.clone(),
        _ => ClaimUnderTest { point: claim.point, declared: Some(&curves) }.curve(Count::ONE)?,
    };
    let (specimen, replays) = match breed {
        Variant::Buggy => (&exhibit.specimen, exhibit.replayed.as_ref().map(|(bug, _)| bug)),
        Variant::Correct => (&exhibit.twin, exhibit.replayed.as_ref().map(|(_, twin)| twin)),
    };
    let replays = match specimen {
        Specimen::Replays(replays) => Some(replays),
        Specimen::Runs(_) => replays,
    };
    let bets = |subject: &dyn AuditSubject| bets(subject, [whole.clone(), point.clone()], terms, most);
    let [curve, epsilon] = match (replays, specimen) {
        (Some(replays), _) => bets(&replays.attacked()?)?,
        (None, Specimen::Runs(runs)) => bets(&*runs.subject)?,
        (None, Specimen::Replays(_)) => return Err(Error::invalid("a replayed exhibit has no replays")),
    };
    let unfit = AuditAttempt::Unfit { why: NOT_REPLAYED };
    let (replay, trace) = match replays {
        Some(replays) => (replayed(replays)?, traced(replays, terms.significance)?),
        None => (unfit, unfit),
    };
    let Exhibit { name, what, noise_left, .. } = *exhibit;
    Ok(Powers { name, what, noise_left, curve, epsilon, replay, trace })
}

/// Bets against each claim on the same trainings, until all of them have fallen.
///
/// # Promise  A true claim is refuted with chance at most the significance
fn bets(
    subject: &dyn AuditSubject,
    claims: [ClaimedCurve; 2],
    terms: Terms,
    most: Count,
) -> Result<[AuditAttempt; 2], Refusal> {
    let level = || Significance::new(terms.significance);
    let [whole, point] = claims;
    let mut tests = [Test::new(whole, level()?), Test::new(point, level()?)];
    let mut found = [AuditAttempt::Stood { tried: most.get() }; 2];
    let mut first = 0;
    while first < most.get() && found.iter().any(|tried| !tried.is_refuted()) {
        let trials: Vec<u64> = (first..most.get().min(first + CHUNK)).collect();
        first += CHUNK;
        for seen in observe(subject, terms.seed, &trials, terms.threads).iter().flat_map(|o| &o.observations)
        {
            for (test, found) in tests.iter_mut().zip(&mut found).filter(|(_, found)| !found.is_refuted()) {
                test.observe(seen.world, seen.score)?;
                if test.is_refuted() {
                    *found = AuditAttempt::Refuted { after: seen.trial + 1 };
                }
            }
        }
    }
    Ok(found)
}

/// Replays pair after pair until a fault is found.
fn replayed(replays: &Replays) -> Result<AuditAttempt, Refusal> {
    for pair in 0..replays.pairs() {
        if replays.replay(pair)?.fault.is_some() {
            return Ok(AuditAttempt::Refuted { after: pair + 1 });
        }
    }
    Ok(AuditAttempt::Stood { tried: replays.pairs() })
}

/// Records run after run until its noise is not what is declared; each has its share of the significance.
fn traced(replays: &Replays, significance: f64) -> Result<AuditAttempt, Refusal> {
    let share = significance / replays.pairs() as f64;
    for run in 0..replays.pairs() {
        if examine(&replays.trace(run)?, Significance::new(share)?).fault.is_some() {
            return Ok(AuditAttempt::Refuted { after: run + 1 });
        }
    }
    Ok(AuditAttempt::Stood { tried: replays.pairs() })
}
