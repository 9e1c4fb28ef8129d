//! Audits whose trials Python runs: [`AuditRun`] hands out trials and keeps their scores, [`AuditResult`] is what came of them.
//!
//! Who runs a trial, here or on another machine, is decided in Python (`veracity/_audit.py`). Whatever the order in which scores come,
//! the certificate is the same.

use crate::{
    argument::{self, maybe_number, number, shown},
    claims::Claim,
    errors::{Error, InvalidInput, Refuted, failed, refused},
    interruptible::interruptible,
    mechanism::PyMechanism,
};
use numpy::PyArray1;
use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};
use veracity::{
    Adjacency, AuditDone, AuditSettings, Case, Count, Epsilon, Error as Failure, Subject, Upper, Verdict,
    auditing::{
        self, AuditClaim, AuditProtocol, Audited, Keep, MethodNote, Opening, Stepwise, Trials, World,
        certificate::certify, fragment, needed_trials, page, plan,
    },
    spec::Whole,
    words,
};

pyo3::import_exception!(veracity._errors, CannotTell);

/// Adds audits to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<AuditRun>()?;
    module.add_class::<AuditResult>()?;
    module.add_function(wrap_pyfunction!(_audit_adjacency, module)?)?;
    module.add_function(wrap_pyfunction!(_begin_audit, module)?)
}

/// What is claimed, as far as no accountant is needed to say it.
enum Stated {
    Whole(AuditClaim),
    Mechanism(Subject, veracity::Delta),
}

impl Stated {
    /// A claim, a mechanism with a δ, or (ε, δ).
    fn read(
        claim: &Bound<'_, PyAny>,
        delta: Option<&Bound<'_, PyAny>>,
        adjacency: Option<&str>,
    ) -> PyResult<Stated> {
        if let Ok(mechanism) = claim.cast::<PyMechanism>() {
            let delta = delta.ok_or_else(|| {
                InvalidInput::new_err(
                    "delta is missing, expected that of the claim: a mechanism has a whole curve",
                )
            })?;
            return Ok(Stated::Mechanism(mechanism.get().subject(adjacency)?, argument::delta(delta)?));
        }
        if delta.is_some() {
            return Err(InvalidInput::new_err(
                "delta is given, expected it only with a mechanism: the claim has its own",
            ));
        }
        let asked = argument::adjacency(adjacency)?;
        if let Ok(claim) = claim.cast::<Claim>() {
            let claim = AuditClaim::of_file(&claim.get().file).map_err(refused)?;
            let its_own = claim.point.adjacency;
            return match asked {
                Some(other) if other != its_own => Err(InvalidInput::new_err(format!(
                    "adjacency is {other}, expected none or {its_own}: the claim has its own"
                ))),
                _ => Ok(Stated::Whole(claim)),
            };
        }
        let unfit = || {
            InvalidInput::new_err(
                "claim is something else, expected a Claim, a Mechanism with delta, or (epsilon, delta)",
            )
        };
        let pair = claim.cast::<PyTuple>().ok().filter(|pair| pair.len() == 2).ok_or_else(unfit)?;
        let epsilon = number("epsilon", &pair.get_item(0)?)?;
        if !epsilon.is_finite() {
            return Err(InvalidInput::new_err(format!("epsilon is {epsilon}, expected a finite number ≥ 0")));
        }
        let point = auditing::Claim {
            epsilon: Upper(Epsilon::new(epsilon).map_err(refused)?),
            delta: argument::delta(&pair.get_item(1)?)?,
            adjacency: asked.unwrap_or(Adjacency::AddRemove),
        };
        Ok(Stated::Whole(point.into()))
    }

    fn adjacency(&self) -> Adjacency {
        match self {
            Stated::Whole(claim) => claim.point.adjacency,
            Stated::Mechanism(subject, _) => subject.adjacency,
        }
    }

    fn claim(self) -> Result<AuditClaim, Failure> {
        Ok(match self {
            Stated::Whole(claim) => claim,
            Stated::Mechanism(subject, delta) => AuditClaim::of_subject(&subject, delta, None)?,
        })
    }
}

/// Which datasets a claim says are adjacent.
#[pyfunction]
fn _audit_adjacency(
    claim: &Bound<'_, PyAny>,
    delta: Option<&Bound<'_, PyAny>>,
    adjacency: Option<&str>,
) -> PyResult<&'static str> {
    Ok(Stated::read(claim, delta, adjacency)?.adjacency().name())
}

/// Fixes everything and opens the folder of an audit whose trials Python runs.
#[pyfunction]
#[pyo3(signature = (*, claim, delta, adjacency, trials, seed, significance, method, threshold, require, max_failures, group, description, settings, out, resume))]
#[allow(clippy::too_many_arguments)] // Each is a keyword of `veracity.audit`.
fn _begin_audit(
    py: Python<'_>,
    claim: &Bound<'_, PyAny>,
    delta: Option<&Bound<'_, PyAny>>,
    adjacency: Option<&str>,
    trials: &Bound<'_, PyAny>,
    seed: &Bound<'_, PyAny>,
    significance: &Bound<'_, PyAny>,
    method: Option<&str>,
    threshold: Option<&str>,
    require: Option<&Bound<'_, PyAny>>,
    max_failures: Option<&Bound<'_, PyAny>>,
    group: u64,
    description: &str,
    settings: &Bound<'_, PyDict>,
    out: Option<PathBuf>,
    resume: bool,
) -> PyResult<AuditRun> {
    let stated = Stated::read(claim, delta, adjacency)?;
    let Value::Object(told) = argument::tree("settings", settings)? else {
        return Err(InvalidInput::new_err("settings is no table, expected one"));
    };
    let told: BTreeMap<String, Value> = told.into_iter().collect();
    let trials = argument::count("trials", trials)?;
    let seed = seed
        .extract::<u64>()
        .map_err(|_| InvalidInput::new_err("seed is something else, expected 0 ≤ seed < 2^64"))?;
    let group = Count::new(group).map_err(refused)?;
    let method = note(method, threshold, group)?.map(|note| note.method()).transpose().map_err(refused)?;
    if resume && out.is_none() {
        return Err(InvalidInput::new_err("out is missing, expected the folder of the audit to resume"));
    }
    let opening = if resume { Opening::Resume } else { Opening::Fresh };
    let settings = AuditSettings {
        method,
        significance: number("significance", significance)?,
        require: maybe_number("require", require)?,
        max_failures: max_failures.map(|most| most_failures(most)).transpose()?,
        keep: out.clone().map_or(Keep::Nothing, |folder| Keep::Everything(folder, opening)),
        ..AuditSettings::default()
    };
    let description = words::one_line(description);
    let work = move || -> Result<Stepwise, Failure> {
        let case = Case::of_brought_scores(&description, told, stated.claim()?, trials, seed, group);
        must_be_able(&case, &settings)?;
        Stepwise::begin(&case, &settings)
    };
    let audit = interruptible(py, work)?.map_err(failed)?;
    Ok(AuditRun { out, audit: Mutex::new(Some(audit)) })
}

fn most_failures(given: &Bound<'_, PyAny>) -> PyResult<u64> {
    match number("max_failures", given)? {
        0.0 => Ok(0),
        most => Ok(Whole(most).count("max_failures").map_err(refused)?.get()),
    }
}

/// The method that is asked for, as the command line has it; none for the usual one.
fn note(method: Option<&str>, threshold: Option<&str>, group: Count) -> PyResult<Option<MethodNote>> {
    let bound = match (method, threshold) {
        (None, None) => return Ok(None),
        // A threshold of one's own is counted at, not bet on.
        (None, Some(_)) => "clopper-pearson".to_owned(),
        (Some(method), _) => shown(method),
    };
    let usual = if bound == "sequential" { "past" } else { "split" };
    let threshold = threshold.map_or(usual.to_owned(), shown);
    Ok(Some(MethodNote { bound, threshold, group_size: group.get() }))
}

/// Refuses an audit that could not catch what it must, before its first trial.
fn must_be_able(case: &Case, settings: &AuditSettings) -> Result<(), Failure> {
    let Some(part) = settings.require else { return Ok(()) };
    let (protocol, caught) = plan(case, settings)?;
    if caught.and_then(|caught| caught.noise_below).is_some_and(|below| below >= part) {
        return Ok(());
    }
    let needed = needed_trials(case, protocol.method.method()?, part, settings.significance)?;
    Err(Failure::invalid(format!(
        "trials is {}, expected about {}: so many catch noise of {part} of the declared",
        protocol.trials,
        needed.get()
    )))
}

/// A score of a trial, or why there is none.
type Row = (u64, Option<f64>, String);

/// An audit under way.
#[pyclass(frozen, name = "_AuditRun", module = "veracity._veracity")]
pub struct AuditRun {
    out: Option<PathBuf>,
    audit: Mutex<Option<Stepwise>>,
}

impl AuditRun {
    fn guard(&self) -> MutexGuard<'_, Option<Stepwise>> {
        self.audit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the audit, without the interpreter's lock.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Stepwise) -> Result<T, Failure> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| self.guard().as_mut().map(work));
        done.ok_or_else(over)?.map_err(failed)
    }
}

fn over() -> PyErr {
    Error::new_err("the audit has ended, expected one under way")
}

#[pymethods]
impl AuditRun {
    /// The next trials to be run: (number, whether the canary is in, seed).
    fn hand_out(&self, py: Python<'_>, most: usize) -> PyResult<Vec<(u64, bool, u32)>> {
        let trials = self
            .with(py, |audit| Ok(std::iter::from_fn(|| audit.hand_out()).take(most).collect::<Vec<_>>()))?;
        Ok(trials.into_iter().map(|trial| (trial.number, trial.world == World::In, trial.seed)).collect())
    }

    /// Trials that were handed out and lost.
    fn take_back(&self, py: Python<'_>, trials: Vec<u64>) -> PyResult<()> {
        self.with(py, |audit| {
            audit.take_back(trials);
            Ok(())
        })
    }

    /// Keeps trials: (number, score or None, why there is none). True when the claim has fallen.
    fn keep(&self, py: Python<'_>, rows: Vec<Row>) -> PyResult<bool> {
        self.with(py, |audit| {
            let mut fallen = false;
            for (trial, score, reason) in rows {
                fallen = audit.keep(trial, score.ok_or(auditing::Failure::Run(reason)))?;
            }
            Ok(fallen)
        })
    }

    /// (Trials of this run that have ended, those of this run, those that failed.)
    #[getter]
    fn progress(&self, py: Python<'_>) -> PyResult<(u64, u64, u64)> {
        let now = self.with(py, |audit| Ok(audit.progress()))?;
        Ok((now.done, now.of, now.failed))
    }

    /// Judges, and writes what is kept.
    fn finish(&self, py: Python<'_>, first_failure: Option<String>) -> PyResult<AuditResult> {
        let audit = self.guard().take().ok_or_else(over)?;
        let protocol = audit.protocol().clone();
        match interruptible(py, move || audit.judge())?.map_err(failed)? {
            AuditDone::Judged { audited, trials, earlier_looks } => Ok(AuditResult {
                protocol,
                audited: *audited,
                kept: trials,
                earlier_looks,
                out: self.out.clone(),
                first_failure,
                text: OnceLock::new(),
            }),
            AuditDone::Share { .. } => Err(Error::new_err("trials are missing, expected all of them")),
        }
    }

    /// Leaves the folder to others; what was kept stays.
    fn close(&self) {
        self.guard().take();
    }
}

/// What came of an audit: the verdict and what it rests on. It shows itself in a notebook.
#[pyclass(frozen, module = "veracity")]
pub struct AuditResult {
    protocol: AuditProtocol,
    audited: Audited,
    kept: Trials,
    /// How many other audits of this subject and claim were judged in the same folder before.
    #[pyo3(get)]
    earlier_looks: u64,
    out: Option<PathBuf>,
    /// The traceback of the first trial that failed in this run; None where none did.
    #[pyo3(get)]
    first_failure: Option<String>,
    text: OnceLock<String>,
}

#[pymethods]
impl AuditResult {
    /// "refuted", "not-refuted" or "cannot-tell".
    #[getter]
    fn verdict(&self) -> &str {
        self.audited.verdict.name()
    }

    /// The truth is at least this, up to `significance`.
    #[getter]
    fn epsilon_lower(&self) -> f64 {
        self.audited.evidence.shown.epsilon.0.get()
    }

    /// The largest ε that so many trials could have shown.
    #[getter]
    fn ceiling(&self) -> f64 {
        self.audited.evidence.shown.ceiling.get()
    }

    /// The ε that is claimed.
    #[getter]
    fn epsilon_claimed(&self) -> f64 {
        self.audited.claim.epsilon.0.get()
    }

    /// Its δ.
    #[getter]
    fn delta(&self) -> f64 {
        self.audited.claim.delta.get()
    }

    /// The largest multiple of the declared noise that the trials still allow; None where they allow any, or none is declared.
    #[getter]
    fn effective_noise(&self) -> Option<f64> {
        self.audited.against.and_then(|against| against.noise_at_most)
    }

    /// Noise below this part of the declared is caught by so many trials with chance 0.9; None where none is.
    #[getter]
    fn catches_noise_below(&self) -> Option<f64> {
        self.audited.caught.and_then(|caught| caught.noise_below)
    }

    /// How many trials were looked at.
    #[getter]
    fn trials(&self) -> u64 {
        self.audited.terms.trials.get()
    }

    /// How many of them failed.
    #[getter]
    fn failures(&self) -> u64 {
        self.audited.failures
    }

    /// Trials with the canary, those of them that failed, trials without it, those of them that failed.
    #[getter]
    fn failed_by_world(&self) -> (u64, u64, u64, u64) {
        let by = self.audited.failed;
        (by.ins, by.failed_in, by.outs, by.failed_out)
    }

    /// The chance of error.
    #[getter]
    fn significance(&self) -> f64 {
        self.audited.evidence.significance
    }

    /// How scores became a verdict.
    #[getter]
    fn method(&self) -> String {
        self.protocol.method.bound.clone()
    }

    /// What the trials' randomness was drawn from.
    #[getter]
    fn seed(&self) -> u64 {
        self.protocol.seed
    }

    /// The folder of the evidence; None where none is kept.
    #[getter]
    fn out(&self) -> Option<PathBuf> {
        self.out.clone()
    }

    /// The text of the certificate, from which and from the trials anyone comes to the same verdict.
    #[getter]
    fn certificate(&self, py: Python<'_>) -> PyResult<String> {
        if let Some(text) = self.text.get() {
            return Ok(text.clone());
        }
        let text = py.detach(|| certify(&self.protocol, &self.kept)?.1.to_json()).map_err(failed)?;
        Ok(self.text.get_or_init(|| text).clone())
    }

    /// The trials as a CSV text, as they lie in the folder of the evidence.
    fn trials_csv(&self) -> String {
        self.kept.to_csv()
    }

    /// Whether the canary was in, by trial.
    #[getter]
    fn worlds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let worlds = self.kept.observations().into_iter().map(|told| told.world == World::In);
        PyArray1::from_vec(py, worlds.collect())
    }

    /// The scores by trial; NaN where a trial failed.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let scores = self.kept.observations().into_iter().map(|told| told.score.unwrap_or(f64::NAN));
        PyArray1::from_vec(py, scores.collect())
    }

    /// The report as one page.
    fn report_html(&self, py: Python<'_>) -> PyResult<String> {
        let draw = || page(&self.audited, &self.kept.observations(), Vec::new());
        Ok(py.detach(draw).map_err(refused)?.render())
    }

    /// Raises `Refuted` when the claim is refuted, and `CannotTell` when the audit is not able to tell: with `require`, when noise of
    /// that part of the declared would not have been caught.
    #[pyo3(signature = (require=None))]
    fn assert_not_refuted(&self, require: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let audited = match maybe_number("require", require)? {
            Some(part) if !self.audited.is_refuted() => {
                self.audited.clone().requiring(part).map_err(refused)?
            }
            _ => self.audited.clone(),
        };
        match audited.verdict {
            Verdict::Refuted { .. } => Err(Refuted::new_err(words::headline(&audited))),
            Verdict::CannotTell { .. } => Err(CannotTell::new_err(words::headline(&audited))),
            Verdict::NotRefuted { .. } => Ok(()),
        }
    }

    fn __repr__(&self) -> String {
        let kept = self.out.as_ref().map_or(String::new(), |folder| {
            let path = folder.join(auditing::certificate::FILE);
            format!("evidence {0}; veracity verify {0} recomputes it\n", path.display())
        });
        (words::audit(&self.audited) + &kept).trim_end().to_owned()
    }

    /// The verdict and the report's pictures, light or dark as the notebook is.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| fragment(&self.audited, &self.kept.observations())).map_err(refused)
    }
}
