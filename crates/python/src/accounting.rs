//! Questions about a mechanism: ε at a δ, δ at an ε.

use crate::{
    argument, errors::refused, interruptible::interruptible, interval::Interval, mechanism::PyMechanism,
};
use pyo3::prelude::*;
use veracity::{Choice, Delta, Epsilon, Subject, Target, account};

/// Adds the classes of answers to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Interval>()
}

#[pymethods]
impl PyMechanism {
    /// The ε at this δ: the least that is certified, and the most that is shown.
    ///
    /// `method` is one by name, such as "pld" or "rdp"; without it the best one answers.
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

    /// The δ at this ε.
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
    let answer = interruptible(py, move || account(&subject, target, choice))?.map_err(refused)?;
    let fallback = answer.fallback.as_ref();
    Ok(match target {
        Target::Delta(_) => Interval::new(&answer.epsilon, Epsilon::get, answer.method, fallback),
        Target::Epsilon(_) => Interval::new(&answer.delta, Delta::get, answer.method, fallback),
    })
}
