//! The binary as its users meet it: arguments in, text and exit code out.

#![allow(dead_code)] // Each test file uses the part that it needs.

use std::{
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
    let _ = std::fs::remove_dir_all(&room);
    std::fs::create_dir_all(&room).unwrap();
    room
}

/// Reads one JSON object.
pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}
