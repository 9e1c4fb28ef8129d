//! `cargo xtask reproduce clusters`: audits on real Ray and real Slurm, on this machine, with workers killed by signal 9.
//!
//! Ray is installed into an environment of its own. Slurm must be installed (slurm-wlm and munge), and root must run this.

use crate::{files, python};
use std::{io, path::Path, process::Command};

/// Rounds on each cluster.
const ROUNDS: &str = "10";

/// Runs both; whether every round gave the same bits as one process.
pub fn run(root: &Path) -> io::Result<bool> {
    let program = files::program(root)?;
    let environment = python::environment(root, "python-clusters", &["build", "clusters"])?;
    python::install(root, &environment, "release")?;
    let cluster = |name: &str| -> io::Result<bool> {
        let status = Command::new(&environment)
            .current_dir(root)
            .args(["python/tests/cluster/clusters.py", name, "--rounds", ROUNDS, "--folder"])
            .arg(files::target(root).join("clusters").join(name))
            .arg("--veracity")
            .arg(&program)
            .status()?;
        Ok(status.success())
    };
    let ray = cluster("ray")?;
    Ok(cluster("slurm")? && ray)
}
