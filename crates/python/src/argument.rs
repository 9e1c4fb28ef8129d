//! Arguments as they come from Python, each checked under its own name: numbers, whole numbers, lists of numbers.
//!
//! Whatever an object does when it is asked for a number, what comes out is a number or one of our exceptions, or a `TypeError`.

use crate::errors::{InvalidInput, refused};
use pyo3::{
    exceptions::{PyException, PyTypeError},
    prelude::*,
    types::{PyBool, PyDict, PyString},
};
use serde_json::Value;
use std::path::PathBuf;
use veracity::printable;
use veracity::{
    Adjacency, Count, Delta, Epsilon, Method,
    spec::{DEEPEST, Whole},
};

/// The most numbers that are taken in one list.
const LONGEST: usize = 10_000_000;

/// A number, which may be NaN or infinite: what it stands for decides whether that is allowed.
pub fn number(name: &str, given: &Bound<'_, PyAny>) -> PyResult<f64> {
    if given.is_instance_of::<PyBool>() || given.is_instance_of::<PyString>() {
        let kind = given.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{name} is a {kind}, expected a number")));
    }
    // Minus zero is zero: two equal numbers are then written alike.
    given.extract::<f64>().map(|x| x + 0.0).map_err(|error| not_a_number(given.py(), name, error))
}

/// The exception for an object that is not a number. Its own exception is kept as the cause, unless it is one that stops a program.
fn not_a_number(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    if !error.is_instance_of::<PyException>(py) {
        return error;
    }
    if error.is_instance_of::<PyTypeError>(py) {
        return PyTypeError::new_err(format!("{name} is not a number"));
    }
    let told = InvalidInput::new_err(format!("{name} is too large or unreadable, expected a number"));
    told.set_cause(py, Some(error));
    told
}

/// A number that may be left out.
pub fn maybe_number(name: &str, given: Option<&Bound<'_, PyAny>>) -> PyResult<Option<f64>> {
    given.map(|given| number(name, given)).transpose()
}

/// A whole number, as the files have it: 1000000 and 1e6 are one.
pub fn whole(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Whole> {
    number(name, given).map(Whole)
}

/// A whole number from 1 to 10^15.
pub fn count(name: &'static str, given: &Bound<'_, PyAny>) -> PyResult<Count> {
    whole(name, given)?.count(name).map_err(refused)
}

/// Numbers in a row: a list, a tuple, an array, or anything else that can be walked.
pub fn numbers(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    if let Ok(array) = given.extract::<numpy::PyReadonlyArray1<'_, f64>>() {
        return Ok(array.as_array().iter().map(|x| x + 0.0).collect());
    }
    walk(name, given)?.iter().map(|one| number(name, one)).collect()
}

/// A path of a file.
pub fn path(name: &str, given: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    given.extract::<PathBuf>().map_err(|error| {
        let py = given.py();
        if !error.is_instance_of::<PyException>(py) || error.is_instance_of::<PyTypeError>(py) {
            return error;
        }
        let told = InvalidInput::new_err(format!("{name} is not a valid path"));
        told.set_cause(py, Some(error));
        told
    })
}

/// Walks over what is given in a row.
pub fn walk<'py>(name: &str, given: &Bound<'py, PyAny>) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let py = given.py();
    let mut all = Vec::new();
    for one in given.try_iter().map_err(|error| not_a_list(py, name, error))? {
        if all.len() == LONGEST {
            return Err(InvalidInput::new_err(format!("{name} has more than 10,000,000 items; pass fewer")));
        }
        all.push(one.map_err(|error| not_a_number(py, name, error))?);
    }
    Ok(all)
}

fn not_a_list(py: Python<'_>, name: &str, error: PyErr) -> PyErr {
    match error.is_instance_of::<PyTypeError>(py) {
        true => PyTypeError::new_err(format!("{name} is not a list")),
        false => not_a_number(py, name, error),
    }
}

/// A table, with lists, names and numbers inside, as files have it.
pub fn tree(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    subtree(name, given, DEEPEST)
}

fn subtree(name: &str, given: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth == 0 {
        return Err(InvalidInput::new_err(format!(
            "{name} is nested too deep, expected at most {DEEPEST} levels"
        )));
    }
    if let Ok(table) = given.cast::<PyDict>() {
        let fields = table.iter().map(|(key, value)| {
            let key = key.extract::<String>().map_err(|_| {
                PyTypeError::new_err(format!(
                    "{name} has a key that is not a string; use field names as keys"
                ))
            })?;
            let value = subtree(&key, &value, depth - 1)?;
            Ok((key, value))
        });
        return Ok(Value::Object(fields.collect::<PyResult<_>>()?));
    }
    if let Ok(word) = given.cast::<PyString>() {
        return Ok(Value::String(
            word.to_str()
                .map_err(|_| InvalidInput::new_err(format!("{name} is not valid Unicode text")))?
                .to_owned(),
        ));
    }
    if given.hasattr("__len__")? {
        let all = walk(name, given)?;
        let all = all.iter().map(|one| subtree(name, one, depth - 1));
        return Ok(Value::Array(all.collect::<PyResult<_>>()?));
    }
    let x = number(name, given)?;
    serde_json::Number::from_f64(x)
        .map(Value::Number)
        .ok_or_else(|| InvalidInput::new_err(format!("{name} is {x}, expected a finite number")))
}

/// A δ.
pub fn delta(given: &Bound<'_, PyAny>) -> PyResult<Delta> {
    Delta::new(number("delta", given)?).map_err(refused)
}

/// An ε.
pub fn epsilon(given: &Bound<'_, PyAny>) -> PyResult<Epsilon> {
    Epsilon::new(number("epsilon", given)?).map_err(refused)
}

/// An adjacency by its name, where one is given.
pub fn adjacency(given: Option<&str>) -> PyResult<Option<Adjacency>> {
    given.map(|name| shown(name).parse().map_err(refused)).transpose()
}

/// A method by its name, where one is given.
pub fn method(given: Option<&str>) -> PyResult<Option<Method>> {
    given.map(|name| shown(name).parse().map_err(refused)).transpose()
}

/// A word that a message may repeat: short, and in one line.
pub fn shown(word: &str) -> String {
    printable(word, 60)
}
