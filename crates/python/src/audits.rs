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
        self, Audit, AuditClaim, AuditPlan, AuditProtocol, InsufficientPower, MethodRequest, Opening,
        Retention, Stepwise, Trials, World, certificate::Certificate, fragment, page,
    },
    words,
};

pyo3::import_exception!(veracity._errors, CannotTell);

/// What is claimed, as far as no accountant is needed to say it.
enum ClaimSource {
    Whole(AuditClaim),
    Mechanism(Subject, veracity::Delta),
}

impl ClaimSource {
    /// A claim, a mechanism with a δ, or (ε, δ).
    fn read(
        claim: &Bound<'_, PyAny>,
        delta: Option<&Bound<'_, PyAny>>,
        adjacency: Option<&str>,
    ) -> PyResult<ClaimSource> {
        if let Ok(mechanism) = claim.cast::<PyMechanism>() {
            let delta = delta.ok_or_else(|| {
                InvalidInput::new_err(
                    "delta is missing; name the delta of the claim, because a mechanism has one epsilon for \
                     each delta",
                )
            })?;
            return Ok(ClaimSource::Mechanism(mechanism.get().subject(adjacency)?, argument::delta(delta)?));
        }
        if delta.is_some() {
            return Err(InvalidInput::new_err(
                "delta can be set only with a mechanism; leave it out, because the claim has its own",
            ));
        }
        let asked = argument::adjacency(adjacency)?;
        if let Ok(claim) = claim.cast::<Claim>() {
            let claim = AuditClaim::of_file(&claim.get().file).map_err(refused)?;
            let its_own = claim.point.adjacency;
            return match asked {
                Some(other) if other != its_own => Err(InvalidInput::new_err(format!(
                    "adjacency is {other}, but the claim has {its_own}; leave adjacency out"
                ))),
                _ => Ok(ClaimSource::Whole(claim)),
            };
        }
        let unfit = || {
            InvalidInput::new_err(
                "claim has the wrong type, expected a Claim, a Mechanism with delta, or (epsilon, delta)",
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
        Ok(ClaimSource::Whole(point.into()))
    }

    fn adjacency(&self) -> Adjacency {
        match self {
            ClaimSource::Whole(claim) => claim.point.adjacency,
            ClaimSource::Mechanism(subject, _) => subject.adjacency,
        }
    }

    fn claim(self) -> Result<AuditClaim, Failure> {
        Ok(match self {
            ClaimSource::Whole(claim) => claim,
            ClaimSource::Mechanism(subject, delta) => AuditClaim::of_subject(&subject, delta, None)?,
        })
    }
}

/// Which datasets a claim says are adjacent.
#[pyfunction]
pub fn _audit_adjacency(
    claim: &Bound<'_, PyAny>,
    delta: Option<&Bound<'_, PyAny>>,
    adjacency: Option<&str>,
) -> PyResult<&'static str> {
    Ok(ClaimSource::read(claim, delta, adjacency)?.adjacency().name())
}

/// Fixes everything and opens the folder of an audit whose trials Python runs.
#[pyfunction]
#[pyo3(signature = (*, claim, delta, adjacency, trials, seed, significance, method, threshold, require, max_failures, group, description, settings, out, resume))]
#[allow(clippy::too_many_arguments)] // Each is a keyword of `veracity.audit`.
pub fn _begin_audit(
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
    let stated = ClaimSource::read(claim, delta, adjacency)?;
    let Value::Object(told) = argument::tree("settings", settings)? else {
        return Err(InvalidInput::new_err("settings is not a dict"));
    };
    let told: BTreeMap<String, Value> = told.into_iter().collect();
    let trials = argument::count("trials", trials)?;
    let seed = seed
        .extract::<u64>()
        .map_err(|_| InvalidInput::new_err("seed is not an integer in range, expected 0 ≤ seed < 2^64"))?;
    let group = Count::new(group).map_err(refused)?;
    let request =
        MethodRequest { bound: method.map(shown), threshold: threshold.map(shown), group: Some(group) };
    if resume && out.is_none() {
        return Err(InvalidInput::new_err("out is missing; name the directory of the audit to resume"));
    }
    let opening = if resume { Opening::Resume } else { Opening::Fresh };
    let mut settings = AuditSettings {
        significance: number("significance", significance)?,
        require: maybe_number("require", require)?,
        max_failures: max_failures
            .map(|most| argument::whole("max_failures", most)?.count_or_zero("max_failures").map_err(refused))
            .transpose()?,
        keep: out.clone().map_or(Retention::Nothing, |folder| Retention::Everything(folder, opening)),
        ..AuditSettings::default()
    };
    let description = words::one_line(description);
    let work = move || -> Result<Stepwise, Failure> {
        let case = Case::of_brought_scores(&description, told, stated.claim()?, trials, seed, group);
        settings.method = Some(case.method(&request, settings.significance)?);
        let audit = Audit::new(&case, &settings)?;
        if settings.require.is_some()
            && let AuditPlan::InsufficientPower(InsufficientPower { trials, require, needed }) =
                audit.plan()?
        {
            return Err(Failure::invalid(format!(
                "trials is {trials}, expected about {needed}: this many detect noise at {require}× the declared level"
            )));
        }
        audit.begin()
    };
    let audit = interruptible(py, work)?.map_err(failed)?;
    Ok(AuditRun { out, audit: Mutex::new(Some(audit)) })
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
    Error::new_err("the audit has already ended")
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
        let done = interruptible(py, move || audit.judge())?.map_err(failed)?;
        AuditResult::of(protocol, done, self.out.clone(), first_failure)
    }

    /// Leaves the folder to others; what was kept stays.
    fn close(&self) {
        self.guard().take();
    }
}

/// Result of an audit: the verdict, the lower bound on ε and the evidence.
///
/// In a notebook it shows the plots of the report.
#[pyclass(frozen, module = "veracity")]
pub struct AuditResult {
    protocol: AuditProtocol,
    audited: auditing::AuditResult,
    kept: Trials,
    /// The number of earlier audits of the same subject and claim in the same folder.
    #[pyo3(get)]
    earlier_looks: u64,
    out: Option<PathBuf>,
    /// The traceback of the first failed trial of this run. None if no trial failed.
    #[pyo3(get)]
    first_failure: Option<String>,
    text: OnceLock<String>,
}

impl AuditResult {
    /// What an audit came to, by its protocol.
    pub fn of(
        protocol: AuditProtocol,
        done: AuditDone,
        out: Option<PathBuf>,
        first_failure: Option<String>,
    ) -> PyResult<AuditResult> {
        match done {
            AuditDone::Judged { audited, trials, earlier_looks } => Ok(AuditResult {
                protocol,
                audited: *audited,
                kept: trials,
                earlier_looks,
                out,
                first_failure,
                text: OnceLock::new(),
            }),
            AuditDone::Share { .. } => {
                Err(Error::new_err("trials are missing; run all of them before the verdict"))
            }
        }
    }
}

getters! {
    AuditResult {
        /// The verdict: "refuted", "not-refuted" or "inconclusive".
        verdict(this) -> &str { this.audited.verdict.name() }
        /// The lower bound on ε at confidence 1 − `significance`.
        epsilon_lower(this) -> f64 { this.audited.evidence.shown.epsilon.0.get() }
        /// The largest lower bound on ε that this number of trials could have given.
        ceiling(this) -> f64 { this.audited.evidence.shown.ceiling.get() }
        /// ε of the claim.
        epsilon_claimed(this) -> f64 { this.audited.claim.epsilon.0.get() }
        /// δ of the claim.
        delta(this) -> f64 { this.audited.claim.delta.get() }
        /// The largest noise, as a multiple of the declared level, with which the trials are compatible. None if there is no limit.
        effective_noise(this) -> Option<f64> { this.audited.against.and_then(|against| against.noise_at_most) }
        /// The noise, as a multiple of the declared level, below which the audit refutes with probability 0.9. None if there is none.
        detects_noise_below(this) -> Option<f64> { this.audited.power.and_then(|power| power.detects_noise_below) }
        /// The number of trials that the verdict is based on.
        trials(this) -> u64 { this.audited.terms.trials.get() }
        /// The number of those trials that failed.
        failures(this) -> u64 { this.audited.failures }
        /// The significance: the largest probability of refuting a true claim.
        significance(this) -> f64 { this.audited.evidence.significance }
        /// The statistical method, such as `sequential`.
        method(this) -> String { this.protocol.method.bound.clone() }
        /// The seed of the trials.
        seed(this) -> u64 { this.protocol.seed }
        /// The folder with the evidence. None if you kept none.
        out(this) -> Option<PathBuf> { this.out.clone() }
    }
}

#[pymethods]
impl AuditResult {
    /// Trials with the canary, failed ones with it, trials without it, failed ones without it.
    #[getter]
    fn failed_by_world(&self) -> (u64, u64, u64, u64) {
        let by = self.audited.failed;
        (by.ins, by.failed_in, by.outs, by.failed_out)
    }

    /// The certificate as JSON. With the trials, anyone can recompute the verdict from it.
    #[getter]
    fn certificate(&self, py: Python<'_>) -> PyResult<String> {
        if let Some(text) = self.text.get() {
            return Ok(text.clone());
        }
        let text = py
            .detach(|| Certificate::new(&self.protocol, &self.kept, &self.audited).to_json())
            .map_err(failed)?;
        Ok(self.text.get_or_init(|| text).clone())
    }

    /// Return the trials as CSV.
    ///
    /// Returns:
    ///     The text of `trials.csv`.
    fn trials_csv(&self) -> String {
        self.kept.to_csv()
    }

    /// One boolean per trial: True if the canary was included.
    #[getter]
    fn worlds<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        let worlds = self.kept.observations().into_iter().map(|told| told.world == World::In);
        PyArray1::from_vec(py, worlds.collect())
    }

    /// One score per trial. NaN for a failed trial.
    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let scores = self.kept.observations().into_iter().map(|told| told.score.unwrap_or(f64::NAN));
        PyArray1::from_vec(py, scores.collect())
    }

    /// Return the report as one HTML page.
    ///
    /// Returns:
    ///     HTML without external resources. Write it to a file and open it in a browser.
    fn report_html(&self, py: Python<'_>) -> PyResult<String> {
        let draw = || page(&self.audited, &self.kept.observations(), Vec::new());
        Ok(py.detach(draw).map_err(refused)?.render())
    }

    /// Raise an exception if the claim is refuted or the audit is inconclusive.
    ///
    /// Args:
    ///     require: the noise that the audit must be able to detect, as a multiple of the declared level, for example 0.8. None skips
    ///         this check.
    ///
    /// Raises:
    ///     Refuted: if the claim is refuted.
    ///     CannotTell: if the audit could not have detected noise at `require` times the declared level.
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
            let certificate = format!("{0}   (recompute it with veracity verify {0})", path.display());
            words::row("certificate", &certificate)
        });
        (words::audit(&self.audited) + &kept).trim_end().to_owned()
    }

    /// The verdict and the report's pictures, light or dark as the notebook is.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| fragment(&self.audited, &self.kept.observations())).map_err(refused)
    }
}
