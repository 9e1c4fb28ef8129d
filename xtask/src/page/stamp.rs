//! The stamp of the page's module: a hash of every file that it was built from, and the versions of the crates.

use sha2::{Digest, Sha256};
use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

/// Where it lies.
pub const STAMP: &str = "crates/web/page/veracity.wasm.stamp";
/// Places in the list that are no files.
const MODULE: &str = "veracity.wasm.gz";
const PROFILE: &str = "Cargo.toml [profile.page]";

/// What the module in `root` was built from, as its stamp says it.
pub fn stamp(root: &Path) -> io::Result<String> {
    let lines = parts(root)?.into_iter().map(|(name, hash)| format!("{hash}  {name}\n"));
    let head = "# What veracity.wasm.gz was built from, by `cargo xtask page`.\n".to_owned();
    Ok(std::iter::once(head).chain(lines).collect())
}

/// What changed since the module was built, one line.
pub fn check(root: &Path) -> io::Result<Vec<String>> {
    let stated = fs::read_to_string(root.join(STAMP)).unwrap_or_default();
    Ok(difference(&stated, &parts(root)?).into_iter().collect())
}

/// The first place at which a stamp and what is there differ.
fn difference(stated: &str, found: &BTreeMap<String, String>) -> Option<String> {
    let stated: BTreeMap<&str, &str> =
        stated.lines().filter_map(|line| line.split_once("  ")).map(|(hash, name)| (name, hash)).collect();
    let remedy = "since the page was built; run cargo xtask page";
    let other = found.iter().find(|(name, hash)| stated.get(name.as_str()) != Some(&hash.as_str()));
    if let Some((name, _)) = other {
        return Some(format!("page: {name} changed {remedy}"));
    }
    let gone = stated.keys().find(|name| !found.contains_key(**name));
    gone.map(|name| format!("page: {name} went away {remedy}"))
}

/// Every file of the rooms that the module is built from, the profile, the crates and the module itself, each with its hash.
fn parts(root: &Path) -> io::Result<BTreeMap<String, String>> {
    let (rooms, others) = built_from(root)?;
    let mut parts = BTreeMap::new();
    for room in rooms {
        let folder = root.join("crates").join(room);
        let mut files = vec![folder.join("Cargo.toml")];
        walk(&folder.join("src"), &mut files)?;
        for file in files {
            let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy().replace('\\', "/");
            parts.insert(name, hash(&fs::read(&file)?));
        }
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    parts.insert(PROFILE.to_owned(), hash(profile(&manifest).as_bytes()));
    parts.insert("Cargo.lock".to_owned(), hash(others.join("\n").as_bytes()));
    parts.insert(MODULE.to_owned(), hash(&fs::read(root.join(super::MODULE)).unwrap_or_default()));
    Ok(parts)
}

/// The lines of the manifest that say how the module is built.
fn profile(manifest: &str) -> String {
    let mut is_ours = false;
    let lines = manifest.lines().filter(|line| {
        if line.starts_with('[') {
            is_ours = line.starts_with("[profile.page") || *line == "[profile.release]";
        }
        is_ours && !line.is_empty() && !line.starts_with('#')
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The rooms that are linked into the module, and the other crates with their versions.
fn built_from(root: &Path) -> io::Result<(Vec<String>, Vec<String>)> {
    let tree = Command::new("cargo")
        .args(["tree", "-p", "veracity-web", "-e", "normal", "--prefix", "none", "--target", super::TARGET])
        .current_dir(root)
        .env("CARGO_TERM_COLOR", "never")
        .output()?;
    if !tree.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&tree.stderr).into_owned()));
    }
    Ok(sorted_out(&String::from_utf8_lossy(&tree.stdout)))
}

fn sorted_out(tree: &str) -> (Vec<String>, Vec<String>) {
    // What was said before is marked, and is the same crate.
    let mut names: Vec<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)").trim()).collect();
    names.sort_unstable();
    names.dedup();
    let (rooms, others): (Vec<&str>, Vec<&str>) =
        names.into_iter().filter(|name| !name.is_empty()).partition(|name| name.starts_with("veracity-"));
    let room = |name: &&str| name["veracity-".len()..].split(' ').next().unwrap_or_default().to_owned();
    (rooms.iter().map(room).collect(), others.into_iter().map(str::to_owned).collect())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            walk(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, hash)| ((*name).to_owned(), (*hash).to_owned())).collect()
    }

    #[test]
    fn what_changed_is_named_with_the_remedy() {
        let stated = "# words\n01  crates/core/src/lib.rs\n02  crates/web/src/lib.rs\n";
        assert_eq!(
            difference(stated, &found(&[("crates/core/src/lib.rs", "01"), ("crates/web/src/lib.rs", "02")])),
            None
        );
        for (changed, named) in [
            (
                found(&[("crates/core/src/lib.rs", "07"), ("crates/web/src/lib.rs", "02")]),
                "core/src/lib.rs changed",
            ),
            (found(&[("crates/core/src/lib.rs", "01")]), "web/src/lib.rs went away"),
            (
                found(&[("a", "00"), ("crates/core/src/lib.rs", "01"), ("crates/web/src/lib.rs", "02")]),
                "a changed since",
            ),
        ] {
            let told = difference(stated, &changed).unwrap();
            assert!(told.contains(named) && told.ends_with("run cargo xtask page"), "{told}");
        }
    }

    #[test]
    fn rooms_and_other_crates_are_told_apart() {
        let tree = "veracity-web v0.1.0 (/somewhere)\nserde v1.0.1\nveracity-core v0.1.0 (/somewhere) (*)\nserde v1.0.1 (*)\n\n";
        let (rooms, others) = sorted_out(tree);
        assert_eq!(rooms, ["core", "web"]);
        assert_eq!(others, ["serde v1.0.1"]);
    }

    #[test]
    fn other_tables_of_the_manifest_do_not_matter() {
        let manifest =
            "[profile.release]\nstrip = true\n# why\n[profile.dev]\nx = 1\n[profile.page]\nlto = true\n";
        assert_eq!(profile(manifest), "[profile.release]\nstrip = true\n[profile.page]\nlto = true");
    }
}
