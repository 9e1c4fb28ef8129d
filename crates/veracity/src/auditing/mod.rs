//! A claim attacked: what the accountant proves, what the attack shows, and the verdict between the two.
//!
//! A [`Case`] is a subject with its claim; [`Terms`] say how it is attacked. [`attack`] runs the trials and [`examine`]
//! turns what they told into an [`Audited`] claim; whoever has the trials can do the second without the first.
//!
//! Where trials are dear, an [`Order`] fixes all that beforehand, a [`Journal`] keeps every trial on disk as it ends,
//! [`conduct`] runs those that are missing, and a [`certificate`] lets anyone recompute the verdict.

mod case;
pub mod certificate;
pub mod command;
mod conduct;
mod final_model;
pub mod interrupt;
pub mod journal;
mod mechanism;
mod method_note;
mod neighbours;
mod noise_call;
mod one_run;
mod order;
mod page;
mod planting;
mod process;
pub mod recorded;
pub mod trained_model;
mod training;
mod trials;
mod white_box;

pub use case::{Case, SubjectNote};
pub use conduct::{Progress, conduct, plan_trials};
pub use final_model::{FinalModel, Planted, Scoring};
pub use journal::{Journal, Opening};
pub use order::{ClaimNote, MOST_TRIALS, MethodNote, Order, SCHEMA as ORDER_SCHEMA, VERSION};
pub use page::{page, round_distinctly};
pub use planting::Kind;
pub use training::{Attack, Start, best_canary};
pub use trials::{Record, Trials};
pub use veracity_audit::{
    Choice, Counted, Counts, Evidence, Failure, Idealised, Method, Observation, Outcome, Shard,
    Subject as Target, World, bound, observe, worlds,
};
pub use white_box::WhiteBox;

use crate::Refusal;
use veracity_audit as audit;
pub use veracity_core::Claim;
use veracity_core::{Count, Epsilon, Significance, Upper, Verdict};
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
    /// What was claimed of it.
    pub claim: Claim,
    /// What the accountant proves of it, where it can.
    pub proved: Option<Upper<Epsilon>>,
    /// How it was attacked.
    pub terms: Terms,
    /// What the attack shows.
    pub evidence: Evidence,
    /// Whether the claim is refuted.
    pub verdict: Verdict,
    /// How many trials left no score.
    pub failures: u64,
}

/// Runs every trial, and examines what they told.
pub fn attack(case: &Case, terms: Terms, threads: usize) -> Result<(Audited, Vec<Observation>), Refusal> {
    let trials: Vec<u64> = (0..terms.trials.get()).collect();
    let outcomes = observe(case.subject.as_ref(), terms.seed, &trials, threads);
    let seen: Vec<Observation> = outcomes.into_iter().flat_map(|outcome| outcome.observations).collect();
    Ok((examine(case.note.clone(), case.claim, case.proved, terms, &seen)?, seen))
}

/// What trials show of a claim.
pub fn examine(
    note: SubjectNote,
    claim: Claim,
    proved: Option<Upper<Epsilon>>,
    terms: Terms,
    seen: &[Observation],
) -> Result<Audited, Refusal> {
    let evidence = audit::show(terms.method, seen, claim.delta, Significance::new(terms.significance)?)?;
    let failures = seen.iter().filter(|seen| seen.canary == 0 && seen.score.is_none()).count() as u64;
    let verdict = evidence.judge(&claim);
    Ok(Audited { note, claim, proved, terms, evidence, verdict, failures })
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
