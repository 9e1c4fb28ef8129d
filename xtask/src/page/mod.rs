//! The web page: `cargo xtask page` builds its module from our crates, compresses it where it is checked in, and copies the page to
//! `target/page`. `cargo xtask test --page` opens it in a browser.
//!
//! The module is checked in so that `veracity serve` works without the compiler's wasm target. A stamp next to it has the hash of every
//! file that it was built from, and [`check`] compares them without building anything.

pub mod browser;
mod stamp;

pub use stamp::check;

use crate::files;
use std::{
    env, fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// The target of the module.
pub const TARGET: &str = "wasm32-unknown-unknown";
/// The compressed module, where it is checked in.
pub const MODULE: &str = "crates/web/page/veracity.wasm.gz";
/// The page's files.
const PAGE: &str = "crates/web/page";

/// Builds the module, compresses it, stamps it, and copies the page.
pub fn run(root: &Path) -> io::Result<bool> {
    let module = compiled(root)?;
    let packed = packed(&module)?;
    fs::write(root.join(MODULE), &packed)?;
    fs::write(root.join(stamp::STAMP), stamp::stamp(root)?)?;
    let folder = laid_out(root)?;
    println!("{}: {} bytes, {} packed", folder.display(), module.len(), packed.len());
    Ok(true)
}

/// The page in `target/page`, with the module that is checked in.
pub fn laid_out(root: &Path) -> io::Result<PathBuf> {
    let folder = files::target(root).join("page");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    for entry in fs::read_dir(root.join(PAGE))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_owned();
        if !path.ends_with(stamp::STAMP.rsplit('/').next().unwrap_or_default()) {
            fs::copy(&path, folder.join(name))?;
        }
    }
    Ok(folder)
}

/// The module, with the same bytes in every folder.
fn compiled(root: &Path) -> io::Result<Vec<u8>> {
    must_have_target()?;
    let mut flags = vec!["-Ctarget-feature=+simd128".to_owned()];
    let places = [vec![root.to_owned()], sources_of_crates()?].concat();
    flags.extend(places.iter().map(|place| format!("--remap-path-prefix={}=", place.display())));
    let built = Command::new("cargo")
        .current_dir(root)
        .args(["build", "--quiet", "--profile", "page", "-p", "veracity-web", "--lib", "--target", TARGET])
        .env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"))
        .status()?;
    if !built.success() {
        return Err(io::Error::other("the page's module cannot be built"));
    }
    fs::read(files::target(root).join(TARGET).join("page/veracity_web.wasm"))
}

/// The folders of unpacked crates, which the module must not name, because they reveal the machine and the registry.
fn sources_of_crates() -> io::Result<Vec<PathBuf>> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let Some(folder) = home.map(|home| home.join("registry/src")).filter(|folder| folder.is_dir()) else {
        return Ok(Vec::new());
    };
    let mut places = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    places.sort();
    Ok(places)
}

/// Has rustup install the target where it is missing.
fn must_have_target() -> io::Result<()> {
    let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output()?;
    let folder = PathBuf::from(String::from_utf8_lossy(&libraries.stdout).trim());
    if libraries.status.success() && folder.is_dir() {
        return Ok(());
    }
    let added = Command::new("rustup").args(["target", "add", TARGET]).status();
    match added {
        Ok(status) if status.success() => Ok(()),
        _ => Err(io::Error::other(format!(
            "the compiler has no target {TARGET}, expected: rustup target add {TARGET}"
        ))),
    }
}

/// Compresses with zopfli: 5% smaller than gzip's best level, and without a timestamp.
fn packed(module: &[u8]) -> io::Result<Vec<u8>> {
    let mut packed = Vec::new();
    zopfli::compress(zopfli::Options::default(), zopfli::Format::Gzip, module, &mut packed)?;
    Ok(packed)
}
