//! Folders: the files below one, copies of one, and what cargo builds.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// All files below a folder, sorted; folders of these names are left out.
pub fn below(folder: &Path, skipped: &[&str]) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if skipped.iter().any(|name| entry.file_name() == *name) {
                continue;
            }
            let list = if entry.file_type()?.is_dir() { &mut folders } else { &mut files };
            list.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// The files below a folder whose names end so.
pub fn ending(folder: &Path, ending: &str) -> io::Result<Vec<PathBuf>> {
    let mut files = below(folder, &[])?;
    files.retain(|file| file.extension().is_some_and(|found| found == ending));
    Ok(files)
}

/// The path of a file within the workspace, with slashes on every system.
pub fn name(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().replace('\\', "/")
}

/// Copies a folder and all below it.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for file in below(from, &[])? {
        let place = to.join(file.strip_prefix(from).unwrap_or(&file));
        fs::create_dir_all(place.parent().unwrap_or(to))?;
        fs::copy(file, place)?;
    }
    Ok(())
}

/// The folder into which cargo builds.
pub fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |target| root.join(target))
}

/// The release build of the command line.
pub fn program(root: &Path) -> io::Result<PathBuf> {
    let build = ["build", "--release", "--quiet", "--package", "veracity-cli"];
    match Command::new("cargo").current_dir(root).args(build).status()?.success() {
        true => Ok(target(root).join("release/veracity")),
        false => Err(io::Error::other("veracity does not build")),
    }
}
