//! The Python package: an environment of its own under `target`, the wheel by maturin, its tests by pytest.
//!
//! You install only Python itself, with venv and pip. The other packages are listed in `python/requirements-*.txt`.

use crate::bench::{build_example, must, release_folder};
use crate::files;
use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// Builds the release wheel, and prints its path and size.
pub fn wheel(root: &Path) -> io::Result<bool> {
    let python = environment(root, "python", &["build"])?;
    let folder = files::target(root).join("wheels");
    let wheel = build(root, &python, &folder, "release")?;
    let size = fs::metadata(&wheel)?.len() as f64 / 1e6;
    println!("{} ({size:.1} MB)", wheel.display());
    Ok(true)
}

/// The command that tests the package, in an environment that has it as a wheel. The wheel is built as the tests of the workspace
/// are, so that what they have compiled is used again.
pub fn tests(root: &Path) -> io::Result<Command> {
    let python = environment(root, "python", &["build", "test"])?;
    install(root, &python, "dev")?;
    let mut pytest = Command::new(&python);
    pytest.current_dir(root).args([
        "-m",
        "pytest",
        "-m",
        "not peers and not torch",
        "-p",
        "no:cacheprovider",
    ]);
    Ok(pytest)
}

/// The tests that need torch, Opacus, dp_accounting and prv_accountant, in an environment of their own: some gigabytes.
pub fn peers(root: &Path) -> io::Result<bool> {
    let python = environment(root, "python-peers", &["build", "peers"])?;
    install(root, &python, "release")?;
    let status = Command::new(&python).current_dir(root).args(["-m", "pytest", "-m", "peers"]).status()?;
    Ok(status.success())
}

/// The tests of `veracity.torch`, on the CPU, in the environment of the peers.
pub fn torch(root: &Path) -> io::Result<bool> {
    let python = environment(root, "python-peers", &["build", "peers"])?;
    install(root, &python, "release")?;
    let pytest = ["-m", "pytest", "-m", "torch", "-p", "no:cacheprovider", "python/tests/private_torch"];
    Ok(Command::new(&python).current_dir(root).args(pytest).status()?.success())
}

/// Times the package, the Rust call and other libraries, and prints a table.
pub fn bench(root: &Path) -> io::Result<bool> {
    build_example(root, "veracity", "time_epsilon")?;
    let python = environment(root, "python-peers", &["build", "peers"])?;
    install(root, &python, "release")?;
    let status = Command::new(&python)
        .current_dir(root)
        .arg("python/benches/bench.py")
        .arg(release_folder(root).join("examples/time_epsilon"))
        .status()?;
    Ok(status.success())
}

/// Installs the wheel of a profile, and nothing else.
pub fn install(root: &Path, python: &Path, profile: &str) -> io::Result<()> {
    let wheel = build(root, python, &files::target(root).join("wheels").join(profile), profile)?;
    must(
        Command::new(python)
            .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"])
            .args(["--no-deps", "--force-reinstall"])
            .arg(wheel),
        "the wheel cannot be installed",
    )
}

/// An environment under `target`, with the requirements of these names; installed packages stay.
pub fn environment(root: &Path, name: &str, requirements: &[&str]) -> io::Result<PathBuf> {
    let folder = files::target(root).join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !python.exists() {
        must(
            Command::new("python3").args(["-m", "venv"]).arg(&folder),
            "python3 cannot make an environment; install python3-venv",
        )?;
    }
    let files: Vec<PathBuf> =
        requirements.iter().map(|name| root.join(format!("python/requirements-{name}.txt"))).collect();
    let wanted = files.iter().map(fs::read_to_string).collect::<io::Result<String>>()?;
    let stamp = folder.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(python);
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    for file in &files {
        pip.arg("-r").arg(file);
    }
    must(&mut pip, "Python packages cannot be installed; is a package index reachable?")?;
    fs::write(stamp, wanted)?;
    Ok(python)
}

/// The wheel of a profile, alone in its folder.
fn build(root: &Path, python: &Path, folder: &Path, profile: &str) -> io::Result<PathBuf> {
    for wheel in wheels(folder)? {
        fs::remove_file(wheel)?;
    }
    let status = Command::new(python)
        .current_dir(root)
        .args(["-m", "maturin", "build", "--quiet", "--profile", profile, "--out"])
        .arg(folder)
        .stdout(Stdio::null())
        .status()?;
    match (status.success(), wheels(folder)?.pop()) {
        (true, Some(wheel)) => Ok(wheel),
        _ => Err(io::Error::other("the wheel does not build")),
    }
}

fn wheels(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>()?;
    Ok(paths.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "whl")).collect())
}
