//! Opacus audited from outside: its training script as it is, and with its noise halved.
//!
//! Each trial is one Python process of `examples/audit/opacus_train.py`, some seconds of processor time, so the design must
//! show much with few trials. Four full-batch steps at noise multiplier 1.6 are Gaussian with μ = √4/1.6 = 1.25, which is
//! (1, 0.2211)-differentially private and no better at ε = 1; half the noise has μ = 2.5. At ε = 1 the best threshold
//! against that is 1.65 standard deviations of the halved noise, 0.8·√4/64 of the weight, fixed here before any trial. 100
//! trials a world then refute the claim with chance 98 % (simulated), where a claim at δ = 1e-5 would take millions: few
//! trials say nothing of rare events.

use crate::bench::{environment, release_folder};
use std::{
    io,
    path::Path,
    process::{Command, Stdio},
};

const PACKAGES: [&str; 2] = ["torch", "opacus==1.6.0"];
/// What the declared noise promises; `veracity account gaussian --noise-multiplier 1.6 --times 4 --epsilon 1` gives
/// delta ≤ 0.221, and this is above.
const CLAIM: [&str; 4] = ["--claim-epsilon", "1", "--claim-delta", "0.2211"];
const DESIGN: [&str; 6] = ["--trials", "200", "--significance", "0.05", "--threshold", "fixed:0.0413"];

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
        let script = format!(
            "{} examples/audit/opacus_train.py --data {{data}} --seed {{seed}} --out {{out}}{bug}",
            python.display()
        );
        let out = Path::new("out").join(format!("opacus-{name}"));
        let status = Command::new(&veracity)
            .current_dir(root)
            // A process for each core; torch would start as many threads in each.
            .env("OMP_NUM_THREADS", "1")
            .args(["audit", "--command", &script, "--resume", "--progress"])
            .args(["--data", "examples/audit/people.csv", "--canary", "examples/audit/canary.csv"])
            .args(CLAIM)
            .args(DESIGN)
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
