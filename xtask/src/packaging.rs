//! The packaging test: every crate has the fields that a registry requires and the files that it is built from, and the image is
//! built by the compiler version of the manifests.
//!
//! As in `architecture`, each rule looks at a path and a text and returns what is wrong, one line each.

use crate::files;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

/// Crates that are not published, so only tests may depend on them.
const UNPUBLISHED: [&str; 3] = ["crates/testkit", "crates/python", "xtask"];
const REQUIRED: [&str; 8] =
    ["version", "edition", "rust-version", "license", "readme", "description", "keywords", "categories"];

/// All that is wrong with the packages, one line each.
pub fn check(root: &Path) -> io::Result<Vec<String>> {
    let workspace = fs::read_to_string(root.join("Cargo.toml"))?;
    let mut wrong = versions(&workspace);
    wrong.extend(compiler(&workspace, &fs::read_to_string(root.join("Dockerfile"))?));
    let mut folders = vec![PathBuf::from("xtask")];
    for entry in fs::read_dir(root.join("crates"))? {
        folders.push(Path::new("crates").join(entry?.file_name()));
    }
    folders.sort();
    for folder in folders {
        let name = folder.to_string_lossy().replace('\\', "/");
        wrong.extend(manifest(&name, &fs::read_to_string(root.join(&folder).join("Cargo.toml"))?));
        for source in files::ending(&root.join(&folder).join("src"), "rs")? {
            let path = source.strip_prefix(root).unwrap_or(&source);
            wrong.extend(included(&folder, path, &fs::read_to_string(&source)?));
        }
    }
    Ok(wrong)
}

/// The value of `key = "value"` in a table of a manifest.
fn value<'a>(manifest: &'a str, table: &str, key: &str) -> Option<&'a str> {
    let rows = manifest.lines().skip_while(|line| line.trim() != table).skip(1);
    let mut rows = rows.take_while(|line| !line.starts_with('['));
    let row = rows.find(|line| line.split([' ', '.', '=']).next() == Some(key))?;
    Some(row.split_once('=')?.1.trim().trim_matches('"'))
}

/// Every crate in the workspace's dependencies has the version of the workspace next to its path, except those that are not published.
fn versions(workspace: &str) -> Vec<String> {
    let stated = value(workspace, "[workspace.package]", "version").unwrap_or_default();
    let mut wrong = Vec::new();
    for line in workspace.lines().filter(|line| line.starts_with("veracity") && line.contains("path = ")) {
        let is_unpublished = UNPUBLISHED.iter().any(|folder| line.contains(&format!("\"{folder}\"")));
        let expected = if is_unpublished { None } else { Some(format!("version = \"{stated}\"")) };
        match expected {
            Some(version) if !line.contains(&version) => {
                wrong.push(format!("Cargo.toml: {line}: no {version}"))
            }
            None if line.contains("version") => {
                wrong.push(format!("Cargo.toml: {line}: a version keeps packages from being made"));
            }
            _ => {}
        }
    }
    wrong
}

/// A crate has all required fields, or is marked as not published.
fn manifest(folder: &str, text: &str) -> Vec<String> {
    let has = |key: &str| value(text, "[package]", key).is_some_and(|found| !found.is_empty());
    let published = value(text, "[package]", "publish") != Some("false");
    if published == UNPUBLISHED.contains(&folder) {
        let expected = if published { "publish = false" } else { "it to be published" };
        return vec![format!("{folder}/Cargo.toml: expected {expected}")];
    }
    let missing = REQUIRED.iter().filter(|key| published && !has(key));
    missing.map(|key| format!("{folder}/Cargo.toml: {key} is missing")).collect()
}

/// The image is built by the oldest compiler that we support.
fn compiler(workspace: &str, dockerfile: &str) -> Vec<String> {
    let promised = value(workspace, "[workspace.package]", "rust-version").unwrap_or_default();
    let tag = dockerfile.lines().find_map(|line| line.strip_prefix("FROM rust:"));
    let found = tag.and_then(|tag| tag.split([' ', '-']).next()).unwrap_or_default();
    match found == promised && !promised.is_empty() {
        true => Vec::new(),
        false => vec![format!("Dockerfile: FROM rust:{found}, expected {promised} as in Cargo.toml")],
    }
}

/// Files that are compiled into a crate are in its folder. Tests, which are not built from packages, may include others.
fn included(folder: &Path, source: &Path, text: &str) -> Vec<String> {
    let built = text.split("#[cfg(test)]").next().unwrap_or_default();
    let mut wrong = Vec::new();
    for call in ["include_str!(\"", "include_bytes!(\"", "include!(\""] {
        for rest in built.split(call).skip(1) {
            let named = rest.split('"').next().unwrap_or_default();
            let file = plain(&source.parent().unwrap_or(source).join(named));
            if !file.starts_with(folder) {
                wrong.push(format!("{}: {named} is not in the package", source.display()));
            }
        }
    }
    wrong
}

/// A path without `..` in it.
fn plain(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut so_far, part| {
        match part {
            Component::ParentDir => drop(so_far.pop()),
            other => so_far.push(other),
        }
        so_far
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_crate_can_be_packed() {
        let wrong = check(&crate::root()).unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_rule_can_fail() {
        let workspace = "[workspace.package]\nversion = \"0.2.0\"\nrust-version = \"1.89\"\n[workspace.dependencies]\n\
                         veracity-core = { path = \"crates/core\", version = \"0.2.0\" }\n\
                         veracity-testkit = { path = \"crates/testkit\" }\n";
        assert!(versions(workspace).is_empty());
        assert_eq!(versions(&workspace.replace(", version = \"0.2.0\"", "")).len(), 1);
        assert_eq!(
            versions(&workspace.replace("core\", version = \"0.2.0\"", "core\", version = \"0.1.0\"")).len(),
            1
        );
        assert_eq!(versions(&workspace.replace("testkit\" }", "testkit\", version = \"0.2.0\" }")).len(), 1);
        assert!(compiler(workspace, "FROM rust:1.89-slim AS build\nFROM debian\n").is_empty());
        assert_eq!(compiler(workspace, "FROM rust:1.90-slim AS build\n").len(), 1);
        assert_eq!(compiler(workspace, "FROM debian\n").len(), 1);
        assert_eq!(compiler("", "FROM debian\n").len(), 1);

        let whole: String = REQUIRED.iter().map(|key| format!("{key} = \"x\"\n")).collect();
        let whole = format!("[package]\nname = \"x\"\n{whole}[dependencies]\n");
        assert!(manifest("crates/core", &whole).is_empty());
        assert!(manifest("crates/core", &whole.replace("readme =", "readme.workspace =")).is_empty());
        assert_eq!(manifest("crates/core", &whole.replace("description", "prescription")).len(), 1);
        assert_eq!(
            manifest("crates/core", &whole.replace("[dependencies]", "publish = false\n[dependencies]"))
                .len(),
            1
        );
        assert_eq!(manifest("crates/testkit", &whole).len(), 1);

        let read =
            |text: &str| included(Path::new("crates/core"), Path::new("crates/core/src/a/b.rs"), text).len();
        assert_eq!(read("include_str!(\"../../data/x.toml\")"), 0);
        assert_eq!(read("include_bytes!(\"../../../noise/x.bin\")"), 1);
        assert_eq!(read("#[cfg(test)] mod tests { include_str!(\"../../../../docs/x.md\") }"), 0);
    }
}
