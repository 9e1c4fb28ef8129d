//! A training plan template, written from the header of a file alone.
//!
//! What is public has to be known beforehand: bounds, categories and classes read from the data would be released with the plan
//! without being charged. So they are left open, and a plan with something left open does not run.

use std::{
    collections::BTreeSet,
    fmt::Write,
    path::{Path, PathBuf},
};
use toml::Value;
use veracity_account::claims::nearest;
use veracity_core::files::LONGEST_TEXT;
use veracity_core::printable;
use veracity_core::{Error, Refusal};
use veracity_tables::{Limits, Outline, Source, outline};

/// Placeholder for a value that a person has to fill in.
pub(super) const OPEN: &str = "FILL IN";

/// A plan for the records of a file; `label` is the column, the array or the file that has the labels.
///
/// Files are named so that the plan finds them from its own folder when it is written to `plan`; without one, as they are given.
///
/// # Errors
///
/// Refuses a file without a header that can be read, a label that is not there, and paths that TOML cannot hold.
pub fn initial_plan(data: &Path, plan: Option<&Path>, label: Option<&str>) -> Result<String, Error> {
    let outline = outline(&Source::at(data, &Limits::default())?, &Limits::default())?;
    let mut text = String::from(
        "# Written from the header alone: no row was read. Replace every FILL IN. These values are public, so use what you know in\n\
         # advance and never compute them from the data. A plan that still contains FILL IN does not run.\n",
    );
    let path = quoted(&named_in(plan, "file", data)?);
    let labels = || label.map(|label| named_in(plan, "label", labels_file(label)?)).transpose();
    text += &match &outline {
        Outline::Text(names) => table("csv", &path, names, label)?,
        Outline::Parquet(names) => table("parquet", &path, names, label)?,
        Outline::Npz(names) => archive(&path, names, label)?,
        Outline::Npy => beside("npy", &path, labels()?, &format!("{}{CLASSES}", open("bounds", BOUNDS))),
        Outline::Idx => beside("idx", &path, labels()?, &open("classes", "number of classes 0, 1, …")),
    };
    text += REST;
    match &outline {
        Outline::Text(names) | Outline::Parquet(names) if text.len() as u64 > LONGEST_TEXT => {
            let columns = names.len();
            let expected =
                format!("fewer columns, because a plan has at most 1 MiB, found {columns} columns");
            Err(Error::file("file", data, expected))
        }
        _ => Ok(text),
    }
}

/// The file of the labels, where records of this format have one.
fn labels_file(label: &str) -> Result<&Path, Error> {
    let path = Path::new(label);
    match path.is_file() {
        true => Ok(path),
        false => Err(Error::file("label", path, "an existing file of labels, which this format needs")),
    }
}

/// A file as a plan names it: relative paths in a plan start at its own folder. A file in that folder has its name, any other its
/// absolute path.
fn named_in(plan: Option<&Path>, what: &'static str, file: &Path) -> Result<String, Error> {
    let absolute = |path: &Path| {
        std::path::absolute(path)
            .map_err(|error| Error::cannot("find the absolute path of", what, file, error))
    };
    let folder = |path: &Path| Ok::<_, Error>(absolute(path)?.parent().map(Path::to_owned));
    let named = match plan {
        None => file.to_owned(),
        Some(plan) => match file.file_name() {
            Some(name) if folder(plan)? == folder(file)? => PathBuf::from(name),
            _ => absolute(file)?,
        },
    };
    // A dash in a plan is standard input.
    let named = if named == Path::new("-") { absolute(file)? } else { named };
    match named.to_str() {
        Some(name) => Ok(name.to_owned()),
        None => Err(Error::file(what, file, "a path in UTF-8, because a plan is UTF-8")),
    }
}

const BOUNDS: &str = "[lowest, highest] of all features";
const CLASSES: &str = "\
classes = \"FILL IN\"                # [\"no\", \"yes\"], or the number of classes 0, 1, …; for numbers, use label_bounds = [lowest, highest] instead\n";
const REST: &str = "\
\n[[model.layer]]\n\
kind = \"linear\"\n\
outputs = \"FILL IN\"                # number of classes; 1 for numbers, with loss = \"squared\" below\n\
\n[training]\n\
batch_size = 256                   # on average; at most the number of records\n\
epochs = 10\n\
learning_rate = 0.5\n\
\n[privacy]\n\
epsilon = 1                        # total privacy budget\n\
delta = 1e-5                       # well below 1 / (number of records)\n\
clip_norm = 1\n";

/// A line with a placeholder, and a comment on what belongs there.
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
        None => open("label", "one of the columns below; then remove its [[data.column]]"),
    };
    text += CLASSES;
    text += "# person = \"COLUMN\"                # privacy ID column: protects all records with the same value together\n";
    for name in names.into_iter().filter(|name| Some(*name) != label.map(str::trim)) {
        let _ = write!(text, "\n[[data.column]]\nname = {}\n", quoted(name));
        text += &open(
            "bounds",
            "[lowest, highest]; or categories = [\"a\", \"b\"] and unknown = \"other\"; or remove this column",
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
fn beside(format: &str, path: &str, labels: Option<String>, more: &str) -> String {
    let labels = match labels {
        Some(labels) => format!("labels = {}\n", quoted(&labels)),
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
    let clean = |text: &str| printable(text, 60);
    let meant = nearest(name, names.iter().copied());
    let meant = meant.map_or(String::new(), |one| format!("; did you mean {}?", clean(one)));
    let some: Vec<String> = names.iter().take(20).map(|name| clean(name)).collect();
    let more = if names.len() > some.len() { ", …" } else { "" };
    Err(Refusal::invalid(format!(
        "{what} is {}, expected a name from the header: {}{more}{meant}",
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

/// Refuses a plan with a placeholder, and names the first place.
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
            format!("plan line {line}: {key} is still {OPEN}; replace it as the comment on that line says")
        }
        None => format!("plan: {place} is still {OPEN}; replace it"),
    }))
}

/// The path of the first placeholder, as `data.column.0.bounds`.
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
