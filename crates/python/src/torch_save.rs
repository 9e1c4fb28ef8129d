//! The files of a training in PyTorch: its tensors, the claim that is tied to them, and its report.

use crate::{
    argument,
    claims::Claim,
    errors::{InvalidInput, failed, refused},
    interruptible::interruptible,
    mechanism::PyMechanism,
};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use std::path::PathBuf;
use veracity::{
    Choice, Error as Failure, NoiseMultiplier, Origin, Subject, Target, account,
    training::{Cost, Entry, ModelElsewhere, RunElsewhere},
};

/// A tensor: its name, its shape and its numbers.
type Tensor<'py> = (String, Vec<usize>, PyReadonlyArray1<'py, f32>);
/// A noise call as a claim notes it: its place, its grid, what one record contributes in steps of the grid, and the noise over that.
type Noted = (String, f64, f64, f64);

/// Writes a model, its claim and its report, all or none. Returns the claim.
///
/// `folder` None writes nothing: the claim alone is returned.
#[pyfunction]
#[pyo3(signature = (folder, entry, tensors, card, mechanism, noise_multiplier, steps, delta, seeded, dataset, noise, facts, points))]
#[allow(clippy::too_many_arguments)] // Each is a fact of the run that `veracity/torch` states.
pub fn _save_run(
    py: Python<'_>,
    folder: Option<PathBuf>,
    entry: &str,
    tensors: Vec<Tensor<'_>>,
    card: String,
    mechanism: &Bound<'_, PyMechanism>,
    noise_multiplier: f64,
    steps: u64,
    delta: &Bound<'_, PyAny>,
    seeded: bool,
    dataset: String,
    noise: Noted,
    facts: Vec<(String, String)>,
    points: Vec<String>,
) -> PyResult<Claim> {
    let delta = argument::delta(delta)?;
    let entry = match entry {
        "fresh" => Entry::Fresh,
        "force" => Entry::Force,
        "resume" => Entry::Resume,
        _ => return Err(InvalidInput::new_err("unknown entry, expected fresh, force or resume")),
    };
    let noise_multiplier = NoiseMultiplier::new(noise_multiplier).map_err(refused)?;
    let subject: Subject = mechanism.get().subject(None)?;
    let tensors = tensors.into_iter().map(|(name, shape, values)| {
        let values = values.as_slice().map_err(|_| InvalidInput::new_err("a tensor is not contiguous"))?;
        Ok((name, shape, values.to_vec()))
    });
    let model = ModelElsewhere::new(card, tensors.collect::<PyResult<_>>()?).map_err(refused)?;
    let work = move || -> Result<Claim, Failure> {
        let answer = account(&subject, Target::Delta(delta), Choice::Best)?;
        let origin = if seeded { Origin::Seeded } else { Origin::System };
        let cost = Cost { subject, answer, noise: noise_multiplier, delta, charges: Vec::new() };
        let run = RunElsewhere::new(cost, origin, steps, noise, facts, points)?;
        let (claim, report) = run.written(&model, &dataset)?;
        if let Some(folder) = folder {
            model.hand_over(&folder, entry, &claim, &report)?;
        }
        Ok(Claim { file: claim })
    };
    interruptible(py, work)?.map_err(failed)
}
