//! One constructor for every kind of mechanism: the functions of `veracity/_kinds.py`, which is made from the table of kinds, call it.
//!
//! It writes the spec that a file would hold and lets the spec's own check make the mechanism of it, so that Python, files and the
//! command line accept and refuse the same.

use crate::{
    argument::{number, numbers, tree, walk, whole},
    errors::{InvalidInput, refused},
    mechanism::{PyMechanism, Said},
};
use pyo3::{exceptions::PyTypeError, prelude::*, types::PyDict};
use serde_json::{Map, Number, Value, to_value};
use veracity::{
    Mechanism,
    kinds::{KINDS, Shape},
    plan::plainly,
    spec::MechanismSpec,
};

/// Adds the constructor to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_make_mechanism, module)?)
}

/// A mechanism of a kind, from its fields by name; a field that is None is left out.
#[pyfunction]
fn _make_mechanism(
    kind: &str,
    fields: &Bound<'_, PyDict>,
    adjacency: Option<&str>,
    unit: Option<&str>,
) -> PyResult<PyMechanism> {
    let known = KINDS.iter().find(|known| known.name == kind).map_or(&[][..], |known| known.fields);
    let mut said = Said::new(adjacency, unit)?;
    let mut object = Map::from_iter([("kind".to_owned(), kind.into())]);
    for field in known {
        let given = fields.get_item(field.name)?.filter(|given| !given.is_none());
        if let Some(given) = given {
            object.insert(field.name.to_owned(), value(field.name, field.shape, &given, &mut said)?);
        }
    }
    let spec: MechanismSpec = serde_json::from_value(Value::Object(object))
        .map_err(|why| InvalidInput::new_err(format!("{kind}: {}", plainly(&why.to_string()))))?;
    PyMechanism::new(Mechanism::try_from(&spec).map_err(refused)?, said)
}

/// A field as files have it. Mechanisms add what was said beside them.
fn value(name: &str, shape: Shape, given: &Bound<'_, PyAny>, said: &mut Said) -> PyResult<Value> {
    match shape {
        Shape::Number => finite(name, number(name, given)?),
        Shape::Whole => finite(name, whole(name, given)?.0),
        Shape::Numbers => numbers(name, given)?.into_iter().map(|x| finite(name, x)).collect(),
        Shape::Table(_) => match given.cast::<PyDict>() {
            Ok(table) => tree(name, table),
            Err(_) => Err(PyTypeError::new_err(format!("{name} is not a dict"))),
        },
        Shape::Mechanism => mechanism(name, given, said),
        Shape::Mechanisms => walk(name, given)?.iter().map(|part| mechanism("a part", part, said)).collect(),
    }
}

fn finite(name: &str, x: f64) -> PyResult<Value> {
    let number = Number::from_f64(x);
    number.map(Value::Number).ok_or_else(|| {
        InvalidInput::new_err(format!("{} is {x}, expected a finite number", name.replace('_', " ")))
    })
}

fn mechanism(name: &str, given: &Bound<'_, PyAny>, said: &mut Said) -> PyResult<Value> {
    let Ok(inside) = given.cast::<PyMechanism>() else {
        return Err(PyTypeError::new_err(format!("{name} is not a mechanism")));
    };
    let inside = inside.get();
    *said = inside.said.and(said)?;
    to_value(MechanismSpec::from(&inside.mechanism)).map_err(|why| InvalidInput::new_err(why.to_string()))
}
