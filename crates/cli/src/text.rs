//! Answers as text, and what commands print as JSON.

use serde_json::Value;
use veracity::{Answer, AnswerFile, Error, Subject, words};

/// Digits of an error bar; an answer is shown to the same decimal place.
pub const ERROR_DIGITS: usize = 2;

/// The lines of one answer.
pub fn answer(subject: &Subject, answer: &Answer) -> String {
    words::answer::answer(subject, answer).to_string()
}

/// The assumption about how another program draws its batches; empty if there are none.
pub fn assumption(subject: &Subject) -> String {
    let line =
        |batches| format!("assumes {batches}; if your data loader shuffles, run `veracity batching`\n");
    subject.assumed_batches().map_or_else(String::new, line)
}

/// The fields of `veracity account --json` that whatever costs something has too, by names that scripts know.
pub const COST: [&str; 10] = [
    "asked", "epsilon", "delta", "adjacency", "unit", "method", "standing", "relative_width", "fallback",
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

/// A file as JSON text. Control characters are all escaped, since what a terminal would obey is taken off on the way there.
pub fn json(value: &impl serde::Serialize) -> Result<String, Error> {
    let text = serde_json::to_string_pretty(value).map_err(unwritable)?;
    let mut escaped = String::with_capacity(text.len() + 1);
    for letter in text.chars() {
        match letter {
            '\u{7f}'..='\u{9f}' => escaped += &format!("\\u{:04x}", u32::from(letter)),
            letter => escaped.push(letter),
        }
    }
    escaped.push('\n');
    Ok(escaped)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_is_lost_on_the_way() {
        let texts = ["a\u{7f}b", "a\u{9f}b", "a\u{1b}[31mb", "a\u{e9}b"];
        let written = json(&texts).unwrap();
        assert!(written.trim_end().chars().all(|letter| letter == '\n' || !letter.is_control()), "{written}");
        let read: Vec<String> = serde_json::from_str(&written).unwrap();
        assert_eq!(read, texts);
    }
}
