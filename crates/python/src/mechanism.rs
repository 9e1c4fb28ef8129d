//! What is done to the data, as an immutable value: `+` composes, `*` repeats, `.sampled()` and `.group()` wrap.
//!
//! A [`PyMechanism`] is a mechanism of the facade with the adjacency and the unit that were said aloud, if they were. What was not
//! said is the usual one of that mechanism, as on the command line.

use crate::{
    argument::{self, count, number},
    errors::{InvalidInput, refused},
    interruptible::interruptible,
    written,
};
use pyo3::{IntoPyObjectExt, basic::CompareOp, exceptions::PyTypeError, prelude::*, types::PyTuple};
use std::hash::{DefaultHasher, Hash, Hasher};
use veracity::{
    Adjacency, Count, Mechanism, PrivacyUnit, Refusal, SamplingRate, Subject,
    spec::{DEEPEST, MechanismSpec},
};

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
                "the parts have different adjacencies ({one} and {another}); use the same for all"
            )));
        }
        if let (Some(one), Some(another)) = (&self.unit, &other.unit)
            && one != another
        {
            let (one, another) = (one.name(), another.name());
            return Err(InvalidInput::new_err(format!(
                "the parts have different privacy units ({one} and {another}); use the same for all"
            )));
        }
        Ok(Said {
            adjacency: self.adjacency.or(other.adjacency),
            unit: self.unit.clone().or_else(|| other.unit.clone()),
        })
    }
}

/// A mechanism: the randomized computation that you publish, as an immutable value.
///
/// `a + b` runs one mechanism after the other, `a * 3` runs one three times, and `sum()` adds up a list. Two equal mechanisms
/// compare equal. You can hash and pickle them, and `repr()` prints the Python code that makes them again.
///
/// Example:
///     >>> plan = v.gaussian(noise_multiplier=5) * 3 + v.laplace(scale=10, sensitivity=1)
///     >>> plan
///     v.gaussian(noise_multiplier=5.0) * 3 + v.laplace(noise_multiplier=10.0)
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
            return Err(InvalidInput::new_err("nesting is deeper than 32 levels; nest fewer mechanisms"));
        }
        Ok(PyMechanism { mechanism, said })
    }

    /// The mechanism of a subject, under its adjacency and for its unit.
    pub fn of_subject(subject: Subject) -> PyResult<PyMechanism> {
        let said = Said { adjacency: Some(subject.adjacency), unit: Some(subject.unit) };
        PyMechanism::new(subject.mechanism, said)
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
            |error: serde_json::Error| InvalidInput::new_err(format!("cannot write the mechanism: {error}"));
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

/// One after the other: parts stand in a row, and equal neighbors are counted.
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

getters! {
    PyMechanism {
        /// The type of the mechanism, such as `poisson-sampled`, as files name it.
        kind(this) -> &'static str { this.mechanism.kind() }
        /// The adjacency: the one that you set, or else the usual one of this mechanism.
        adjacency(this) -> PyResult<&'static str> { Ok(this.subject(None)?.adjacency.name()) }
        /// The privacy unit, such as `example` or `patient`.
        unit(this) -> String { this.said.unit.clone().unwrap_or_default().name().to_owned() }
    }
}

#[pymethods]
impl PyMechanism {
    /// Return the same mechanism with another adjacency or privacy unit.
    ///
    /// Args:
    ///     adjacency: "add-remove", "replace-one" or "zero-out". None keeps the current one.
    ///     unit: the privacy unit, such as "patient". None keeps the current one.
    ///
    /// Returns:
    ///     A new `Mechanism`.
    ///
    /// Raises:
    ///     InvalidInput: if the adjacency is unknown or the unit cannot be a name.
    ///
    /// Example:
    ///     >>> v.gaussian(noise_multiplier=2).with_adjacency("replace-one", unit="patient").unit
    ///     'patient'
    #[pyo3(signature = (adjacency=None, *, unit=None))]
    fn with_adjacency(&self, adjacency: Option<&str>, unit: Option<&str>) -> PyResult<PyMechanism> {
        let said = Said::new(adjacency, unit)?;
        let said = Said {
            adjacency: said.adjacency.or(self.said.adjacency),
            unit: said.unit.or(self.said.unit.clone()),
        };
        PyMechanism::new(self.mechanism.clone(), said)
    }

    /// Return this mechanism on a Poisson-sampled batch.
    ///
    /// Args:
    ///     rate: the probability with which each record enters the batch, independently of all others.
    ///
    /// Returns:
    ///     A `Mechanism` of the type `poisson-sampled`.
    ///
    /// Raises:
    ///     InvalidInput: if the rate is not above 0 and at most 1.
    ///
    /// Example:
    ///     >>> v.gaussian(noise_multiplier=1).sampled(0.01) * 1000 == v.dp_sgd(sampling_rate=0.01, noise_multiplier=1, steps=1000)
    ///     True
    fn sampled(&self, rate: &Bound<'_, PyAny>) -> PyResult<PyMechanism> {
        let rate = SamplingRate::new(number("sampling rate", rate)?).map_err(refused)?;
        let mechanism = Mechanism::PoissonSampled { rate, mechanism: Box::new(self.mechanism.clone()) };
        PyMechanism::new(mechanism, self.said.clone())
    }

    /// Return the guarantee for several records that change together (group privacy).
    ///
    /// Args:
    ///     size: the number of records, for example 3 for three visits of one patient.
    ///
    /// Returns:
    ///     A `Mechanism` of the type `group`.
    ///
    /// Raises:
    ///     InvalidInput: if the size is not an integer of at least 1.
    fn group(&self, size: &Bound<'_, PyAny>) -> PyResult<PyMechanism> {
        let mechanism =
            Mechanism::Group { size: count("size", size)?, mechanism: Box::new(self.mechanism.clone()) };
        PyMechanism::new(mechanism, self.said.clone())
    }

    /// Return this mechanism repeated, the same as `mechanism * times`.
    ///
    /// Args:
    ///     times: the number of repetitions.
    ///
    /// Returns:
    ///     A `Mechanism`.
    ///
    /// Raises:
    ///     InvalidInput: if `times` is not an integer of at least 1.
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

    /// Describe the mechanism in a few words.
    fn __str__(&self) -> String {
        Subject::new(self.mechanism.clone()).describe()
    }

    /// Return the mechanism as JSON, as plan files and claims contain it.
    ///
    /// Returns:
    ///     A JSON object with `kind` and its fields, inside another one if you set an adjacency or a unit.
    fn to_json(&self) -> PyResult<String> {
        self.json()
    }

    /// Read a mechanism from JSON.
    ///
    /// Args:
    ///     text: the result of `to_json`, or the field `mechanism` of a claim.
    ///
    /// Returns:
    ///     A `Mechanism`.
    ///
    /// Raises:
    ///     InvalidInput: if the text is not a mechanism.
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
pub fn _mechanism_from_events(py: Python<'_>, text: String) -> PyResult<PyMechanism> {
    let mechanism = interruptible(py, move || veracity::events::parse(&text))?.map_err(refused)?;
    PyMechanism::new(mechanism, Said::default())
}

/// What a pickle of a mechanism calls.
#[pyfunction]
pub fn _mechanism_from_json(text: &str) -> PyResult<PyMechanism> {
    read(text)
}

fn read(text: &str) -> PyResult<PyMechanism> {
    let wrong = |why: serde_json::Error| {
        InvalidInput::new_err(format!(
            "cannot read the mechanism: {}",
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
                "unknown field {other}, expected mechanism, adjacency and unit"
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
        Some(_) => Err(PyTypeError::new_err(format!("{name} is not a string"))),
    }
}
