//! Why a job failed: a question that is refused, a file that cannot be used, trials that broke, a wish to stop.
//!
//! Rooms that only compute fail with a [`Refusal`]; rooms that also read, write or run something fail with an [`Error`], which
//! every refusal turns into by `?`.

use crate::{ErrorKind, Refusal};
use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

/// A job that failed. Its `Display` is one lower-case line without a full stop; [`source`](std::error::Error::source) leads to what
/// is behind it.
///
/// # Examples
///
/// ```
/// use std::{error::Error as _, io, path::Path};
/// use veracity_core::{Error, ErrorKind};
///
/// let missing = io::Error::from(io::ErrorKind::NotFound);
/// let error = Error::unreadable("plan", Path::new("plan.toml"), missing);
/// assert_eq!(error.to_string(), "plan is plan.toml, expected a readable file (entity not found)");
/// assert_eq!(error.kind(), ErrorKind::File);
/// assert!(error.source().is_some());
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Error {
    /// What was asked has no answer.
    Refused(Refusal),
    /// A file cannot be read or written, or is not what it should be.
    File {
        /// What the file is for.
        what: String,
        /// Where it is.
        path: PathBuf,
        /// What was expected there, and what was found instead.
        expected: String,
        /// What the operating system said.
        source: Option<Arc<io::Error>>,
    },
    /// What a file holds is refused.
    Damaged {
        /// Where it is.
        path: PathBuf,
        /// Why.
        why: Box<Error>,
    },
    /// Too many trials of an audit failed for a verdict; with the most frequent reasons.
    TrialsFailed(String),
    /// Someone asked to stop; says what was kept.
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
        Error::File { what: what.into(), path: path.to_owned(), expected: expected.into(), source: None }
    }

    /// A file with which the operating system did not do what was `expected`.
    pub fn io(what: impl Into<String>, path: &Path, expected: &str, source: io::Error) -> Error {
        Error::File {
            what: what.into(),
            path: path.to_owned(),
            expected: expected.to_owned(),
            source: Some(Arc::new(source)),
        }
    }

    /// A file that cannot be read.
    pub fn unreadable(what: impl Into<String>, path: &Path, source: io::Error) -> Error {
        Error::io(what, path, "a readable file", source)
    }

    /// A file whose content is refused.
    pub fn damaged(path: &Path, why: impl Into<Error>) -> Error {
        Error::Damaged { path: path.to_owned(), why: Box::new(why.into()) }
    }

    /// What sort of failure it is.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Refused(refusal) => refusal.kind(),
            Error::File { .. } | Error::Damaged { .. } => ErrorKind::File,
            Error::TrialsFailed(_) => ErrorKind::TrialsFailed,
            Error::Interrupted(_) => ErrorKind::Interrupted,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => refusal.fmt(f),
            Error::File { what, path, expected, source } => {
                write!(f, "{what} is {}, expected {expected}", shown(path))?;
                source.as_ref().map_or(Ok(()), |source| write!(f, " ({source})"))
            }
            Error::Damaged { path, why } => write!(f, "{}: {why}", shown(path)),
            Error::TrialsFailed(why) | Error::Interrupted(why) => f.write_str(why),
        }
    }
}

/// A path in one line, whatever the name of the file is.
fn shown(path: &Path) -> String {
    path.display().to_string().chars().filter(|c| !c.is_control()).collect()
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            // Its line is the refusal's, so what is behind it is behind the refusal.
            Error::Refused(refusal) => std::error::Error::source(refusal),
            Error::File { source, .. } => source.as_ref().map(|source| &**source as _),
            Error::Damaged { why, .. } => Some(&**why),
            Error::TrialsFailed(_) | Error::Interrupted(_) => None,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Error::Refused(refusal)
    }
}

/// Errors are equal that are of one kind and say the same: what an operating system says is not compared otherwise.
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
