//! Answers as text, and what commands print as JSON.

use serde_json::Value;
use veracity::{Answer, AnswerFile, Error, Subject, words};

/// The lines of one answer.
pub fn answer(subject: &Subject, answer: &Answer) -> String {
    words::answer::answer(subject, answer).to_string()
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
