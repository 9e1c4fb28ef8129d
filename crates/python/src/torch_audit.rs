//! The audit of a training by its own canaries: their scores come from `veracity/torch`, the verdict from the theorem for one run.

use crate::{
    argument::{self, count, number},
    audits::AuditResult,
    claims::Claim,
    errors::{InvalidInput, failed, refused},
    interruptible::interruptible,
};
use numpy::PyReadonlyArray1;
use pyo3::{prelude::*, types::PyDict};
use serde_json::Value;
use std::{collections::BTreeMap, path::PathBuf};
use veracity::{
    AuditDone, AuditSettings, Case, Count, Error as Failure, NoiseMultiplier, SamplingRate,
    auditing::{
        Audit, AuditClaim, AuditProtocol, IdealGame, Method, Opening, Retention, World, planned_part,
    },
};

/// Judges a claim by the canaries of one run, which saw every step. The part of them that is guessed is planned by the declared
/// mechanism, before a score is read.
#[pyfunction]
#[pyo3(signature = (claim, worlds, scores, rate, noise_multiplier, steps, significance, settings, out))]
#[allow(clippy::too_many_arguments)] // Each is a fact of the run that `veracity/torch` states.
pub fn _audit_run(
    py: Python<'_>,
    claim: &Bound<'_, Claim>,
    worlds: PyReadonlyArray1<'_, bool>,
    scores: PyReadonlyArray1<'_, f64>,
    rate: f64,
    noise_multiplier: f64,
    steps: &Bound<'_, PyAny>,
    significance: &Bound<'_, PyAny>,
    settings: &Bound<'_, PyDict>,
    out: Option<PathBuf>,
) -> PyResult<AuditResult> {
    let (worlds, scores) = (worlds.as_array(), scores.as_array());
    if worlds.len() != scores.len() {
        return Err(InvalidInput::new_err("scores and worlds differ in length"));
    }
    let world = |is_in: &bool| if *is_in { World::In } else { World::Out };
    let scores: Vec<(World, f64)> = worlds.iter().map(world).zip(scores.iter().copied()).collect();
    let game = IdealGame {
        rate: SamplingRate::new(rate).map_err(refused)?,
        noise_multiplier: NoiseMultiplier::new(noise_multiplier).map_err(refused)?,
        steps: count("steps", steps)?,
    };
    let claim = AuditClaim::of_file(&claim.get().file).map_err(refused)?;
    let significance = number("significance", significance)?;
    let Value::Object(settings) = argument::tree("settings", settings)? else {
        return Err(InvalidInput::new_err("settings is not a dict"));
    };
    let settings: BTreeMap<String, Value> = settings.into_iter().collect();
    let keep = out.clone().map_or(Retention::Nothing, |out| Retention::Everything(out, Opening::Fresh));
    let work = move || -> Result<(AuditProtocol, AuditDone), Failure> {
        let canaries = Count::new(scores.len() as u64)?;
        let part = planned_part(game, canaries, claim.point.delta, significance)?;
        let case = Case::canaries_of_one_run(&scores, settings, claim, 1)?;
        let method = Some(Method::ManyCanaries { guessed: Some(part) });
        let settings = AuditSettings { method, significance, keep, ..AuditSettings::default() };
        let audit = Audit::new(&case, &settings)?;
        let protocol = audit.protocol().clone();
        Ok((protocol, audit.run(|_| ())?))
    };
    let (protocol, done) = interruptible(py, work)?.map_err(failed)?;
    AuditResult::of(protocol, done, out, None)
}
