//! What the ledger holds: records in the order in which they were written. A changed record is detected (`tests/hostile.rs`).

use crate::{Hash, RequestId};
use veracity_account::{Question, filter::Amounts};
use veracity_core::Mechanism;

/// One record.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its number, from 1.
    pub number: u64,
    /// When it was written, in seconds since 1970 began.
    pub moment: u64,
    /// What happened.
    pub event: Event,
    /// What was spent of the whole, this record included.
    pub spent: Amounts,
    /// Its link of the chain.
    pub hash: Hash,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A question was charged.
    Reserved(Box<Charge>),
    /// Its answer was kept.
    Answered {
        /// The number of the record that charged it.
        reservation: u64,
        /// The answer, as JSON.
        answer: String,
    },
    /// It will have no answer; it stays charged.
    Abandoned {
        /// The number of the record that charged it.
        reservation: u64,
    },
}

/// A question that was charged.
#[derive(Debug, Clone, PartialEq)]
pub struct Charge {
    /// By which it can be asked again.
    pub id: Option<RequestId>,
    /// Who asked, where the ledger tells analysts apart.
    pub analyst: Option<String>,
    /// What is done to the data.
    pub question: Question,
    /// What was charged in its place, where the rule has no number for the mechanism itself: a pair (ε, δ) that covers it.
    pub charged: Option<Mechanism>,
    /// In one line, for people.
    pub what: String,
    /// What it cost.
    pub cost: Amounts,
    /// What it cost its analyst, and what that analyst has spent with it.
    pub share: Option<(Amounts, Amounts)>,
}
