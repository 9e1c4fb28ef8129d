//! A page is run: its files are written and its commands called, in order, in an empty folder of its own.
//!
//! The folder has a copy of `examples`, and `veracity` on the path is the binary that was just built.

use super::blocks::{self, Block, Complaint, Kind, Step};
use super::comparing::{blessed, difference};
use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Which blocks are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    All,
    /// Those that are tagged slow are left out.
    Quick,
}

/// What became of a page.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Commands that were run.
    pub run: usize,
    /// Blocks that were left out.
    pub left_out: usize,
    pub wrong: Vec<Complaint>,
    /// The page with its outputs as they were found, where any differs.
    pub blessed: Option<String>,
}

/// Builds the program as the tests do and says where it is.
///
/// A test is named along with it: cargo then chooses the features of dependencies as it does for all tests, and after those
/// nothing is left to build.
pub fn built(root: &Path) -> io::Result<PathBuf> {
    let done = Command::new("cargo")
        .args([
            "build",
            "--workspace",
            "--bin",
            "veracity",
            "--test",
            "gates",
            "--profile",
            "test",
            "--quiet",
        ])
        .arg("--message-format=json-render-diagnostics")
        .current_dir(root)
        .stderr(Stdio::inherit())
        .output()?;
    let said = String::from_utf8_lossy(&done.stdout);
    match executable(&said) {
        Some(path) if done.status.success() => Ok(path),
        _ => Err(io::Error::other("veracity does not build")),
    }
}

/// Where cargo says that it has put the program.
fn executable(said: &str) -> Option<PathBuf> {
    let is_ours = |line: &&str| line.contains("\"kind\":[\"bin\"]") && line.contains("\"name\":\"veracity\"");
    let path = said.lines().find(is_ours)?.split_once("\"executable\":\"")?.1.split_once('"')?.0;
    Some(PathBuf::from(path.replace("\\\\", "\\")))
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
    copy(examples, &folder.join("examples"))?;
    let mut page: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut moved = 0_isize;
    for block in &blocks {
        match &block.kind {
            Kind::Shown(_) => {}
            Kind::File(name) => fs::write(folder.join(name), block.lines.join("\n") + "\n")?,
            Kind::Console { slow: true, .. } if extent == Extent::Quick => outcome.left_out += 1,
            Kind::Console { numbers_vary, .. } => {
                for step in blocks::steps(block) {
                    outcome.run += 1;
                    let found = match called(&step.command, folder, path)? {
                        Ok(found) => found,
                        Err(what) => {
                            outcome.wrong.push((step.line, what));
                            continue;
                        }
                    };
                    if let Some(found_else) = difference(&step.expected, &found, *numbers_vary) {
                        let shown = |line: Option<String>| line.unwrap_or_else(|| "(the end)".to_owned());
                        outcome.wrong.push((
                            step.output_line + found_else.at,
                            format!(
                                "$ {}\n  expected: {}\n  found:    {}",
                                step.command,
                                shown(found_else.expected),
                                shown(found_else.found)
                            ),
                        ));
                        moved += rewrite(&mut page, block, &step, &found, moved)?;
                        outcome.blessed = Some(page.join("\n") + "\n");
                    }
                }
            }
        }
    }
    Ok(outcome)
}

/// What a command prints, both streams as they come, without blank lines at the end; or that it failed.
fn called(command: &str, folder: &Path, path: &OsString) -> io::Result<Result<Vec<String>, String>> {
    let (mut reader, writer) = io::pipe()?;
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(folder).env("PATH", path).stdin(Stdio::null());
    // Nothing here may depend on a terminal or on settings of whoever runs it.
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

/// Puts what was found in the place of an output; by how many lines the rest of the page moves.
fn rewrite(
    page: &mut Vec<String>,
    block: &Block,
    step: &Step,
    found: &[String],
    moved: isize,
) -> io::Result<isize> {
    let mut lines = blessed(&step.expected, found);
    if lines.iter().any(|line| line.trim_start().starts_with("```") || line.starts_with("$ ")) {
        return Err(io::Error::other(format!(
            "what {} prints would be read as part of the page",
            step.command
        )));
    }
    let ends_block = step.output_line + step.room == block.line + block.lines.len() + 1;
    if !ends_block {
        lines.push(String::new());
    }
    let indented = |line: &String| {
        if line.is_empty() { String::new() } else { " ".repeat(block.indent) + line }
    };
    let from = (step.output_line - 1).saturating_add_signed(moved);
    let new: Vec<String> = lines.iter().map(indented).collect();
    let change = new.len() as isize - step.room as isize;
    page.splice(from..from + step.room, new);
    Ok(change)
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a page that needs only a shell.
    fn run(name: &str, text: &str, extent: Extent) -> Outcome {
        let room = std::env::temp_dir().join(format!("veracity-book-{}-{name}", std::process::id()));
        let examples = room.join("given");
        fs::create_dir_all(&examples).unwrap();
        fs::write(examples.join("people.csv"), "age\n38\n").unwrap();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let outcome = page(text, &room.join("page"), &examples, &path, extent).unwrap();
        fs::remove_dir_all(&room).unwrap();
        outcome
    }

    #[test]
    fn a_page_that_tells_the_truth_stands() {
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
        assert!(run("anew", &new, Extent::All).wrong.is_empty());
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

    #[test]
    fn the_program_is_where_cargo_says() {
        let made = |kind: &str, path: &str| {
            format!(
                "{{\"target\":{{\"kind\":[\"{kind}\"],\"name\":\"veracity\"}},\"executable\":{path},\"fresh\":true}}\n"
            )
        };
        let said =
            made("lib", "null") + &made("test", "\"/t/other\"") + &made("bin", "\"C:\\\\t\\\\veracity.exe\"");
        assert_eq!(executable(&said), Some(PathBuf::from("C:\\t\\veracity.exe")));
        assert_eq!(executable(&made("bin", "null")), None);
    }
}
