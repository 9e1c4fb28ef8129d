//! The command line reference, `docs/cli.md`, has the help of every command.
//!
//! `UPDATE_SNAPSHOTS=1 cargo nextest run -p veracity-cli -E 'test(cli_reference)'` writes the page.

use crate::door::{answer, commands};
use std::{env, fs, path::Path};

const INTRODUCTION: &str = "\
# Command line reference

This page lists every command with all of its options. It is generated from `veracity COMMAND --help`. Run `veracity COMMAND -h` for a short
version with the main options only.

Every command also accepts these options:

- `-q`, `--quiet`: Print only errors to stderr
- `--color <WHEN>`: When to color verdicts: auto, always or never [default: auto]
- `-h`, `--help`: Print help

Exit codes: 0 success, 1 refuted or over budget, 2 error, 3 inconclusive audit. An error is one line on stderr. With `--json` it is a JSON
object.
";

/// The help of a command as Markdown, and that of those below it.
fn section(command: &str, level: usize, page: &mut String) {
    let help = answer(&format!("{command} --help"));
    let (about, rest) = help.split_once("\nUsage: ").unwrap();
    let (usage, rest) = rest.split_once("\n\n").unwrap();
    let (sections, after) = rest.split_once("Global options:\n").unwrap();
    let usage: Vec<&str> = usage.lines().map(str::trim).collect();
    *page += &format!(
        "\n{} {command}\n\n{}\n\n```text\n{}\n```\n",
        "#".repeat(level),
        about.trim(),
        usage.join("\n")
    );
    for part in sections.split("\n\n").fold(Vec::new(), joined) {
        let (heading, body) = part.split_once('\n').unwrap();
        *page += &match (heading.trim_end_matches(':'), items(body)) {
            ("Commands", _) => String::new(),
            (_, items) if items.is_empty() => String::new(),
            ("Mechanism", _) if command != "account" => {
                "\n**Mechanism**: as for [account](#account)\n".to_owned()
            }
            (heading, items) => format!("\n**{heading}**\n\n{items}"),
        };
    }
    let after: Vec<&str> =
        after.lines().skip_while(|line| line.is_empty() || line.starts_with(' ')).collect();
    if !after.is_empty() {
        *page += &format!("\n```text\n{}\n```\n", after.join("\n"));
    }
    for below in commands(&help) {
        section(&format!("{command} {below}"), level + 1, page);
    }
}

/// Paragraphs below one heading belong together.
fn joined(mut parts: Vec<String>, paragraph: &str) -> Vec<String> {
    match parts.last_mut() {
        Some(last) if paragraph.starts_with(' ') => *last += &format!("\n\n{paragraph}"),
        _ if paragraph.is_empty() => {}
        _ => parts.push(paragraph.to_owned()),
    }
    parts
}

/// Options of one heading as a list: the name, its summary with default and choices, then the details.
///
/// Help has either an option and its help on each line, or the help on the lines that follow, 10 columns in.
fn items(body: &str) -> String {
    let mut items: Vec<(&str, String)> = Vec::new();
    for line in body.lines() {
        match items.last_mut() {
            Some((_, help)) if line.is_empty() || line.starts_with("          ") => {
                *help += &format!("{}\n", line.trim());
            }
            _ => {
                let (name, help) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
                items.push((name, format!("{}\n", help.trim())));
            }
        }
    }
    items.iter().filter(|(name, _)| *name != "-h, --help").map(|(name, help)| item(name, help)).collect()
}

fn item(name: &str, help: &str) -> String {
    let (notes, paragraphs): (Vec<&str>, Vec<&str>) =
        help.trim().split("\n\n").partition(|paragraph| paragraph.starts_with('['));
    let (summary, details) = paragraphs.split_first().unwrap();
    let mut text = format!("- `{name}`: {}", [&[*summary], &notes[..]].concat().join(" ").replace('\n', " "));
    for paragraph in details {
        text += &match paragraph.strip_prefix("Possible values:\n") {
            Some(values) => format!("\n\n  {}", values.replace('\n', "\n  ")),
            None => format!("\n\n  {}", paragraph.replace('\n', " ")),
        };
    }
    text + "\n"
}

#[test]
fn the_reference_is_the_help_of_every_command() {
    let root = answer("--help");
    let (_, groups) = root.split_once("\n\n").and_then(|(_, rest)| rest.split_once("\n\n")).unwrap();
    let (groups, _) = groups.split_once("\nOptions:").unwrap();
    let mut page = INTRODUCTION.to_owned();
    for line in groups.lines() {
        match line.strip_prefix("  ") {
            Some(command) => section(command.split(' ').next().unwrap(), 3, &mut page),
            None => page += &format!("\n## {line}\n"),
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md");
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let kept = fs::read_to_string(&path).unwrap();
    let differs = page.lines().zip(kept.lines()).find(|(new, old)| new != old);
    assert!(page == kept, "docs/cli.md is not the help: {differs:?}; see tests/cli_reference.rs");
}
