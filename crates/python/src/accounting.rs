//! Questions about a mechanism: ε at a δ, δ at an ε.

use crate::{
    argument,
    errors::refused,
    interruptible::{in_place, interruptible},
    interval::Interval,
    mechanism::PyMechanism,
};
use pyo3::prelude::*;
use veracity::{Choice, Delta, Epsilon, Subject, Target, account, account_quickly};

#[pymethods]
impl PyMechanism {
    /// Compute ε at a given δ.
    ///
    /// Args:
    ///     delta: δ, at least 0 and below 1. Choose it well below 1 / (number of records).
    ///     method: one accounting method, such as "pld" or "rdp". None takes the tightest bound.
    ///     adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.
    ///
    /// Returns:
    ///     An `Interval` that contains the true ε. Its `upper` is the number to report.
    ///
    /// Raises:
    ///     NoTheorem: if no theorem covers the mechanism with this method or adjacency.
    ///     NotCertified: if no method can certify a bound.
    ///     NoProtection: if ε is infinite at this δ.
    ///     InvalidInput: if an argument is out of range.
    ///
    /// Example:
    ///     >>> v.gaussian(noise_multiplier=4).epsilon(delta=1e-5) <= 1
    ///     True
    #[pyo3(signature = (delta, *, method=None, adjacency=None))]
    fn epsilon(
        &self,
        py: Python<'_>,
        delta: &Bound<'_, PyAny>,
        method: Option<&str>,
        adjacency: Option<&str>,
    ) -> PyResult<Interval> {
        let target = Target::Delta(argument::delta(delta)?);
        ask(py, self.subject(adjacency)?, target, method)
    }

    /// Compute δ at a given ε.
    ///
    /// Args:
    ///     epsilon: ε, at least 0.
    ///     method: one accounting method, such as "pld" or "rdp". None takes the tightest bound.
    ///     adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.
    ///
    /// Returns:
    ///     An `Interval` that contains the true δ.
    ///
    /// Raises:
    ///     NoTheorem: if no theorem covers the mechanism with this method or adjacency.
    ///     NotCertified: if no method can certify a bound.
    ///     InvalidInput: if an argument is out of range.
    #[pyo3(signature = (epsilon, *, method=None, adjacency=None))]
    fn delta(
        &self,
        py: Python<'_>,
        epsilon: &Bound<'_, PyAny>,
        method: Option<&str>,
        adjacency: Option<&str>,
    ) -> PyResult<Interval> {
        let target = Target::Epsilon(argument::epsilon(epsilon)?);
        ask(py, self.subject(adjacency)?, target, method)
    }
}

fn ask(py: Python<'_>, subject: Subject, target: Target, method: Option<&str>) -> PyResult<Interval> {
    let choice = argument::method(method)?.map_or(Choice::Best, Choice::Only);
    // A thread of its own would take a good part of a millisecond.
    let quick = match choice {
        Choice::Best => in_place(py, || account_quickly(&subject, target))?,
        Choice::Only(_) => None,
    };
    let answer = match quick {
        Some(answer) => answer,
        None => interruptible(py, move || account(&subject, target, choice))?.map_err(refused)?,
    };
    let fallback = answer.fallback.as_ref();
    Ok(match target {
        Target::Delta(_) => Interval::new(&answer.epsilon, Epsilon::get, answer.method, fallback),
        Target::Epsilon(_) => Interval::new(&answer.delta, Delta::get, answer.method, fallback),
    })
}
