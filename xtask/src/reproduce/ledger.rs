//! The ledger's tests at their full length: a thousand kills, 64 processes × 200 requests, faults of all kinds at every call, 10^5 entries.

use std::{io, path::Path, process::Command};

/// Tests that have a long version.
const TESTS: [&str; 4] = ["faults", "kills", "adaptive", "retries"];

/// Runs them one after the other, and passes their output through.
pub fn run(root: &Path) -> io::Result<bool> {
    let mut cargo = Command::new("cargo");
    cargo.args(["test", "-p", "veracity-ledger", "--no-fail-fast", "--test", "tests", "--"]).args(TESTS);
    cargo.args(["--nocapture", "--test-threads=1"]).current_dir(root).env("VERACITY_LEDGER_LONG", "1");
    Ok(cargo.status()?.success())
}
