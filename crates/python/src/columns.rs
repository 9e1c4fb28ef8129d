//! Columns of a table as Python has them, or as a file has them, for questions of a session.
//!
//! What an object is decides what becomes of it, and nothing it does: numbers and texts that read as numbers are numbers, all else is
//! missing. So no value decides whether there is a column.

use crate::{
    errors::{InvalidInput, failed},
    interruptible::interruptible,
};
use pyo3::{
    prelude::*,
    types::{PyBool, PyFloat, PyInt, PyString},
};
use std::{path::PathBuf, sync::Arc};
use veracity::{
    query::Column,
    reading::{Form, Kind, Limits, Notation, Request, Source, check, read},
};

/// One value for each row, some missing.
#[pyclass(frozen, name = "_Column", module = "veracity._veracity")]
#[derive(Debug, Clone)]
pub struct PyColumn {
    /// The values.
    pub column: Arc<Column>,
}

impl PyColumn {
    fn new(column: Column) -> PyColumn {
        PyColumn { column: Arc::new(column) }
    }

    /// The texts, where it has texts.
    pub fn texts(&self) -> PyResult<&[Option<String>]> {
        match &*self.column {
            Column::Texts(texts) => Ok(texts),
            Column::Numbers(_) => Err(InvalidInput::new_err("column has numbers, expected strings")),
        }
    }
}

#[pymethods]
impl PyColumn {
    /// Numbers of an array; NaN is missing.
    #[staticmethod]
    fn of_array(array: numpy::PyReadonlyArray1<'_, f64>) -> PyColumn {
        PyColumn::new(Column::Numbers(
            array.as_slice().map_or_else(|_| array.as_array().to_vec(), <[f64]>::to_vec),
        ))
    }

    /// Numbers among objects.
    #[staticmethod]
    fn of_numbers(objects: &Bound<'_, PyAny>) -> PyResult<PyColumn> {
        let all = objects.try_iter()?.map(|one| Ok(number_of(&one?, true)));
        Ok(PyColumn::new(Column::from(all.collect::<PyResult<Vec<Option<f64>>>>()?)))
    }

    /// Objects as texts.
    #[staticmethod]
    fn of_texts(objects: &Bound<'_, PyAny>) -> PyResult<PyColumn> {
        let all = objects.try_iter()?.map(|one| Ok(text_of(&one?, true)));
        Ok(PyColumn::new(Column::Texts(all.collect::<PyResult<_>>()?)))
    }

    /// So many rows, each with a value.
    #[staticmethod]
    fn of_rows(rows: usize) -> PyColumn {
        PyColumn::new(Column::Numbers(vec![0.0; rows]))
    }

    /// A column of a file; without a name, one value for each row.
    #[staticmethod]
    fn of_file(py: Python<'_>, path: PathBuf, column: Option<String>, texts: bool) -> PyResult<PyColumn> {
        let work = move || {
            let source = Source::at(&path, &Limits::default())?;
            read(&source, &request(column.as_deref(), texts))
        };
        Ok(PyColumn::new(interruptible(py, work)?.map_err(failed)?.column))
    }

    /// Each number as the label of its bin. Bins begin at an edge; what is below the first is in the first, from the last one on in
    /// the last.
    fn binned(&self, inner: Vec<f64>, labels: Vec<String>) -> PyResult<PyColumn> {
        let Column::Numbers(numbers) = &*self.column else {
            return Err(InvalidInput::new_err("column has strings, expected numbers"));
        };
        if labels.len() != inner.len() + 1 {
            return Err(InvalidInput::new_err(
                "the number of labels differs from the number of bins; pass one per bin",
            ));
        }
        let label = |x: f64| labels[inner.partition_point(|edge| *edge <= x)].clone();
        let texts = numbers.iter().map(|x| (!x.is_nan()).then(|| label(*x)));
        Ok(PyColumn::new(Column::Texts(texts.collect())))
    }

    fn __len__(&self) -> usize {
        self.column.rows()
    }
}

/// Refuses a file that lacks a column; no row is read.
#[pyfunction]
pub fn _check_columns(py: Python<'_>, path: PathBuf, columns: Vec<String>) -> PyResult<()> {
    let work = move || {
        let source = Source::at(&path, &Limits::default())?;
        columns.iter().try_for_each(|column| check(&source, &request(Some(column), true)))
    };
    interruptible(py, work)?.map_err(failed)
}

fn request(column: Option<&str>, texts: bool) -> Request<'_> {
    let kind = if texts { Kind::Texts } else { Kind::Numbers };
    Request { column, kind, person: None, form: Form::default() }
}

/// A number, or what reads as one in a file. Whole numbers past all floats are infinite.
fn number_of(object: &Bound<'_, PyAny>, unpack: bool) -> Option<f64> {
    if object.is_instance_of::<PyFloat>() {
        return object.extract().ok();
    }
    if object.is_instance_of::<PyInt>() {
        let far = || {
            let negative = object.lt(0).ok()?;
            Some(if negative { f64::NEG_INFINITY } else { f64::INFINITY })
        };
        return object.extract().ok().or_else(far);
    }
    if let Ok(text) = object.cast::<PyString>() {
        return Notation::default().number(text.to_str().ok()?.trim());
    }
    number_of(&inner(object).filter(|_| unpack)?, false)
}

/// A text, or a number as people write it: a whole one without a point, whichever type it has.
pub fn text_of(object: &Bound<'_, PyAny>, unpack: bool) -> Option<String> {
    if let Ok(text) = object.cast::<PyString>() {
        return text.to_str().ok().map(str::to_owned);
    }
    if object.is_instance_of::<PyBool>() {
        return Some(if object.is_truthy().ok()? { "True" } else { "False" }.to_owned());
    }
    if object.is_instance_of::<PyInt>() {
        return object.str().ok()?.to_str().ok().map(str::to_owned);
    }
    if object.is_instance_of::<PyFloat>() {
        let x = object.extract::<f64>().ok().filter(|x| !x.is_nan())?;
        let whole = x.fract() == 0.0 && x.abs() < 1e15;
        return Some(if whole { format!("{}", x as i64) } else { format!("{x:?}") });
    }
    text_of(&inner(object).filter(|_| unpack)?, false)
}

/// What is inside a number of numpy, or a decimal: a plain object of Python.
fn inner<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let kind = object.get_type();
    let module = kind.module().ok()?;
    match module.to_str().ok()? {
        "numpy" => object.call_method0("item").ok(),
        "decimal" if kind.name().ok()?.to_str().ok()? == "Decimal" => Some(object.str().ok()?.into_any()),
        _ => None,
    }
}
