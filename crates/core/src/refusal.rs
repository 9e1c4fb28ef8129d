//! Why a request is refused, in one line with the name of the argument, its value, the allowed range and the remedy.

use std::fmt;

/// A request that is refused. Its `Display` is one lower-case line without a full stop.
///
/// # Examples
///
/// ```
/// use veracity_core::{Buckets, Refusal};
///
/// let refusal = Buckets::new(1).unwrap_err();
/// assert_eq!(refusal.to_string(), "buckets is 1, expected buckets ≥ 2");
/// // Callers that want to know more than the line can match.
/// assert!(matches!(refusal, Refusal::OutOfRange { name: "buckets", .. }));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// A number outside the range of what it stands for.
    OutOfRange {
        /// What the number stands for, as the user knows it.
        name: &'static str,
        /// The number as given.
        value: String,
        /// The allowed range, or the remedy.
        expected: &'static str,
    },
    /// An argument is missing, of the wrong type, or in conflict with another one.
    Invalid(String),
    /// No theorem covers this mechanism in this setting.
    NoTheorem {
        /// The innermost mechanism that lacks the theorem.
        culprit: String,
        /// The setting: an adjacency, or a method.
        setting: String,
        /// What would work instead.
        remedy: String,
    },
    /// The answer exists but is infinite or cannot be certified; says which, and which request would work.
    NotCertified(String),
    /// The mechanism provides no privacy: δ is certified to be 1 to within rounding.
    NoProtection(String),
    /// The request exceeds the remaining privacy budget.
    OverBudget(String),
    /// Two bounds that are both proved contradict each other, so one proof is wrong. Never fall back from this one.
    Contradiction(String),
}

/// Kind of an error, for callers that sort errors and for files that name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An argument is missing, out of range or of the wrong type.
    Invalid,
    /// No theorem covers the mechanism in this setting.
    NoTheorem,
    /// There is no certified answer.
    NotCertified,
    /// The mechanism provides no privacy: δ is 1 to within rounding.
    NoProtection,
    /// The request exceeds the remaining privacy budget.
    OverBudget,
    /// Two proved bounds contradict each other: a bug of this program.
    Contradiction,
    /// A file cannot be read or written, or is not what it should be.
    File,
    /// Too many trials of an audit failed.
    TrialsFailed,
    /// The user interrupted the job.
    Interrupted,
}

impl ErrorKind {
    /// The kind's name in files.
    pub const fn name(self) -> &'static str {
        match self {
            ErrorKind::Invalid => "invalid",
            ErrorKind::NoTheorem => "no-theorem",
            ErrorKind::NotCertified => "not-certified",
            ErrorKind::NoProtection => "no-protection",
            ErrorKind::OverBudget => "over-budget",
            ErrorKind::Contradiction => "contradiction",
            ErrorKind::File => "file",
            ErrorKind::TrialsFailed => "trials-failed",
            ErrorKind::Interrupted => "interrupted",
        }
    }
}

impl Refusal {
    /// Refuses `value` for `name`, which must be as `expected`.
    pub fn out_of_range(name: &'static str, value: impl ToString, expected: &'static str) -> Self {
        Refusal::OutOfRange { name, value: value.to_string(), expected }
    }

    /// Refuses an argument, for a reason in one line.
    pub fn invalid(why: impl Into<String>) -> Self {
        Refusal::Invalid(why.into())
    }

    /// Refuses `culprit` in `setting`, with a remedy that works.
    pub fn no_theorem(culprit: impl ToString, setting: impl ToString, remedy: impl ToString) -> Self {
        Refusal::NoTheorem {
            culprit: culprit.to_string(),
            setting: setting.to_string(),
            remedy: remedy.to_string(),
        }
    }

    /// Kind of the refusal.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Refusal::OutOfRange { .. } | Refusal::Invalid(_) => ErrorKind::Invalid,
            Refusal::NoTheorem { .. } => ErrorKind::NoTheorem,
            Refusal::NotCertified(_) => ErrorKind::NotCertified,
            Refusal::NoProtection(_) => ErrorKind::NoProtection,
            Refusal::OverBudget(_) => ErrorKind::OverBudget,
            Refusal::Contradiction(_) => ErrorKind::Contradiction,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::OutOfRange { name, value, expected } => {
                write!(f, "{name} is {value}, expected {expected}")
            }
            Refusal::NoTheorem { culprit, setting, remedy } => {
                write!(f, "no theorem for {culprit} under {setting}; {remedy}")
            }
            Refusal::Invalid(why)
            | Refusal::NotCertified(why)
            | Refusal::NoProtection(why)
            | Refusal::OverBudget(why)
            | Refusal::Contradiction(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}
