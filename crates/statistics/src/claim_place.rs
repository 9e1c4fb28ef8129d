//! Where the claim of a release goes: a file of its own, named after what was asked, next to earlier claims (`cli/tests/claims.rs`).
//!
//! The budget of a release is spent whether or not someone keeps the answer, so its claim must not be lost: a name that is taken
//! stays taken, and the next number is tried. `mean-of-age.claim.json`, then `mean-of-age-2.claim.json`.

use std::{
    fs,
    path::{Path, PathBuf, is_separator},
};
use veracity_account::claims::ClaimFile;
use veracity_core::Error;
use veracity_core::files::saving::{ReservedSpace, Staged, must_be_new};

/// The most bytes of a column's name in a file's name.
const LONGEST: usize = 80;
/// The space that a claim takes, unless it has many answers.
const USUAL_SIZE: u64 = 16 << 10;

/// A place for one claim, found before anything is read or spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimPlace {
    /// This file, which must not be there yet.
    File(PathBuf),
    /// The first free name of this stem in a folder.
    Folder(PathBuf, String),
}

impl ClaimPlace {
    /// Where the claim of a statistic goes: the file or the folder that is given, or else the current folder. A path that ends
    /// in a separator is a folder, and is made.
    ///
    /// # Errors
    /// Refuses a file that is there already, and a folder that cannot be made.
    pub fn find(given: Option<&Path>, statistic: &str, column: Option<&str>) -> Result<ClaimPlace, Error> {
        let stem = stem(statistic, column);
        let Some(path) = given else { return Ok(ClaimPlace::Folder(PathBuf::new(), stem)) };
        if path.to_string_lossy().ends_with(is_separator) {
            fs::create_dir_all(path).map_err(|error| Error::cannot("create", "claim folder", path, error))?;
        }
        if path.is_dir() {
            return Ok(ClaimPlace::Folder(path.to_owned(), stem));
        }
        must_be_new("claim", path)?;
        Ok(ClaimPlace::File(path.to_owned()))
    }

    /// Refuses a place on a full disk, before a release is charged that could not be written.
    ///
    /// # Errors
    /// Refuses a folder that cannot be written to, or that has no space for a claim.
    pub fn must_have_room(&self) -> Result<(), Error> {
        let path = match self {
            ClaimPlace::File(path) => path.clone(),
            ClaimPlace::Folder(folder, stem) => folder.join(format!("{stem}.claim.json")),
        };
        ReservedSpace::new("claim", &path, USUAL_SIZE).map(drop)
    }

    /// Writes the claim; it is on disk, whole, before this returns. Where it is now.
    ///
    /// # Errors
    /// Refuses a claim that cannot be written.
    pub fn write(&self, claim: &ClaimFile) -> Result<PathBuf, Error> {
        let text = claim.to_json()?;
        match self {
            ClaimPlace::File(path) => {
                Staged::new("claim", path, text.as_bytes())?.settle_new()?;
                Ok(path.clone())
            }
            ClaimPlace::Folder(folder, stem) => {
                let name = |number: u64| match number {
                    1 => folder.join(format!("{stem}.claim.json")),
                    more => folder.join(format!("{stem}-{more}.claim.json")),
                };
                Staged::new("claim", &name(1), text.as_bytes())?.settle_first((1..).map(name))
            }
        }
    }
}

/// What was asked, as the beginning of a file's name. A column may be called anything: only letters and digits are kept, so
/// that no name leads to another folder, hides, or means something to a shell. The claim has the name itself.
fn stem(statistic: &str, column: Option<&str>) -> String {
    let Some(column) = column else { return plain(statistic) };
    match plain(column) {
        name if name.is_empty() => format!("{}-of-column", plain(statistic)),
        name => format!("{}-of-{name}", plain(statistic)),
    }
}

fn plain(name: &str) -> String {
    let mut plain = String::new();
    for c in name.chars().flat_map(char::to_lowercase) {
        if plain.len() + c.len_utf8() > LONGEST {
            break;
        }
        match c.is_alphanumeric() {
            true => plain.push(c),
            false if plain.ends_with('-') || plain.is_empty() => {}
            false => plain.push('-'),
        }
    }
    plain.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_column_becomes_a_safe_file_name() {
        let long = "x".repeat(10_000);
        for (column, expected) in [
            (Some("age"), "mean-of-age".to_owned()),
            (None, "mean".to_owned()),
            (Some("Annual income (CHF)"), "mean-of-annual-income-chf".to_owned()),
            (Some("../../etc/passwd"), "mean-of-etc-passwd".to_owned()),
            (Some("C:\\boot.ini"), "mean-of-c-boot-ini".to_owned()),
            (Some(""), "mean-of-column".to_owned()),
            (Some("...//.."), "mean-of-column".to_owned()),
            (Some("a\0b\nc\u{202e}d"), "mean-of-a-b-c-d".to_owned()),
            (Some("Größe"), "mean-of-größe".to_owned()),
            (Some("$(rm -rf *)"), "mean-of-rm-rf".to_owned()),
            (Some(&long), format!("mean-of-{}", "x".repeat(80))),
            (Some(&"年".repeat(200)), format!("mean-of-{}", "年".repeat(26))),
        ] {
            assert_eq!(stem("mean", column), expected);
        }
    }
}
