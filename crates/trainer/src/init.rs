//! A training plan to begin with, written from the header of a file alone.
//!
//! What is public has to be known beforehand: bounds, categories and classes read from the data would be released with the plan,
//! and nothing would pay for them. So they are left open, and a plan with something left open does not run.

use std::{collections::BTreeSet, fmt::Write, path::Path};
use toml::Value;
use veracity_claims::nearest;
use veracity_core::{Error, Refusal};
use veracity_files::LONGEST_TEXT;
use veracity_records::{Limits, Outline, Source, outline};

/// What stands where a person has to write something.
pub(super) const OPEN: &str = "FILL IN";

/// A plan for the records of a file, which it calls `place`; `label` is the column, the array or the file that has the labels.
pub fn initial_plan(data: &Path, place: &Path, label: Option<&str>) -> Result<String, Error> {
    let outline = outline(&Source::at(data, &Limits::default())?, &Limits::default())?;
    let mut plan = String::from(
        "# Written from the header alone: no row was read. Whatever says FILL IN is public: write down what you know beforehand,\n\
         # never what the data say. What is left open does not run.\n",
    );
    let path = quoted(&place.to_string_lossy());
    plan += &match &outline {
        Outline::Text(names) => table("csv", &path, names, label)?,
        Outline::Parquet(names) => table("parquet", &path, names, label)?,
        Outline::Npz(names) => archive(&path, names, label)?,
        Outline::Npy => beside("npy", &path, label, &format!("{}{CLASSES}", open("bounds", BOUNDS))),
        Outline::Idx => beside("idx", &path, label, &open("classes", "how many: 0, 1, …")),
    };
    plan += REST;
    match &outline {
        Outline::Text(names) | Outline::Parquet(names) if plan.len() as u64 > LONGEST_TEXT => {
            let columns = names.len();
            let expected = format!("columns for a plan of at most 1 MiB, found {columns}; leave some out");
            Err(Error::file("file", data, expected))
        }
        _ => Ok(plan),
    }
}

const BOUNDS: &str = "[lowest, highest] of all features";
const CLASSES: &str = "\
classes = \"FILL IN\"                # [\"no\", \"yes\"], or how many: 0, 1, …; of numbers label_bounds = [lowest, highest] instead\n";
const REST: &str = "\
\n[[model.layer]]\n\
kind = \"linear\"\n\
outputs = \"FILL IN\"                # one for each class; 1 for numbers, with loss = \"squared\" below\n\
\n[training]\n\
batch_size = 256                   # on average; at most the number of records\n\
epochs = 10\n\
learning_rate = 0.5\n\
\n[privacy]\n\
epsilon = 1                        # of everything together\n\
delta = 1e-5                       # well below one over the number of records\n\
clip_norm = 1\n";

/// A line that is left open, and what belongs there.
fn open(key: &str, what: &str) -> String {
    format!("{:<34} # {what}\n", format!("{key} = \"{OPEN}\""))
}

fn table(format: &str, path: &str, names: &[String], label: Option<&str>) -> Result<String, Refusal> {
    let mut seen = BTreeSet::new();
    let names: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| !name.is_empty() && seen.insert(*name)).collect();
    let mut text = format!("\n[data]\nformat = \"{format}\"\npath = {path}\n");
    text += &match label {
        Some(label) => format!("label = {}\n", quoted(known("label", label, &names)?)),
        None => open("label", "one of the columns below, which is then no column of its own"),
    };
    text += CLASSES;
    text += "# person = \"COLUMN\"                # whose each record is: all records of one person are then protected together\n";
    for name in names.into_iter().filter(|name| Some(*name) != label.map(str::trim)) {
        let _ = write!(text, "\n[[data.column]]\nname = {}\n", quoted(name));
        text += &open(
            "bounds",
            "[lowest, highest]; or categories = [\"a\", \"b\"] and unknown = \"other\"; or no column at all",
        );
    }
    Ok(text)
}

fn archive(path: &str, names: &[String], label: Option<&str>) -> Result<String, Refusal> {
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let listed = format!("one of {}", all.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "));
    let labels = match label {
        Some(label) => format!("labels = {}\n", quoted(known("label", label, &all)?)),
        None => open("labels", &listed),
    };
    let features = open("features", &listed);
    let bounds = open("bounds", BOUNDS);
    Ok(format!("\n[data]\nformat = \"npz\"\npath = {path}\n{features}{labels}{bounds}{CLASSES}"))
}

/// Features in one file, labels in another.
fn beside(format: &str, path: &str, label: Option<&str>, more: &str) -> String {
    let labels = match label {
        Some(label) => format!("labels = {}\n", quoted(label)),
        None => open("labels", "the file of the labels"),
    };
    format!("\n[data]\nformat = \"{format}\"\npath = {path}\n{labels}{more}")
}

/// One of the names in the header, which is public.
fn known<'a>(what: &'static str, name: &str, names: &[&'a str]) -> Result<&'a str, Refusal> {
    let name = name.trim();
    if let Some(found) = names.iter().find(|one| **one == name) {
        return Ok(found);
    }
    let clean = |text: &str| text.chars().filter(|c| !c.is_control()).take(60).collect::<String>();
    let meant = nearest(name, names.iter().copied());
    let meant = meant.map_or(String::new(), |one| format!("; did you mean {}?", clean(one)));
    let some: Vec<String> = names.iter().take(20).map(|name| clean(name)).collect();
    let more = if names.len() > some.len() { ", …" } else { "" };
    Err(Refusal::invalid(format!(
        "{what} is {}, expected a name in the header: {}{more}{meant}",
        clean(name),
        some.join(", ")
    )))
}

/// A name as TOML has it, in one line whatever is in it.
fn quoted(name: &str) -> String {
    let escaped = name.chars().map(|c| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", c as u32),
        c => c.to_string(),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

/// Refuses a plan in which something is left open, and names the first place.
pub(super) fn refuse_open(text: &str, plan: &toml::Table) -> Result<(), Refusal> {
    let Some(place) = plan.iter().find_map(|(key, value)| open_place(key, value)) else { return Ok(()) };
    let marked = format!("\"{OPEN}\"");
    let line = text.lines().enumerate().find_map(|(at, line)| {
        let (key, value) = line.split_once('=')?;
        let key = key.trim();
        (value.trim_start().starts_with(&marked) && place.ends_with(key)).then_some((at + 1, key))
    });
    Err(Refusal::invalid(match line {
        Some((line, key)) => {
            format!("plan line {line}: {key} says {OPEN}, expected what the remark beside it asks for")
        }
        None => format!("plan: {place} says {OPEN}, expected it to be filled in"),
    }))
}

/// Where something is left open, as `data.column.0.bounds`.
fn open_place(key: &str, value: &Value) -> Option<String> {
    let inner = match value {
        Value::String(text) => return (text == OPEN).then(|| key.to_owned()),
        Value::Table(table) => table.iter().find_map(|(key, value)| open_place(key, value)),
        Value::Array(list) => {
            list.iter().enumerate().find_map(|(at, value)| open_place(&at.to_string(), value))
        }
        _ => None,
    };
    inner.map(|inner| format!("{key}.{inner}"))
}
