//! The book as HTML, by mdBook: the one on the path, or one that is installed beside the build.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Makes the HTML and says where it is.
pub fn make(root: &Path) -> io::Result<bool> {
    let target: PathBuf =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |target| root.join(target));
    let program = program(&target.join("tools"))?;
    let book = target.join("book");
    let done = Command::new(program).arg("build").arg(root).arg("--dest-dir").arg(&book).status()?;
    if done.success() {
        println!("{}", book.join("index.html").display());
    }
    Ok(done.success())
}

/// mdBook, installed where there is none.
fn program(tools: &Path) -> io::Result<PathBuf> {
    let on_path = PathBuf::from("mdbook");
    let beside = tools.join("bin").join(format!("mdbook{}", std::env::consts::EXE_SUFFIX));
    for program in [on_path, beside.clone()] {
        let asked = Command::new(&program).arg("--version").stdout(Stdio::null()).status();
        if asked.is_ok_and(|status| status.success()) {
            return Ok(program);
        }
    }
    println!("mdbook is not on the path: cargo install mdbook --locked --root {}", tools.display());
    let done = Command::new("cargo").args(["install", "mdbook", "--locked", "--root"]).arg(tools).status()?;
    if done.success() { Ok(beside) } else { Err(io::Error::other("mdbook cannot be installed")) }
}
