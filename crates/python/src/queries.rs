//! Questions in SQL: a query is prepared, asked of some engine in statements, and answered from its whole numbers.

use crate::{
    argument,
    claims::Claim,
    errors::{InvalidInput, failed, refused},
    interruptible::interruptible,
    ledgers::PyCharge,
    mechanism::{PyMechanism, Said},
};
use pyo3::prelude::*;
use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};
use veracity::{
    Error as Failure,
    query::NoiseKind,
    reading::Form,
    sql::{
        Asking, CapsWanted, Catalog, Cell, Dialect, Prepared, QueryDone, QueryRequest, QuerySettings, Row,
        Totals, ask, engine_for,
    },
};

/// Adds queries to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyQuery>()?;
    module.add_class::<PyAsking>()
}

/// A query with its noise, before any row was read.
#[pyclass(frozen, name = "_Query", module = "veracity._veracity")]
#[derive(Debug)]
pub struct PyQuery {
    prepared: Arc<Prepared>,
    digest: String,
}

/// A query that is being asked; it is answered once.
#[pyclass(frozen, name = "_Asking", module = "veracity._veracity")]
#[derive(Debug)]
pub struct PyAsking {
    asking: Mutex<Option<Asking>>,
}

/// A cell: a key, or a noisy number with its error bar.
type PyCell = (Option<String>, f64, f64);
/// Names of columns, rows, the claim, and where it is.
type Answered = (Vec<String>, Vec<Vec<PyCell>>, Claim, PathBuf);
/// A row of an engine: keys and whole numbers.
type Given = (Vec<String>, Vec<i64>);

#[pymethods]
impl PyQuery {
    #[new]
    #[pyo3(signature = (sql, catalog, epsilon, delta, noise, groups_per_person, rows_per_group))]
    #[allow(clippy::too_many_arguments)] // Each is a keyword of `veracity.query`.
    fn new(
        py: Python<'_>,
        sql: String,
        catalog: PathBuf,
        epsilon: &Bound<'_, PyAny>,
        delta: &Bound<'_, PyAny>,
        noise: Option<&str>,
        groups_per_person: Option<&Bound<'_, PyAny>>,
        rows_per_group: Option<&Bound<'_, PyAny>>,
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
        let caps = CapsWanted {
            groups: groups_per_person.map(|n| argument::count("groups_per_person", n)).transpose()?,
            rows: rows_per_group.map(|n| argument::count("rows_per_group", n)).transpose()?,
        };
        let (epsilon, delta) = (argument::epsilon(epsilon)?, argument::delta(delta)?);
        let request = QueryRequest { query: sql, epsilon, delta, kind, caps };
        let work = move || -> Result<(Prepared, String), Failure> {
            let catalog = Catalog::open(&catalog)?;
            Ok((request.prepare(&catalog)?, catalog.digest().to_owned()))
        };
        let (prepared, digest) = interruptible(py, work)?.map_err(failed)?;
        Ok(PyQuery { prepared: Arc::new(prepared), digest })
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
        let settings = QuerySettings { claim, dataset, seed };
        let charge = charge.map(|charge| charge.charge.clone());
        let work = move || -> Result<Option<QueryDone>, Failure> {
            let mut engine = engine_for(&prepared, engine.as_deref(), Form::default())?;
            engine.check(&prepared.plan)?;
            match charge.map_or(Ok(true), |charge| charge.enter())? {
                true => {
                    engine.load(&prepared.plan)?;
                    ask(&prepared, &mut *engine, &settings).map(Some)
                }
                false => Ok(None),
            }
        };
        Ok(interruptible(py, work)?.map_err(failed)?.map(answered))
    }

    /// What its first table is called.
    #[getter]
    fn table(&self) -> String {
        self.prepared.plan.sources[0].table.name.clone()
    }

    /// The SHA-256 of its catalog.
    #[getter]
    fn digest(&self) -> &str {
        &self.digest
    }

    /// Of groups of unknown keys: by how many persons are in them, the share that is not shown, from both sides.
    fn suppressed(&self) -> Vec<(u64, (f64, f64))> {
        self.prepared.suppressed()
    }

    /// Begins to ask an engine of somebody else's.
    #[pyo3(signature = (claim, dataset, seed))]
    fn begin(
        &self,
        claim: Option<PathBuf>,
        dataset: Option<String>,
        seed: Option<u64>,
    ) -> PyResult<PyAsking> {
        let settings = QuerySettings { claim, dataset, seed };
        let asking = Asking::begin((*self.prepared).clone(), &settings).map_err(failed)?;
        Ok(PyAsking { asking: Mutex::new(Some(asking)) })
    }

    /// What it does to a person's data.
    #[getter]
    fn mechanism(&self) -> PyResult<PyMechanism> {
        let subject = self.prepared.subject.clone();
        PyMechanism::new(
            subject.mechanism,
            Said { adjacency: Some(subject.adjacency), unit: Some(subject.unit) },
        )
    }

    /// The ε that is spent, rounded up.
    #[getter]
    fn epsilon(&self) -> f64 {
        self.prepared.answer.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get())
    }

    /// From how many persons on a group of unknown keys is shown.
    #[getter]
    fn threshold(&self) -> Option<f64> {
        self.prepared.threshold
    }

    /// Each noisy column: its name, the error that is expected of a group of so many rows, its ε by itself.
    fn preview(&self, py: Python<'_>, rows: u64) -> PyResult<Vec<(String, f64, f64)>> {
        let prepared = self.prepared.clone();
        let work = move || {
            let all = (0..prepared.plan.aggregates.len()).map(|at| {
                let epsilon =
                    prepared.cost_of(at)?.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get());
                Ok((prepared.name_of(at), prepared.expected_error(at, rows), epsilon))
            });
            all.collect::<Result<Vec<_>, veracity::Refusal>>()
        };
        interruptible(py, work)?.map_err(refused)
    }
}

#[pymethods]
impl PyAsking {
    /// The statements in a dialect: text, how many keys, how many whole numbers.
    fn statements(&self, dialect: &str) -> PyResult<Vec<(String, usize, usize)>> {
        let dialect = match dialect {
            "sqlite" => Dialect::Sqlite,
            "duckdb" => Dialect::DuckDb,
            "postgres" => Dialect::Postgres,
            "spark" => Dialect::Spark,
            _ => return Err(InvalidInput::new_err("dialect is unknown, expected duckdb, postgres or spark")),
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
            asking.finish(&Totals::of(statements.into_iter().map(rows).collect())?)
        };
        Ok(answered(interruptible(py, work)?.map_err(failed)?))
    }
}

fn over() -> PyErr {
    InvalidInput::new_err("query was answered before, expected a new one")
}

fn answered(done: QueryDone) -> Answered {
    let names = done.outputs.into_iter().map(|output| output.name).collect();
    let cell = |cell: Cell| match cell {
        Cell::Key(key) => (Some(key), 0.0, 0.0),
        Cell::Number(noisy) => (None, noisy.answer, noisy.error_bar),
    };
    let rows = done.rows.into_iter().map(|row| row.into_iter().map(cell).collect()).collect();
    (names, rows, Claim { file: done.claim }, done.path)
}
