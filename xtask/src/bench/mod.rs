//! Timings, always as ratios in one run with the peers beside us: each bench is one file and prints Markdown.
//!
//! What they share: a Python environment for the peers, a release build for us, and flat JSON lines between programs.

pub mod account;
pub mod corners;
pub mod gpu;
mod kinds;
pub mod noise;
pub mod query;
mod query_table;
pub mod steps;
pub mod train;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Builds an example of ours in release.
pub fn build_example(root: &Path, package: &str, example: &str) -> io::Result<()> {
    let words = ["build", "--release", "--package", package, "--example", example];
    must(Command::new("cargo").current_dir(root).args(words), "our example does not build")
}

/// The folder of release artefacts.
pub fn release_folder(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    target.join("release")
}

/// The peers' Python environment, made once.
pub(crate) fn environment(root: &Path, packages: &[&str]) -> io::Result<PathBuf> {
    environment_in(&root.join(".venv"), packages)
}

/// A Python environment in a folder, made once.
pub(crate) fn environment_in(folder: &Path, packages: &[&str]) -> io::Result<PathBuf> {
    let python = folder.join("bin/python");
    if !python.exists() {
        must(
            Command::new("python3").args(["-m", "venv"]).arg(folder),
            "python3 cannot make an environment; install python3-venv",
        )?;
    }
    must(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(packages),
        "the peers cannot be installed; is there a Python package index to reach?",
    )?;
    Ok(python)
}

/// The value of a name in JSON: where it comes first.
pub fn field(line: &str, name: &str) -> Option<String> {
    let rest = line.split_once(&format!("\"{name}\": "))?.1;
    let end = if let Some(text) = rest.strip_prefix('"') {
        return text.split_once('"').map(|(text, _)| text.to_owned());
    } else {
        rest.find([',', '}'])?
    };
    Some(rest[..end].to_owned())
}

/// Runs a command, and explains when it fails.
pub fn must(command: &mut Command, otherwise: &str) -> io::Result<()> {
    // Progress belongs on stderr: stdout is the table.
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(otherwise.to_owned())) }
}

fn output(command: &mut Command) -> io::Result<String> {
    let done = command.stderr(Stdio::inherit()).output()?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
