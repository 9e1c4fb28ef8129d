//! Opacus audited from outside: its training script as it is, and with its noise halved.
//!
//! Each trial is one training of `examples/audit/opacus_train.py`, which stays and is told of each by a line, so that the import of
//! torch is paid once. Four full-batch steps at noise multiplier 1.6 are claimed; bets against that curve end as soon as it falls.

use crate::bench::{environment, release_folder};
use std::{
    io,
    path::Path,
    process::{Command, Stdio},
};

const PACKAGES: [&str; 2] = ["torch", "opacus==1.6.0"];
/// What the declared noise promises.
const CLAIM: [&str; 4] = ["--claim-noise-multiplier", "1.6", "--claim-steps", "4"];
/// The bug must fall within these.
const TRIALS: &str = "250";

/// Audits both scripts; whether the honest one stands and the other does not.
pub fn run(root: &Path) -> io::Result<bool> {
    let python = environment(root, &PACKAGES)?;
    let built = Command::new("cargo")
        .current_dir(root)
        .args(["build", "--release", "--package", "veracity-cli"])
        .stdout(Stdio::null())
        .status()?;
    if !built.success() {
        return Err(io::Error::other("veracity does not build"));
    }
    let veracity = release_folder(root).join("veracity");
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
            "as expected: the honest script stands, half the noise is refuted"
        } else {
            "not as expected"
        }
    );
    Ok(all)
}
