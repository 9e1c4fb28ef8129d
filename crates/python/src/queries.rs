//! Questions in SQL: a query is prepared, asked of some engine in statements, and answered from its whole numbers.

use crate::{
    argument,
    claims::Claim,
    errors::{InvalidInput, failed, refused},
    interruptible::interruptible,
    ledgers::PyCharge,
    mechanism::PyMechanism,
};
use pyo3::prelude::*;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use veracity::{
    Delta, Error as Failure, ReleaseSettings,
    query::NoiseKind,
    reading::FormParts,
    sql::{
        CapOverrides, Catalog, Cell, Dialect, EngineChoice, EveryPeriod, OpenQuery, PreparedQuery, Priority,
        QueryDone, QueryRequest, ReadyQuery, Row, must_read_forms,
    },
};

/// A query with its noise, before any row was read.
#[pyclass(frozen, name = "_Query", module = "veracity._veracity")]
#[derive(Debug)]
pub struct PyQuery {
    prepared: Arc<PreparedQuery>,
}

/// A query that is being asked; it is answered once.
#[pyclass(frozen, name = "_Asking", module = "veracity._veracity")]
#[derive(Debug)]
pub struct PyAsking {
    asking: Mutex<Option<OpenQuery>>,
}

/// A cell: a key, or a noisy number with its error bar.
type PyCell = (Option<String>, Option<f64>, f64);
/// Names of columns, rows, the claim, and where it is.
type Answered = (Vec<String>, Vec<Vec<PyCell>>, Claim, PathBuf, More);
/// The caps on rows and groups; and how many rows they leave out, with its error bar, where that is counted.
type More = (u64, u64, Option<f64>, Option<f64>);
/// A row of an engine: keys and integers.
type Given = (Vec<String>, Vec<i64>);

getters! {
    PyQuery {
        /// What its first table is called.
        table(this) -> String { this.prepared.plan.sources[0].table.name.clone() }
        /// What is asked, and of which periods.
        sql(this) -> &str { &this.prepared.plan.query }
        /// The SHA-256 of its catalog.
        digest(this) -> &str { &this.prepared.plan.catalog }
        /// The ε that is spent, rounded up.
        epsilon(this) -> f64 { this.prepared.answer.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get()) }
        /// From how many persons on a group of unknown keys is shown.
        threshold(this) -> Option<f64> { this.prepared.threshold }
    }
}

#[pymethods]
impl PyQuery {
    #[new]
    #[pyo3(signature = (sql, catalog, epsilon, *, delta=None, noise=None, groups_per_person=None, rows_per_group=None, suggest_caps=None, count_cut=false, delimiter=None, decimal=None, thousands=None, encoding=None, every=None, date=None, minimize="totals"))]
    #[allow(clippy::too_many_arguments)] // Each is a keyword of `veracity.query`.
    fn new(
        py: Python<'_>,
        sql: String,
        catalog: PathBuf,
        epsilon: &Bound<'_, PyAny>,
        delta: Option<&Bound<'_, PyAny>>,
        noise: Option<&str>,
        groups_per_person: Option<&Bound<'_, PyAny>>,
        rows_per_group: Option<&Bound<'_, PyAny>>,
        suggest_caps: Option<f64>,
        count_cut: bool,
        delimiter: Option<&str>,
        decimal: Option<&str>,
        thousands: Option<&str>,
        encoding: Option<&str>,
        every: Option<String>,
        date: Option<String>,
        minimize: &str,
    ) -> PyResult<PyQuery> {
        let kind = match noise {
            None => None,
            Some("laplace") => Some(NoiseKind::Laplace),
            Some("gaussian") => Some(NoiseKind::Gaussian),
            Some(other) => {
                let other = argument::shown(other);
                return Err(InvalidInput::new_err(format!("noise is {other}, expected laplace or gaussian")));
            }
        };
        let caps = CapOverrides {
            groups: groups_per_person.map(|n| argument::count("groups_per_person", n)).transpose()?,
            rows: rows_per_group.map(|n| argument::count("rows_per_group", n)).transpose()?,
        };
        let epsilon = argument::epsilon(epsilon)?;
        let delta = delta.map_or(Ok(Delta::ZERO), argument::delta)?;
        let form = FormParts::read(delimiter, decimal, thousands, encoding).map_err(refused)?;
        let priority =
            Priority::ALL.into_iter().find(|priority| priority.name() == minimize).ok_or_else(|| {
                let minimize = argument::shown(minimize);
                InvalidInput::new_err(format!("minimize is {minimize}, expected totals or counts"))
            })?;
        if date.is_some() && every.is_none() {
            return Err(InvalidInput::new_err("date is given without every; set every, such as day"));
        }
        let every = every.map(|unit| EveryPeriod { unit, date, priority });
        let request =
            QueryRequest { query: sql, epsilon, delta, kind, caps, form, every, suggest_caps, count_cut };
        let work =
            move || -> Result<PreparedQuery, Failure> { Ok(request.prepare(&Catalog::open(&catalog)?)?) };
        Ok(PyQuery { prepared: Arc::new(interruptible(py, work)?.map_err(failed)?) })
    }

    /// Asks an engine of this program: all at once. A request to a ledger is charged once the tables are there and before a row
    /// is read; nothing comes back where it was answered before.
    #[pyo3(signature = (engine, claim, dataset, seed, charge=None))]
    fn ask(
        &self,
        py: Python<'_>,
        engine: Option<String>,
        claim: Option<PathBuf>,
        dataset: Option<String>,
        seed: Option<u64>,
        charge: Option<&PyCharge>,
    ) -> PyResult<Option<Answered>> {
        let prepared = self.prepared.clone();
        let settings = ReleaseSettings { claim, dataset, seed };
        let charge = charge.map(|charge| charge.payment.clone());
        let work = move || -> Result<Option<QueryDone>, Failure> {
            let engine = EngineChoice { name: engine };
            let ready = ReadyQuery::new(&prepared, &engine, &settings)?;
            match charge.map_or(Ok(true), |charge| charge.charge())? {
                true => ready.answer().map(Some),
                false => Ok(None),
            }
        };
        Ok(interruptible(py, work)?.map_err(failed)?.map(answered))
    }

    /// Of groups of unknown keys: by how many persons are in them, the fraction that is suppressed, from both sides.
    fn suppressed(&self) -> Vec<(u64, (f64, f64))> {
        self.prepared.suppressed()
    }

    /// Begins to ask an engine of somebody else's, which reads files in its own way.
    #[pyo3(signature = (claim, dataset, seed))]
    fn begin(
        &self,
        claim: Option<PathBuf>,
        dataset: Option<String>,
        seed: Option<u64>,
    ) -> PyResult<PyAsking> {
        must_read_forms(&self.prepared.plan, "a connection or session").map_err(refused)?;
        let settings = ReleaseSettings { claim, dataset, seed };
        let asking = OpenQuery::begin((*self.prepared).clone(), &settings).map_err(failed)?;
        Ok(PyAsking { asking: Mutex::new(Some(asking)) })
    }

    /// What it does to a person's data.
    #[getter]
    fn mechanism(&self) -> PyResult<PyMechanism> {
        PyMechanism::of_subject(self.prepared.subject.clone())
    }

    /// Each noisy column: its name, the error that is expected of a group of so many rows, its ε by itself.
    fn preview(&self, py: Python<'_>, rows: u64) -> PyResult<Vec<(String, f64, f64)>> {
        let prepared = self.prepared.clone();
        let work = move || {
            let all = prepared.columns().into_iter().map(|column| {
                let epsilon =
                    prepared.cost_of(&column)?.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get());
                let error = prepared.expected_error(&column, rows);
                Ok((column.name, error, epsilon))
            });
            all.collect::<Result<Vec<_>, veracity::Refusal>>()
        };
        interruptible(py, work)?.map_err(refused)
    }
}

#[pymethods]
impl PyAsking {
    /// The statements in a dialect: text, how many keys, how many integers.
    fn statements(&self, dialect: &str) -> PyResult<Vec<(String, usize, usize)>> {
        let dialect = match dialect {
            "sqlite" => Dialect::Sqlite,
            "duckdb" => Dialect::DuckDb,
            "postgres" => Dialect::Postgres,
            "spark" => Dialect::Spark,
            _ => return Err(InvalidInput::new_err("unknown dialect, expected duckdb, postgres or spark")),
        };
        let asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        let asking = asking.as_ref().ok_or_else(over)?;
        let all = asking.statements(dialect).map_err(refused)?;
        Ok(all.into_iter().map(|statement| (statement.sql, statement.keys, statement.numbers)).collect())
    }

    /// Answers from the rows of each statement.
    fn finish(&self, py: Python<'_>, statements: Vec<Vec<Given>>) -> PyResult<Answered> {
        let asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner).take().ok_or_else(over)?;
        let work = move || -> Result<QueryDone, Failure> {
            let rows =
                |rows: Vec<Given>| rows.into_iter().map(|(keys, numbers)| Row { keys, numbers }).collect();
            asking.finish_statements(statements.into_iter().map(rows).collect())
        };
        Ok(answered(interruptible(py, work)?.map_err(failed)?))
    }
}

fn over() -> PyErr {
    InvalidInput::new_err("the query was already answered; make a new one")
}

fn answered(done: QueryDone) -> Answered {
    let names = done.outputs.into_iter().map(|output| output.name).collect();
    let cell = |cell: Cell| match cell {
        Cell::Key(key) => (Some(key), Some(0.0), 0.0),
        Cell::Absent => (None, None, 0.0),
        Cell::Number(noisy) => (None, Some(noisy.answer), noisy.error_bar),
    };
    let rows = done.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
    let plan = &done.prepared.plan;
    let cut = done.cut.map(|cut| cut.number);
    let more = (
        plan.caps.rows.get(),
        plan.most_groups().get(),
        cut.map(|cut| cut.answer),
        cut.map(|cut| cut.error_bar),
    );
    (names, rows, Claim { file: done.claim }, done.path, more)
}
