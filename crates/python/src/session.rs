//! A session's ledger: a question is charged, then answered once from columns. `veracity/_session.py` is its face.

use crate::{
    argument,
    claims::Claim,
    columns::{PyColumn, text_of},
    errors::{InvalidInput, failed, refused},
    interruptible::interruptible,
    mechanism::PyMechanism,
};
use pyo3::prelude::*;
use std::{
    collections::HashMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use veracity::{
    Adjacency, Error as Failure, Persons, Refusal,
    claim_place::ClaimPlace,
    query::{Bins, Bounds, ErrorBar, Rank, Statistic},
    releasing::session::{
        AnsweredQuestion, ChargedQuestion, Grouping, PlannedQuestion, Rows, Session, SessionSettings, Share,
    },
};

/// Plans that are kept, so that a question that is asked again is not calibrated again.
const KEPT: usize = 256;

/// The ledger of a session.
#[pyclass(frozen, name = "_Session", module = "veracity._veracity")]
#[derive(Debug)]
pub struct PySession {
    session: Arc<Session>,
    plans: Arc<Mutex<HashMap<String, PlannedQuestion>>>,
}

/// A question that was charged and not yet answered.
#[pyclass(frozen, name = "_Charged", module = "veracity._veracity")]
#[derive(Debug)]
pub struct PyCharged {
    charged: Mutex<Option<ChargedQuestion>>,
}

/// What an answer promises, before it is written down.
#[pyclass(frozen, name = "_Promise", module = "veracity._veracity")]
#[derive(Debug)]
pub struct PyPromise {
    answered: Arc<AnsweredQuestion>,
}

#[pymethods]
impl PyCharged {
    /// What it does to whose data; None once it was answered.
    #[getter]
    fn mechanism(&self) -> PyResult<Option<PyMechanism>> {
        let charged = self.charged.lock().unwrap_or_else(PoisonError::into_inner);
        charged.as_ref().map(|charged| PyMechanism::of_subject(charged.subject().clone())).transpose()
    }
}

#[pymethods]
impl PyPromise {
    /// The claim.
    fn claim(&self, py: Python<'_>) -> PyResult<Claim> {
        let answered = self.answered.clone();
        Ok(Claim { file: interruptible(py, move || answered.claim())?.map_err(refused)? })
    }
}

/// One number of an answer: label, value, error bar, rank error.
type Number = (Option<String>, f64, f64, Option<f64>);
/// A part of the budget: ε, what adds up, its limit.
type Part = (f64, f64, f64);

#[pymethods]
impl PySession {
    #[new]
    #[pyo3(signature = (epsilon, delta, adjacency, person, rows_per_person, dataset, seed))]
    fn new(
        epsilon: &Bound<'_, PyAny>,
        delta: &Bound<'_, PyAny>,
        adjacency: &str,
        person: Option<&str>,
        rows_per_person: &Bound<'_, PyAny>,
        dataset: String,
        seed: Option<u64>,
    ) -> PyResult<PySession> {
        let budget =
            veracity::filter::Budget { epsilon: argument::epsilon(epsilon)?, delta: argument::delta(delta)? };
        let rows = argument::count("rows_per_person", rows_per_person)?;
        let persons = person.map(|column| Persons::new(column, rows)).transpose().map_err(refused)?;
        let adjacency = argument::adjacency(Some(adjacency))?.unwrap_or(Adjacency::AddRemove);
        veracity::provenance(&dataset).map_err(failed)?;
        let settings = SessionSettings { budget, adjacency, persons, dataset, seed };
        let session = Arc::new(Session::open(settings).map_err(refused)?);
        Ok(PySession { session, plans: Arc::default() })
    }

    /// Charges a question. Nothing of the data was seen.
    #[pyo3(signature = (statistic, column, epsilon, *, lower=None, upper=None, ranks=None, bins=None, keys=None, error_bar=None, group=None))]
    #[allow(clippy::too_many_arguments)]
    fn charge(
        &self,
        py: Python<'_>,
        statistic: &str,
        column: Option<String>,
        epsilon: &Bound<'_, PyAny>,
        lower: Option<&Bound<'_, PyAny>>,
        upper: Option<&Bound<'_, PyAny>>,
        ranks: Option<Vec<f64>>,
        bins: Option<&Bound<'_, PyAny>>,
        keys: Option<Vec<String>>,
        error_bar: Option<&str>,
        group: Option<(String, Vec<String>)>,
    ) -> PyResult<PyCharged> {
        let epsilon = argument::epsilon(epsilon)?;
        let bounds = || -> PyResult<Bounds> {
            let (Some(lower), Some(upper)) = (lower, upper) else {
                return Err(InvalidInput::new_err(format!(
                    "bounds are missing; set lower and upper for {}, and do not compute them from the data",
                    argument::shown(statistic)
                )));
            };
            let (lower, upper) = (argument::number("lower", lower)?, argument::number("upper", upper)?);
            Bounds::new(lower, upper).map_err(refused)
        };
        let statistics = match (statistic, keys) {
            ("count", None) => vec![Statistic::Count],
            ("sum", None) => vec![Statistic::Sum(bounds()?)],
            ("mean", None) => vec![Statistic::Mean(bounds()?)],
            ("variance", None) => vec![Statistic::Variance(bounds()?)],
            ("quantile", None) => {
                let bar = match error_bar {
                    None | Some("pair") => ErrorBar::Pair,
                    Some("charged") => ErrorBar::Charged,
                    Some(other) => {
                        let other = argument::shown(other);
                        return Err(InvalidInput::new_err(format!(
                            "error_bar is {other}, expected \"pair\" or \"charged\""
                        )));
                    }
                };
                quantiles(bounds()?, &ranks.unwrap_or_default(), bar).map_err(refused)?
            }
            ("histogram", Some(keys)) => vec![Statistic::Histogram(Bins::Categories(keys))],
            ("histogram", None) => {
                let bins =
                    bins.ok_or_else(|| InvalidInput::new_err("bins are missing; set bins, edges or keys"))?;
                let bins = u32::try_from(argument::count("bins", bins)?.get()).unwrap_or(u32::MAX);
                vec![Statistic::Histogram(Bins::Numeric { bounds: bounds()?, bins })]
            }
            _ => return Err(InvalidInput::new_err("unknown statistic")),
        };
        let (session, plans) = (self.session.clone(), self.plans.clone());
        let work = move || -> Result<ChargedQuestion, Refusal> {
            let grouping = group.map(|(column, keys)| Grouping::new(&column, keys)).transpose()?;
            let name = format!("{statistics:?} {column:?} {grouping:?} {epsilon:?}");
            let kept = plans.lock().unwrap_or_else(PoisonError::into_inner).get(&name).cloned();
            let planned = match kept {
                Some(planned) => planned,
                None => {
                    let planned = session.plan(&statistics, column.as_deref(), grouping, epsilon)?;
                    let mut plans = plans.lock().unwrap_or_else(PoisonError::into_inner);
                    if plans.len() < KEPT {
                        plans.insert(name, planned.clone());
                    }
                    planned
                }
            };
            session.charge(planned)
        };
        let charged = interruptible(py, work)?.map_err(refused)?;
        Ok(PyCharged { charged: Mutex::new(Some(charged)) })
    }

    /// Answers a question that was charged: the numbers of each group, and what is promised.
    #[pyo3(signature = (charged, column, groups=None, persons=None))]
    fn answer(
        &self,
        py: Python<'_>,
        charged: &PyCharged,
        column: &PyColumn,
        groups: Option<&PyColumn>,
        persons: Option<&PyColumn>,
    ) -> PyResult<(Vec<Vec<Number>>, PyPromise)> {
        let taken = charged.charged.lock().unwrap_or_else(PoisonError::into_inner).take();
        let taken =
            taken.ok_or_else(|| InvalidInput::new_err("the query was already answered; charge a new one"))?;
        let (session, column) = (self.session.clone(), column.column.clone());
        let (groups, persons) = (groups.cloned(), persons.cloned());
        if let Some(Err(error)) = groups.as_ref().map(PyColumn::texts) {
            return Err(error);
        }
        let work = move || {
            let rows = Rows {
                column: &column,
                groups: groups.as_ref().and_then(|groups| groups.texts().ok()),
                persons: persons.as_ref().and_then(|persons| persons.texts().ok()),
            };
            session.answer(taken, rows)
        };
        let answered = interruptible(py, work)?.map_err(failed)?;
        let number = |cell: &veracity::query::Cell| -> Number {
            (cell.label.clone(), cell.value, cell.error_bar, cell.rank_error)
        };
        let cells = answered.cells.iter().map(|cells| cells.iter().map(number).collect()).collect();
        Ok((cells, PyPromise { answered: Arc::new(answered) }))
    }

    /// What was spent.
    fn spent(&self) -> PyResult<Part> {
        self.session.spent().map(part).map_err(refused)
    }

    /// What is left.
    fn remaining(&self) -> PyResult<Part> {
        self.session.remaining().map(part).map_err(refused)
    }

    /// All that was asked, as one mechanism; None before the first question.
    fn mechanism(&self) -> PyResult<Option<PyMechanism>> {
        self.session.composed().map(PyMechanism::of_subject).transpose()
    }
}

fn part(share: Share) -> Part {
    (share.epsilon, share.sum, share.limit)
}

fn quantiles(bounds: Bounds, ranks: &[f64], bar: ErrorBar) -> Result<Vec<Statistic>, Refusal> {
    let one = |rank: &f64| {
        let rank = Rank::from_fraction(*rank)?;
        Ok(Statistic::Quantile { bounds, rank, steps: Rank::STEPS, bar })
    };
    ranks.iter().map(one).collect()
}

/// A key as columns have it; None for what is no text and no number.
#[pyfunction]
pub fn _text(key: &Bound<'_, PyAny>) -> Option<String> {
    text_of(key, true)
}

/// Writes each claim to a file of its own in a folder, and says where.
#[pyfunction]
pub fn _save_claims(py: Python<'_>, folder: PathBuf, claims: Vec<Py<Claim>>) -> PyResult<Vec<PathBuf>> {
    let files: Vec<_> = claims.iter().map(|claim| claim.get().file.clone()).collect();
    let work = move || -> Result<Vec<PathBuf>, Failure> {
        let one = |file: &veracity::ClaimFile| {
            let note = file.release.as_ref();
            let statistic = note.map_or("claim", |note| note.statistic.as_str());
            let column = note.and_then(|note| note.column.as_deref());
            ClaimPlace::find(Some(&folder), statistic, column)?.write(file)
        };
        files.iter().map(one).collect()
    };
    interruptible(py, work)?.map_err(failed)
}
