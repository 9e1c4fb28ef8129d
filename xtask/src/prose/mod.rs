//! `cargo xtask prose`: how plainly the texts for users are written, as a table, and the words that they must not have.
//!
//! Files become surfaces (a page, the help, all messages), surfaces become passages of words, and words are counted and compared with
//! `xtask/prose-words.txt`. Texts that are still to be rewritten are listed in `xtask/prose-allow.txt`, one path and word in each line.
//!
//! Messages are the string literals of two words or more in `crates/*/src`, outside of comments and modules of tests. Help is the same in
//! `crates/cli/src/args*`, with the doc comments of fields. Pages that a program writes say so in their first lines (`Written by`). They
//! are numbers with a caption: words are checked in them, but they do not count for the limits of docs.

mod sources;
mod text;

use crate::files;
use std::fmt::{Display, Formatter};
use std::fs;
use std::io;
use std::path::Path;
use text::{Measures, Passage, SEMICOLONS};

const WORDS: &str = "xtask/prose-words.txt";
const ALLOWED: &str = "xtask/prose-allow.txt";

/// How often something may come in 1,000 words of README.md and of all docs.
enum Limit {
    AtLeast(f64),
    AtMost(f64),
}

const LIMITS: [(&str, Limit); 5] = [
    ("you", Limit::AtLeast(8.0)),
    ("examples", Limit::AtLeast(2.0)),
    ("what, whose", Limit::AtMost(4.0)),
    ("nobody, none", Limit::AtMost(1.0)),
    (SEMICOLONS, Limit::AtMost(2.0)),
];
/// The surfaces that the limits are for.
const LIMITED: [&str; 2] = ["README.md", "docs"];

/// A row of the table: a page, or files of one kind.
struct Surface {
    name: String,
    files: Vec<(String, Vec<Passage>)>,
}

/// A word at a line, or a surface that is beyond a limit.
#[derive(Debug, PartialEq, Eq)]
struct Violation {
    path: String,
    /// Nothing for a limit, which is about a whole text.
    line: Option<usize>,
    word: String,
    remedy: String,
}

impl Display for Violation {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}: {}", self.path, self.word, self.remedy),
            None => write!(f, "{}: {}: {}", self.path, self.word, self.remedy),
        }
    }
}

/// A phrase that texts do not have.
struct Banned {
    phrase: Vec<String>,
    /// Words before which it is allowed.
    before: Vec<String>,
    remedy: String,
}

/// Prints the table and what is wrong; `--prune` removes the lines of the allow-list that nothing needs any more.
pub fn run(root: &Path, words: &[&str]) -> io::Result<bool> {
    let surfaces = surfaces(root)?;
    if words == ["--prune"] {
        return prune(root, &violations(root, &surfaces)?);
    }
    if !words.is_empty() {
        return Err(io::Error::other("usage: cargo xtask prose [--prune]"));
    }
    let columns = Measures::columns();
    println!("| text | {} |\n|---|{}", columns.join(" | "), "---|".repeat(columns.len()));
    for surface in &surfaces {
        println!("| {} | {} |", surface.name, surface.measures().cells().join(" | "));
    }
    let wrong = judged(root, violations(root, &surfaces)?)?;
    for complaint in &wrong {
        println!("{complaint}");
    }
    Ok(wrong.is_empty())
}

/// What is wrong with the texts, one line each.
pub fn check(root: &Path) -> io::Result<Vec<String>> {
    judged(root, violations(root, &surfaces(root)?)?)
}

fn surfaces(root: &Path) -> io::Result<Vec<Surface>> {
    let mut docs = Surface::new("docs");
    let (mut generated, mut decisions, mut proofs) = (
        Surface::new("docs written by programs"),
        Surface::new("docs/decisions"),
        Surface::new("docs/proofs"),
    );
    let mut surfaces = vec![Surface::new("README.md")];
    surfaces[0].add(root, &root.join("README.md"), sources::markdown)?;
    for file in files::ending(&root.join("docs"), "md")? {
        let name = files::name(root, &file);
        let list = match name.split('/').nth(1) {
            Some("decisions") => &mut decisions,
            Some("proofs") => &mut proofs,
            Some("SUMMARY.md") => continue,
            _ if is_generated(&fs::read_to_string(&file)?) => &mut generated,
            _ => &mut docs,
        };
        list.add(root, &file, sources::markdown)?;
    }
    for (name, passages) in &docs.files {
        surfaces.push(Surface { name: name.clone(), files: vec![(name.clone(), passages.clone())] });
    }
    // Pages are rows and the total is one, but a word is named once: in the total.
    surfaces.extend([docs, decisions, proofs, generated]);
    for name in ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"] {
        let mut page = Surface::new(name);
        page.add(root, &root.join(name), sources::markdown)?;
        surfaces.push(page);
    }
    let (mut help, mut messages) = (Surface::new("help of the command line"), Surface::new("messages"));
    for file in files::ending(&root.join("crates"), "rs")? {
        let name = files::name(root, &file);
        let parts: Vec<&str> = name.split('/').collect();
        let is_source = parts.get(2) == Some(&"src") && parts[1] != "testkit";
        if name.starts_with("crates/cli/src/args") {
            help.add(root, &file, sources::help)?;
        } else if is_source && !parts.contains(&"tests") && !name.ends_with("/tests.rs") {
            messages.add(root, &file, sources::messages)?;
        }
    }
    let mut docstrings = Surface::new("docstrings of Python");
    let python = files::below(&root.join("python/veracity"), &["__pycache__"])?;
    for file in python.iter().filter(|file| file.extension().is_some_and(|it| it == "py" || it == "pyi")) {
        docstrings.add(root, file, sources::docstrings)?;
    }
    let mut page = Surface::new("web page");
    for file in files::ending(&root.join("crates/web/page"), "js")? {
        page.add(root, &file, sources::javascript)?;
    }
    page.add(root, &root.join("crates/web/page/index.html"), sources::html)?;
    surfaces.extend([help, messages, docstrings, page]);
    Ok(surfaces)
}

/// Whether the first lines of a page say that a program wrote it.
fn is_generated(page: &str) -> bool {
    page.lines().take(10).any(|line| line.contains("Written by `cargo"))
}

impl Surface {
    fn new(name: &str) -> Surface {
        Surface { name: name.to_owned(), files: Vec::new() }
    }

    fn add(&mut self, root: &Path, file: &Path, read: fn(&str) -> Vec<Passage>) -> io::Result<()> {
        let passages = read(&fs::read_to_string(file)?);
        self.files.push((files::name(root, file), passages));
        Ok(())
    }

    fn measures(&self) -> Measures {
        Measures::of(self.files.iter().flat_map(|(_, passages)| passages))
    }

    /// The limits that this text does not keep.
    fn beyond_limits(&self) -> Vec<Violation> {
        let measures = self.measures();
        let mut wrong = Vec::new();
        for (name, limit) in &LIMITS {
            let found = measures.per_thousand(name);
            let (is_kept, expected) = match limit {
                Limit::AtLeast(least) => (found >= *least, format!("at least {least}")),
                Limit::AtMost(most) => (found <= *most, format!("at most {most}")),
            };
            if !is_kept {
                let remedy = format!("{found:.1} in 1,000 words, expected {expected}");
                wrong.push(Violation {
                    path: self.name.clone(),
                    line: None,
                    word: (*name).to_owned(),
                    remedy,
                });
            }
        }
        wrong
    }
}

fn violations(root: &Path, surfaces: &[Surface]) -> io::Result<Vec<Violation>> {
    let banned = banned(&fs::read_to_string(root.join(WORDS))?)?;
    let mut wrong = Vec::new();
    for surface in surfaces {
        if LIMITED.contains(&&surface.name[..]) {
            wrong.extend(surface.beyond_limits());
        }
        let is_part_of_total = surface.name.starts_with("docs/") && surface.name.ends_with(".md");
        for (path, passages) in surface.files.iter().filter(|_| !is_part_of_total) {
            wrong.extend(passages.iter().flat_map(|passage| found_in(path, passage, &banned)));
        }
    }
    Ok(wrong)
}

/// The banned words of a passage; of phrases that begin at one word, the longest.
fn found_in(path: &str, passage: &Passage, banned: &[Banned]) -> Vec<Violation> {
    let mut found: Vec<(usize, &Banned)> = Vec::new();
    for rule in banned {
        for at in passage.find(&rule.phrase) {
            let next = passage.words.get(at + rule.phrase.len()).map(|word| &word.text);
            if !next.is_some_and(|next| rule.before.contains(next)) {
                found.push((at, rule));
            }
        }
    }
    found.sort_by_key(|(at, rule)| (*at, usize::MAX - rule.phrase.len()));
    found.dedup_by_key(|(at, _)| *at);
    let violation = |(at, rule): (usize, &Banned)| Violation {
        path: path.to_owned(),
        line: Some(passage.words[at].line),
        word: rule.phrase.join(" "),
        remedy: rule.remedy.clone(),
    };
    found.into_iter().map(violation).collect()
}

/// Reads `word, a phrase -unless-before-this = suggestion`, one rule in each line.
fn banned(text: &str) -> io::Result<Vec<Banned>> {
    let mut banned = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (phrases, remedy) = line
            .split_once(" = ")
            .ok_or_else(|| io::Error::other(format!("{WORDS}: {line} has no suggestion")))?;
        for phrase in phrases.split(", ") {
            let (before, phrase): (Vec<String>, _) =
                text::split(phrase).into_iter().partition(|word| word.starts_with('-'));
            let before = before.iter().map(|word| word[1..].to_owned()).collect();
            banned.push(Banned { phrase, before, remedy: remedy.to_owned() });
        }
    }
    Ok(banned)
}

/// The violations that the allow-list does not have, and its lines that no violation needs.
fn judged(root: &Path, violations: Vec<Violation>) -> io::Result<Vec<String>> {
    Ok(compared(violations, &fs::read_to_string(root.join(ALLOWED))?))
}

fn compared(violations: Vec<Violation>, allowed: &str) -> Vec<String> {
    let keys: Vec<(usize, Option<(&str, &str)>)> =
        entries(allowed).map(|(at, line)| (at, key(line))).collect();
    let mut wrong = Vec::new();
    for (at, key) in &keys {
        match key {
            None => wrong.push(format!("{ALLOWED}:{at}: expected path: word: reason")),
            Some((path, word)) if !violations.iter().any(|it| it.path == *path && it.word == *word) => {
                wrong.push(format!("{ALLOWED}:{at}: {path} no longer has {word}; remove the line, or run cargo xtask prose --prune"));
            }
            Some(_) => {}
        }
    }
    let is_allowed = |it: &Violation| keys.iter().any(|(_, key)| *key == Some((&it.path, &it.word)));
    wrong.extend(violations.iter().filter(|it| !is_allowed(it)).map(Violation::to_string));
    wrong
}

/// The lines of the allow-list that are not comments, with their numbers.
fn entries(allowed: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = allowed.lines().enumerate().map(|(at, line)| (at + 1, line));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

/// The path and the word of a line that has a reason too.
fn key(line: &str) -> Option<(&str, &str)> {
    let mut parts = line.splitn(3, ": ");
    let key = (parts.next()?, parts.next()?);
    parts.next().filter(|reason| !reason.trim().is_empty()).map(|_| key)
}

fn prune(root: &Path, violations: &[Violation]) -> io::Result<bool> {
    let allowed = fs::read_to_string(root.join(ALLOWED))?;
    let is_needed = |line: &str| {
        let key = key(line);
        violations.iter().any(|it| key == Some((&it.path, &it.word)))
    };
    let kept = allowed.lines().filter(|line| line.is_empty() || line.starts_with('#') || is_needed(line));
    let kept: String = kept.map(|line| format!("{line}\n")).collect();
    let gone = allowed.lines().count() - kept.lines().count();
    fs::write(root.join(ALLOWED), kept)?;
    println!("{ALLOWED}: {gone} lines removed");
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Surface {
        Surface { name: "docs".to_owned(), files: vec![("docs/a.md".to_owned(), sources::markdown(text))] }
    }

    fn words(text: &str) -> Vec<String> {
        let banned = banned(
            "told, tells, tells apart = report\nstands -for = is not refuted\nthe cores, cores = the CPU\n",
        )
        .unwrap();
        let passages = sources::markdown(text);
        let found = passages.iter().flat_map(|passage| found_in("docs/a.md", passage, &banned));
        found.map(|violation| violation.to_string()).collect()
    }

    #[test]
    fn a_banned_word_is_named_with_its_line_and_the_word_to_use() {
        assert_eq!(words("The claim stands for any run of `told` and is not cored.\n"), Vec::<String>::new());
        assert_eq!(
            words("# Told\n\nIt tells\napart; a claim stands.\n\n| the cores |\n|---|\n"),
            [
                "docs/a.md:1: told: report",
                "docs/a.md:3: tells apart: report",
                "docs/a.md:4: stands: is not refuted",
                "docs/a.md:6: the cores: the CPU",
                "docs/a.md:6: cores: the CPU",
            ]
        );
        assert!(banned("told\n").is_err());
    }

    #[test]
    fn a_text_of_maxims_fails_every_limit_and_a_plain_one_none() {
        let maxims =
            "What does not fit is refused; nobody is told. Whoever asks, whose row it is, gets nothing.\n";
        let found: Vec<String> = page(maxims).beyond_limits().into_iter().map(|it| it.word).collect();
        assert_eq!(found, LIMITS.map(|(name, _)| name.to_owned()));
        let plain = "You can cap the rows of each person, for example with `--rows-per-person 3`. The cap keeps noise small.\n";
        assert_eq!(page(plain).beyond_limits(), []);
    }

    #[test]
    fn an_allowed_word_passes_and_an_entry_that_nothing_needs_fails() {
        let violation = || Violation {
            path: "docs/a.md".to_owned(),
            line: Some(3),
            word: "but for".to_owned(),
            remedy: "except".to_owned(),
        };
        let compared = |allowed: &str| compared(vec![violation()], allowed);
        assert!(compared("# Old texts\n\ndocs/a.md: but for: to be rewritten\n").is_empty());
        assert_eq!(compared(""), ["docs/a.md:3: but for: except"]);
        assert_eq!(compared("docs/a.md: but for: \n").len(), 2);
        assert_eq!(compared("docs/a.md: but for: old\ndocs/b.md: but for: old\n").len(), 1);
        assert_eq!(compared("docs/a.md: but for: old\ndocs/a.md: anew: old\n").len(), 1);
    }

    #[test]
    fn pages_that_programs_write_are_known_by_their_first_lines() {
        assert!(is_generated("# Zoo\n\nWritten by `cargo xtask reproduce zoo`, seeded.\n"));
        assert!(!is_generated("# Tour\n\nRun `cargo xtask book`.\n"));
    }
}
