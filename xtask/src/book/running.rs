//! Runs a page: writes its files and calls its commands, in order, in an empty folder of its own.
//!
//! The folder has a copy of `examples`, and `veracity` on the path is the binary that was just built.

use super::blocks::{self, Block, Complaint, Kind, Step};
use super::comparing::{blessed, difference};
use crate::files;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which blocks to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    All,
    /// All that are not tagged slow.
    Quick,
}

/// The result of running a page.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Commands that were run.
    pub run: usize,
    /// Blocks that were left out.
    pub left_out: usize,
    pub wrong: Vec<Complaint>,
    /// The page with the outputs of this run, if any differs.
    pub blessed: Option<String>,
}

/// Builds the program as the tests do and returns its path.
///
/// The command names a test too, so that cargo chooses the features of dependencies as it does for all tests, and builds nothing
/// twice.
pub fn built(root: &Path) -> io::Result<PathBuf> {
    let what = ["--workspace", "--bin", "veracity", "--test", "tests", "--profile", "test", "--quiet"];
    let program = files::target(root).join("debug/veracity").with_extension(std::env::consts::EXE_EXTENSION);
    let status = Command::new("cargo").arg("build").args(what).current_dir(root).status()?;
    match status.success() && program.is_file() {
        true => Ok(program),
        false => Err(io::Error::other(format!("veracity does not build as {}", program.display()))),
    }
}

/// Runs the blocks of a page in `folder`, which is emptied first.
pub fn page(
    text: &str,
    folder: &Path,
    examples: &Path,
    path: &OsString,
    extent: Extent,
) -> io::Result<Outcome> {
    let (blocks, wrong) = blocks::parse(text);
    let mut outcome = Outcome { wrong, ..Outcome::default() };
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    files::copy(examples, &folder.join("examples"))?;
    let mut edits: Vec<Edit> = Vec::new();
    for block in &blocks {
        let Kind::Console { numbers_vary, slow } = block.kind else {
            if let Kind::File(name) = &block.kind {
                fs::write(folder.join(name), block.lines.join("\n") + "\n")?;
            }
            continue;
        };
        if slow && extent == Extent::Quick {
            outcome.left_out += 1;
            continue;
        }
        for step in blocks::steps(block) {
            outcome.run += 1;
            let found = match called(&step.command, folder, path)? {
                Ok(found) => found,
                Err(what) => {
                    outcome.wrong.push((step.line, what));
                    continue;
                }
            };
            if let Some(difference) = difference(&step.expected, &found, numbers_vary) {
                let line = step.output_line + difference.at;
                outcome.wrong.push((line, format!("$ {}\n  {difference}", step.command)));
                edits.push(edit(block, &step, &found)?);
            }
        }
    }
    if !edits.is_empty() {
        let mut page: Vec<String> = text.lines().map(str::to_owned).collect();
        // From the last, so that lines before it stay where they are.
        for (lines, new) in edits.into_iter().rev() {
            page.splice(lines, new);
        }
        outcome.blessed = Some(page.join("\n") + "\n");
    }
    Ok(outcome)
}

/// The output of a command, both streams in their order, without blank lines at the end; or its failure.
fn called(command: &str, folder: &Path, path: &OsString) -> io::Result<Result<Vec<String>, String>> {
    let (mut reader, writer) = io::pipe()?;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).env("PATH", path).stdin(Stdio::null());
    // Nothing here may depend on a terminal or on the user's settings.
    shell.env("NO_COLOR", "1").env_remove("COLUMNS").env_remove("RUST_BACKTRACE").env_remove("RUST_LOG");
    let mut child = shell.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The command holds the writing end; the output ends when every holder is gone.
    drop(shell);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    let status = child.wait()?;
    let said = String::from_utf8_lossy(&bytes);
    if !status.success() {
        let code = status.code().map_or("a signal".to_owned(), |code| format!("exit code {code}"));
        return Ok(Err(format!("$ {command}\n  ends with {code}, and says: {}", said.trim())));
    }
    Ok(Ok(said.trim_end().lines().map(|line| line.trim_end().to_owned()).collect()))
}

/// Lines of a page, from 0, and those that replace them.
type Edit = (Range<usize>, Vec<String>);

/// Replaces an output on its page by what was found.
fn edit(block: &Block, step: &Step, found: &[String]) -> io::Result<Edit> {
    let mut lines = blessed(&step.expected, found);
    if lines.iter().any(|line| line.trim_start().starts_with("```") || line.starts_with("$ ")) {
        let what = format!("what {} prints would be read as part of the page", step.command);
        return Err(io::Error::other(what));
    }
    let start = step.output_line - 1;
    let end = start + step.lines_on_page;
    if end != block.line + block.lines.len() {
        lines.push(String::new());
    }
    let indent = " ".repeat(block.indent);
    let indented =
        lines.iter().map(|line| if line.is_empty() { String::new() } else { format!("{indent}{line}") });
    Ok((start..end, indented.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a page that needs only a shell.
    fn run(name: &str, text: &str, extent: Extent) -> Outcome {
        let folder = std::env::temp_dir().join(format!("veracity-book-{}-{name}", std::process::id()));
        let examples = folder.join("given");
        fs::create_dir_all(&examples).unwrap();
        fs::write(examples.join("people.csv"), "age\n38\n").unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let outcome = page(text, &folder.join("page"), &examples, &path, extent).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        outcome
    }

    #[test]
    fn a_page_that_shows_what_is_printed_is_right() {
        let text = "```toml file=plan.toml\nunit = 1\n```\n\n```console\n$ cat plan.toml examples/people.csv\nunit = 1\n\
                    age\n38\n\n$ echo a >&2; echo b\na\nb\n\n$ ls\nexamples\nplan.toml\n```\n";
        let outcome = run("stands", text, Extent::Quick);
        assert_eq!((outcome.run, outcome.wrong, outcome.blessed), (3, vec![], None));
    }

    #[test]
    fn a_stale_output_is_named_with_its_line_and_can_be_blessed() {
        let text = "# A\n\n- b\n\n  ```console\n  $ echo 1; echo 3\n  1\n  2\n\n  $ echo x\n  $ echo y; echo z\n  y\n  ```\nend\n";
        let outcome = run("stale", text, Extent::All);
        let lines: Vec<usize> = outcome.wrong.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [8, 11, 13]);
        assert!(outcome.wrong[0].1.ends_with("expected: 2\n  found:    3"), "{}", outcome.wrong[0].1);
        let new = outcome.blessed.unwrap();
        let expected = "# A\n\n- b\n\n  ```console\n  $ echo 1; echo 3\n  1\n  3\n\n  $ echo x\n  x\n\n  $ echo y; echo z\n  y\n  z\n  ```\nend\n";
        assert_eq!(new, expected);
        assert!(run("again", &new, Extent::All).wrong.is_empty());
    }

    #[test]
    fn a_command_that_fails_is_never_blessed() {
        let outcome = run("fails", "```console\n$ echo no; exit 3\nno\n```\n", Extent::All);
        assert_eq!((outcome.wrong.len(), outcome.wrong[0].0, outcome.blessed), (1, 2, None));
        assert!(outcome.wrong[0].1.contains("exit code 3"));
        assert!(run("shown", "```console\n$ (exit 3); echo $?\n3\n```\n", Extent::All).wrong.is_empty());
    }

    #[test]
    fn slow_blocks_are_left_out_only_where_that_is_asked() {
        let text = "```console slow\n$ echo 1\n2\n```\n";
        let quick = run("quick", text, Extent::Quick);
        assert_eq!((quick.run, quick.left_out, quick.wrong.len()), (0, 1, 0));
        assert_eq!(run("all", text, Extent::All).wrong.len(), 1);
    }
}
