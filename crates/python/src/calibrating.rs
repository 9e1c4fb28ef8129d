//! From a budget to a setting: the least noise, the most steps or the largest sampling rate that is certified within it.

use crate::{
    argument, errors::refused, interruptible::interruptible, interval::Interval, mechanism::PyMechanism,
};
use pyo3::prelude::*;
use veracity::{
    Epsilon, Mechanism, Subject,
    calibration::{self, Solve, Solved},
};

/// Result of `calibrate`: the setting that fits a privacy budget.
///
/// Of `noise_multiplier`, `steps` and `sampling_rate`, the one that you solved for has a value. The other two are None.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct Calibration {
    /// The smallest noise multiplier, rounded up. For discrete noise, its sigma or scale.
    noise_multiplier: Option<f64>,
    /// The largest number of steps.
    steps: Option<u64>,
    /// The largest sampling rate, rounded down.
    sampling_rate: Option<f64>,
    /// The mechanism with the solved setting.
    mechanism: PyMechanism,
    /// The certified ε of that mechanism.
    epsilon: Interval,
    /// δ, as you gave it.
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

/// Find the least noise, the most steps or the largest sampling rate that fits a privacy budget.
///
/// Args:
///     mechanism: the mechanism to calibrate. Its current value of the setting does not matter.
///     epsilon: ε of the budget.
///     delta: δ of the budget.
///     solve: "noise", "steps" or "sampling-rate".
///     adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.
///
/// Returns:
///     A `Calibration`. The setting is rounded to the safe side and certified as printed.
///
/// Raises:
///     InvalidInput: if the mechanism has no such setting, or no value of it fits the budget.
///     NoTheorem: if no theorem covers the mechanism.
///
/// Example:
///     >>> run = v.dp_sgd(sampling_rate=0.01, noise_multiplier=1, steps=1000)
///     >>> v.calibrate(run, epsilon=3, delta=1e-5).noise_multiplier
///     0.81358449
#[pyfunction]
#[pyo3(signature = (mechanism, *, epsilon, delta, solve="noise", adjacency=None))]
pub fn calibrate(
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
