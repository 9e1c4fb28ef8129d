//! One table describes the kinds of mechanism. The files that are made from it are compared with it here; with `BLESS=1` in the
//! environment they are written again.

use serde_json::{Map, Value, json};
use std::{collections::BTreeSet, fmt::Write, fs, path::PathBuf};
use veracity_account::claims::kinds::{FLAGS, Field, Form, KINDS, Kind, Shape, pages};

/// A kind that files never hold: it is written as the mechanisms that it stands for.
const SHORTHAND: &str = "dp-sgd";

fn path(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(file)
}

fn read(file: &str) -> String {
    fs::read_to_string(path(file)).unwrap_or_else(|why| panic!("{file}: {why}"))
}

/// Compares a file with what the table makes, or writes it.
#[track_caller]
fn compare(file: &str, made: &str) {
    if std::env::var_os("BLESS").is_some() {
        fs::write(path(file), made).unwrap();
    }
    assert!(
        read(file) == made,
        "{file} is stale, make it again: BLESS=1 cargo test -p veracity-account kinds"
    );
}

/// The text with what stands between two marks replaced.
fn replaced(text: &str, begin: &str, end: &str, made: &str) -> String {
    let (before, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin}"));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("no {end} after {begin}"));
    format!("{before}{begin}{made}{end}{after}")
}

#[test]
fn the_pages_are_those_of_the_table() {
    compare("docs/mechanisms.md", &pages());
}

#[test]
fn python_has_a_constructor_for_every_kind() {
    let mut made = String::from(
        "\"\"\"A constructor for each kind of mechanism. Made from crates/core/src/spec/mod.rs: BLESS=1 cargo test -p veracity-account kinds.\"\"\"\n\n\
         from __future__ import annotations\n\n\
         from collections.abc import Iterable, Mapping\n\
         from typing import TYPE_CHECKING, Any\n\n\
         from ._veracity import Mechanism, _make_mechanism\n\n\
         if TYPE_CHECKING:\n    from ._veracity import _Adjacency, _Number, _Numbers\n\n__all__ = [\n",
    );
    let mut names: Vec<String> = KINDS.iter().map(function_name).collect();
    names.sort();
    for name in names {
        writeln!(made, "    \"{name}\",").unwrap();
    }
    made += "]\n";
    KINDS.iter().for_each(|kind| made += &constructor(kind));
    compare("python/veracity/_kinds.py", &made);
}

fn function_name(kind: &Kind) -> String {
    kind.name.replace('-', "_")
}

/// One function: mechanisms and lists of losses by position, everything else by name.
fn constructor(kind: &Kind) -> String {
    let is_placed =
        |field: &&Field| matches!(field.shape, Shape::Mechanism | Shape::Mechanisms | Shape::Table("losses"));
    let parameter = |field: &Field| {
        let hint = match field.shape {
            Shape::Number | Shape::Whole => "_Number",
            Shape::Numbers => "_Numbers",
            Shape::Mechanism => "Mechanism",
            Shape::Mechanisms => "Iterable[Mechanism]",
            Shape::Table(_) => "Mapping[str, Any]",
        };
        match field.is_optional {
            true => format!("    {}: {hint} | None = None,\n", field.name),
            false => format!("    {}: {hint},\n", field.name),
        }
    };
    let placed: String = kind.fields.iter().filter(is_placed).map(parameter).collect();
    let named: String = kind.fields.iter().filter(|field| !is_placed(field)).map(parameter).collect();
    let given = kind.fields.iter().map(|field| format!("\"{0}\": {0}", field.name)).collect::<Vec<_>>();
    format!(
        "\n\ndef {}(\n{placed}    *,\n{named}    adjacency: _Adjacency | None = None,\n    unit: str | None = None,\n\
         ) -> Mechanism:\n    \"\"\"{}    \"\"\"\n    return _make_mechanism(\"{}\", {{{}}}, adjacency, unit)\n",
        function_name(kind),
        docstring(kind),
        kind.name,
        given.join(", ")
    )
}

fn docstring(kind: &Kind) -> String {
    let mut text = format!("{}.\n\n", capitalized(kind.means));
    if !kind.note.is_empty() {
        text += &wrapped(kind.note, "    ");
        text.push('\n');
    }
    text += &wrapped(&format!("Accounted as: {}.", kind.pair), "    ");
    text += "\n    Args:\n";
    for field in kind.fields {
        let said = match (kind.flag(field.name), field.shape) {
            (Some(flag), _) => flag.help.split_once(": ").map_or(flag.help, |(_, help)| help).to_owned(),
            (None, Shape::Mechanism) => "the mechanism inside".to_owned(),
            (None, Shape::Mechanisms) => "mechanisms".to_owned(),
            (None, Shape::Number) => "a number".to_owned(),
            (None, Shape::Whole) => "an integer".to_owned(),
            (None, Shape::Numbers) => "a list of numbers".to_owned(),
            (None, Shape::Table(name)) => format!("a dict, as `{name}` in files"),
        };
        text += &wrapped(&format!("{}: {}.", field.name, capitalized(&said.replace("--", ""))), "        ");
    }
    text += &wrapped(&format!("adjacency: How neighboring datasets differ: {}.", kind.adjacency), "        ");
    text += "        unit: Privacy unit that one record stands for.\n\n    Returns:\n        A `Mechanism`.\n\n    Raises:\n";
    text + "        InvalidInput: A value is missing or out of its range.\n"
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Lines of at most 110 characters, with this indentation.
fn wrapped(text: &str, indent: &str) -> String {
    let mut lines = vec![indent.to_owned()];
    for word in text.split(' ') {
        let last = lines.last_mut().unwrap();
        if last.chars().count() + word.chars().count() > 110 && last.trim() != "" {
            lines.push(format!("{indent}    {word}"));
        } else {
            *last = if last == indent { format!("{indent}{word}") } else { format!("{last} {word}") };
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn the_page_has_the_forms_of_the_table() {
    let mut made = String::from("\n");
    let mut forms: Vec<(&Kind, Form)> = KINDS.iter().filter_map(|kind| Some((kind, kind.form?))).collect();
    // Training is what the page is opened for.
    forms.sort_by_key(|(kind, _)| kind.name != SHORTHAND);
    for (kind, form) in forms {
        let mut fields: Vec<Value> = Vec::new();
        let mut start = Map::new();
        for &(name, low, high, value) in form.sliders {
            fields.push(slider(kind, name, low, high));
            start.insert(name.to_owned(), value.into());
        }
        start.extend(form.start.map(|(name, value)| (name.to_owned(), value.into())));
        writeln!(made, "  \"{}\": {{", kind.name).unwrap();
        for (name, value) in words(kind, &form) {
            writeln!(made, "    {name}: {value},").unwrap();
        }
        writeln!(made, "    fields: [").unwrap();
        fields.iter().for_each(|field| writeln!(made, "      {field},").unwrap());
        writeln!(made, "    ],\n    start: {},\n  }},", Value::Object(start)).unwrap();
    }
    let file = "crates/web/page/kinds.js";
    compare(file, &replaced(&read(file), "export const KINDS = {", "};", &made));
}

fn words(kind: &Kind, form: &Form) -> Vec<(&'static str, Value)> {
    let noise = kind.noise().filter(|_| form.solves.contains(&"noise"));
    let all = [
        ("label", Some(form.label.into())),
        ("hint", Some(form.hint.into())),
        ("short", Some(form.short.into())),
        ("adjacency", form.adjacency.map(Value::from)),
        ("noise", noise.map(|noise| noise.field.into())),
        ("solves", Some(form.solves.into())),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn slider(kind: &Kind, name: &str, low: f64, high: f64) -> Value {
    let (label, flag, solved) = match kind.flag(name) {
        Some(flag) => (flag.label, flag.name, flag.solved),
        None => ("How often", name, Some("steps")),
    };
    let is_whole = kind.fields.iter().find(|field| field.name == name);
    let is_whole = is_whole.is_none_or(|field| field.shape == Shape::Whole);
    let mut field =
        json!({ "name": name, "label": label, "flag": format!("--{flag}"), "low": low, "high": high });
    if is_whole {
        field["whole"] = true.into();
    }
    if let Some(solved) = solved {
        field["of"] = solved.into();
    }
    field
}

/// The schema has a row for each kind that files hold. A row that is there stays; one for a new kind is added.
#[test]
fn the_schema_and_its_page_know_every_kind() {
    let file = "docs/schemas/parts.json";
    let mut schema: Value = serde_json::from_str(&read(file)).unwrap();
    let rows = schema["$defs"]["mechanism"]["oneOf"].as_array_mut().unwrap();
    for kind in KINDS.iter().filter(|kind| kind.name != SHORTHAND) {
        let row = rows.iter().find(|row| row["properties"]["kind"]["const"] == kind.name).cloned();
        if row.is_none() && std::env::var_os("BLESS").is_some() {
            let missing = schema_row(kind);
            let at =
                rows.partition_point(|row| row["properties"]["kind"]["const"].as_str() < Some(kind.name));
            insert_row(file, &rows[at]["properties"]["kind"]["const"], &missing);
            rows.insert(at, missing);
            continue;
        }
        let row = row.unwrap_or_else(|| {
            panic!("no row for {}: BLESS=1 cargo test -p veracity-account kinds", kind.name)
        });
        let known: BTreeSet<&str> =
            row["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let always = kind.fields.iter().filter(|field| field.is_written);
        assert!(
            always.map(|field| field.name).all(|field| known.contains(field)),
            "{}: {known:?}",
            kind.name
        );
        assert!(known.iter().all(|field| *field == "kind" || kind.has(field)), "{}: {known:?}", kind.name);
    }
    let mut names: Vec<String> =
        KINDS.iter().filter(|kind| kind.name != SHORTHAND).map(|kind| format!("`{}`", kind.name)).collect();
    names.sort();
    let file = "docs/formats.md";
    compare(file, &replaced(&read(file), "| `mechanism` | by its `kind`: ", " |", &names.join(", ")));
}

fn schema_row(kind: &Kind) -> Value {
    let mut properties = json!({ "kind": { "const": kind.name } });
    for field in kind.fields {
        properties[field.name] = match field.shape {
            Shape::Number => json!({ "type": "number" }),
            Shape::Whole => json!({ "type": "integer", "minimum": 0 }),
            Shape::Numbers => json!({ "type": "array", "items": { "type": "number" } }),
            Shape::Mechanism => json!({ "$ref": "#/$defs/mechanism" }),
            Shape::Mechanisms => json!({ "type": "array", "items": { "$ref": "#/$defs/mechanism" } }),
            Shape::Table(name) => json!({ "$ref": format!("#/$defs/{name}") }),
        };
    }
    let always = kind.fields.iter().filter(|field| field.is_written).map(|field| field.name);
    let required: Vec<&str> = ["kind"].into_iter().chain(always).collect();
    json!({ "type": "object", "required": required, "properties": properties, "additionalProperties": false })
}

/// Writes a row before the one of the next kind, and leaves the rest of the file as it is.
fn insert_row(file: &str, next: &Value, row: &Value) {
    let text = read(file);
    let mark = text.find(&format!("\"const\": {next}")).unwrap();
    let at = text[..mark].rfind("\n    {\n").unwrap() + 1;
    let written = serde_json::to_string_pretty(row).unwrap().replace("  ", " ");
    let written: String = written.lines().map(|line| format!("    {line}\n")).collect();
    let written = format!("{},\n", written.trim_end());
    fs::write(path(file), format!("{}{written}{}", &text[..at], &text[at..])).unwrap();
}

/// The names between backticks after "expected", as serde lists them.
fn expected(text: &str) -> Vec<String> {
    let error = serde_json::from_str::<veracity_core::spec::MechanismSpec>(text).unwrap_err().to_string();
    let listed = error.split_once("expected").map_or("", |(_, listed)| listed);
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn every_kind_is_read_with_its_fields() {
    assert_eq!(expected(r#"{"kind":"?"}"#), KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>());
    for kind in KINDS {
        assert_eq!(expected(&format!(r#"{{"kind":"{}","?":1}}"#, kind.name)), kind.field_names());
    }
    for flag in FLAGS {
        assert!(KINDS.iter().any(|kind| kind.flag(flag.field) == Some(flag)), "{}", flag.field);
    }
}

/// The files that CONTRIBUTING.md tells the author of a mechanism to edit are there, and are at most five.
#[test]
fn the_guide_names_at_most_five_files_that_exist() {
    let guide = read("CONTRIBUTING.md");
    let section = guide.split_once("## Add a mechanism\n").unwrap().1.split("\n## ").next().unwrap();
    let steps = section.lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let named: Vec<&str> = steps.filter_map(|line| line.split('`').nth(1)).collect();
    assert!(!named.is_empty() && named.len() <= 5, "{named:?}");
    for name in named {
        assert!(path(name).is_file(), "CONTRIBUTING.md names {name}, which is not there");
    }
}
