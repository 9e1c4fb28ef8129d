//! Why a question has no answer, in one line that names the thing, its value, the allowed range and the remedy.

use std::fmt;

/// A question that is refused. Its `Display` is one lower-case line without a full stop.
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
    /// No theorem covers this mechanism in this setting.
    NoTheorem {
        /// The innermost mechanism that lacks the theorem.
        culprit: String,
        /// The setting: an adjacency, or a method.
        setting: String,
        /// What would work instead.
        remedy: String,
    },
    /// The answer exists but is infinite or cannot be certified; says which and what to ask instead.
    NoAnswer(String),
    /// δ is 1 to within rounding: that is the answer, and it protects nobody. Nothing was left unproved.
    NoProtection(String),
}

impl Refusal {
    /// Refuses `value` for `name`, which must be as `expected`.
    pub fn out_of_range(name: &'static str, value: impl ToString, expected: &'static str) -> Self {
        Refusal::OutOfRange { name, value: value.to_string(), expected }
    }

    /// Refuses `culprit` in `setting`, and says what would work.
    pub fn no_theorem(culprit: impl ToString, setting: impl ToString, remedy: impl ToString) -> Self {
        Refusal::NoTheorem {
            culprit: culprit.to_string(),
            setting: setting.to_string(),
            remedy: remedy.to_string(),
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
            Refusal::NoAnswer(why) | Refusal::NoProtection(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Refusal {}
