//! Opacus audited from outside: its training script as it is, and with its noise halved.
//!
//! Each trial is one training of `examples/audit/opacus_train.py`, a worker that reads one line for each trial, so that torch is imported
//! once. Four full-batch steps at noise multiplier 1.6 are claimed; the test ends as soon as it refutes that curve.

use crate::{bench::environment, files};
use std::{io, path::Path, process::Command};

const PACKAGES: [&str; 2] = ["torch", "opacus==1.6.0"];
/// The claim of the declared noise.
const CLAIM: [&str; 4] = ["--claim-noise-multiplier", "1.6", "--claim-steps", "4"];
/// The bug must be refuted within these.
const TRIALS: &str = "250";

/// Audits both scripts; whether only the one with halved noise is refuted.
pub fn run(root: &Path) -> io::Result<bool> {
    let python = environment(root, &PACKAGES)?;
    let veracity = files::program(root)?;
    let mut all = true;
    for (name, bug, expected) in [("honest", "", 0), ("halved", " --halve-noise", 1)] {
        println!("── Opacus, {name}");
        let script = format!("{} examples/audit/opacus_train.py{bug}", python.display());
        let out = Path::new("out").join(format!("opacus-{name}"));
        let status = Command::new(&veracity)
            .current_dir(root)
            // A process for each core; torch would start as many threads in each.
            .env("OMP_NUM_THREADS", "1")
            .args(["audit", "--worker", "--command", &script, "--resume", "--progress"])
            .args(["--data", "examples/audit/people.csv", "--canary", "examples/audit/canary.csv"])
            .args(CLAIM)
            .args(["--trials", TRIALS])
            .arg("--out")
            .arg(&out)
            .status()?;
        let verified = Command::new(&veracity)
            .current_dir(root)
            .arg("verify")
            .arg(out.join("certificate.json"))
            .status()?;
        println!();
        all &= status.code() == Some(expected) && verified.success();
    }
    println!(
        "{}",
        if all {
            "as expected: half the noise is refuted, the script as it is is not"
        } else {
            "not as expected"
        }
    );
    Ok(all)
}
