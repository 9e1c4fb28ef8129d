//! The binary as its users meet it: arguments in, text and exit code out.

#![allow(dead_code)] // Each test file uses the part that it needs.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Runs the binary where what it writes unasked is in nobody's way.
pub fn veracity(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_veracity"))
        .args(args)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .output()
        .unwrap()
}

/// Runs the binary with something on its standard input.
pub fn fed(args: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_veracity"))
        .args(args)
        .current_dir(env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Who refuses its arguments does not read on.
    let _ = child.stdin.take().unwrap().write_all(input);
    child.wait_with_output().unwrap()
}

/// Arguments from a line.
pub fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Runs the binary in a folder. What is in single quotes is one word.
pub fn run(folder: &Path, line: &str) -> Output {
    let words = line.split('\'').enumerate().flat_map(|(at, part)| match at % 2 {
        0 => words(part),
        _ => vec![part],
    });
    Command::new(env!("CARGO_BIN_EXE_veracity")).args(words).current_dir(folder).output().unwrap()
}

/// The stdout of a command that did its job.
pub fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The stdout of a line that is run in a folder and does its job.
pub fn did(folder: &Path, line: &str) -> String {
    done(&run(folder, line))
}

/// The line on stderr of one that is run in a folder and refused: exit 2, nothing on stdout.
pub fn refused(folder: &Path, line: &str) -> String {
    let output = run(folder, line);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{line}: {told}");
    assert_eq!(told.matches('\n').count(), 1, "{line}: {told}");
    told.trim_end().trim_start_matches("veracity: ").to_owned()
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A text has all of these parts.
pub fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in: {text}");
    }
}

/// Names in a folder, sorted; none where there is no folder.
pub fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Exit 0, the answer on stdout, nothing on stderr.
pub fn answer(line: &str) -> String {
    let output = veracity(&words(line));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{line}: {stderr}");
    assert!(stderr.is_empty(), "{line}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

/// Exit 2, one line on stderr, nothing on stdout.
pub fn refusal(args: &[&str]) -> String {
    let output = veracity(args);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {stderr}");
    assert!(output.stdout.is_empty(), "{args:?}");
    assert_eq!(stderr.matches('\n').count(), 1, "{args:?}: {stderr}");
    assert!(stderr.starts_with("veracity: ") && !stderr.contains("panicked"), "{args:?}: {stderr}");
    stderr.trim_end().trim_start_matches("veracity: ").to_owned()
}

/// A fresh directory for one test.
pub fn room(name: &str) -> PathBuf {
    let room = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&room);
    fs::create_dir_all(&room).unwrap();
    room
}

/// Reads one JSON object.
pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// The commands that a help text lists, except `help`.
pub fn commands(help: &str) -> Vec<&str> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Usage: ")).skip(1);
    let lines = lines.take_while(|line| !["Arguments:", "Options:"].contains(line));
    let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names.filter(|name| !name.is_empty() && *name != "help").collect()
}
