//! `cargo xtask test --engines`: DuckDB, PostgreSQL and Spark on real servers give the same integers as the slow reference
//! implementation, and the same answers from `veracity.query`.
//!
//! Python packages go into an environment of their own. PostgreSQL and Java come from the system's packages, by apt-get where they are
//! missing and that is allowed. An engine that cannot be installed is a failure. One line for each part; the last line adds up.

use crate::{
    files, python,
    test::{Tally, counted},
};
use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
    process::Command,
};

/// How many random queries.
const CASES: &str = "2000";
/// How long the tests in Rust may take, in seconds, with what is built for them.
const SECONDS: &str = "1500";
/// Runs all engines; whether all agree.
pub fn run(root: &Path) -> io::Result<bool> {
    let mut total = Tally::default();
    match prepared(root) {
        Ok((environment, cases)) => {
            for command in parts(root, &environment, &cases) {
                total += counted(command)?;
            }
        }
        Err(error) => total += Tally::unprepared(&error),
    }
    Ok(total.conclude(""))
}

/// The environment of Python with the wheel in it, and the file of the cases.
fn prepared(root: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let environment = python::environment(root, "python-engines", &["build", "engines"])?;
    if !script(root, &environment, "servers.py").status()?.success() {
        return Err(io::Error::other("PostgreSQL and Java are needed, and are not there"));
    }
    python::install(root, &environment, "dev")?;
    let cases = files::target(root).join("engine-cases.jsonl");
    // The workspace is named, so that its tests and these share what is compiled.
    let what = ["build", "--quiet", "--workspace", "--features", "veracity-statistics/postgres"];
    let example = ["--example", "engine_cases"];
    let build = Command::new("cargo").current_dir(root).args(what).args(example).status()?;
    let mut write = Command::new(files::target(root).join("debug/examples/engine_cases"));
    if !build.success() || !write.arg(CASES).stdout(File::create(&cases)?).status()?.success() {
        return Err(io::Error::other("the cases cannot be written"));
    }
    Ok((environment, cases))
}

/// The comparison in Python, then our own tests, with a running server and the program of DuckDB.
fn parts(root: &Path, environment: &Path, cases: &Path) -> [Command; 2] {
    let mut compare = script(root, environment, "compare.py");
    compare.arg(cases);
    let mut ours = script(root, environment, "serve.py");
    ours.args([SECONDS, "cargo", "test", "--quiet", "-p", "veracity-statistics", "--features", "postgres"]);
    ours.args(["--test", "tests", "--", "sql_engines", "--ignored", "--nocapture"]);
    [compare, ours]
}

fn script(root: &Path, environment: &Path, name: &str) -> Command {
    let mut python = Command::new(environment);
    python.current_dir(root).arg(root.join("python/engines").join(name));
    python
}
