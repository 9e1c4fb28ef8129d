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

use crate::{
    Adjacency, Mechanism, PrivacyUnit, Refusal, Subject,
    spec::{DEEPEST, MechanismSpec, Whole},
};
use serde::Deserialize;
use std::{ops::Range, path::Path};
use toml::{Spanned, Table, Value};

/// The longest plan or claim that is read.
pub const LONGEST_FILE: u64 = 1 << 20;
/// The most mechanisms in one plan.
pub(crate) const MOST_MECHANISMS: usize = 1000;

/// Reads a file of at most [`LONGEST_FILE`] bytes, or says in one line why not.
pub fn read_text(what: &str, path: &Path) -> Result<String, Refusal> {
    read_text_within(what, path, LONGEST_FILE)
}

/// Reads a file of at most `longest` bytes, a whole number of MiB.
pub(crate) fn read_text_within(what: &str, path: &Path, longest: u64) -> Result<String, Refusal> {
    use std::io::Read;
    let refuse = |why: String| Refusal::NoAnswer(format!("{what} is {}, expected {why}", path.display()));
    let unreadable = |error: std::io::Error| refuse(format!("a readable file ({error})"));
    let file = std::fs::File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(refuse("a file, found a directory".into()));
    }
    let mut bytes = Vec::new();
    file.take(longest + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > longest {
        return Err(refuse(format!("a file of at most {} MiB", longest >> 20)));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(refuse("a file with something in it, found it empty".into()));
    }
    String::from_utf8(bytes).map_err(|_| refuse("UTF-8 text, found other bytes".into()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PlanFile {
    adjacency: Option<String>,
    unit: Option<String>,
    mechanism: Vec<Spanned<Table>>,
}

/// Reads a plan. Never panics, whatever the text.
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
        return Err("nesting is deeper than 32, expected at most 32 mechanisms in each other".into());
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
            (name, Value::Array(all))
                if LISTS.contains(&name) && all.iter().all(|one| number(one).is_some()) => {}
            (name, Value::Array(_)) if LISTS.contains(&name) => return wrong("an array of numbers"),
            (name, _) if name == "parts" || LISTS.contains(&name) => return wrong("an array"),
            (name, value) if NUMBERS.contains(&name) && number(value).is_none() => return wrong("a number"),
            _ => {}
        }
    }
    Ok(())
}

/// The fields that hold numbers in a row.
const LISTS: [&str; 3] = ["orders", "values", "coefficients"];

/// The fields that hold one number.
const NUMBERS: [&str; 22] = [
    "noise_multiplier",
    "sigma",
    "scale",
    "sensitivity",
    "noise_parameter",
    "buckets",
    "epsilon",
    "delta",
    "rho",
    "mu",
    "rate",
    "batch",
    "population",
    "times",
    "size",
    "sampling_rate",
    "batch_size",
    "dataset_size",
    "steps",
    "epochs",
    "separation",
    "groups",
];

/// One line with the number of the line that is at fault. Serde knows where a table begins but not where a field of a
/// tagged table is, so the field is looked up by its name.
pub(crate) fn refuse(text: &str, span: Option<Range<usize>>, why: &str) -> Refusal {
    let start = span.map_or(0, |span| span.start.min(text.len()));
    let head = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
    let field = why.split('`').nth(1).unwrap_or_default();
    let within = text.lines().enumerate().skip(head - 1);
    let line = within
        .filter(|(_, line)| !field.is_empty() && line.trim_start().starts_with(field))
        .map(|(index, _)| index + 1)
        .next()
        .unwrap_or(head);
    let one_line = why.split_whitespace().collect::<Vec<_>>().join(" ");
    Refusal::NoAnswer(format!("plan line {line}: {}", shorten(&one_line)))
}

/// Keeps a message short: parsers quote what they were given, and that may be the whole file.
fn shorten(message: &str) -> String {
    let clean: String = message.chars().filter(|c| !c.is_control()).collect();
    match clean.char_indices().nth(240) {
        Some((cut, _)) => format!("{} …", &clean[..cut]),
        None => clean,
    }
}
