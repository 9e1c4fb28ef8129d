//! What is done to the data, as an immutable value: `+` composes, `*` repeats, `.sampled()` and `.group()` wrap.
//!
//! A [`PyMechanism`] is a mechanism of the facade with the adjacency and the unit that were said aloud, if they were. What was not
//! said is the usual one of that mechanism, as on the command line.

use crate::{
    argument::{self, count, number},
    errors::{InvalidInput, refused},
    interruptible::interruptible,
    kinds, written,
};
use pyo3::{IntoPyObjectExt, basic::CompareOp, exceptions::PyTypeError, prelude::*, types::PyTuple};
use std::hash::{DefaultHasher, Hash, Hasher};
use veracity::{
    Adjacency, Count, Mechanism, PrivacyUnit, Refusal, SamplingRate, Subject,
    spec::{DEEPEST, MechanismSpec},
};

/// Adds the class and its constructors to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyMechanism>()?;
    module.add_function(wrap_pyfunction!(_mechanism_from_json, module)?)?;
    module.add_function(wrap_pyfunction!(_mechanism_from_events, module)?)?;
    kinds::register(module)
}

/// Which datasets are adjacent and whose data one record is, as far as someone said so.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Said {
    /// Which datasets are adjacent.
    pub adjacency: Option<Adjacency>,
    /// Whose data one record is.
    pub unit: Option<PrivacyUnit>,
}

impl Said {
    /// What the two arguments of a call say.
    pub fn new(adjacency: Option<&str>, unit: Option<&str>) -> PyResult<Said> {
        let unit = unit.map(|name| PrivacyUnit::new(name).map_err(refused)).transpose()?;
        Ok(Said { adjacency: argument::adjacency(adjacency)?, unit })
    }

    /// What both say. Two that say different things have nothing in common.
    pub fn and(&self, other: &Said) -> PyResult<Said> {
        if let (Some(one), Some(another)) = (self.adjacency, other.adjacency)
            && one != another
        {
            return Err(InvalidInput::new_err(format!(
                "adjacency is {one} beside {another}, expected one for all parts"
            )));
        }
        if let (Some(one), Some(another)) = (&self.unit, &other.unit)
            && one != another
        {
            let (one, another) = (one.name(), another.name());
            return Err(InvalidInput::new_err(format!(
                "unit is {one} beside {another}, expected one for all parts"
            )));
        }
        Ok(Said {
            adjacency: self.adjacency.or(other.adjacency),
            unit: self.unit.clone().or_else(|| other.unit.clone()),
        })
    }
}

/// A mechanism or a composition of mechanisms, as a value.
///
/// `a + b` is one after the other, `a * 3` is three times; `.sampled(rate)` is on a Poisson batch, `.group(size)` for records that
/// change together. Its repr is Python that makes it again, with veracity imported as v.
#[pyclass(frozen, name = "Mechanism", module = "veracity")]
#[derive(Debug, Clone, PartialEq)]
pub struct PyMechanism {
    /// What is done.
    pub mechanism: Mechanism,
    /// What was said beside it.
    pub said: Said,
}

impl PyMechanism {
    /// A mechanism, unless it is nested deeper than files may be.
    pub fn new(mechanism: Mechanism, said: Said) -> PyResult<PyMechanism> {
        if is_deeper(&mechanism, DEEPEST) {
            return Err(InvalidInput::new_err(
                "nesting is deeper than 32, expected at most 32 mechanisms in each other",
            ));
        }
        Ok(PyMechanism { mechanism, said })
    }

    /// What a call's own words ask about it.
    pub fn subject(&self, adjacency: Option<&str>) -> PyResult<Subject> {
        let usual = Subject::new(self.mechanism.clone());
        let adjacency = argument::adjacency(adjacency)?.or(self.said.adjacency).unwrap_or(usual.adjacency);
        Ok(Subject { adjacency, unit: self.said.unit.clone().unwrap_or_default(), ..usual })
    }

    /// As files have it; with what was said beside it, where something was.
    fn json(&self) -> PyResult<String> {
        let unwritable =
            |error: serde_json::Error| InvalidInput::new_err(format!("mechanism cannot be written: {error}"));
        let spec = serde_json::to_value(MechanismSpec::from(&self.mechanism)).map_err(unwritable)?;
        if self.said == Said::default() {
            return Ok(spec.to_string());
        }
        let mut fields = serde_json::Map::new();
        fields.insert("mechanism".to_owned(), spec);
        if let Some(adjacency) = self.said.adjacency {
            fields.insert("adjacency".to_owned(), adjacency.name().into());
        }
        if let Some(unit) = &self.said.unit {
            fields.insert("unit".to_owned(), unit.name().into());
        }
        Ok(serde_json::Value::Object(fields).to_string())
    }
}

/// Whether mechanisms are nested deeper than `most`. Whatever was made here is at most one level above a checked depth.
fn is_deeper(mechanism: &Mechanism, most: usize) -> bool {
    most == 0 || mechanism.inside().iter().any(|inside| is_deeper(inside, most - 1))
}

/// One after the other: parts stand in a row, and equal neighbours are counted.
pub fn plus(one: &Mechanism, other: &Mechanism) -> Result<Mechanism, Refusal> {
    let mut parts: Vec<Mechanism> = Vec::new();
    for part in row(one).iter().chain(row(other)) {
        match parts.last_mut() {
            Some(last) if base(last).1 == base(part).1 => {
                let (times, inside) = (base(last).0 + base(part).0, base(last).1.clone());
                *last = inside.repeated(Count::new(times)?);
            }
            _ => parts.push(part.clone()),
        }
    }
    match <[Mechanism; 1]>::try_from(parts) {
        Ok([only]) => Ok(only),
        Err(parts) => Ok(Mechanism::Composed(parts)),
    }
}

fn row(mechanism: &Mechanism) -> &[Mechanism] {
    match mechanism {
        Mechanism::Composed(parts) => parts,
        // Whatever else there is stands in a row by itself.
        one => std::slice::from_ref(one),
    }
}

/// How often what is done.
fn base(mechanism: &Mechanism) -> (u64, &Mechanism) {
    match mechanism {
        Mechanism::Repeated { times, mechanism } => (times.get(), mechanism),
        // Whatever else there is is done once.
        once => (1, once),
    }
}

#[pymethods]
impl PyMechanism {
    /// The name of its kind, as in files.
    #[getter]
    fn kind(&self) -> &'static str {
        self.mechanism.kind()
    }

    /// Which datasets are adjacent: what was said, or what is usual for this mechanism.
    #[getter]
    fn adjacency(&self) -> PyResult<&'static str> {
        Ok(self.subject(None)?.adjacency.name())
    }

    /// Whose data one record is.
    #[getter]
    fn unit(&self) -> String {
        self.said.unit.clone().unwrap_or_default().name().to_owned()
    }

    /// The same under another adjacency, or for another unit.
    #[pyo3(signature = (adjacency=None, unit=None))]
    fn under(&self, adjacency: Option<&str>, unit: Option<&str>) -> PyResult<PyMechanism> {
        let said = Said::new(adjacency, unit)?;
        let said = Said {
            adjacency: said.adjacency.or(self.said.adjacency),
            unit: said.unit.or(self.said.unit.clone()),
        };
        PyMechanism::new(self.mechanism.clone(), said)
    }

    /// On a batch that each record enters with this chance (Poisson sampling).
    fn sampled(&self, rate: &Bound<'_, PyAny>) -> PyResult<PyMechanism> {
        let rate = SamplingRate::new(number("sampling rate", rate)?).map_err(refused)?;
        let mechanism = Mechanism::PoissonSampled { rate, mechanism: Box::new(self.mechanism.clone()) };
        PyMechanism::new(mechanism, self.said.clone())
    }

    /// As seen by so many records that change together.
    fn group(&self, size: &Bound<'_, PyAny>) -> PyResult<PyMechanism> {
        let mechanism =
            Mechanism::Group { size: count("size", size)?, mechanism: Box::new(self.mechanism.clone()) };
        PyMechanism::new(mechanism, self.said.clone())
    }

    /// So many times, as `mechanism * times`.
    fn repeated(&self, times: &Bound<'_, PyAny>) -> PyResult<PyMechanism> {
        PyMechanism::new(self.mechanism.clone().repeated(count("times", times)?), self.said.clone())
    }

    fn __mul__(&self, times: &Bound<'_, PyAny>) -> PyResult<PyMechanism> {
        self.repeated(times)
    }

    fn __rmul__(&self, times: &Bound<'_, PyAny>) -> PyResult<PyMechanism> {
        self.repeated(times)
    }

    fn __add__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<PyMechanism>() else { return Ok(py.NotImplemented()) };
        let other = other.get();
        let mechanism = plus(&self.mechanism, &other.mechanism).map_err(refused)?;
        PyMechanism::new(mechanism, self.said.and(&other.said)?)?.into_py_any(py)
    }

    /// So that `sum(mechanisms)` is their composition: it begins with 0.
    fn __radd__(&self, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let py = other.py();
        match other.extract::<i64>() {
            Ok(0) => self.clone().into_py_any(py),
            _ => Ok(py.NotImplemented()),
        }
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, how: CompareOp) -> PyResult<Py<PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<PyMechanism>() else { return Ok(py.NotImplemented()) };
        match how {
            CompareOp::Eq => (self == other.get()).into_py_any(py),
            CompareOp::Ne => (self != other.get()).into_py_any(py),
            _ => Ok(py.NotImplemented()),
        }
    }

    fn __hash__(&self) -> PyResult<u64> {
        let mut hasher = DefaultHasher::new();
        self.json()?.hash(&mut hasher);
        Ok(hasher.finish())
    }

    fn __repr__(&self) -> String {
        written::python(self)
    }

    /// The mechanism in a few words.
    fn __str__(&self) -> String {
        Subject::new(self.mechanism.clone()).describe()
    }

    /// As files have it: an object with its `kind` and fields; inside one with adjacency and unit, where they were said.
    fn to_json(&self) -> PyResult<String> {
        self.json()
    }

    /// Reads what `to_json` writes, and the `mechanism` of a claim.
    #[staticmethod]
    fn from_json(text: &str) -> PyResult<PyMechanism> {
        read(text)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let maker = PyModule::import(py, "veracity._veracity")?.getattr("_mechanism_from_json")?;
        (maker, (self.json()?,)).into_pyobject(py)
    }
}

/// A mechanism from dp_accounting's events as JSON; `veracity.from_dp_event` writes that.
#[pyfunction]
fn _mechanism_from_events(py: Python<'_>, text: String) -> PyResult<PyMechanism> {
    let mechanism = interruptible(py, move || veracity::events::parse(&text))?.map_err(refused)?;
    PyMechanism::new(mechanism, Said::default())
}

/// What a pickle of a mechanism calls.
#[pyfunction]
fn _mechanism_from_json(text: &str) -> PyResult<PyMechanism> {
    read(text)
}

fn read(text: &str) -> PyResult<PyMechanism> {
    let wrong = |why: serde_json::Error| {
        InvalidInput::new_err(format!(
            "mechanism is not readable: {}",
            veracity::plan::plainly(&why.to_string())
        ))
    };
    let tree: serde_json::Value = serde_json::from_str(text).map_err(wrong)?;
    let mut said = Said::default();
    let mut spec = &tree;
    if let serde_json::Value::Object(fields) = &tree
        && !fields.contains_key("kind")
        && let Some(inner) = fields.get("mechanism")
    {
        if let Some(other) =
            fields.keys().find(|key| !["mechanism", "adjacency", "unit"].contains(&key.as_str()))
        {
            let other = argument::shown(other);
            return Err(InvalidInput::new_err(format!(
                "{other} is no field here, expected mechanism, adjacency and unit"
            )));
        }
        spec = inner;
        said = Said::new(word(fields, "adjacency")?, word(fields, "unit")?)?;
    }
    let spec: MechanismSpec = serde_json::from_value(spec.clone()).map_err(wrong)?;
    PyMechanism::new(Mechanism::try_from(&spec).map_err(refused)?, said)
}

fn word<'a>(fields: &'a serde_json::Map<String, serde_json::Value>, name: &str) -> PyResult<Option<&'a str>> {
    match fields.get(name) {
        None => Ok(None),
        Some(serde_json::Value::String(word)) => Ok(Some(word)),
        Some(_) => Err(PyTypeError::new_err(format!("{name} is no text, expected a name"))),
    }
}
