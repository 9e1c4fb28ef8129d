//! The Python module `veracity._veracity`: one file for each subject, and a line here for each file.
//!
//! An argument is checked in `argument`, becomes a value of the facade, is computed without the interpreter's lock in
//! `interruptible`, and comes back as a small class, or as one of the exceptions of `errors`.

mod accounting;
mod argument;
mod audits;
mod calibrating;
mod claims;
mod columns;
mod errors;
mod estimators;
mod explaining;
mod interruptible;
mod interval;
mod kinds;
mod ledgers;
mod mechanism;
mod queries;
mod session;
mod tradeoff;
mod written;

use pyo3::prelude::*;

/// What `import veracity` re-exports.
#[pymodule]
fn _veracity(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    mechanism::register(module)?;
    accounting::register(module)?;
    tradeoff::register(module)?;
    calibrating::register(module)?;
    explaining::register(module)?;
    claims::register(module)?;
    audits::register(module)?;
    columns::register(module)?;
    session::register(module)?;
    ledgers::register(module)?;
    queries::register(module)?;
    estimators::register(module)?;
    Ok(())
}
