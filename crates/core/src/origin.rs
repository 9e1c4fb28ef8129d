//! Where randomness came from, and so whether an answer may be released.

/// Where the root came from, and so what may be done with the result.
///
/// # Examples
///
/// ```
/// use veracity_core::Origin;
///
/// assert!(Origin::System.is_releasable());
/// assert!(!Origin::Seeded.is_releasable());
/// assert_eq!(Origin::Seeded.name(), "seeded");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The operating system: fit for release.
    System,
    /// A number that someone knows: for tests and audits, never for release.
    Seeded,
}

impl Origin {
    /// Whether noise from it may protect anyone.
    pub fn is_releasable(self) -> bool {
        match self {
            Origin::System => true,
            Origin::Seeded => false,
        }
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Origin::System => "system",
            Origin::Seeded => "seeded",
        }
    }
}
