//! Questions about a mechanism: ε at a δ, δ at an ε.

use crate::{
    argument,
    errors::refused,
    interruptible::{in_place, interruptible},
    interval::Interval,
    mechanism::PyMechanism,
};
use pyo3::prelude::*;
use veracity::{Answer, Choice, Delta, Epsilon, Mechanism, Method, Subject, Target, account};

/// Ends that are closer than this are exact's own answer, which no other method is asked to sharpen.
const NARROW: f64 = 5e-4;
/// Parts of a composition that are still quick.
const FEW: usize = 8;

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
    let answer = match quickly(py, &subject, target, choice)? {
        Some(answer) => answer,
        None => interruptible(py, move || account(&subject, target, choice))?.map_err(refused)?,
    };
    let fallback = answer.fallback.as_ref();
    Ok(match target {
        Target::Delta(_) => Interval::new(&answer.epsilon, Epsilon::get, answer.method, fallback),
        Target::Epsilon(_) => Interval::new(&answer.delta, Delta::get, answer.method, fallback),
    })
}

/// The best answer where it is exact's and takes about a millisecond: a thread of its own would cost a good part of that. Ends that are
/// far apart are left to the best of all methods.
fn quickly(py: Python<'_>, subject: &Subject, target: Target, choice: Choice) -> PyResult<Option<Answer>> {
    if choice != Choice::Best || !is_quick(&subject.mechanism) {
        return Ok(None);
    }
    let exact = in_place(py, || account(subject, target, Choice::Only(Method::Exact)))?;
    Ok(exact.ok().filter(|answer| answer.relative_width().is_some_and(|width| width < NARROW)))
}

/// Whether exact has a formula for it, or an integral or two.
fn is_quick(mechanism: &Mechanism) -> bool {
    match mechanism {
        Mechanism::Gaussian { .. } | Mechanism::Laplace { .. } => true,
        Mechanism::PoissonSampled { mechanism, .. } | Mechanism::Repeated { mechanism, .. } => {
            is_quick(mechanism)
        }
        Mechanism::Composed(parts) => parts.len() <= FEW && parts.iter().all(is_quick),
        // Whatever else there is may take its time.
        _ => false,
    }
}
