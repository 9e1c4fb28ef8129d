//! Answers as text: the answer first, then its conditions, then its method.

use serde_json::Value;
use veracity::{Answer, AnswerFile, Error, Finding, Refusal, Subject, Target, report::decimal};

/// Digits of the answer.
const DIGITS: usize = 9;

/// The lines of one answer.
pub fn answer(subject: &Subject, answer: &Answer) -> String {
    let conditions = format!("({}, per {}; {})", answer.adjacency, subject.unit.name(), answer.method);
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
    let mut text = match found {
        Numbers::Both(lower, upper) => format!(
            "{asked} ≤ {} at {given}   {conditions}\n{}\n",
            decimal::up(upper, DIGITS),
            certificate(lower, upper)
        ),
        Numbers::Above(upper) => format!(
            "{asked} ≤ {} at {given}   {conditions}\nan upper bound; how far above the truth is not known\n",
            decimal::up(upper, DIGITS)
        ),
        Numbers::Near(value) => format!(
            "{asked} ≈ {} at {given}   {conditions}\nan approximation, can be below the truth: not a guarantee\n",
            decimal::nearest(value, 6)
        ),
    };
    if let Some(refusal) = &answer.fallback {
        text += &format!("by {}, the tightest that certifies: {}\n", answer.method, reason(refusal));
    }
    text
}

/// Why exact did not answer. What it advises instead was done.
fn reason(refusal: &Refusal) -> String {
    match refusal {
        Refusal::NoTheorem { culprit, setting, .. } => format!("no theorem for {culprit} under {setting}"),
        other => other.to_string(),
    }
}

/// Both bounds, with digits enough to tell them apart.
pub fn certificate(lower: f64, upper: f64) -> String {
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

/// What is known of a number.
pub enum Numbers {
    /// Lower and upper bound.
    Both(f64, f64),
    /// An upper bound.
    Above(f64),
    /// No bound.
    Near(f64),
}

/// The plain numbers of a finding.
pub fn numbers<T: Copy>(found: &Finding<T>, number: impl Fn(T) -> f64) -> Numbers {
    match found {
        Finding::Bracket(bracket) => Numbers::Both(number(bracket.lower.0), number(bracket.upper.0)),
        Finding::Upper(upper) => Numbers::Above(number(upper.0)),
        Finding::Approximation(value) => Numbers::Near(number(*value)),
    }
}

/// The fields of `veracity account --json` that whatever costs something has too, by names that scripts know.
pub const COST: [&str; 10] = [
    "asked",
    "epsilon",
    "delta",
    "adjacency",
    "unit",
    "method",
    "standing",
    "relative_width",
    "fallback",
    "mechanism",
];

/// What something costs, with the fields of [`COST`] and no other.
pub fn cost(subject: &Subject, answer: &Answer) -> Result<Value, Error> {
    let mut all = serde_json::to_value(AnswerFile::new(subject, answer)).map_err(unwritable)?;
    if let Some(fields) = all.as_object_mut() {
        fields.retain(|name, _| COST.contains(&name.as_str()));
    }
    Ok(all)
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::invalid(format!("answer cannot be written as JSON: {error}"))
}

/// A file as JSON text.
pub fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    serde_json::to_string_pretty(value).map(|text| text + "\n").map_err(unwritable)
}
