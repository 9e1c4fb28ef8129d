//! Failures as Python's exceptions: the kind of a refusal or an error chooses the class, its line is the message.
//!
//! The classes are written in Python (`veracity/_errors.py`), since some have two bases.

use pyo3::{exceptions::PyKeyboardInterrupt, prelude::*};
use veracity::{Error as Failure, ErrorKind, Refusal};

/// The classes of `veracity._errors`, by their names there.
mod classes {
    use pyo3::import_exception;

    import_exception!(veracity._errors, Error);
    import_exception!(veracity._errors, InvalidInput);
    import_exception!(veracity._errors, NoTheorem);
    import_exception!(veracity._errors, NotCertified);
    import_exception!(veracity._errors, NoProtection);
    import_exception!(veracity._errors, BudgetExceeded);
    import_exception!(veracity._errors, Contradiction);
    import_exception!(veracity._errors, Refuted);
    import_exception!(veracity._errors, FileError);
    import_exception!(veracity._errors, TrialsFailed);
}

pub use classes::{Error, InvalidInput, NotCertified, Refuted};

/// A refusal as an exception.
pub fn refused(refusal: Refusal) -> PyErr {
    raised(refusal.kind(), refusal.to_string())
}

/// A failure as an exception.
pub fn failed(failure: Failure) -> PyErr {
    raised(failure.kind(), failure.to_string())
}

/// The exception for a kind of failure, with its line.
fn raised(kind: ErrorKind, line: String) -> PyErr {
    match kind {
        ErrorKind::Invalid => InvalidInput::new_err(line),
        ErrorKind::NoTheorem => classes::NoTheorem::new_err(line),
        ErrorKind::NotCertified => NotCertified::new_err(line),
        ErrorKind::NoProtection => classes::NoProtection::new_err(line),
        ErrorKind::OverBudget => classes::BudgetExceeded::new_err(line),
        ErrorKind::Contradiction => classes::Contradiction::new_err(line),
        ErrorKind::File => classes::FileError::new_err(line),
        ErrorKind::TrialsFailed => classes::TrialsFailed::new_err(line),
        ErrorKind::Interrupted => PyKeyboardInterrupt::new_err(line),
        // The enumeration may grow: what is new is still ours.
        _ => Error::new_err(line),
    }
}
