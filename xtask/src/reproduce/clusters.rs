//! `cargo xtask reproduce clusters`: audits on real Ray and real Slurm, on this machine, with workers killed by signal 9.
//!
//! Ray is installed into an environment of its own. Slurm must be there already (slurm-wlm and munge), and this must be run by root.

use crate::{bench::must, python};
use std::{io, path::Path, process::Command};

/// Rounds on each cluster.
const ROUNDS: &str = "10";

/// Runs both; whether every round had the bits of one process.
pub fn run(root: &Path) -> io::Result<bool> {
    let build = ["build", "--release", "--quiet", "-p", "veracity-cli"];
    must(Command::new("cargo").current_dir(root).args(build), "the command line does not build")?;
    let environment = python::environment(root, "python-clusters", &["build", "clusters"])?;
    python::install(root, &environment, "release")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let cluster = |name: &str| -> io::Result<bool> {
        let status = Command::new(&environment)
            .current_dir(root)
            .args(["python/tests/cluster/clusters.py", name, "--rounds", ROUNDS, "--folder"])
            .arg(target.join("clusters").join(name))
            .arg("--veracity")
            .arg(target.join("release/veracity"))
            .status()?;
        Ok(status.success())
    };
    let ray = cluster("ray")?;
    Ok(cluster("slurm")? && ray)
}
