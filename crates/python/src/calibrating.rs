//! From a budget to a setting: the least noise, the most steps or the largest sampling rate that is certified within it.

use crate::{
    argument, errors::refused, interruptible::interruptible, interval::Interval, mechanism::PyMechanism,
};
use pyo3::prelude::*;
use veracity::{
    Epsilon, Mechanism, Subject,
    calibration::{self, Solve, Solved},
};

/// Adds calibration to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Calibration>()?;
    module.add_function(wrap_pyfunction!(calibrate, module)?)
}

/// A setting that keeps within a budget, and what it leaks. What was not looked for is None.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct Calibration {
    /// The least noise multiplier, rounded up; for integer noise, its sigma or scale.
    noise_multiplier: Option<f64>,
    /// The most steps.
    steps: Option<u64>,
    /// The largest sampling rate, rounded down.
    sampling_rate: Option<f64>,
    /// The mechanism with what was found in its place.
    mechanism: PyMechanism,
    /// The ε that it is certified to have.
    epsilon: Interval,
    /// The δ.
    delta: f64,
}

#[pymethods]
impl Calibration {
    fn __repr__(&self) -> String {
        let found = match (self.noise_multiplier, self.steps, self.sampling_rate) {
            (Some(noise), _, _) => format!("noise_multiplier={noise:?}"),
            (_, Some(steps), _) => format!("steps={steps}"),
            (_, _, rate) => format!("sampling_rate={:?}", rate.unwrap_or_default()),
        };
        format!("Calibration({found}, epsilon={}, delta={:?})", self.epsilon.shown(), self.delta)
    }
}

/// The setting of a mechanism for a budget of ε and δ.
///
/// `solve` is "noise" (the least), "steps" (the most) or "sampling-rate" (the largest). Whatever stands in its place in the
/// mechanism is ignored: of steps, how often the whole is repeated.
#[pyfunction]
#[pyo3(signature = (mechanism, *, epsilon, delta, solve="noise", adjacency=None))]
fn calibrate(
    py: Python<'_>,
    mechanism: &PyMechanism,
    epsilon: &Bound<'_, PyAny>,
    delta: &Bound<'_, PyAny>,
    solve: &str,
    adjacency: Option<&str>,
) -> PyResult<Calibration> {
    let (epsilon, delta) = (argument::epsilon(epsilon)?, argument::delta(delta)?);
    let what: Solve = argument::shown(solve).parse().map_err(refused)?;
    let subject = mechanism.subject(adjacency)?;
    let template = match what {
        Solve::Steps => once(subject),
        Solve::Noise | Solve::SamplingRate => subject,
    };
    let found =
        interruptible(py, move || calibration::solve(&template, what, epsilon, delta))?.map_err(refused)?;
    let (mut noise_multiplier, mut steps, mut sampling_rate) = (None, None, None);
    match found.solved {
        Solved::Noise(noise) => noise_multiplier = Some(noise.get()),
        Solved::Steps(most) => steps = Some(most.get()),
        Solved::SamplingRate(rate) => sampling_rate = Some(rate.get()),
    }
    let answer = &found.answer;
    let epsilon = Interval::new(&answer.epsilon, Epsilon::get, answer.method, answer.fallback.as_ref());
    let mut said = mechanism.said.clone();
    said.adjacency = argument::adjacency(adjacency)?.or(said.adjacency);
    let mechanism = PyMechanism::new(found.subject.mechanism, said)?;
    Ok(Calibration { noise_multiplier, steps, sampling_rate, mechanism, epsilon, delta: delta.get() })
}

/// One step of what is repeated.
fn once(subject: Subject) -> Subject {
    match subject.mechanism {
        Mechanism::Repeated { mechanism, .. } => Subject { mechanism: *mechanism, ..subject },
        // Whatever else there is is one step.
        mechanism => Subject { mechanism, ..subject },
    }
}
