//! `cargo xtask bench gpu`: trainings a second on the first CUDA device, with the CPUs of the machine and PyTorch on the same work beside
//! it. All that is timed is checked first. PyTorch is the one of `python3`.

use super::{build_example, peer, release_folder};
use std::{io, path::Path, process::Command};

/// Whether everything held.
pub fn run(root: &Path) -> io::Result<bool> {
    build_example(root, "veracity-cuda", "gpu")?;
    let ours = |word: &str| Command::new(release_folder(root).join("examples/gpu")).arg(word).status();
    if !ours("check")?.success() || !ours("bench")?.success() {
        return Ok(false);
    }
    println!("\nPyTorch, batched:");
    Ok(Command::new("python3").arg(peer(root, "gpu_peer.py")).status()?.success())
}
