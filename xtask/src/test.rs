//! Every check there is, in one command: format, lints, build, tests, doc tests, Python, docs, architecture, packaging, portability, kernels, page, book.
//!
//! Each step is a cargo command, or pytest, whose output passes through while test counts are read from it; docs, architecture,
//! packaging, portability, kernels, the page and the book are judged line by line; the last line adds up.

use crate::{architecture, book, kernels, packaging, page, python};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Tests counted in what a command printed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    /// Those that went well.
    pub passed: usize,
    /// Those that did not.
    pub failed: usize,
}

/// Runs all steps, also after a failure, and says what became of them.
pub fn run(root: &Path) -> io::Result<bool> {
    let mut total = Tally::default();
    let mut failures: Vec<&str> = Vec::new();
    for (name, arguments) in steps() {
        println!("── {name}");
        let (went_well, tally) = cargo(root, &arguments)?;
        total.passed += tally.passed;
        total.failed += tally.failed;
        if !went_well {
            failures.push(name);
        }
        if !went_well && name == "tools" {
            println!("install the missing component: rustup component add rustfmt clippy");
            break;
        }
    }
    println!("── python");
    let (went_well, tally) = match python::tests(root) {
        Ok(tests) => counted(tests)?,
        Err(error) => {
            println!("{error}");
            (false, Tally { passed: 0, failed: 1 })
        }
    };
    total.passed += tally.passed;
    total.failed += tally.failed;
    if !went_well {
        failures.push("python");
    }
    let checks = [
        ("docs", docs as fn(&Path) -> _),
        ("architecture", architecture::check),
        ("packaging", packaging::check),
        ("portability", portability),
        ("kernels", kernels::check),
        ("page", page::check),
        ("book", book::check),
    ];
    for (name, check) in checks {
        println!("── {name}");
        let violations = check(root)?;
        for violation in &violations {
            println!("{violation}");
        }
        if violations.is_empty() {
            total.passed += 1;
        } else {
            total.failed += violations.len();
            failures.push(name);
        }
    }
    let Tally { passed, failed } = total;
    if failures.is_empty() && failed == 0 {
        println!("test result: ok. {passed} passed; 0 failed");
        return Ok(true);
    }
    println!(
        "test result: FAILED. {passed} passed; {failed} failed; steps that failed: {}",
        failures.join(", ")
    );
    Ok(false)
}

fn steps() -> Vec<(&'static str, Vec<&'static str>)> {
    let tests = if has_nextest() {
        vec!["nextest", "run", "--workspace", "--no-fail-fast", "--no-tests=pass"]
    } else {
        vec!["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]
    };
    vec![
        ("tools", vec!["fmt", "--version"]),
        ("tools", vec!["clippy", "--version"]),
        ("format", vec!["fmt", "--all", "--check"]),
        ("lints", vec!["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
        ("build", vec!["test", "--workspace", "--no-run", "--quiet"]),
        ("tests", tests),
        ("tests of optional features", optional()),
        ("doc tests", vec!["test", "--workspace", "--doc", "--quiet", "--no-fail-fast"]),
    ]
}

/// What the tests of the whole workspace leave out: those that need a feature of their own crate. The workspace is named all the same,
/// so that nothing is built anew with other features.
fn optional() -> Vec<&'static str> {
    vec!["test", "--workspace", "--features", "veracity-core/serde,veracity-train/serde", "--test", "written"]
}

/// Builds the docs. A link that leads nowhere is wrong, unless it is the key of a paper in `docs/references.md`: the
/// house cites as `[Mironov17]`, which rustdoc takes for a link, and in public docs as `\\[Mironov17\\]`, which must be listed too.
fn docs(root: &Path) -> io::Result<Vec<String>> {
    let references = std::fs::read_to_string(root.join("docs/references.md"))?;
    let done = Command::new("cargo")
        .args(["doc", "--workspace", "--no-deps", "--lib", "--quiet"])
        .current_dir(root)
        .env("RUSTDOCFLAGS", "-W rustdoc::all -A rustdoc::missing_crate_level_docs")
        .env("CARGO_TERM_COLOR", "never")
        .output()?;
    let said = String::from_utf8_lossy(&done.stderr);
    let mut wrong = complaints(&said, &references);
    for file in crate::architecture::sources(root)? {
        let text = std::fs::read_to_string(&file)?;
        let unknown = citations(&text).filter(|key| !references.contains(&format!("| {key} |")));
        wrong.extend(unknown.map(|key| format!("{}: {key} is not in docs/references.md", file.display())));
    }
    if !done.status.success() && wrong.is_empty() {
        wrong.push(said.into_owned());
    }
    Ok(wrong)
}

/// What rustdoc complains of, with the place it names on the next line; citations that are listed are no complaint.
fn complaints(said: &str, references: &str) -> Vec<String> {
    let lines: Vec<&str> = said.lines().collect();
    let mut wrong = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        if !(line.starts_with("warning") || line.starts_with("error")) || line.contains(" generated ") {
            continue;
        }
        let cited =
            line.strip_prefix("warning: unresolved link to `").and_then(|rest| rest.strip_suffix('`'));
        if cited.is_some_and(|key| references.contains(&format!("| {key} |"))) {
            continue;
        }
        wrong.push(format!("{line} {}", lines.get(i + 1).map_or("", |place| place.trim())));
    }
    wrong
}

/// What a browser does not have: a C library, an operating system's entropy or files, threads, a clock.
const UNPORTABLE: [&str; 12] = [
    "libc",
    "getrandom",
    "rustix",
    "nix",
    "windows-sys",
    "rand",
    "rayon",
    "rayon-core",
    "chrono",
    "time",
    "tempfile",
    "memmap2",
];

/// Claims and the page must run in a browser: none of what they are built from for one may need more than that has. Claims draw no
/// noise; the page draws what its audit looks at.
fn portability(root: &Path) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (room, draws) in [("veracity-claims", false), ("veracity-web", true)] {
        wrong.extend(portability_of(root, room, draws)?);
    }
    Ok(wrong)
}

fn portability_of(root: &Path, room: &str, draws: bool) -> io::Result<Vec<String>> {
    let done = Command::new("cargo")
        .args(["tree", "-p", room, "-e", "normal", "--prefix", "none"])
        .args(["--target", "wasm32-unknown-unknown"])
        .current_dir(root)
        .env("CARGO_TERM_COLOR", "never")
        .output()?;
    if !done.status.success() {
        return Ok(vec![String::from_utf8_lossy(&done.stderr).into_owned()]);
    }
    Ok(unportable(room, draws, &String::from_utf8_lossy(&done.stdout)))
}

/// What of a list of crates a browser does not have, one line each.
fn unportable(room: &str, draws: bool, tree: &str) -> Vec<String> {
    let mut names: Vec<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    names.sort_unstable();
    names.dedup();
    let is_wrong = |name: &&str| UNPORTABLE.contains(name) || !draws && name.starts_with("veracity-noise");
    let wrong = names.into_iter().filter(is_wrong);
    wrong.map(|name| format!("{room} is built from {name}, which a browser does not have")).collect()
}

/// The keys of papers that a source cites as `\\[Mironov17\\]`: a capital first, two digits last.
fn citations(text: &str) -> impl Iterator<Item = &str> {
    text.split("\\[").skip(1).filter_map(|rest| rest.split_once("\\]").map(|(key, _)| key)).filter(|key| {
        key.starts_with(|c: char| c.is_ascii_uppercase())
            && key.len() > 3
            && key.ends_with(|c: char| c.is_ascii_digit())
            && key.chars().all(|c| c.is_ascii_alphanumeric())
    })
}

fn has_nextest() -> bool {
    let probe = Command::new("cargo").args(["nextest", "--version"]).output();
    probe.is_ok_and(|output| output.status.success())
}

/// Runs cargo, passes its output through, and counts the tests it reports.
fn cargo(root: &Path, arguments: &[&str]) -> io::Result<(bool, Tally)> {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).current_dir(root);
    counted(cargo)
}

/// Runs a command, passes its output through, and counts the tests it reports.
pub fn counted(mut command: Command) -> io::Result<(bool, Tally)> {
    let mut child = command
        // Nothing here may depend on a terminal: the counts are read from plain text.
        .env("CARGO_TERM_COLOR", "never")
        .env("CARGO_TERM_PROGRESS_WHEN", "never")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let tally = Mutex::new(Tally::default());
    std::thread::scope(|scope| {
        if let Some(pipe) = child.stdout.take() {
            scope.spawn(|| pass_through(pipe, io::stdout(), &tally));
        }
        if let Some(pipe) = child.stderr.take() {
            scope.spawn(|| pass_through(pipe, io::stderr(), &tally));
        }
    });
    let status = child.wait()?;
    let counted = tally.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    Ok((status.success(), counted))
}

fn pass_through(pipe: impl Read, mut to: impl Write, tally: &Mutex<Tally>) {
    for line in BufReader::new(pipe).lines().map_while(Result::ok) {
        let counted = count(&line);
        if let Ok(mut tally) = tally.lock() {
            tally.passed += counted.passed;
            tally.failed += counted.failed;
        }
        // A closed terminal must not stop the checks.
        let _ = writeln!(to, "{line}");
    }
}

/// Reads `test result: ok. 3 passed; 0 failed; …`, nextest's `Summary [ 1.2s] 5 tests run: 4 passed, 1 failed, …`, or pytest's
/// `1 failed, 4 passed in 1.20s`.
fn count(line: &str) -> Tally {
    // Indented, the former is what nextest repeats of a test that failed, and counts itself.
    let of_cargo = line.starts_with("test result:") || line.trim_start().starts_with("Summary [");
    if !of_cargo && !is_of_pytest(line) {
        return Tally::default();
    }
    let before = |word: &str| {
        let words: Vec<&str> = line.split([' ', ',', ';']).filter(|w| !w.is_empty()).collect();
        let at = words.iter().position(|w| *w == word)?;
        words.get(at.checked_sub(1)?)?.parse().ok()
    };
    let errors = if of_cargo { None } else { before("error").or(before("errors")) };
    Tally {
        passed: before("passed").unwrap_or(0),
        failed: before("failed").unwrap_or(0) + errors.unwrap_or(0),
    }
}

/// Whether a line is pytest's last: counts, then ` in ` and the seconds.
fn is_of_pytest(line: &str) -> bool {
    let Some((counts, time)) = line.trim_matches(['=', ' ']).rsplit_once(" in ") else { return false };
    let is_time = time.split_once('s').is_some_and(|(seconds, _)| seconds.parse::<f64>().is_ok());
    let is_count = |one: &str| one.split_once(' ').is_some_and(|(number, _)| number.parse::<usize>().is_ok());
    is_time && counts.split(", ").all(is_count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_lacks_is_found_once() {
        let tree = "veracity-claims v0.1.0 (crates/claims)\nserde v1.0.0\nlibc v0.2.0\nlibc v0.2.0\nveracity-noise v0.1.0\n";
        assert_eq!(unportable("veracity-claims", false, tree).len(), 2);
        assert_eq!(unportable("veracity-web", true, tree).len(), 1);
        assert!(unportable("veracity-claims", false, "veracity-claims v0.1.0\nserde v1.0.0\n").is_empty());
    }

    #[test]
    fn escaped_citations_are_found_and_mathematics_is_not() {
        let text = r"/// \[Mironov17\] Theorem 5, on \[0, 1\] and \[A\]; see \[DongRothSu22\].";
        assert_eq!(citations(text).collect::<Vec<_>>(), ["Mironov17", "DongRothSu22"]);
    }

    #[test]
    fn a_citation_is_no_broken_link_but_a_typo_is() {
        let said = "warning: unresolved link to `Mironov17`\n --> a.rs:1:1\n\n\
                    warning: unresolved link to `Profil`\n --> b.rs:2:3\n\n\
                    warning: `x` (lib doc) generated 2 warnings\n";
        assert_eq!(
            complaints(said, "| Mironov17 | Rényi |"),
            ["warning: unresolved link to `Profil` --> b.rs:2:3"]
        );
    }

    #[test]
    fn counts_are_read_from_every_runner() {
        let cargo = "test result: ok. 12 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out";
        assert_eq!(count(cargo), Tally { passed: 12, failed: 1 });
        let nextest = "     Summary [   0.039s] 14 tests run: 13 passed (2 slow), 1 failed, 0 skipped";
        assert_eq!(count(nextest), Tally { passed: 13, failed: 1 });
        assert_eq!(
            count("2 failed, 41 passed, 1 skipped, 1 error in 3.20s"),
            Tally { passed: 41, failed: 3 }
        );
        assert_eq!(count("41 passed, 7 deselected in 63.20s (0:01:03)"), Tally { passed: 41, failed: 0 });
        assert_eq!(count("it was passed 3 times in 2 steps"), Tally::default());
        assert_eq!(count("test golden::tests::x ... ok"), Tally::default());
        assert_eq!(count(&format!("    {cargo}")), Tally::default());
    }
}
