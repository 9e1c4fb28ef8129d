//! The book as HTML, by mdBook, which is installed into the target folder unless it is on the path.

use crate::files;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Makes the HTML and prints its path.
pub fn make(root: &Path) -> io::Result<bool> {
    let target = files::target(root);
    let program = program(&target.join("tools"))?;
    let book = target.join("book");
    let done = Command::new(program).arg("build").arg(root).arg("--dest-dir").arg(&book).status()?;
    if done.success() {
        println!("{}", book.join("index.html").display());
    }
    Ok(done.success())
}

/// The program of mdBook, installed if it is missing.
fn program(tools: &Path) -> io::Result<PathBuf> {
    let on_path = PathBuf::from("mdbook");
    let installed = tools.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    for program in [on_path, installed.clone()] {
        let asked = Command::new(&program).arg("--version").stdout(Stdio::null()).status();
        if asked.is_ok_and(|status| status.success()) {
            return Ok(program);
        }
    }
    println!("mdbook is not on the path: cargo install mdbook --locked --root {}", tools.display());
    let done = Command::new("cargo").args(["install", "mdbook", "--locked", "--root"]).arg(tools).status()?;
    if done.success() { Ok(installed) } else { Err(io::Error::other("mdbook cannot be installed")) }
}
