//! Formats one answer.

use crate::claims::{Answer, Finding, Refusal, Subject, Target};
use std::fmt;
use veracity_core::decimal;

/// Digits of the answer.
const DIGITS: usize = 9;

/// The text of an answer. `Display` prints its lines.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerWords {
    /// The computed quantity: `epsilon` or `delta`.
    pub asked: &'static str,
    /// `≤` before a bound, `≈` before an approximation.
    pub relation: &'static str,
    /// The number, rounded to its safe side.
    pub number: String,
    /// The given quantity, such as `delta 1e-5`.
    pub given: String,
    /// Adjacency, unit and method, in brackets.
    pub conditions: String,
    /// Type of bound, and how tight it is.
    pub standing: String,
    /// Why another method than exact was used.
    pub fallback: Option<String>,
}

impl fmt::Display for AnswerWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AnswerWords { asked, relation, number, given, conditions, standing, fallback } = self;
        writeln!(f, "{asked} {relation} {number} at {given}   {conditions}\n{standing}")?;
        fallback.iter().try_for_each(|why| writeln!(f, "{why}"))
    }
}

/// Formats an answer.
pub fn answer(subject: &Subject, answer: &Answer) -> AnswerWords {
    let (asked, given, found) = match answer.target {
        Target::Delta(delta) => (
            "epsilon",
            format!("delta {}", decimal::nearest(delta.get(), 17)),
            numbers(&answer.epsilon, |x| x.get()),
        ),
        Target::Epsilon(epsilon) => (
            "delta",
            format!("epsilon {}", decimal::nearest(epsilon.get(), 17)),
            numbers(&answer.delta, |x| x.get()),
        ),
    };
    let (relation, number, standing) = match found {
        Numbers::Both(lower, upper) => ("≤", decimal::up(upper, DIGITS), certificate(lower, upper)),
        Numbers::Above(upper) => (
            "≤",
            decimal::up(upper, DIGITS),
            "an upper bound; how far above the true value is not known".to_owned(),
        ),
        Numbers::Near(value) => (
            "≈",
            decimal::nearest(value, 6),
            "an approximation, can be below the true value: not a guarantee".to_owned(),
        ),
    };
    let method = answer.method;
    let why = |refusal| format!("by {method}, the tightest that certifies: {}", reason(refusal));
    AnswerWords {
        asked,
        relation,
        number,
        given,
        conditions: format!("({}, per {}; {method})", answer.adjacency, subject.unit.name()),
        standing,
        fallback: answer.fallback.as_ref().map(why),
    }
}

/// Why exact gave no answer. Its remedy is left out, because it was already applied.
fn reason(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoTheorem { culprit, setting, .. } => format!("no theorem for {culprit} under {setting}"),
        other => other.to_string(),
    }
}

/// Both bounds, with enough digits to distinguish them.
fn certificate(lower: f64, upper: f64) -> String {
    let width = if upper > 0.0 { (upper - lower) / upper } else { 0.0 };
    if width <= 0.0 {
        return format!("certified from both sides to the last digit: {}", decimal::up(upper, 17));
    }
    let digits = (1.0 - width.log10().floor()).clamp(3.0, 17.0) as usize;
    format!(
        "certified between {} and {}, relative width {}",
        decimal::down(lower, digits),
        decimal::up(upper, digits),
        decimal::up(width, 1)
    )
}

/// The bounds that are known of a number.
pub(crate) enum Numbers {
    /// Lower and upper bound.
    Both(f64, f64),
    /// An upper bound.
    Above(f64),
    /// No bound.
    Near(f64),
}

/// The plain numbers of a finding.
pub(crate) fn numbers<T: Copy>(found: &Finding<T>, number: impl Fn(T) -> f64) -> Numbers {
    match found {
        Finding::Bracket(bracket) => Numbers::Both(number(bracket.lower.0), number(bracket.upper.0)),
        Finding::Upper(upper) => Numbers::Above(number(upper.0)),
        Finding::Approximation(value) => Numbers::Near(number(*value)),
    }
}
