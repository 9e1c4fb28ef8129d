//! Why a job failed: a refused request, an unusable file, failed trials of an audit, an interruption.
//!
//! Crates that only compute fail with a [`Refusal`]. Crates that also read, write or run something fail with an [`Error`], and `?`
//! turns every refusal into one.

use crate::printable;
use crate::{ErrorKind, Refusal};
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A job that failed. Its `Display` is one lower-case line without a full stop; [`source`](std::error::Error::source) is the
/// error that caused it.
///
/// # Examples
///
/// ```
/// use std::{error::Error as _, io, path::Path};
/// use veracity_core::{Error, ErrorKind};
///
/// let missing = io::Error::from(io::ErrorKind::NotFound);
/// let error = Error::unreadable("plan", Path::new("plan.toml"), missing);
/// assert_eq!(error.to_string(), "cannot read plan plan.toml: entity not found");
/// assert_eq!(error.kind(), ErrorKind::File);
/// assert!(error.source().is_some());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// The request has no answer.
    Refused(Refusal),
    /// A file is not of the expected kind.
    File {
        /// What the file is for.
        what: String,
        /// Where it is.
        path: PathBuf,
        /// What was expected there, and what was found instead.
        expected: String,
    },
    /// The operating system failed to read, write, create or lock a file.
    Io {
        /// What was tried, as an infinitive such as `read`.
        action: &'static str,
        /// What the file is for.
        what: String,
        /// Where it is.
        path: PathBuf,
        /// The error of the operating system.
        source: Arc<io::Error>,
    },
    /// The content of a file is refused.
    Damaged {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: Box<Error>,
    },
    /// Too many trials of an audit failed for a verdict; with the most frequent reasons.
    TrialsFailed(String),
    /// The user interrupted the job; says what was kept.
    Interrupted(String),
}

impl Error {
    /// Refuses what was given, for a reason in one line.
    pub fn invalid(why: impl Into<String>) -> Error {
        Refusal::Invalid(why.into()).into()
    }

    /// Refuses `value` for `name`, which must be as `expected`.
    pub fn out_of_range(name: &'static str, value: impl ToString, expected: &'static str) -> Error {
        Refusal::out_of_range(name, value, expected).into()
    }

    /// A file that is not what was `expected`.
    pub fn file(what: impl Into<String>, path: &Path, expected: impl Into<String>) -> Error {
        Error::File { what: what.into(), path: path.to_owned(), expected: expected.into() }
    }

    /// A file that the operating system cannot `action`, such as `write`.
    pub fn cannot(action: &'static str, what: impl Into<String>, path: &Path, source: io::Error) -> Error {
        Error::Io { action, what: what.into(), path: path.to_owned(), source: Arc::new(source) }
    }

    /// A file that cannot be read.
    pub fn unreadable(what: impl Into<String>, path: &Path, source: io::Error) -> Error {
        Error::cannot("read", what, path, source)
    }

    /// A file whose content is refused.
    pub fn damaged(path: &Path, why: impl Into<Error>) -> Error {
        Error::Damaged { path: path.to_owned(), why: Box::new(why.into()) }
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Refused(refusal) => refusal.kind(),
            Error::File { .. } | Error::Io { .. } | Error::Damaged { .. } => ErrorKind::File,
            Error::TrialsFailed(_) => ErrorKind::TrialsFailed,
            Error::Interrupted(_) => ErrorKind::Interrupted,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => refusal.fmt(f),
            Error::File { what, path, expected } => {
                write!(f, "{what} is {}, expected {expected}", shown(path))
            }
            Error::Io { action, what, path, source } => {
                write!(f, "cannot {action} {what} {}: {source}", shown(path))
            }
            Error::Damaged { path, why } => write!(f, "{}: {why}", shown(path)),
            Error::TrialsFailed(why) | Error::Interrupted(why) => f.write_str(why),
        }
    }
}

/// A path in one line, whatever the name of the file is.
fn shown(path: &Path) -> String {
    printable(&path.display().to_string(), usize::MAX)
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // It prints the line of the refusal, so it has the source of the refusal.
            Error::Refused(refusal) => std::error::Error::source(refusal),
            Error::Io { source, .. } => Some(&**source),
            Error::Damaged { why, .. } => Some(&**why),
            Error::File { .. } | Error::TrialsFailed(_) | Error::Interrupted(_) => None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}

/// Two errors are equal if their kinds and their lines are. Errors of the operating system have no other comparison.
impl PartialEq for Error {
    fn eq(&self, other: &Error) -> bool {
        self.kind() == other.kind() && self.to_string() == other.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_line_whatever_its_file_is_called() {
        let path = Path::new("a\nb\u{1b}[31m.json");
        for error in [Error::file("plan", path, "a file"), Error::damaged(path, Error::invalid("no claim"))] {
            assert!(!error.to_string().contains(char::is_control), "{error}");
        }
    }
}
