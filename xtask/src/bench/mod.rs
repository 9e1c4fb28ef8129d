//! Timings, always as ratios in one run with the peers beside us: each bench is one file and prints Markdown.
//!
//! They share a Python environment for the peers, a release build of ours, and flat JSON lines between programs. The programs and the
//! questions of the peers are in `xtask/bench`.

pub mod account;
pub mod corners;
pub mod gpu;
mod kinds;
pub mod noise;
pub mod query;
mod query_table;
pub mod statistics;
pub mod steps;
pub mod train;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Builds an example of ours in release.
pub fn build_example(root: &Path, package: &str, example: &str) -> io::Result<()> {
    let words = ["build", "--release", "--package", package, "--example", example];
    must(Command::new("cargo").current_dir(root).args(words), "our example does not build")
}

/// Builds the command line in release.
fn build_command_line(root: &Path, features: &[&str]) -> io::Result<()> {
    let words = ["build", "--release", "--package", "veracity-cli"];
    must(
        Command::new("cargo").current_dir(root).args(words).args(features),
        "the command line does not build",
    )
}

/// A program or a list of questions of the peers.
fn peer(root: &Path, name: &str) -> PathBuf {
    root.join("xtask/bench").join(name)
}

/// The rows of a list of questions, without its comments and its header.
fn questions(file: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(file)?;
    Ok(text.lines().filter(|line| !line.starts_with('#')).skip(1).map(str::to_owned).collect())
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

/// The number of a name in JSON; NaN where there is none.
fn number(line: &str, name: &str) -> f64 {
    field(line, name).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// The middle one of some numbers; NaN where there are none.
fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The median milliseconds of a command from start to exit, or why it failed.
fn start_to_exit(turns: usize, mut command: impl FnMut(usize) -> Command) -> io::Result<Result<f64, String>> {
    let mut times = Vec::new();
    for turn in 0..turns {
        let begun = Instant::now();
        let done = command(turn).output()?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        if !done.status.success() {
            let why = String::from_utf8_lossy(&done.stderr);
            return Ok(Err(why.lines().next().unwrap_or_default().to_owned()));
        }
    }
    Ok(Ok(median(times)))
}

/// Runs a command, and explains when it fails.
pub fn must(command: &mut Command, otherwise: &str) -> io::Result<()> {
    // Progress belongs on stderr: stdout is the table.
    let status = command.stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(otherwise.to_owned())) }
}

/// What a command prints, or why it did not: it failed, or took longer than there is patience for.
fn output_within(command: &mut Command, patience: Duration) -> io::Result<Result<String, String>> {
    let errors = std::env::temp_dir().join(format!("veracity-bench-{}.txt", std::process::id()));
    let mut child = command.stdout(Stdio::piped()).stderr(fs::File::create(&errors)?).spawn()?;
    let begun = Instant::now();
    while child.try_wait()?.is_none() {
        if begun.elapsed() > patience {
            child.kill()?;
            child.wait()?;
            return Ok(Err(format!("no answer in {} s", patience.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let done = child.wait_with_output()?;
    let complaint = fs::read_to_string(&errors)?;
    fs::remove_file(&errors)?;
    Ok(match done.status.success() {
        true => Ok(String::from_utf8_lossy(&done.stdout).into_owned()),
        false => Err(complaint.lines().last().unwrap_or("failed without a word").replace('|', "/")),
    })
}

fn output(command: &mut Command) -> io::Result<String> {
    let done = command.stderr(Stdio::inherit()).output()?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}
