//! The architecture test: which room may import which, and the house rules that a machine can check.
//!
//! Every file of the tree is read once; each rule looks at a path and a text and returns what is wrong, one line each.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Each room and the rooms it may import. A room that is not listed may not exist.
const ARROWS: [(&str, &[&str]); 24] = [
    ("numerics", &[]),
    ("core", &["numerics"]),
    ("files", &["core"]),
    ("noise", &["numerics", "core"]),
    ("account", &["numerics", "core"]),
    ("claims", &["core", "files", "account"]),
    ("ledger", &["numerics", "core", "files", "account"]),
    ("query", &["numerics", "core", "noise"]),
    ("local", &["numerics", "core", "noise"]),
    ("train", &["numerics", "core", "noise"]),
    ("cuda", &["core", "noise", "train"]),
    ("records", &["core"]),
    ("audit", &["numerics", "core", "noise"]),
    ("web", &["core", "account", "claims", "noise", "audit"]),
    ("zoo", &["numerics", "core", "noise", "train", "query", "local", "audit"]),
    ("report", &["numerics", "core", "account", "claims"]),
    ("release", &["core", "files", "account", "claims", "noise", "query", "local", "records"]),
    ("sql", &["numerics", "core", "account", "claims", "noise", "query", "records", "release"]),
    ("trainer", &["core", "files", "account", "claims", "noise", "query", "train", "records", "report"]),
    (
        "evidence",
        &[
            "core", "files", "account", "claims", "noise", "query", "local", "train", "records", "audit",
            "zoo", "report", "trainer",
        ],
    ),
    (
        "veracity",
        &[
            "numerics", "core", "files", "noise", "account", "claims", "ledger", "query", "local", "train",
            "cuda", "records", "audit", "zoo", "report", "release", "sql", "trainer", "evidence", "web",
        ],
    ),
    ("cli", &["veracity"]),
    ("python", &["veracity"]),
    ("testkit", &["numerics", "core", "noise"]),
];

const LONGEST_FILE: usize = 800;
const NAMELESS: [&str; 5] = ["utils", "helpers", "common", "misc", "types"];
const SKIPPED: [&str; 5] = ["target", ".git", ".venv", "out", "shared"];

/// Spelled in halves, so that this file does not break its own rule.
const PRIVATE_PLACES: [&str; 9] = [
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Use", "rs/"),
    concat!("index.cra", "tes.io"),
    concat!("static.cra", "tes.io"),
    concat!("py", "pi.org/simple"),
    concat!("files.python", "hosted.org"),
    concat!("replace-", "with"),
    concat!("index-", "url"),
];

/// All that is wrong with the tree, one line each.
pub fn check(root: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    walk(root, &mut files)?;
    files.sort();
    let mut wrong = Vec::new();
    for file in files {
        let path = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
        // Pictures and other binary files have no lines to judge.
        if let Ok(text) = fs::read_to_string(&file) {
            wrong.extend(arrows(&path, &text));
            wrong.extend(size_and_name(&path, &text));
            wrong.extend(lines(&path, &text));
        }
    }
    Ok(wrong)
}

/// Every Rust file of the rooms.
pub fn sources(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    walk(&root.join("crates"), &mut files)?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "rs"));
    files.sort();
    Ok(files)
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// A room's manifest names only rooms that its line in the table allows; tests may lean on the test kit as well.
fn arrows(path: &str, manifest: &str) -> Vec<String> {
    let Some(room) = path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml")) else {
        return Vec::new();
    };
    let Some((_, allowed)) = ARROWS.iter().find(|(name, _)| *name == room) else {
        return vec![format!("{path}: room {room} has no line in the table of arrows")];
    };
    let mut section = "";
    let mut wrong = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
            continue;
        }
        if !section.contains("dependencies") {
            continue;
        }
        let name = line.split(['.', '=', ' ']).next().unwrap_or_default();
        let imported = match name.strip_prefix("veracity") {
            Some("") => "veracity",
            Some(rest) => rest.trim_start_matches('-'),
            None => continue,
        };
        let for_tests = section.contains("dev-") && imported == "testkit";
        if !allowed.contains(&imported) && !for_tests {
            wrong.push(format!("{path}: {room} may not import {imported}"));
        }
    }
    wrong
}

fn size_and_name(path: &str, text: &str) -> Vec<String> {
    let file = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = file.rsplit_once('.').unwrap_or((file, ""));
    let mut wrong = Vec::new();
    if NAMELESS.contains(&stem) {
        wrong.push(format!("{path}: a file is named for its idea, not {stem}"));
    }
    let long = text.lines().count();
    if matches!(extension, "rs" | "py") && long > LONGEST_FILE {
        wrong.push(format!("{path}: {long} lines, at most {LONGEST_FILE}"));
    }
    wrong
}

fn lines(path: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let mut complain = |what: String| wrong.push(format!("{path}:{}: {what}", number + 1));
        if let Some(place) = PRIVATE_PLACES.iter().find(|place| line.contains(**place)) {
            complain(format!("names a private place, {place}"));
        }
        let rust = path.ends_with(".rs");
        if rust && line.trim_start().starts_with("#[ignore") && !has_issue(line) {
            complain("a test is ignored without an issue number".to_owned());
        }
        if rust && names_a_flag(path, line) {
            complain("names a flag, which only the command line has".to_owned());
        }
        if rust && line.contains("TODO") && line.contains("//") && !line.contains("TODO(#") {
            complain("a to-do without an issue number".to_owned());
        }
    }
    wrong
}

/// Whether a text of a room, in code, has a word like `--resume`: another door would have no such flag.
fn names_a_flag(path: &str, line: &str) -> bool {
    let is_room = path.starts_with("crates/")
        && path.contains("/src/")
        && !path.starts_with("crates/cli/")
        && !path.starts_with("crates/testkit/");
    // Names of colours in a style sheet, and the command that writes a page of the docs.
    let is_other = path.ends_with("report/src/svg.rs")
        || path.ends_with("report/src/html.rs")
        || line.contains("cargo run");
    let is_comment = line.trim_start().starts_with("//");
    let is_flag = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    let quoted = line.find('"').map_or("", |at| &line[at..]);
    is_room && !is_other && !is_comment && quoted.split("--").skip(1).any(is_flag)
}

/// Whether `#` and a digit follow each other after the attribute's own `#`.
fn has_issue(line: &str) -> bool {
    line.split('#').skip(2).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_house_is_in_order() {
        let wrong = check(&crate::root()).unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_flag_in_a_room_is_named() {
        let line = concat!("    refuse(\"expected -", "-resume\")");
        assert!(names_a_flag("crates/trainer/src/job.rs", line));
        assert!(!names_a_flag("crates/cli/src/commands/train.rs", line));
        assert!(!names_a_flag(
            "crates/trainer/src/job.rs",
            "    refuse(\"expected a resumed run -- or none\")"
        ));
        assert!(!names_a_flag("crates/trainer/src/job.rs", concat!("    /// See -", "-resume.")));
    }

    #[test]
    fn an_arrow_between_siblings_is_named() {
        let manifest = "[dependencies]\nveracity-core.workspace = true\nveracity-account.workspace = true\n";
        let wrong = arrows("crates/audit/Cargo.toml", manifest);
        assert_eq!(wrong, ["crates/audit/Cargo.toml: audit may not import account"]);
        let for_tests = "[dev-dependencies]\nveracity-testkit.workspace = true\n";
        assert!(arrows("crates/audit/Cargo.toml", for_tests).is_empty());
        assert!(!arrows("crates/audit/Cargo.toml", &for_tests.replace("dev-", "")).is_empty());
        assert!(!arrows("crates/cellar/Cargo.toml", "").is_empty());
    }

    #[test]
    fn every_rule_can_fail() {
        assert_eq!(size_and_name("crates/core/src/helpers.rs", "").len(), 1);
        assert_eq!(size_and_name("crates/core/src/long.rs", &"\n".repeat(801)).len(), 1);
        assert_eq!(lines("a.rs", "    #[ignore]").len(), 1);
        assert_eq!(lines("a.rs", "#[ignore = \"slow\"]").len(), 1);
        assert!(lines("a.rs", "#[ignore = \"#12: needs an hour\"]").is_empty());
        assert_eq!(lines("a.md", concat!("see /ho", "me/someone/notes")).len(), 1);
        assert_eq!(lines("a.rs", concat!("// TO", "DO: later")).len(), 1);
    }
}
