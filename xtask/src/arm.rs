//! The bits of noise and batches on ARM: the tests that pin them, compiled for aarch64 and run in an emulator, or on the machine itself
//! where it is one.
//!
//! It needs the target (`rustup target add aarch64-unknown-linux-gnu`), a linker (`aarch64-linux-gnu-gcc`, with its C library) and
//! `qemu-aarch64`, all of which are packages of the usual distributions. It does not measure speed.

use std::io;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";
/// The folder of the C library for cross compilers on Debian and its derivatives.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";
/// Package and tests of each run.
const TESTS: [(&str, &[&str]); 2] = [
    ("veracity-noise", &["vector::tests", "vector::rare", "vector::grid", "keystream", "stream"]),
    ("veracity-train", &["sampling", "sharding", "skinny_product", "product", "private"]),
];

/// Runs them; whether all passed.
pub fn run(root: &Path) -> io::Result<bool> {
    let mut all = true;
    for (package, filters) in TESTS {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root).args(["test", "--package", package, "--lib"]);
        if !cfg!(target_arch = "aarch64") {
            cargo
                .args(["--target", TARGET])
                .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", "aarch64-linux-gnu-gcc")
                .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", format!("qemu-aarch64 -L {LIBRARIES}"));
        }
        all &= cargo.arg("--").args(filters).status()?.success();
    }
    Ok(all)
}
