//! Audits of privacy claims: the upper bound of the accountant, the lower bound of an attack, and a verdict.
//!
//! A [`Case`] is a subject with its claim; [`subjects`] make them. [`Audit`] is the whole job, and [`audit()`] the same in one call: an
//! [`AuditProtocol`] fixes everything before the first trial, a [`Journal`] keeps every trial as it ends, in memory or on disk, and a
//! [`certificate`] lets anyone recompute the verdict. [`examine`] is the last step alone, for recorded
//! trials. [`replaying`] compares two runs call by call, [`lower_bounds`] turns counts into bounds, [`zoo`] audits planted bugs.
//!
//! ```
//! use veracity_account::claims::Subject;
//! use veracity_core::{Count, Delta, Epsilon, Mechanism, NoiseMultiplier};
//! use veracity_auditing::{AuditDone, AuditSettings, Case, audit};
//!
//! // The mechanism adds a tenth of the declared Gaussian noise, so its claim is refuted.
//! let declared = Subject::new(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? });
//! let case = Case::mechanism(&declared, 0.1, None, Delta::new(1e-5)?, 1, Count::new(20_000)?)?;
//! let AuditDone::Judged { audited, .. } = audit(&case, &AuditSettings::default())? else { panic!() };
//! assert!(audited.is_refuted());
//! # Ok::<(), veracity_core::Error>(())
//! ```

#![warn(clippy::missing_errors_doc)]

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
pub(crate) use case::TrialSource;
pub use case::{Case, SubjectNote};
pub use claim::AuditClaim;
pub use conduct::Progress;
pub use device_note::DeviceNote;
pub use job::{Audit, AuditDone, AuditSettings, Retention, audit, merge};
pub use journal::{Journal, Opening};
pub use method_note::MethodRequest;
pub use page::{fragment, page, round_distinctly};
pub use planning::{AuditPlan, CHANCE, InsufficientPower, Power};
pub use protocol::{AuditProtocol, ClaimNote, MOST_TRIALS, MethodNote, SCHEMA as ORDER_SCHEMA, VERSION};
pub(crate) use recomputing::Statement;
pub use stepwise::{Stepwise, Trial};
pub use subjects::{
    Attack, AttackRequest, CanaryKind, FinalModel, IdealGame, PlantedCanaries, Scoring, Start, TrainingAudit,
    WhiteBox, command, default_plan, interrupt, planned_method, planned_part, planned_runs, recorded,
    trained_model,
};
pub use trials::{Record, Trials};
pub use veracity_audit::{
    AuditSubject, Choice, ClaimedCurve, CountSummary, Counts, CurveTest, Evidence, Failure, FailuresByWorld,
    IdealAttacker, Method, Observation, Outcome, Rates, Refutation, Shard, SubjectFn, World, bound, observe,
    subject_fn, worlds,
};
pub use veracity_core::Claim;

pub use veracity_train::device;

use claim::{Curves, as_declared};
use veracity_audit::ClaimUnderTest;
use veracity_core::{Count, Epsilon, Error, Mechanism, Refusal, Significance, Upper, Verdict};

/// The settings of an attack, fixed before its first trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// The bound and its threshold.
    pub method: Method,
    /// How many trials.
    pub trials: Count,
    /// The seed of their randomness.
    pub seed: u64,
    /// The significance, 1 − confidence.
    pub significance: f64,
}

/// The upper bound, the lower bound and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditResult {
    /// The audited subject.
    pub note: SubjectNote,
    /// The claimed point (ε, δ).
    pub claim: Claim,
    /// The claimed mechanism, if there is one.
    pub mechanism: Option<Mechanism>,
    /// Its whole trade-off curve.
    pub curve: Option<ClaimedCurve>,
    /// The upper bound of the accountant, if there is one.
    pub proved: Option<Upper<Epsilon>>,
    /// How it was attacked.
    pub terms: Terms,
    /// The lower bound on ε and the counts behind it.
    pub evidence: Evidence,
    /// The test of the whole curve, if a mechanism is claimed.
    pub against: Option<CurveTest>,
    /// The power of the trials, if noise is claimed.
    pub power: Option<Power>,
    /// Whether the claim is refuted.
    pub verdict: Verdict,
    /// How many trials left no score.
    pub failures: u64,
    /// The same by world.
    pub failed: FailuresByWorld,
    /// Whether failed trials were retried.
    pub was_retried: bool,
}

impl AuditResult {
    /// Whether the claim is refuted.
    pub fn is_refuted(&self) -> bool {
        matches!(self.verdict, Verdict::Refuted { .. })
    }

    /// Whether the trials would refute the claim, were none of them a retry.
    pub fn falls_but_for_retries(&self) -> bool {
        let by_curve = self.against.is_some_and(|against| against.fallen.is_some());
        self.was_retried && (by_curve || self.evidence.shown.epsilon.0 > self.claim.epsilon.0)
    }

    /// Whether failing depends on the canary, and the verdict does not take that into account.
    pub fn hides_failures(&self) -> bool {
        // Canaries of one run fail together, so that their failures are no independent evidence.
        !matches!(self.terms.method, Method::ManyCanaries { .. } | Method::ManyRuns { .. })
            && (self.was_retried || !self.terms.method.counts_failures())
            && self.failed.imbalance() < conduct::UNEVEN
    }

    /// The same result with required power: inconclusive, if noise at this multiple of the declared level could not have been detected.
    ///
    /// # Errors
    /// A part outside 0 < part ≤ 1, or a claim without noise.
    pub fn requiring(mut self, part: f64) -> Result<AuditResult, Refusal> {
        protocol::check_required(Some(part))?;
        if self.power.is_none() {
            return Err(planning::without_noise());
        }
        planning::must_meet(&mut self, Some(part));
        Ok(self)
    }
}

/// The result of complete trials under their protocol.
///
/// # Errors
/// Missing trials, or more failures than the protocol allows.
pub fn examine_trials(protocol: &AuditProtocol, trials: &Trials) -> Result<AuditResult, Error> {
    examine_seen(protocol, protocol.claim.claim()?.curves().as_ref(), trials, &trials.observations())
}

/// The same, where `seen` are the observations of these trials, of which there may be hundreds of millions, and `curves` are those of
/// the claim.
fn examine_seen(
    protocol: &AuditProtocol,
    curves: Option<&Curves>,
    trials: &Trials,
    seen: &[Observation],
) -> Result<AuditResult, Error> {
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
    let (note, claim) = (protocol.subject.clone(), protocol.claim.claim()?);
    let mut audited = examine_by(curves, note, &claim, proved, terms, seen)?;
    // First attempts count too, because a second one could hide a failure.
    audited.failed = trials.failures_by_world();
    if trials.were_retried() {
        audited.was_retried = true;
        audited.evidence.shown.basis = bound::Basis::IfRetriesTellNothing;
        // Retries may bias the scores, so the claim is not refuted, but it does not count as "not refuted" either.
        if let Verdict::Refuted { shown } = audited.verdict {
            audited.verdict = Verdict::CannotTell { shown, ceiling: audited.evidence.shown.ceiling };
        }
    }
    must_not_hide_failures(&mut audited);
    planning::must_meet(&mut audited, protocol.require);
    // A test that ended early has as many trials as it took.
    let last = seen.last().map_or(0, |told| told.trial + 1);
    audited.terms.trials = Count::new(last.max(1))?;
    Ok(audited)
}

/// Takes back "not refuted" where trials fail more often in one world and the method does not look at failures, or where retries hid them.
fn must_not_hide_failures(audited: &mut AuditResult) {
    if audited.hides_failures()
        && let Verdict::NotRefuted { shown, ceiling } = audited.verdict
    {
        audited.verdict = Verdict::CannotTell { shown, ceiling };
    }
}

/// The result of trials for a claim.
///
/// # Errors
/// Observations that the method cannot take.
pub fn examine(
    note: SubjectNote,
    claim: &AuditClaim,
    proved: Option<Upper<Epsilon>>,
    terms: Terms,
    seen: &[Observation],
) -> Result<AuditResult, Error> {
    examine_by(claim.curves().as_ref(), note, claim, proved, terms, seen)
}

fn examine_by(
    curves: Option<&Curves>,
    note: SubjectNote,
    claim: &AuditClaim,
    proved: Option<Upper<Epsilon>>,
    terms: Terms,
    seen: &[Observation],
) -> Result<AuditResult, Error> {
    let declared = as_declared(curves);
    let claimed = ClaimUnderTest { point: claim.point, declared };
    let judged = veracity_audit::judge(terms.method, seen, &claimed, Significance::new(terms.significance)?)?;
    let canaries = Count::new(seen.iter().map(|told| u64::from(told.canary) + 1).max().unwrap_or(1))?;
    // The power is that of the planned trials, also if a test ended early.
    let observations = Count::new(terms.trials.get().saturating_mul(canaries.get()))?;
    let mut power = planning::power_of(declared, terms.method, (observations, canaries), terms.significance)?;
    if judged.against.is_some_and(|against| !against.is_able)
        && let Some(power) = &mut power
    {
        // Trials that cannot refute the claim, whatever the scores, detect nothing.
        power.detects_noise_below = None;
    }
    Ok(AuditResult {
        note,
        claim: claim.point,
        mechanism: claim.mechanism.clone(),
        curve: declared.map(|declared| declared.with_noise(1.0)).transpose()?,
        proved,
        evidence: judged.evidence,
        against: judged.against,
        power,
        verdict: judged.verdict,
        failures: seen.iter().filter(|seen| seen.canary == 0 && seen.score.is_none()).count() as u64,
        failed: FailuresByWorld::count(seen),
        was_retried: false,
        terms,
    })
}

/// SHA-256 of pieces one after another, in hexadecimal.
fn sha256(pieces: &[&[u8]]) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    pieces.iter().for_each(|piece| hash.update(piece));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
