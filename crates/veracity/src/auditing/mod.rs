//! A claim attacked: what the accountant proves, what the attack shows, and the verdict between the two.

mod case;
pub mod certificate;
pub mod command;
mod conduct;
pub mod journal;
mod neighbours;
mod order;
mod process;
pub mod recorded;
mod trials;

pub use case::{Case, SubjectNote};
pub use conduct::{Progress, conduct, plan_trials};
pub use journal::{Journal, Start};
pub use order::{ClaimNote, MOST_TRIALS, MethodNote, Order, SCHEMA as ORDER_SCHEMA};
pub use trials::{Record, Trials};

use crate::{Choice, Refusal, Subject, account};
use veracity_audit as audit;
pub use veracity_audit::{Counts, Evidence, Idealised as Target};
use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Lower, Significance, Upper, Verdict};

/// What is to be attacked, how often, and what it claims.
#[derive(Debug)]
pub struct Audit {
    /// What is run.
    pub subject: Target,
    /// The ε claimed; what the accountant proves when none is given.
    pub claimed: Option<Epsilon>,
    /// The δ of the claim.
    pub delta: Delta,
    /// How many runs.
    pub trials: Count,
    /// What the runs' randomness is drawn from.
    pub seed: u64,
    /// The chance of error to spend.
    pub significance: Significance,
}

/// The upper bound, the lower bound and the verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Audited {
    /// What was run.
    pub subject: Target,
    /// What was claimed of it.
    pub claim: Claim,
    /// What the accountant proves of the mechanism as declared.
    pub proved: Upper<Epsilon>,
    /// What the attack shows.
    pub shown: Lower<Epsilon>,
    /// The largest ε that so many runs could have shown.
    pub ceiling: Epsilon,
    /// Whether the claim is refuted.
    pub verdict: Verdict,
    /// How the guesses came out.
    pub counts: Counts,
    /// The score above which the attacker said "in".
    pub threshold: f64,
    /// How many runs there were.
    pub trials: Count,
    /// What their randomness was drawn from.
    pub seed: u64,
    /// The chance of error that was spent.
    pub significance: f64,
}

/// Proves, attacks, and judges.
pub fn run(audit: Audit) -> Result<Audited, Refusal> {
    let subject = Subject::new(audit.subject.mechanism());
    let answer = account(&subject, crate::Target::Delta(audit.delta), Choice::Best)?;
    let proved = answer.epsilon.upper().ok_or_else(|| {
        Refusal::NoAnswer("the accountant has no upper bound for this subject; claim an epsilon".to_owned())
    })?;
    let claim = Claim {
        epsilon: audit.claimed.map_or(proved, Upper),
        delta: audit.delta,
        adjacency: Adjacency::AddRemove,
    };
    let evidence: Evidence = audit::run(&audit.subject, audit.trials, audit.seed, audit.significance);
    Ok(Audited {
        subject: audit.subject,
        claim,
        proved,
        shown: evidence.epsilon_lower(audit.delta),
        ceiling: evidence.ceiling(audit.delta),
        verdict: evidence.judge(&claim),
        counts: evidence.counts,
        threshold: evidence.threshold,
        trials: evidence.trials,
        seed: evidence.seed,
        significance: evidence.significance,
    })
}

/// SHA-256 of pieces one after another, in hexadecimal.
fn sha256(pieces: &[&[u8]]) -> String {
    use sha2::{Digest, Sha256};
    let mut hash = Sha256::new();
    pieces.iter().for_each(|piece| hash.update(piece));
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
