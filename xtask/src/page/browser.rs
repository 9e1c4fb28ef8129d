//! `cargo xtask test --page`: the page in a real browser, served by the program.
//!
//! Chromium comes from the system's packages, by apt-get where it is missing and that is allowed. The driver and the accessibility
//! checker come from the package index of Node.js, by exact versions, into the target folder. A missing program is a failure.

use crate::files;
use crate::test::{Tally, counted};
use std::{
    fs,
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Names of Chromium on different systems.
const BROWSERS: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// Builds the page, serves it and opens it; whether all parts hold.
pub fn run(root: &Path) -> io::Result<bool> {
    let tally = match prepared(root) {
        Ok((mut server, tests)) => {
            let counts = counted(tests);
            // It serves until it is ended.
            let _ = server.kill();
            let _ = server.wait();
            counts?
        }
        Err(error) => Tally::unprepared(&error),
    };
    Ok(tally.conclude(""))
}

/// The running server, and the command that runs the tests against it.
fn prepared(root: &Path) -> io::Result<(Child, Command)> {
    let browser = browser()?;
    let target = files::target(root);
    let folder = target.join("page-tests");
    install(root, &folder)?;
    super::run(root)?;
    let program = files::program(root)?;
    let mut server =
        Command::new(&program).args(["serve", "--port", "0", "--quiet"]).stdout(Stdio::piped()).spawn()?;
    let mut address = String::new();
    if let Some(stdout) = server.stdout.take() {
        BufReader::new(stdout).read_line(&mut address)?;
    }
    let mut tests = Command::new("node");
    tests
        .current_dir(&folder)
        .arg("browser.mjs")
        .env("PAGE_URL", address.trim())
        .env("PAGE_FOLDER", target.join("page"))
        .env("VERACITY", &program)
        .env("CHROMIUM", browser)
        .env("OUT", folder.join("out"));
    Ok((server, tests))
}

/// The browser's program, installed where it is missing and that is allowed.
fn browser() -> io::Result<PathBuf> {
    if let Some(there) = found() {
        return Ok(there);
    }
    let apt = |words: &[&str]| Command::new("apt-get").args(words).stdout(Stdio::null()).status();
    let installed = apt(&["update"]).and_then(|_| apt(&["install", "-y", "chromium"]));
    match (installed, found()) {
        (Ok(status), Some(there)) if status.success() => Ok(there),
        _ => Err(io::Error::other(
            "Chromium is needed and cannot be installed, expected: apt-get install chromium",
        )),
    }
}

fn found() -> Option<PathBuf> {
    let places = std::env::var_os("PATH")?;
    let mut all = std::env::split_paths(&places).flat_map(|place| BROWSERS.map(|name| place.join(name)));
    all.find(|path| path.is_file())
}

/// The tests and what they need, in a folder of their own.
fn install(root: &Path, folder: &Path) -> io::Result<()> {
    let source = root.join("xtask/page");
    let wanted = fs::read_to_string(source.join("package.json"))?;
    let is_there = fs::read_to_string(folder.join("package.json")).is_ok_and(|found| found == wanted)
        && folder.join("node_modules/puppeteer-core").is_dir();
    files::copy(&source, folder)?;
    if is_there {
        return Ok(());
    }
    let done = Command::new("npm")
        .current_dir(folder)
        .args(["install", "--ignore-scripts", "--no-audit", "--no-fund"])
        .args(["--no-package-lock", "--loglevel=error"])
        .status();
    match done {
        Ok(status) if status.success() => Ok(()),
        // Otherwise the next run would skip the installation.
        _ => fs::remove_file(folder.join("package.json")).and(Err(io::Error::other(
            "Node.js with npm is needed, and the driver of the browser cannot be installed",
        ))),
    }
}
