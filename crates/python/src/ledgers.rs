//! A budget in a durable file: a request is made, charged, and then answered or given up. `veracity/_ledger.py` is its face.

use crate::{
    argument,
    errors::{InvalidInput, failed, refused},
    interruptible::interruptible,
    mechanism::PyMechanism,
};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use veracity::{
    Adjacency, Delta, Epsilon, Error as Failure, PrivacyUnit,
    filter::Budget,
    ledger::{Hash, Ledger, Request, RequestId, Reservation, Reserved, Rule, Terms},
    ledger_json,
};

/// Adds ledgers to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyLedger>()?;
    module.add_class::<PyCharge>()
}

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
    pub charge: Arc<Charge>,
}

/// A request to a ledger, and what became of it.
#[derive(Debug)]
pub struct Charge {
    ledger: Arc<Ledger>,
    request: Request,
    state: Mutex<State>,
}

#[derive(Debug)]
enum State {
    /// Nothing was asked of the ledger.
    Made,
    /// It is charged, on disk.
    Reserved(Reservation),
    /// It was answered before: the answer, and the number of its entry.
    Known(String, u64),
    /// It was answered or given up just now.
    Over(u64),
}

impl Charge {
    /// Charges it, once; whether it was new, and so may draw noise.
    pub fn enter(&self) -> Result<bool, Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*state, State::Made) {
            return Err(Failure::invalid("request was charged before, expected a new one"));
        }
        *state = match self.ledger.reserve(self.request.clone())? {
            Reserved::New(reservation) => State::Reserved(reservation),
            Reserved::Known { answer, entry } => State::Known(answer, entry),
        };
        Ok(matches!(*state, State::Reserved(_)))
    }

    fn end(&self, answer: Option<&str>) -> Result<(), Failure> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let over = match &*state {
            State::Reserved(reservation) => State::Over(reservation.entry()),
            State::Made | State::Known(..) | State::Over(_) => {
                return Err(Failure::invalid("request is not open, expected one that was charged just now"));
            }
        };
        let State::Reserved(reservation) = std::mem::replace(&mut *state, over) else { return Ok(()) };
        match answer {
            Some(answer) => self.ledger.commit(reservation, answer),
            None => self.ledger.abandon(reservation),
        }
    }
}

#[pymethods]
impl PyCharge {
    /// Charges it; whether it was new.
    fn enter(&self, py: Python<'_>) -> PyResult<bool> {
        let charge = self.charge.clone();
        interruptible(py, move || charge.enter())?.map_err(failed)
    }

    /// Keeps its answer, one JSON value.
    fn keep(&self, py: Python<'_>, answer: String) -> PyResult<()> {
        let charge = self.charge.clone();
        interruptible(py, move || charge.end(Some(&answer)))?.map_err(failed)
    }

    /// Notes that there will be no answer; it stays charged.
    fn give_up(&self, py: Python<'_>) -> PyResult<()> {
        let charge = self.charge.clone();
        interruptible(py, move || charge.end(None))?.map_err(failed)
    }

    /// The answer that was kept before, as JSON.
    #[getter]
    fn known(&self) -> Option<String> {
        match &*self.charge.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Known(answer, _) => Some(answer.clone()),
            State::Made | State::Reserved(_) | State::Over(_) => None,
        }
    }

    /// The number of its entry, once it is charged.
    #[getter]
    fn entry(&self) -> Option<u64> {
        match &*self.charge.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Made => None,
            State::Reserved(reservation) => Some(reservation.entry()),
            State::Known(_, entry) | State::Over(entry) => Some(*entry),
        }
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
            (None, usual) | (Some("gaussian"), usual @ Rule::Gaussian { .. }) => usual,
            (Some("sum"), _) => Rule::Sum,
            (Some("gaussian"), _) => Rule::Gaussian { reserve: Delta::ZERO },
            (Some(other), _) => {
                let other = argument::shown(other);
                return Err(InvalidInput::new_err(format!(
                    "rule is {other}, expected sum or gaussian; a product is made by veracity ledger create"
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

    /// Where it stands, as JSON.
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

    /// A request for a mechanism; nothing is charged yet.
    #[pyo3(signature = (mechanism, what, dataset, request_id, analyst))]
    fn request(
        &self,
        mechanism: &PyMechanism,
        what: &str,
        dataset: Option<&str>,
        request_id: Option<&str>,
        analyst: Option<String>,
    ) -> PyResult<PyCharge> {
        let of = &self.ledger.terms().dataset;
        if let Some(dataset) = dataset.filter(|dataset| !of.is_empty() && of != dataset) {
            return Err(InvalidInput::new_err(format!(
                "dataset is {}, expected {of}, which the ledger is of; say so if it is the same",
                argument::shown(dataset)
            )));
        }
        let subject = mechanism.subject(None)?;
        let request = Request {
            id: request_id.map(RequestId::new).transpose().map_err(refused)?,
            analyst,
            unit: Some(subject.unit.clone()),
            question: subject.question(),
            what: what.chars().map(|c| if c.is_control() { ' ' } else { c }).collect(),
        };
        let charge = Charge { ledger: self.ledger.clone(), request, state: Mutex::new(State::Made) };
        Ok(PyCharge { charge: Arc::new(charge) })
    }

    /// By which rule charges are held against the budget.
    #[getter]
    fn rule(&self) -> &'static str {
        self.ledger.terms().rule.name()
    }

    /// Where it is.
    #[getter]
    fn path(&self) -> PathBuf {
        self.ledger.path().to_owned()
    }
}
