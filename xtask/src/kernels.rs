//! The CUDA kernels: C++ compiled to the PTX that is checked in, by a compiler from the package index.

use crate::python::environment;
use std::{
    io,
    path::Path,
    process::{Command, Output},
};

/// Compiles all kernels and writes them where they are checked in.
pub fn run(root: &Path) -> io::Result<bool> {
    let output = compile(root, &[])?;
    print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    Ok(output.status.success())
}

/// Compiles them, and names every program that differs from its source.
pub fn check(root: &Path) -> io::Result<Vec<String>> {
    let output = compile(root, &["--check"])?;
    let lines =
        String::from_utf8_lossy(if output.status.success() { &output.stdout } else { &output.stderr })
            .lines()
            .map(str::to_owned)
            .collect::<Vec<String>>();
    match (output.status.success(), lines.is_empty()) {
        (false, true) => Ok(vec!["the kernels cannot be compiled".to_owned()]),
        _ => Ok(lines),
    }
}

fn compile(root: &Path, words: &[&str]) -> io::Result<Output> {
    let python = environment(root, "cuda", &["cuda"])?;
    Command::new(python)
        .arg(root.join("xtask/src/kernels.py"))
        .arg(root.join("crates/cuda/kernels"))
        .args(words)
        .output()
}
