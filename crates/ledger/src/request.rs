//! What is asked of a ledger, and what it hands out: a reservation for something new, or the answer that was given before.

use crate::{Hash, Terms, answering::Answering};
use serde::{Deserialize, Serialize};
use veracity_account::Question;
use veracity_core::{Adjacency, Mechanism, PrivacyUnit, Refusal};

/// The longest request id, in bytes.
const LONGEST_ID: usize = 200;
/// The longest line about what is asked, in bytes.
const LONGEST_LINE: usize = 1 << 16;
/// The longest description of a mechanism, in bytes.
const LONGEST_QUESTION: usize = 1 << 20;

/// A name that a client gives to a request before it asks, so that it can ask again.
///
/// # Examples
///
/// ```
/// use veracity_ledger::RequestId;
///
/// assert_eq!(RequestId::new("2026-11-16/hours")?.name(), "2026-11-16/hours");
/// assert!(RequestId::new("two\nlines").is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(String);

impl RequestId {
    /// An id of 1 to 200 bytes without control characters.
    ///
    /// # Errors
    /// Refuses an empty, long or unprintable name.
    pub fn new(name: &str) -> Result<RequestId, Refusal> {
        if !name.is_empty() && name.len() <= LONGEST_ID && !name.contains(char::is_control) {
            return Ok(RequestId(name.to_owned()));
        }
        Err(Refusal::out_of_range(
            "request id",
            "empty, too long or not printable",
            "1 to 200 bytes without control characters",
        ))
    }

    /// Its text.
    pub fn name(&self) -> &str {
        &self.0
    }
}

/// What someone wants to release.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// By which it can be asked again; without one, every request is new.
    pub id: Option<RequestId>,
    /// Who asks, where the ledger has caps for analysts.
    pub analyst: Option<String>,
    /// What is done to the data.
    pub question: Question,
    /// What it protects as one; where it is not said, the caller vouches that it is the ledger's.
    pub unit: Option<PrivacyUnit>,
    /// The same in one line for people, such as `mean of hours`; it is public.
    pub what: String,
}

impl Request {
    /// A request that cannot be repeated, of no analyst.
    pub fn new(question: Question, what: &str) -> Request {
        Request { id: None, analyst: None, unit: None, question, what: what.to_owned() }
    }
}

/// What became of a request.
#[derive(Debug)]
#[must_use]
pub enum Reserved {
    /// It is charged, on disk; now noise may be drawn, once.
    New(Reservation),
    /// It was answered before, and nothing was charged.
    Known {
        /// The answer that was kept, as JSON.
        answer: String,
        /// The number of its entry.
        entry: u64,
    },
}

/// A charge that is on disk, for one draw of noise.
#[derive(Debug)]
#[must_use]
pub struct Reservation {
    pub(crate) entry: u64,
    /// Of which ledger it is.
    pub(crate) ledger: Hash,
    /// The right to answer it; without an id, no other process can ask for it.
    pub(crate) answering: Option<Answering>,
}

impl Reservation {
    /// The number of its entry.
    pub fn entry(&self) -> u64 {
        self.entry
    }
}

/// A request that was checked, in the texts that are written down.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CheckedRequest {
    pub id: Option<RequestId>,
    /// Which analyst, by place in the terms.
    pub analyst: Option<usize>,
    pub analyst_name: Option<String>,
    pub unit: Option<PrivacyUnit>,
    pub question: Question,
    pub question_text: String,
    pub what: String,
}

impl CheckedRequest {
    pub fn new(request: Request, terms: &Terms) -> Result<CheckedRequest, Refusal> {
        let Request { id, analyst, unit, question, what } = request;
        if let Some(unit) =
            unit.as_ref().filter(|unit| !terms.is_any_unit() && !is_same_unit(unit, &terms.unit))
        {
            return Err(other_unit(unit, &terms.unit, "the unit of this ledger"));
        }
        if question.adjacency != terms.adjacency {
            return Err(Refusal::no_theorem(
                format!("a {} query", question.adjacency),
                format!("a {} ledger", terms.adjacency),
                "use the ledger's adjacency",
            ));
        }
        let place = terms.analyst(analyst.as_deref())?;
        if what.is_empty() || what.len() > LONGEST_LINE || what.contains(char::is_control) {
            return Err(Refusal::out_of_range(
                "description of the request",
                "empty, too long or not one line",
                "one line of at most 64 KiB without control characters",
            ));
        }
        let question_text = question_text(&question, unit.as_ref())?;
        Ok(CheckedRequest { id, analyst: place, analyst_name: analyst, unit, question, question_text, what })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionFile {
    mechanism: Mechanism,
    adjacency: Adjacency,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<PrivacyUnit>,
}

/// A question as the file has it.
pub(crate) fn question_text(question: &Question, unit: Option<&PrivacyUnit>) -> Result<String, Refusal> {
    let written = QuestionFile {
        mechanism: question.mechanism.clone(),
        adjacency: question.adjacency,
        unit: unit.cloned(),
    };
    let text = serde_json::to_string(&written)
        .map_err(|error| Refusal::invalid(format!("cannot write the mechanism ({error})")))?;
    if text.len() <= LONGEST_QUESTION {
        return Ok(text);
    }
    Err(Refusal::out_of_range(
        "mechanism",
        format!("{} bytes as JSON", text.len()),
        "at most 1 MiB; declare its epsilon and delta instead",
    ))
}

/// A question from the file.
pub(crate) fn question_from(text: &str) -> Option<Question> {
    let QuestionFile { mechanism, adjacency, .. } = serde_json::from_str(text).ok()?;
    Some(Question { mechanism, adjacency })
}

/// Whose data a question from the file protects as one, where that was said.
pub(crate) fn unit_from(text: &str) -> Option<PrivacyUnit> {
    serde_json::from_str::<QuestionFile>(text).ok()?.unit
}

/// Whether two names are of one unit: where each person has one record, it has several names.
pub(crate) fn is_same_unit(one: &PrivacyUnit, other: &PrivacyUnit) -> bool {
    const RECORDS: [&str; 3] = ["row", "example", "record"];
    let is_record = |unit: &PrivacyUnit| RECORDS.contains(&unit.name());
    one == other || (is_record(one) && is_record(other))
}

/// The refusal of a request for another unit than the ledger's.
pub(crate) fn other_unit(unit: &PrivacyUnit, expected: &PrivacyUnit, why: &str) -> Refusal {
    Refusal::invalid(format!("unit is {}, expected {}, {why}", unit.name(), expected.name()))
}
