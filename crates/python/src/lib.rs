//! The Python module `veracity._veracity`: one file for each subject, and a line here for each file.
//!
//! An argument is checked in `argument`, becomes a value of the facade, is computed without the interpreter's lock in
//! `interruptible`, and comes back as a small class, or as one of the exceptions of `errors`.

/// Getters of a class: for each its docstring, its name and its value.
macro_rules! getters {
    ($class:ty { $($(#[$doc:meta])* $name:ident($this:ident) -> $result:ty { $value:expr })* }) => {
        #[pymethods]
        impl $class {
            $(
                $(#[$doc])*
                #[getter]
                fn $name(&self) -> $result {
                    let $this = self;
                    $value
                }
            )*
        }
    };
}

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
mod torch;
mod torch_audit;
mod torch_save;
mod tradeoff;
mod written;

use pyo3::prelude::*;

/// What `import veracity` re-exports.
#[pymodule]
mod _veracity {
    use super::*;
    #[pymodule_export]
    use crate::audits::{_audit_adjacency, _begin_audit, AuditResult, AuditRun};
    #[pymodule_export]
    use crate::calibrating::{Calibration, calibrate};
    #[pymodule_export]
    use crate::claims::{Claim, Verification, VerifiedNumber, read_claim, verify};
    #[pymodule_export]
    use crate::columns::{_check_columns, PyColumn};
    #[pymodule_export]
    use crate::estimators::{
        _gaussian_noise, _logistic, _model_claim, _network_outputs, _row_sums, _sgd_noise, _train_network,
    };
    #[pymodule_export]
    use crate::explaining::{Attack, Explanation, GroupPromise, explain};
    #[pymodule_export]
    use crate::interval::Interval;
    #[pymodule_export]
    use crate::ledgers::{PyCharge, PyLedger};
    #[pymodule_export]
    use crate::mechanism::{_mechanism_from_events, _mechanism_from_json, PyMechanism};
    #[pymodule_export]
    use crate::queries::{PyAsking, PyQuery};
    #[pymodule_export]
    use crate::session::{_save_claims, _text, PyCharged, PyPromise, PySession};
    #[pymodule_export]
    use crate::torch::Randomness;
    #[pymodule_export]
    use crate::torch_audit::_audit_run;
    #[pymodule_export]
    use crate::torch_save::_save_run;
    #[pymodule_export]
    use crate::tradeoff::Tradeoff;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        crate::kinds::register(module)
    }
}
