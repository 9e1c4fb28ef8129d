//! A TOML plan: a few lines that say what is done to the data, read into a [`Subject`].
//!
//! ```toml
//! adjacency = "add-remove"
//! unit = "example"
//!
//! [[mechanism]]
//! kind = "dp-sgd"
//! batch_size = 256
//! dataset_size = 60000
//! noise_multiplier = 1.0
//! epochs = 10
//!
//! [[mechanism]]
//! kind = "laplace"
//! scale = 2.0
//! sensitivity = 1.0
//! times = 3
//! ```

use crate::claims::kinds::{KINDS, Shape};
use crate::claims::{
    Adjacency, Mechanism, PrivacyUnit, Refusal, Subject, nearest,
    spec::{DEEPEST, MechanismSpec, Whole},
};
use serde::Deserialize;
use std::ops::Range;
use toml::{Spanned, Table, Value};
use veracity_core::printable;

/// The most mechanisms in one plan.
pub const MOST_MECHANISMS: usize = 1000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    adjacency: Option<String>,
    unit: Option<String>,
    mechanism: Vec<Spanned<Table>>,
}

/// Reads a plan. Never panics, whatever the text.
///
/// # Errors
/// Refuses text that is no plan, fewer than 1 or more than 1000 mechanisms, and numbers out of range.
pub fn parse(text: &str) -> Result<Subject, Refusal> {
    let file: PlanFile = toml::from_str(text).map_err(|error| refuse(text, error.span(), error.message()))?;
    let adjacency = file.adjacency.as_deref().map_or(Ok(Adjacency::default()), str::parse)?;
    let unit = file.unit.as_deref().map_or(Ok(PrivacyUnit::default()), PrivacyUnit::new)?;
    if file.mechanism.is_empty() || file.mechanism.len() > MOST_MECHANISMS {
        return Err(Refusal::out_of_range("mechanisms in the plan", file.mechanism.len(), "1 to 1000"));
    }
    let mut parts =
        file.mechanism.into_iter().map(|entry| entry_of(text, entry)).collect::<Result<Vec<_>, _>>()?;
    let mechanism = match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            Mechanism::Composed(parts)
        }
        None => return Err(Refusal::out_of_range("mechanisms in the plan", 0, "1 to 1000")),
    };
    Ok(Subject { mechanism, adjacency, unit })
}

/// One `[[mechanism]]`, with its optional `times`.
fn entry_of(text: &str, entry: Spanned<Table>) -> Result<Mechanism, Refusal> {
    let span = entry.span();
    let mut table = entry.into_inner();
    let at = |why: String| refuse(text, Some(span.clone()), &why);
    shape(&table, DEEPEST).map_err(&at)?;
    // `repeated` has its own `times`; every other kind may carry one beside its fields.
    let repeated = table.get("kind").and_then(Value::as_str) == Some("repeated");
    let times = if repeated { None } else { table.remove("times") };
    let spec = MechanismSpec::deserialize(table).map_err(|error| at(error.message().to_owned()))?;
    let mechanism = Mechanism::try_from(&spec).map_err(|refusal| at(refusal.to_string()))?;
    let Some(times) = times.as_ref().and_then(number) else { return Ok(mechanism) };
    Whole(times)
        .count("times")
        .map(|times| mechanism.repeated(times))
        .map_err(|refusal| at(refusal.to_string()))
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// Checks the type of each field before serde does, which would not name it.
fn shape(table: &Table, depth: usize) -> Result<(), String> {
    if depth == 0 {
        return Err("nesting is deeper than 32, expected at most 32 nested mechanisms".into());
    }
    for (field, value) in table {
        let wrong = |expected: &str| Err(format!("`{field}` is a {}, expected {expected}", value.type_str()));
        match (field.as_str(), value) {
            ("kind", Value::String(_)) => {}
            ("kind", _) => return wrong("a string"),
            ("mechanism", Value::Table(inner)) => shape(inner, depth - 1)?,
            ("mechanism", _) => return wrong("a table"),
            ("parts", Value::Array(parts)) => {
                for part in parts {
                    let Value::Table(part) = part else { return wrong("an array of tables") };
                    shape(part, depth - 1)?;
                }
            }
            ("strategy" | "participation", Value::Table(inner)) => shape(inner, depth - 1)?,
            ("strategy" | "participation", _) => return wrong("a table with a kind"),
            ("rows", Value::Array(rows)) if rows.iter().all(Value::is_array) => {}
            ("rows", _) => return wrong("an array of rows"),
            (name, Value::Array(all)) if is_list(name) && all.iter().all(|one| number(one).is_some()) => {}
            (name, Value::Array(_)) if is_list(name) => return wrong("an array of numbers"),
            (name, _) if name == "parts" || is_list(name) => return wrong("an array"),
            ("first" | "second", _) => {}
            (name, value) if is_number(name) && number(value).is_none() => return wrong("a number"),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a field holds numbers in a row.
fn is_list(name: &str) -> bool {
    name == "coefficients" || has_shape(name, &[Shape::Numbers])
}

/// Whether a field holds one number: of a kind, a strategy or a participation.
fn is_number(name: &str) -> bool {
    ["times", "separation", "groups"].contains(&name) || has_shape(name, &[Shape::Number, Shape::Whole])
}

fn has_shape(name: &str, shapes: &[Shape]) -> bool {
    let fields = || KINDS.iter().flat_map(|kind| kind.fields);
    fields().any(|field| field.name == name && shapes.contains(&field.shape))
}

/// One line with the number of the line that is at fault. Serde knows where a table begins but not where a field of a
/// tagged table is, so the field is looked up by its name, in that table alone.
pub fn refuse(text: &str, span: Option<Range<usize>>, why: &str) -> Refusal {
    let start = span.map_or(0, |span| span.start.min(text.len()));
    let head = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
    let field = named(why);
    let is_it = |line: &str| {
        let key = line.split_once('=').map_or("", |(key, _)| key.trim().trim_matches(['"', '\'']));
        !field.is_empty() && (key == field || key.rsplit('.').next() == Some(&field))
    };
    let mut table = text.lines().enumerate().skip(head);
    let first = table.next().filter(|(_, line)| is_it(line));
    let within = table.take_while(|(_, line)| !begins_another(line.trim_start()));
    let line = first.into_iter().chain(within).find(|(_, line)| is_it(line)).map_or(head, |(index, _)| index);
    Refusal::Invalid(format!("plan line {}: {}", line + 1, plainly(why)))
}

/// What a parser says, in one line that is short; of a word that it does not know, also the one that was probably meant.
pub fn plainly(why: &str) -> String {
    let one_line = why.split_whitespace().collect::<Vec<_>>().join(" ");
    let unknown = ["unknown field `", "unknown variant `"].into_iter().find_map(|begins| {
        let (word, expected) = one_line.strip_prefix(begins)?.split_once("`, expected ")?;
        Some((begins, word, expected))
    });
    let Some((begins, word, expected)) = unknown else { return shorten(&one_line) };
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    let meant =
        nearest(word, known.iter().copied()).map_or(String::new(), |one| format!("; did you mean `{one}`?"));
    // The list is ours, so all of it is told; the word is theirs.
    let word = printable(word, 60);
    format!("{begins}{word}`, expected {}{meant}", known.join(", "))
}

/// Whether a line begins a table that is no part of the one before: tables of a mechanism are.
fn begins_another(line: &str) -> bool {
    line.starts_with('[') && !line.trim_start_matches('[').trim_start().starts_with("mechanism.")
}

/// The field that a message is about: between backticks, or what "is" something. One that is missing stands nowhere.
fn named(why: &str) -> String {
    if why.starts_with("missing field") {
        return String::new();
    }
    let quoted = why.split('`').nth(1);
    let subject = why.split_once(" is ").map(|(subject, _)| subject.replace(' ', "_"));
    match (quoted, subject) {
        (Some(_), _) if why.starts_with("unknown variant") => "kind".to_owned(),
        (Some(field), _) => field.to_owned(),
        (None, Some(subject)) => subject,
        (None, None) => String::new(),
    }
}

/// Keeps a message short: parsers quote what they were given, and that may be the whole file.
fn shorten(message: &str) -> String {
    let clean = printable(message, usize::MAX);
    match clean.char_indices().nth(240) {
        Some((cut, _)) => format!("{} …", &clean[..cut]),
        None => clean,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong is looked for in its own table: the same field in another one is not at fault.
    #[test]
    fn an_unknown_word_is_told_with_the_one_that_was_meant_and_all_that_there_are() {
        for (wrong, right, told) in [
            (
                "kind = 'lapalce'",
                "kind = 'laplace'",
                "plan line 2: unknown variant `lapalce`, expected gaussian, ",
            ),
            (
                "scales = 2",
                "scale = 2",
                "plan line 3: unknown field `scales`, expected noise_multiplier, scale, sensitivity",
            ),
            (
                "mechanisms = 1",
                "",
                "plan line 5: unknown field `mechanisms`, expected adjacency, unit, mechanism",
            ),
        ] {
            let text = match right {
                "" => format!("mechanism = []\n\n\n\n{wrong}\n"),
                right => {
                    "[[mechanism]]\nkind = 'laplace'\nscale = 2\nsensitivity = 1\n".replace(right, wrong)
                }
            };
            let refusal = parse(&text).unwrap_err().to_string();
            assert!(refusal.starts_with(told), "{refusal}");
            let meant = right
                .split(['\'', ' '])
                .find(|word| ["laplace", "scale"].contains(word))
                .unwrap_or("mechanism");
            assert!(refusal.ends_with(&format!("; did you mean `{meant}`?")), "{refusal}");
            assert!(!refusal.contains('\n'));
        }
        let long = parse(&format!("[[mechanism]]\nkind = '{}'\n", "x".repeat(5000))).unwrap_err().to_string();
        assert!(long.contains("zcdp") && !long.contains("did you mean") && long.len() < 700, "{long}");
    }

    #[test]
    fn an_error_names_the_line_that_is_at_fault() {
        let laplace = "[[mechanism]]\nkind = \"laplace\"\nscale = 2\nsensitivity = 1\n";
        for (text, line, why) in [
            (format!("[[mechanism]]\nkind = \"discrete-laplace\"\n\n{laplace}"), 1, "missing field `scale`"),
            (format!("{laplace}{}", laplace.replace("= 2", "= -2")), 7, "scale is -2"),
            (format!("{laplace}{}", laplace.replace("laplace", "lapalce")), 6, "unknown variant `lapalce`"),
            (format!("{laplace}{}", laplace.replace("scale =", "scales =")), 7, "unknown field `scales`"),
            (format!("{}{laplace}", laplace.replace("sensitivity", "times")), 1, "sensitivity is missing"),
            (
                "[[mechanism]]\nkind = \"group\"\nsize = 2\n[mechanism.mechanism]\nkind = \"gdp\"\nmu = -1\n"
                    .to_owned(),
                6,
                "mu is -1",
            ),
            (format!("unit = \"user\"\n{laplace}times = 0\n"), 6, "times is 0"),
        ] {
            let refusal = parse(&text).unwrap_err().to_string();
            assert!(refusal.starts_with(&format!("plan line {line}: {why}")), "{refusal}\n{text}");
        }
    }
}
