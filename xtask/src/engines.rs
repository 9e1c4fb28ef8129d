//! `cargo xtask test --engines`: the same whole numbers from DuckDB, PostgreSQL and Spark as from the slow twin, on real servers, and
//! the same answers from `veracity.query` over them.
//!
//! What Python needs is installed into an environment of its own; PostgreSQL and Java come from the system's packages, by apt-get where
//! they are missing and it may. Nothing is left out: what cannot be had fails. One line for each part; the last line adds up.

use crate::{
    python,
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
/// What is built for the engines: the workspace is named, so that its tests and these share what is compiled.
const BUILT: [&str; 4] = ["--quiet", "--workspace", "--features", "veracity-sql/postgres"];

/// Runs all engines; whether none of them differs.
pub fn run(root: &Path) -> io::Result<bool> {
    let mut total = Tally::default();
    match prepared(root) {
        Ok((environment, cases)) => {
            for command in parts(root, &environment, &cases) {
                let (went_well, tally) = counted(command)?;
                total.passed += tally.passed;
                // One that ends without its counts has failed, too.
                total.failed += tally.failed.max(usize::from(!went_well));
            }
        }
        Err(error) => {
            println!("{error}");
            total.failed += 1;
        }
    }
    let Tally { passed, failed } = total;
    let went_well = failed == 0 && passed > 0;
    println!("test result: {}. {passed} passed, {failed} failed", if went_well { "ok" } else { "FAILED" });
    Ok(went_well)
}

/// The environment of Python with the wheel in it, and the file of the cases.
fn prepared(root: &Path) -> io::Result<(PathBuf, PathBuf)> {
    let environment = python::environment(root, "python-engines", &["build", "engines"])?;
    if !script(root, &environment, "servers.py").status()?.success() {
        return Err(io::Error::other("PostgreSQL and Java are needed, and are not there"));
    }
    python::install(root, &environment, "dev")?;
    let cases = python::target(root).join("engine-cases.jsonl");
    let built = Command::new("cargo")
        .current_dir(root)
        .arg("build")
        .args(BUILT)
        .args(["--example", "engine_cases"])
        .status()?;
    let program = python::target(root).join("debug/examples/engine_cases");
    if !built.success() || !Command::new(program).arg(CASES).stdout(File::create(&cases)?).status()?.success()
    {
        return Err(io::Error::other("the cases cannot be written"));
    }
    Ok((environment, cases))
}

/// The engines by Python, then those of this program, beside a server and the program of DuckDB.
fn parts(root: &Path, environment: &Path, cases: &Path) -> [Command; 2] {
    let mut compare = script(root, environment, "compare.py");
    compare.arg(cases);
    let mut ours = script(root, environment, "serve.py");
    ours.args([SECONDS, "cargo", "test"]).args(BUILT).args([
        "--test",
        "engines",
        "--",
        "--ignored",
        "--nocapture",
    ]);
    [compare, ours]
}

fn script(root: &Path, environment: &Path, name: &str) -> Command {
    let mut python = Command::new(environment);
    python.current_dir(root).arg(root.join("python/engines").join(name));
    python
}
