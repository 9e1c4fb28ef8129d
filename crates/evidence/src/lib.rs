//! Claims attacked: what the accountant proves, what the attack shows, and the verdict between the two.
//!
//! A [`Case`] is a subject with its claim; [`subjects`] make them. [`audit()`] is the whole job: an [`AuditProtocol`] fixes everything
//! before the first trial, a [`Journal`] keeps every trial as it ends, in memory or on disk, [`conduct`] runs those that are
//! missing, and a [`certificate`] lets anyone recompute the verdict. [`examine`] is the last step by itself, for whoever has
//! trials. [`replaying`] compares two runs call by call, [`lower_bounds`] turns counts into bounds, [`zoo`] audits planted bugs.
//!
//! ```
//! use veracity_claims::Subject;
//! use veracity_core::{Count, Delta, Epsilon, Mechanism, NoiseMultiplier};
//! use veracity_evidence::{AuditDone, AuditSettings, Case, audit};
//!
//! // A tenth of the Gaussian noise that is declared: the claim of the declared noise does not stand.
//! let declared = Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? });
//! let case = Case::mechanism(&declared, 0.1, None, Delta::new(1e-5)?, 1, Count::new(20_000)?)?;
//! let AuditDone::Judged { audited, .. } = audit(&case, &AuditSettings::default(), None)? else { panic!() };
//! assert!(audited.is_refuted());
//! # Ok::<(), veracity_core::Error>(())
//! ```

mod blake2b;
mod case;
pub mod certificate;
mod claim;
mod conduct;
mod device_note;
mod job;
pub mod journal;
pub mod looks;
pub mod lower_bounds;
mod method_note;
mod origin;
mod page;
mod planning;
mod protocol;
mod recomputing;
pub mod replaying;
mod rerun;
pub mod signature;
mod stepwise;
pub mod subjects;
mod trials;
pub mod zoo;

pub(crate) use case::Brief;
pub use case::{Case, SubjectNote, TrialSource};
pub use claim::AuditClaim;
pub use conduct::{Progress, conduct, plan_trials};
pub use device_note::DeviceNote;
pub use job::{AuditDone, AuditSettings, Keep, audit, merge, merge_signed, plan};
pub use journal::{Journal, Opening};
pub use page::{fragment, page, round_distinctly};
pub use planning::{CHANCE, Caught, caught, needed_trials};
pub use protocol::{AuditProtocol, ClaimNote, MOST_TRIALS, MethodNote, SCHEMA as ORDER_SCHEMA, VERSION};
pub(crate) use recomputing::Statement;
pub use stepwise::{Stepwise, Trial};
pub use subjects::{
    Attack, CanaryKind, FinalModel, IdealGame, Planted, Scoring, Start, WhiteBox, best_canary, command,
    default_plan, default_plan_with, interrupt, planned_canaries, planned_method, planned_part,
    planned_part_of_runs, recorded, trained_model,
};
pub use trials::{Record, Trials};
pub use veracity_audit::{
    Against, AuditSubject, Choice, ClaimedCurve, Counted, Counts, Evidence, Failure, FailuresByWorld, Fallen,
    Idealised, Method, Observation, Outcome, Rates, Shard, SubjectFn, World, bound, observe, subject_fn,
    worlds,
};
pub use veracity_core::Claim;

pub use veracity_train::device;

use veracity_audit::{Claimed, Declared};
use veracity_core::{Count, Epsilon, Error, Refusal, Significance, Upper, Verdict};
use veracity_train::{Dataset, Labels};

/// How a case is attacked; fixed before its first trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// How scores become a bound.
    pub method: Method,
    /// How many trials.
    pub trials: Count,
    /// What their randomness is drawn from.
    pub seed: u64,
    /// The chance of error to spend.
    pub significance: f64,
}

/// The upper bound, the lower bound and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Audited {
    /// What was attacked.
    pub note: SubjectNote,
    /// The point that was claimed of it.
    pub claim: Claim,
    /// The whole curve, where a mechanism was claimed.
    pub curve: Option<ClaimedCurve>,
    /// What the accountant proves of it, where it can.
    pub proved: Option<Upper<Epsilon>>,
    /// How it was attacked.
    pub terms: Terms,
    /// The lower bound on ε that the attack shows.
    pub evidence: Evidence,
    /// What the trials say of the whole curve, where it was looked at.
    pub against: Option<Against>,
    /// The noise that so many trials would have caught, where noise is claimed.
    pub caught: Option<Caught>,
    /// Whether the claim is refuted.
    pub verdict: Verdict,
    /// How many trials left no score.
    pub failures: u64,
    /// The same by world.
    pub failed: FailuresByWorld,
    /// Whether trials were tried again after they had failed.
    pub was_retried: bool,
}

impl Audited {
    /// Whether the claim is refuted.
    pub fn is_refuted(&self) -> bool {
        matches!(self.verdict, Verdict::Refuted { .. })
    }

    /// The same, where this part of the declared noise had to be caught: a verdict that the audit was not able to give is taken back.
    pub fn requiring(mut self, part: f64) -> Result<Audited, Refusal> {
        protocol::check_required(Some(part))?;
        if self.caught.is_none() {
            return Err(planning::without_noise());
        }
        planning::must_meet(&mut self, Some(part));
        Ok(self)
    }
}

/// What complete trials show, under the protocol that they were run by.
pub fn examine_trials(protocol: &AuditProtocol, trials: &Trials) -> Result<Audited, Error> {
    examine_seen(protocol, trials, &trials.observations())
}

/// The same, where `seen` are the observations of these trials: there may be hundreds of millions.
fn examine_seen(protocol: &AuditProtocol, trials: &Trials, seen: &[Observation]) -> Result<Audited, Error> {
    protocol.check()?;
    trials.must_complete(protocol)?;
    conduct::check_failures(trials, protocol)?;
    let method = protocol.method.method()?;
    let terms = Terms {
        method,
        trials: Count::new(protocol.trials)?,
        seed: protocol.seed,
        significance: protocol.significance,
    };
    let proved = protocol.proved.map(Epsilon::new).transpose()?.map(Upper);
    if trials::brings_its_worlds(protocol) && matches!(method, Method::ManyCanaries { .. }) {
        trained_model::must_be_fair(&seen.iter().map(|told| told.world).collect::<Vec<_>>())?;
    }
    let mut audited = examine(protocol.subject.clone(), &protocol.claim.claim()?, proved, terms, seen)?;
    if trials.were_retried() {
        audited.was_retried = true;
        audited.evidence.shown.basis = bound::Basis::IfRetriesTellNothing;
        if let Verdict::Refuted { shown } = audited.verdict {
            audited.verdict = Verdict::NotRefuted { shown, ceiling: audited.evidence.shown.ceiling };
        }
    }
    planning::must_meet(&mut audited, protocol.require);
    // A test that ended early has as many trials as it took.
    let last = seen.last().map_or(0, |told| told.trial + 1);
    audited.terms.trials = Count::new(last.max(1))?;
    Ok(audited)
}

/// What trials show of a claim.
pub fn examine(
    note: SubjectNote,
    claim: &AuditClaim,
    proved: Option<Upper<Epsilon>>,
    terms: Terms,
    seen: &[Observation],
) -> Result<Audited, Error> {
    let curves = claim.curves();
    let declared = curves.as_ref().map(|curves| curves as &dyn Declared);
    let claimed = Claimed { point: claim.point, declared };
    let judged = veracity_audit::judge(terms.method, seen, &claimed, Significance::new(terms.significance)?)?;
    let canaries = Count::new(seen.iter().map(|told| u64::from(told.canary) + 1).max().unwrap_or(1))?;
    // What was planned catches what it catches, also where a test ended early.
    let observations = Count::new(terms.trials.get().saturating_mul(canaries.get()))?;
    Ok(Audited {
        note,
        claim: claim.point,
        curve: declared.map(|declared| declared.with_noise(1.0)).transpose()?,
        proved,
        evidence: judged.evidence,
        against: judged.against,
        caught: planning::caught_by(declared, terms.method, (observations, canaries), terms.significance)?,
        verdict: judged.verdict,
        failures: seen.iter().filter(|seen| seen.canary == 0 && seen.score.is_none()).count() as u64,
        failed: FailuresByWorld::count(seen),
        was_retried: false,
        terms,
    })
}

/// SHA-256 of records, features and labels: shares of an audit, and what takes it up again, must be of the same.
fn records_sha256(records: &Dataset) -> String {
    let mut bytes = (records.width() as u64).to_le_bytes().to_vec();
    bytes.extend((0..records.len()).flat_map(|at| records.row(at)).flat_map(|x| x.to_le_bytes()));
    match records.labels() {
        Labels::Classes { of, .. } => bytes.extend(of.iter().flat_map(|class| class.to_le_bytes())),
        Labels::Values(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
    }
    sha256(&[&bytes])
}

/// SHA-256 of pieces one after another, in hexadecimal.
fn sha256(pieces: &[&[u8]]) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    pieces.iter().for_each(|piece| hash.update(piece));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
