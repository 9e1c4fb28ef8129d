//! `cargo xtask test --engines`: the same whole numbers from DuckDB, PostgreSQL and Spark as from the slow twin, on real servers.
//!
//! What Python needs is installed into an environment of its own. The server of PostgreSQL and Java must be there already; where one
//! is not, a line says how to get it. One line for each engine has its cases and how many differ.

use crate::{bench::must, python};
use std::{fs::File, io, path::Path, process::Command};

/// How many random queries.
const CASES: &str = "2000";

/// Runs all engines; whether none of them differs.
pub fn run(root: &Path) -> io::Result<bool> {
    let environment = python::environment(root, "python-engines", &["engines"])?;
    let script = |name: &str| {
        let mut python = Command::new(&environment);
        python.current_dir(root).arg(root.join("python/engines").join(name));
        python
    };
    if !script("servers.py").status()?.success() {
        return Ok(false);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let cases = target.join("engine-cases.jsonl");
    let example =
        ["run", "--quiet", "-p", "veracity-sql", "--features", "postgres", "--example", "engine_cases", "--"];
    must(
        Command::new("cargo").current_dir(root).args(example).arg(CASES).stdout(File::create(&cases)?),
        "the cases cannot be written",
    )?;
    let compared = script("compare.py").arg(&cases).status()?.success();
    // The programs of the environment, DuckDB among them, and a server for the client.
    let ours = script("serve.py")
        .args(["cargo", "test", "-p", "veracity-sql", "--features", "postgres", "--test", "engines"])
        .args(["--", "--ignored", "--nocapture"])
        .status()?
        .success();
    Ok(compared && ours)
}
