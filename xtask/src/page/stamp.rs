//! The stamp of the page's module: a hash of every file that it was built from, and the versions of the crates.

use crate::{files, test::linked};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, fs, io, path::Path};

/// The file of the stamp.
pub const STAMP: &str = "crates/web/page/veracity.wasm.stamp";
/// Names in the list that are not files.
const MODULE: &str = "veracity.wasm.gz";
const PROFILE: &str = "Cargo.toml [profile.page]";

/// The stamp of the module that is built from the files in `root`.
pub fn stamp(root: &Path) -> io::Result<String> {
    let lines = parts(root)?.into_iter().map(|(name, hash)| format!("{hash}  {name}\n"));
    let head = "# What veracity.wasm.gz was built from, by `cargo xtask page`.\n".to_owned();
    Ok(std::iter::once(head).chain(lines).collect())
}

/// The first change since the module was built, one line.
pub fn check(root: &Path) -> io::Result<Vec<String>> {
    let stated = fs::read_to_string(root.join(STAMP)).unwrap_or_default();
    Ok(difference(&stated, &parts(root)?).into_iter().collect())
}

/// The first file that differs from its stamp.
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

/// Every file of our crates that the module is built from, the profile, the other crates and the module itself, each with its hash.
fn parts(root: &Path) -> io::Result<BTreeMap<String, String>> {
    let (ours, others) = sorted_out(linked(root, "veracity-web")?);
    let mut parts = BTreeMap::new();
    for name in ours {
        let folder = root.join("crates").join(name);
        for file in [vec![folder.join("Cargo.toml")], files::below(&folder.join("src"), &[])?].concat() {
            parts.insert(files::name(root, &file), hash(&fs::read(&file)?));
        }
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
    parts.insert(PROFILE.to_owned(), hash(profile(&manifest).as_bytes()));
    parts.insert("Cargo.lock".to_owned(), hash(others.join("\n").as_bytes()));
    parts.insert(MODULE.to_owned(), hash(&fs::read(root.join(super::MODULE)).unwrap_or_default()));
    Ok(parts)
}

/// The lines of the manifest that set how the module is built.
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

/// Our crates that are linked into the module, without their prefix, and the other crates with their versions.
fn sorted_out(linked: Vec<String>) -> (Vec<String>, Vec<String>) {
    let (ours, others): (Vec<_>, Vec<_>) = linked.into_iter().partition(|name| name.starts_with("veracity-"));
    let name = |line: &String| line["veracity-".len()..].split(' ').next().unwrap_or_default().to_owned();
    (ours.iter().map(name).collect(), others)
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
    fn a_change_is_named_with_the_remedy() {
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
            let found = difference(stated, &changed).unwrap();
            assert!(found.contains(named) && found.ends_with("run cargo xtask page"), "{found}");
        }
    }

    #[test]
    fn our_crates_and_others_are_sorted_out() {
        let linked =
            ["serde v1.0.1", "veracity-core v0.1.0 (/somewhere)", "veracity-web v0.1.0 (/somewhere)"];
        let (ours, others) = sorted_out(linked.map(str::to_owned).to_vec());
        assert_eq!(ours, ["core", "web"]);
        assert_eq!(others, ["serde v1.0.1"]);
    }

    #[test]
    fn other_tables_of_the_manifest_do_not_matter() {
        let manifest =
            "[profile.release]\nstrip = true\n# why\n[profile.dev]\nx = 1\n[profile.page]\nlto = true\n";
        assert_eq!(profile(manifest), "[profile.release]\nstrip = true\n[profile.page]\nlto = true");
    }
}
