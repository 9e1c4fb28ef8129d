//! Which datasets must look alike, and whose data one record is.

use crate::Refusal;
use std::{fmt, str::FromStr};

/// When two datasets count as adjacent.
///
/// # Examples
///
/// ```
/// use veracity_core::Adjacency;
///
/// let adjacency: Adjacency = "replace-one".parse()?;
/// // The record that leaves and the one that comes both move the answer.
/// assert_eq!(adjacency.contributions(), 2);
/// assert!("neighbouring".parse::<Adjacency>().is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Adjacency {
    /// One has a record that the other lacks.
    #[default]
    AddRemove,
    /// One record has another value: the answer may move by twice one record's contribution.
    ReplaceOne,
    /// One record is replaced by a blank that contributes nothing; the number of records stays public.
    ZeroOut,
}

impl Adjacency {
    /// All of them.
    pub const ALL: [Adjacency; 3] = [Adjacency::AddRemove, Adjacency::ReplaceOne, Adjacency::ZeroOut];

    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Adjacency::AddRemove => "add-remove",
            Adjacency::ReplaceOne => "replace-one",
            Adjacency::ZeroOut => "zero-out",
        }
    }

    /// How many contributions of one record separate two adjacent datasets.
    pub fn contributions(self) -> u32 {
        match self {
            Adjacency::AddRemove | Adjacency::ZeroOut => 1,
            Adjacency::ReplaceOne => 2,
        }
    }
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Adjacency {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Self, Refusal> {
        Adjacency::ALL
            .into_iter()
            .find(|a| a.name() == name)
            .ok_or_else(|| Refusal::out_of_range("adjacency", name, "add-remove, replace-one or zero-out"))
    }
}

/// Whose data is protected as one: what "one record" stands for.
///
/// # Examples
///
/// ```
/// use veracity_core::PrivacyUnit;
///
/// assert_eq!(PrivacyUnit::default().name(), "example");
/// assert_eq!(PrivacyUnit::new("household")?.name(), "household");
/// assert!(PrivacyUnit::new("two\nlines").is_err());
/// // A Cyrillic letter that looks like a Latin one would make two units of one name.
/// assert!(PrivacyUnit::new("us\u{435}r").is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PrivacyUnit(String);

impl PrivacyUnit {
    /// A unit by its name, such as `example`, `user` or `household`.
    ///
    /// # Errors
    /// Refuses names that could look like another one: letters of other alphabets, invisible characters, accents
    /// as characters of their own, spaces at an end or next to each other
    pub fn new(name: &str) -> Result<Self, Refusal> {
        let spaced = name.starts_with(' ') || name.ends_with(' ') || name.contains("  ");
        if !name.is_empty() && name.len() <= 64 && !spaced && name.chars().all(is_plain) {
            return Ok(PrivacyUnit(name.to_owned()));
        }
        Err(Refusal::out_of_range(
            "unit",
            "empty, too long, or not in plain Latin letters",
            "1 to 64 bytes of Latin letters, digits, punctuation and single spaces",
        ))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl Default for PrivacyUnit {
    fn default() -> Self {
        PrivacyUnit("example".to_owned())
    }
}

/// Printable ASCII, and the Latin letters with accents, except three that look like other letters: ı, ĸ and ſ.
fn is_plain(letter: char) -> bool {
    let accented = matches!(letter, 'À'..='ſ') && !matches!(letter, '×' | '÷' | 'ı' | 'ĸ' | 'ſ');
    letter == ' ' || letter.is_ascii_graphic() || accented
}
