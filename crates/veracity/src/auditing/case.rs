//! A subject ready to be audited: what is run, what is claimed of it, and the words that a report needs.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use veracity_audit::Subject;
use veracity_core::{Claim, Count, Epsilon, Upper};

/// What an audit is of.
pub struct Case {
    /// What is run.
    pub subject: Box<dyn Subject + Send>,
    /// What it is, in words and settings.
    pub note: SubjectNote,
    /// What is claimed of it.
    pub claim: Claim,
    /// What the accountant proves of it, where it can.
    pub proved: Option<Upper<Epsilon>>,
    /// How many trials it is meant for.
    pub trials: Count,
}

/// What was audited, as it stands in a certificate. Two audits with the same note and seed run the same trials.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SubjectNote {
    /// The kind of subject: `training`, `mechanism`, `command`, `scores`.
    pub kind: String,
    /// What it is, in one line.
    pub description: String,
    /// What the attacker does, in one line.
    pub attack: String,
    /// What the attacker sees: `every step`, `final model`, `black box`.
    pub access: String,
    /// Every setting that a trial's score depends on, besides its number and the seed.
    pub settings: BTreeMap<String, String>,
}
