//! Checks of the architecture: which crate may depend on which, the call paths of ARCHITECTURE.md, and rules on files and names.
//!
//! Every file of the tree is read once; each rule looks at a path and a text and returns what is wrong, one line each.

use crate::files;
use std::fs;
use std::io;
use std::path::Path;

/// Each crate and the crates that it may depend on. A crate that is not listed may not exist.
const ARROWS: [(&str, &[&str]); 18] = [
    ("core", &[]),
    ("noise", &["core"]),
    ("account", &["core"]),
    ("tables", &["core"]),
    ("mechanisms", &["core", "noise"]),
    ("train", &["core", "noise"]),
    ("cuda", &["core", "noise", "train"]),
    ("audit", &["core", "noise"]),
    ("ledger", &["core", "account"]),
    ("report", &["core", "account"]),
    ("web", &["core", "account", "noise", "audit"]),
    ("statistics", &["core", "account", "noise", "mechanisms", "tables", "ledger"]),
    ("training", &["core", "account", "noise", "mechanisms", "train", "tables", "report", "ledger"]),
    (
        "auditing",
        &["core", "account", "noise", "mechanisms", "train", "tables", "audit", "report", "training"],
    ),
    ("veracity", &KERNELS_AND_JOBS),
    ("cli", &["veracity"]),
    ("python", &["veracity"]),
    ("testkit", &["core", "noise"]),
];

const KERNELS_AND_JOBS: [&str; 14] = [
    "core", "noise", "account", "tables", "mechanisms", "train", "cuda", "audit", "ledger", "report", "web",
    "statistics", "training", "auditing",
];

const LONGEST_FILE: usize = 800;
const NAMELESS: [&str; 5] = ["utils", "helpers", "common", "misc", "types"];
const SKIPPED: [&str; 5] = ["target", ".git", ".venv", "out", "shared"];

/// Written in halves, so that this file keeps its own rule.
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
    let mut wrong = call_paths(root)?;
    let files = files::below(root, &SKIPPED)?;
    let names: Vec<String> = files.iter().map(|file| files::name(root, file)).collect();
    for (file, path) in files.iter().zip(&names) {
        // Pictures and other binary files have no lines to judge.
        if let Ok(text) = fs::read_to_string(file) {
            wrong.extend(arrows(path, &text));
            wrong.extend(size_and_name(path, &text));
            wrong.extend(lines(path, &text));
            wrong.extend(missing_files(path, &text, &names));
        }
    }
    Ok(wrong)
}

/// What is wrong with the call paths of ARCHITECTURE.md: each step names a file and a function that it has, and its file names the
/// function of the next step.
fn call_paths(root: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(root.join("ARCHITECTURE.md"))?;
    let mut wrong = Vec::new();
    let mut steps = 0;
    for path in text.lines().filter(|line| line.contains(" → ") && line.starts_with('|')) {
        let cell = path.split('|').nth(2).unwrap_or_default();
        for walk in cell.split("; then ") {
            let mut caller: Option<(String, String)> = None;
            for step in walk.split(" → ") {
                let Some((file, function)) = step.trim().trim_start_matches('`').split_once("` ") else {
                    wrong.push(format!(
                        "ARCHITECTURE.md: {step} is no step, expected `crate/src/file.rs` function"
                    ));
                    continue;
                };
                steps += 1;
                let source = fs::read_to_string(root.join("crates").join(file)).unwrap_or_default();
                if !source.contains(&format!("fn {function}("))
                    && !source.contains(&format!("fn {function}<"))
                {
                    wrong.push(format!("ARCHITECTURE.md: {file} has no function {function}"));
                }
                if let Some((before, called)) = caller.filter(|(_, called)| !calls(called, function)) {
                    let lines = called.lines().count();
                    wrong.push(format!("ARCHITECTURE.md: {before} ({lines} lines) does not name {function}"));
                }
                caller = Some((file.to_owned(), source));
            }
        }
    }
    if steps < 16 {
        wrong.push(format!("ARCHITECTURE.md: {steps} steps of call paths, expected at least 16"));
    }
    Ok(wrong)
}

/// Whether a source names a function elsewhere than in its definition.
fn calls(source: &str, function: &str) -> bool {
    let (named, defined) = (format!("{function}("), format!("fn {function}("));
    source.matches(&named).count() > source.matches(&defined).count()
}

/// A manifest names only crates that its line in the table allows; tests may use the test kit as well.
fn arrows(path: &str, manifest: &str) -> Vec<String> {
    let Some(member) = path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml")) else {
        return Vec::new();
    };
    let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == member) else {
        return vec![format!("{path}: crate {member} has no line in the table")];
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
            wrong.push(format!("{path}: {member} may not import {imported}"));
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

/// Sources that a page or a comment names in backticks, such as `tests/claims.rs`, and that are not there.
fn missing_files(path: &str, text: &str, files: &[String]) -> Vec<String> {
    let is_source = |name: &&str| {
        let is_path = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
        is_path && name.contains('/') && (name.ends_with(".rs") || name.ends_with(".py"))
    };
    let is_there = |name: &str| {
        files
            .iter()
            .filter_map(|file| file.strip_suffix(name))
            .any(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let mut wrong = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if path.ends_with(".md") || path.ends_with(".rs") && line.trim_start().starts_with("//") {
            let named = line.split('`').skip(1).step_by(2).filter(is_source);
            let missing = named.filter(|name| !is_there(name));
            wrong.extend(missing.map(|name| format!("{path}:{}: there is no {name}", number + 1)));
        }
    }
    wrong
}

/// Whether a literal has a word like `--resume`: Python and the web page have no such flag.
fn names_a_flag(path: &str, line: &str) -> bool {
    let is_library = path.starts_with("crates/")
        && path.contains("/src/")
        && !path.starts_with("crates/cli/")
        && !path.starts_with("crates/testkit/");
    // Names of colors in a style sheet, and the command that writes a page of the docs.
    let is_other = path.ends_with("report/src/svg.rs") || line.contains("cargo run");
    let is_comment = line.trim_start().starts_with("//");
    let is_flag = |rest: &str| rest.starts_with(|c: char| c.is_ascii_lowercase());
    let quoted = line.find('"').map_or("", |at| &line[at..]);
    is_library && !is_other && !is_comment && quoted.split("--").skip(1).any(is_flag)
}

/// Whether `#` and a digit follow each other after the attribute's own `#`.
fn has_issue(line: &str) -> bool {
    line.split('#').skip(2).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_in_order() {
        let wrong = check(&crate::root()).unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_flag_in_a_library_is_named() {
        let line = concat!("    refuse(\"expected -", "-resume\")");
        assert!(names_a_flag("crates/training/src/job.rs", line));
        assert!(!names_a_flag("crates/cli/src/commands/train.rs", line));
        assert!(!names_a_flag(
            "crates/training/src/job.rs",
            "    refuse(\"expected a resumed run -- or none\")"
        ));
        assert!(!names_a_flag("crates/training/src/job.rs", concat!("    /// See -", "-resume.")));
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
    fn a_source_that_is_named_and_not_there_is_found() {
        let files = ["crates/cli/tests/claims.rs".to_owned()];
        let missing = |path: &str, text: &str| missing_files(path, text, &files).len();
        assert_eq!(
            missing("a.md", "see `tests/claims.rs`, `cli/tests/claims.rs`, `NAME.csv` and `a b/c.rs`"),
            0
        );
        assert_eq!(missing("a.md", "one\nsee `tests/claim.rs` and `li/tests/claims.rs`"), 2);
        assert_eq!(missing("a.rs", "//! see `tests/claim.rs`\nlet a = \"`tests/claim.rs`\";"), 1);
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
