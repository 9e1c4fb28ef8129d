//! Every check there is, in one command: format, lints, build, tests, doc tests, Python, docs, architecture, packaging, portability,
//! kernels, page, book, prose.
//!
//! The first steps are commands whose output passes through while test counts are read from it. The checks after them return what is
//! wrong, one line each. All steps run, also after a failure, and the last line adds up.

use crate::{architecture, book, files, kernels, packaging, page, prose, python};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Tests counted in what a command printed.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Tally {
    pub passed: usize,
    pub failed: usize,
}

impl std::ops::AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.passed += other.passed;
        self.failed += other.failed;
    }
}

impl Tally {
    /// Of a step that could not be run, for a reason that is printed.
    pub fn unprepared(error: &io::Error) -> Tally {
        println!("{error}");
        Tally { passed: 0, failed: 1 }
    }

    /// Prints the last line of a run; whether something passed and nothing failed.
    pub fn conclude(self, note: &str) -> bool {
        let Tally { passed, failed } = self;
        let went_well = failed == 0 && passed > 0;
        let verdict = if went_well { "ok" } else { "FAILED" };
        println!("test result: {verdict}. {passed} passed; {failed} failed{note}");
        went_well
    }
}

/// Runs all steps and prints the counts.
pub fn run(root: &Path) -> io::Result<bool> {
    let mut total = Tally::default();
    let mut failures: Vec<&str> = Vec::new();
    let mut add = |name, tally: Tally| {
        total += tally;
        if tally.failed > 0 {
            failures.push(name);
        }
    };
    for component in ["fmt", "clippy"] {
        if !cargo(root, &[component, "--version"]).status()?.success() {
            println!("install the missing component: rustup component add rustfmt clippy");
            return Ok(Tally { passed: 0, failed: 1 }.conclude(""));
        }
    }
    for (name, arguments) in steps() {
        println!("── {name}");
        add(name, counted(cargo(root, &arguments))?);
    }
    println!("── python");
    let tally = match python::tests(root) {
        Ok(tests) => counted(tests)?,
        Err(error) => Tally::unprepared(&error),
    };
    add("python", tally);
    for (name, check) in CHECKS {
        println!("── {name}");
        let violations = check(root)?;
        for violation in &violations {
            println!("{violation}");
        }
        add(name, Tally { passed: usize::from(violations.is_empty()), failed: violations.len() });
    }
    let note = match failures[..] {
        [] => String::new(),
        _ => format!("; steps that failed: {}", failures.join(", ")),
    };
    Ok(total.conclude(&note))
}

type Check = fn(&Path) -> io::Result<Vec<String>>;
const CHECKS: [(&str, Check); 8] = [
    ("docs", docs),
    ("architecture", architecture::check),
    ("packaging", packaging::check),
    ("portability", portability),
    ("kernels", kernels::check),
    ("page", page::check),
    ("book", book::check),
    ("prose", prose::check),
];

fn steps() -> [(&'static str, Vec<&'static str>); 5] {
    let tests = if has_nextest() {
        vec!["nextest", "run", "--workspace", "--no-fail-fast", "--no-tests=pass"]
    } else {
        vec!["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]
    };
    [
        ("format", vec!["fmt", "--all", "--check"]),
        ("lints", vec!["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
        ("build", vec!["test", "--workspace", "--no-run", "--quiet"]),
        ("tests", tests),
        ("doc tests", vec!["test", "--workspace", "--doc", "--quiet", "--no-fail-fast"]),
    ]
}

fn cargo(root: &Path, arguments: &[&str]) -> Command {
    let mut cargo = Command::new("cargo");
    cargo.args(arguments).current_dir(root);
    cargo
}

/// Builds the docs. A link that leads nowhere is wrong, unless it is the key of a paper in `docs/references.md`: sources cite
/// as `[Mironov17]`, which rustdoc takes for a link, and in public docs as `\\[Mironov17\\]`, which must be listed too.
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
    for file in files::ending(&root.join("crates"), "rs")? {
        let text = std::fs::read_to_string(&file)?;
        let unknown = citations(&text).filter(|key| !references.contains(&format!("| {key} |")));
        wrong.extend(unknown.map(|key| format!("{}: {key} is not in docs/references.md", file.display())));
    }
    if !done.status.success() && wrong.is_empty() {
        wrong.push(said.into_owned());
    }
    Ok(wrong)
}

/// The complaints of rustdoc, each with the place on its next line, without citations that are listed.
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

/// Crates that need what a browser does not have: a C library, an operating system's entropy or files, threads, a clock.
const UNPORTABLE: [&str; 12] = [
    "libc", "getrandom", "rustix", "nix", "windows-sys", "rand", "rayon", "rayon-core", "chrono", "time",
    "tempfile", "memmap2",
];

/// The accountant and the page must run in a browser: no crate that they are built from may need more than a browser has. The
/// accountant draws no noise; the page draws for its audit.
fn portability(root: &Path) -> io::Result<Vec<String>> {
    let mut wrong = Vec::new();
    for (package, draws) in [("veracity-account", false), ("veracity-web", true)] {
        wrong.extend(unportable(package, draws, &linked(root, package)?));
    }
    Ok(wrong)
}

/// The crates that a package is linked from in a browser, each once with its version.
pub fn linked(root: &Path, package: &str) -> io::Result<Vec<String>> {
    let tree = Command::new("cargo")
        .args(["tree", "-p", package, "-e", "normal", "--prefix", "none"])
        .args(["--target", page::TARGET])
        .current_dir(root)
        .env("CARGO_TERM_COLOR", "never")
        .output()?;
    if !tree.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&tree.stderr).into_owned()));
    }
    Ok(once(&String::from_utf8_lossy(&tree.stdout)))
}

/// The lines of a tree, each crate once: a repeated one has a mark behind it.
fn once(tree: &str) -> Vec<String> {
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)").trim()).filter(|line| !line.is_empty());
    let mut crates: Vec<String> = lines.map(str::to_owned).collect();
    crates.sort_unstable();
    crates.dedup();
    crates
}

/// The crates of a package that a browser cannot run, one line each.
fn unportable(package: &str, draws: bool, linked: &[String]) -> Vec<String> {
    let names = linked.iter().filter_map(|line| line.split_whitespace().next());
    let wrong =
        names.filter(|name| UNPORTABLE.contains(name) || !draws && name.starts_with("veracity-noise"));
    wrong.map(|name| format!("{package} is built from {name}, which a browser does not have")).collect()
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

/// Runs a command, passes its output through, and counts the tests it reports; one that fails without a failed test counts as one.
pub fn counted(mut command: Command) -> io::Result<Tally> {
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
    let mut counted = tally.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    counted.failed = counted.failed.max(usize::from(!status.success()));
    Ok(counted)
}

fn pass_through(pipe: impl Read, mut to: impl Write, tally: &Mutex<Tally>) {
    for line in BufReader::new(pipe).lines().map_while(Result::ok) {
        if let Ok(mut tally) = tally.lock() {
            *tally += count(&line);
        }
        // A closed terminal must not stop the checks.
        let _ = writeln!(to, "{line}");
    }
}

/// Reads `test result: ok. 3 passed; 0 failed; …`, nextest's `Summary [ 1.2s] 5 tests run: 4 passed, 1 failed, …`, or pytest's
/// `1 failed, 4 passed, 1 error in 1.20s`.
fn count(line: &str) -> Tally {
    // Indented, the first is what nextest repeats of a test that failed, and counts itself.
    if !line.starts_with("test result:") && !line.trim_start().starts_with("Summary [") && !is_of_pytest(line)
    {
        return Tally::default();
    }
    let words: Vec<&str> = line.split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
    let mut tally = Tally::default();
    for pair in words.windows(2) {
        let number = pair[0].parse().unwrap_or(0);
        match pair[1] {
            "passed" => tally.passed += number,
            "failed" | "error" | "errors" => tally.failed += number,
            _ => {}
        }
    }
    tally
}

/// Whether a line is pytest's last: a count first, and ` in ` with the seconds behind all counts.
fn is_of_pytest(line: &str) -> bool {
    let Some((counts, time)) = line.trim_matches(['=', ' ']).rsplit_once(" in ") else { return false };
    let is_number =
        |text: &str, end: char| text.split(end).next().is_some_and(|it| it.parse::<f64>().is_ok());
    is_number(time, 's') && counts.split(", ").all(|count| is_number(count, ' '))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_browser_lacks_is_found_once() {
        let tree = "veracity-account v0.1.0 (crates/claims)\nserde v1.0.0\nlibc v0.2.0\nlibc v0.2.0 (*)\n\nveracity-noise v0.1.0\n";
        assert_eq!(unportable("veracity-account", false, &once(tree)).len(), 2);
        assert_eq!(unportable("veracity-web", true, &once(tree)).len(), 1);
        assert!(
            unportable("veracity-account", false, &once("veracity-account v0.1.0\nserde v1.0.0\n"))
                .is_empty()
        );
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
    fn a_command_that_fails_without_a_failed_test_counts_as_one() {
        let tally = |script: &str| {
            let mut shell = Command::new("sh");
            shell.args(["-c", script]);
            counted(shell).unwrap()
        };
        assert_eq!(tally("echo 'test result: ok. 3 passed; 0 failed'"), Tally { passed: 3, failed: 0 });
        assert_eq!(tally("echo '2 passed in 1.2s' >&2; exit 3"), Tally { passed: 2, failed: 1 });
        assert_eq!(tally("echo '4 failed in 1.2s'; exit 1"), Tally { passed: 0, failed: 4 });
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
