//! A budget in a durable file: a request is made, charged, and then answered or given up. `veracity/_ledger.py` is its face.

use crate::{
    argument,
    errors::{InvalidInput, failed, refused},
    interruptible::interruptible,
    mechanism::PyMechanism,
};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::{path::PathBuf, sync::Arc};
use veracity::{
    Adjacency, Epsilon, Error as Failure, PrivacyUnit,
    filter::Budget,
    ledger::{Attempt, Hash, Ledger, Payer, Payment, RequestId, Rule, Terms},
    ledger_json,
};

/// A ledger that is open.
#[pyclass(frozen, name = "_Ledger", module = "veracity._veracity")]
#[derive(Debug)]
pub struct PyLedger {
    ledger: Arc<Ledger>,
}

/// A request, before and after it is charged.
#[pyclass(frozen, name = "_Charge", module = "veracity._veracity")]
#[derive(Debug)]
pub struct PyCharge {
    /// What is charged, for another thread.
    pub payment: Arc<Payment>,
}

getters! {
    PyCharge {
        /// The answer that was kept before, as JSON.
        known(this) -> Option<String> { this.payment.known() }
        /// The number of its entry, once it is charged.
        entry(this) -> Option<u64> { this.payment.entry() }
    }
}

#[pymethods]
impl PyCharge {
    /// Looks for an answer that was kept before; whether there is one.
    fn recall(&self, py: Python<'_>) -> PyResult<bool> {
        let payment = self.payment.clone();
        interruptible(py, move || payment.recall())?.map_err(failed)
    }

    /// Charges it; whether it was new.
    fn enter(&self, py: Python<'_>) -> PyResult<bool> {
        let payment = self.payment.clone();
        interruptible(py, move || payment.charge())?.map_err(failed)
    }

    /// Keeps its answer, one JSON value.
    fn commit(&self, py: Python<'_>, answer: String) -> PyResult<()> {
        let payment = self.payment.clone();
        interruptible(py, move || payment.keep(&answer))?.map_err(failed)
    }

    /// Notes that there will be no answer; it stays charged.
    fn give_up(&self, py: Python<'_>) -> PyResult<()> {
        let payment = self.payment.clone();
        interruptible(py, move || payment.fail())?.map_err(failed)
    }
}

getters! {
    PyLedger {
        /// By which rule charges are held against the budget.
        rule(this) -> &'static str { this.ledger.terms().rule.name() }
        /// Where it is.
        path(this) -> PathBuf { this.ledger.path().to_owned() }
    }
}

#[pymethods]
impl PyLedger {
    /// Makes a ledger in a new file.
    #[staticmethod]
    #[pyo3(signature = (path, epsilon, delta, rule, adjacency, unit, dataset, analysts))]
    #[allow(clippy::too_many_arguments)] // Each is a keyword of `Ledger.create`.
    fn create(
        py: Python<'_>,
        path: PathBuf,
        epsilon: &Bound<'_, PyAny>,
        delta: &Bound<'_, PyAny>,
        rule: Option<&str>,
        adjacency: &str,
        unit: Option<&str>,
        dataset: Option<String>,
        analysts: Vec<(String, f64)>,
    ) -> PyResult<PyLedger> {
        let budget = Budget { epsilon: argument::epsilon(epsilon)?, delta: argument::delta(delta)? };
        let usual = Rule::usual(budget).map_err(refused)?;
        let rule = match (rule, usual) {
            (None, usual) | (Some("union"), usual @ Rule::Union { .. }) => usual,
            (Some("sum"), _) => Rule::Sum,
            (Some("gaussian"), Rule::Union { reserve }) => Rule::Gaussian { reserve },
            (Some("union" | "gaussian"), _) => {
                return Err(InvalidInput::new_err("rule needs a delta > 0; set delta, or leave out rule"));
            }
            (Some(other), _) => {
                let other = argument::shown(other);
                return Err(InvalidInput::new_err(format!(
                    "rule is {other}, expected sum, union or gaussian; create a product rule with veracity ledger \
                     create"
                )));
            }
        };
        let unit = PrivacyUnit::new(unit.unwrap_or(Terms::ANY_UNIT)).map_err(refused)?;
        let cap = |(name, epsilon): (String, f64)| {
            Ok((name, Budget { epsilon: Epsilon::new(epsilon).map_err(refused)?, delta: budget.delta }))
        };
        let terms = Terms {
            budget,
            rule,
            adjacency: argument::adjacency(Some(adjacency))?.unwrap_or(Adjacency::AddRemove),
            unit,
            dataset: dataset.unwrap_or_default(),
            analysts: analysts.into_iter().map(cap).collect::<PyResult<_>>()?,
        };
        let ledger = interruptible(py, move || Ledger::create(&path, terms))?.map_err(failed)?;
        Ok(PyLedger { ledger: Arc::new(ledger) })
    }

    /// Opens a ledger.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<PyLedger> {
        let ledger = interruptible(py, move || Ledger::open(&path))?.map_err(failed)?;
        Ok(PyLedger { ledger: Arc::new(ledger) })
    }

    /// The settings and the spent budget, as JSON.
    fn status(&self, py: Python<'_>) -> PyResult<String> {
        let ledger = self.ledger.clone();
        let work = move || -> Result<Value, Failure> { Ok(ledger_json::status(&ledger, &ledger.status()?)) };
        Ok(interruptible(py, work)?.map_err(failed)?.to_string())
    }

    /// What was asked, the first first, as JSON; each with its answer.
    fn history(&self, py: Python<'_>) -> PyResult<String> {
        let ledger = self.ledger.clone();
        let work = move || -> Result<Vec<Value>, Failure> {
            let entries = ledger.history()?.into_iter().map(|entry| {
                let mut object = ledger_json::entry(&entry);
                object["answer"] = json!(entry.answer);
                object
            });
            Ok(entries.collect())
        };
        Ok(Value::Array(interruptible(py, work)?.map_err(failed)?).to_string())
    }

    /// Whether all of it holds, as JSON.
    fn verify(&self, py: Python<'_>, head: Option<&str>) -> PyResult<String> {
        let noted: Option<Hash> = head.map(str::parse).transpose().map_err(refused)?;
        let ledger = self.ledger.clone();
        let work = move || -> Result<Value, Failure> { Ok(ledger_json::verified(&ledger.verify(noted)?)) };
        Ok(interruptible(py, work)?.map_err(failed)?.to_string())
    }

    /// A request for a mechanism; nothing is charged yet. `attempt` says what becomes of the charge if the job fails: once, resumable, or
    /// resumed, which takes up the charge of a job that is open.
    #[pyo3(signature = (mechanism, what, dataset, request_id, analyst, attempt="once"))]
    fn request(
        &self,
        mechanism: &PyMechanism,
        what: &str,
        dataset: Option<&str>,
        request_id: Option<&str>,
        analyst: Option<String>,
        attempt: &str,
    ) -> PyResult<PyCharge> {
        let attempt = match attempt {
            "once" => Attempt::Once,
            "resumable" => Attempt::Resumable,
            "resumed" => Attempt::Resumed,
            _ => return Err(InvalidInput::new_err("unknown attempt, expected once, resumable or resumed")),
        };
        let payer = Payer {
            ledger: self.ledger.clone(),
            id: request_id.map(RequestId::new).transpose().map_err(refused)?,
            analyst,
            what: None,
        };
        let payment = payer.payment(&mechanism.subject(None)?, dataset, what).map_err(failed)?;
        Ok(PyCharge { payment: Arc::new(payment.with_attempt(attempt)) })
    }
}
