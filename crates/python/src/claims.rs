//! Claims: what is promised, as a file that anyone can verify.

use crate::{
    argument,
    errors::{InvalidInput, Refuted, failed, refused},
    interruptible::interruptible,
    interval::Interval,
    mechanism::{PyMechanism, Said},
};
use pyo3::{prelude::*, types::PyString};
use std::path::PathBuf;
use veracity::{
    Adjacency, Choice, ClaimFile, Confirmation, Error as Failure, LONGEST_TEXT, Mechanism, PrivacyUnit,
    Stated, Target, Verified, account, auditing::certificate::Recomputed, read_text, saving::create,
    verify as verify_text, verify_file, words,
};

/// Adds claims and their verification to the module.
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Claim>()?;
    module.add_class::<Verification>()?;
    module.add_class::<VerifiedNumber>()?;
    module.add_function(wrap_pyfunction!(read_claim, module)?)?;
    module.add_function(wrap_pyfunction!(verify, module)?)
}

/// What is promised of a mechanism: ε from both sides at a δ, the whole profile, to whom, and what it does not cover.
#[pyclass(frozen, module = "veracity", eq)]
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The claim as in its file.
    pub file: ClaimFile,
}

impl Claim {
    /// The text of its file, unless nobody could read it again.
    fn text(&self) -> PyResult<String> {
        let text = self.file.to_json().map_err(refused)?;
        if text.len() as u64 > LONGEST_TEXT {
            return Err(InvalidInput::new_err(
                "claim is longer than 1 MiB, which nobody could verify; ask of fewer groups or parts, or give the strategy as a band",
            ));
        }
        Ok(text)
    }
}

#[pymethods]
impl PyMechanism {
    /// The promise at this δ, or at this ε, as a claim.
    #[pyo3(signature = (delta=None, *, epsilon=None, method=None, adjacency=None))]
    fn claim(
        &self,
        py: Python<'_>,
        delta: Option<&Bound<'_, PyAny>>,
        epsilon: Option<&Bound<'_, PyAny>>,
        method: Option<&str>,
        adjacency: Option<&str>,
    ) -> PyResult<Claim> {
        let target = target(delta, epsilon)?;
        let choice = argument::method(method)?.map_or(Choice::Best, Choice::Only);
        let subject = self.subject(adjacency)?;
        let work = move || ClaimFile::new(&subject, &account(&subject, target, choice)?);
        Ok(Claim { file: interruptible(py, work)?.map_err(refused)? })
    }
}

/// What is given of ε and δ; the other one is asked.
pub fn target(delta: Option<&Bound<'_, PyAny>>, epsilon: Option<&Bound<'_, PyAny>>) -> PyResult<Target> {
    match (delta, epsilon) {
        (Some(delta), None) => Ok(Target::Delta(argument::delta(delta)?)),
        (None, Some(epsilon)) => Ok(Target::Epsilon(argument::epsilon(epsilon)?)),
        (Some(_), Some(_)) => {
            Err(InvalidInput::new_err("delta is given together with epsilon, expected one or the other"))
        }
        (None, None) => Err(InvalidInput::new_err("delta is missing, expected delta or epsilon")),
    }
}

#[pymethods]
impl Claim {
    /// The ε at `delta`.
    #[getter]
    fn epsilon(&self) -> PyResult<Interval> {
        Interval::stated(&self.file.epsilon, &self.file.method.name)
    }

    /// The δ.
    #[getter]
    fn delta(&self) -> f64 {
        self.file.delta
    }

    /// The promise in words.
    #[getter]
    fn definition(&self) -> &str {
        &self.file.definition
    }

    /// Points of the profile: (ε, the least δ or None, the most δ).
    #[getter]
    fn profile(&self) -> Vec<(f64, Option<f64>, Option<f64>)> {
        self.file.profile.iter().map(|point| (point.epsilon, point.delta.lower, point.delta.upper)).collect()
    }

    /// Which datasets are adjacent.
    #[getter]
    fn adjacency(&self) -> &str {
        &self.file.adjacency
    }

    /// Whose data one record is.
    #[getter]
    fn unit(&self) -> &str {
        &self.file.unit
    }

    /// The method that found the numbers.
    #[getter]
    fn method(&self) -> &str {
        &self.file.method.name
    }

    /// What the claim does not speak of.
    #[getter]
    fn not_covered(&self) -> Vec<String> {
        self.file.not_covered.clone()
    }

    /// What is done to the data, under the claim's adjacency.
    #[getter]
    fn mechanism(&self) -> PyResult<PyMechanism> {
        let mechanism = Mechanism::try_from(&self.file.mechanism).map_err(refused)?;
        let adjacency = self.file.adjacency.parse::<Adjacency>().map_err(refused)?;
        let unit = PrivacyUnit::new(&self.file.unit).map_err(refused)?;
        PyMechanism::new(mechanism, Said { adjacency: Some(adjacency), unit: Some(unit) })
    }

    /// The text of its file.
    fn to_json(&self) -> PyResult<String> {
        self.text()
    }

    /// Writes it to a new file; whatever has the name already stays, and is refused.
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let (text, path) = (self.text()?, argument::path("path", path)?);
        interruptible(py, move || create("claim", &path, text.as_bytes()))?.map_err(failed)
    }

    /// Recomputes it.
    fn verify(&self, py: Python<'_>) -> PyResult<Verification> {
        let text = self.text()?;
        let confirmation = interruptible(py, move || verify_text(&text))?.map_err(refused)?;
        Ok(Verification::of_claim(confirmation))
    }

    fn __hash__(&self) -> PyResult<u64> {
        let identity = self.file.identity().map_err(refused)?;
        Ok(u64::from_str_radix(identity.get(..16).unwrap_or_default(), 16).unwrap_or_default())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((PyModule::import(py, "veracity._veracity")?.getattr("read_claim")?, (self.text()?,)))
    }

    fn __repr__(&self) -> PyResult<String> {
        let delta = veracity::report::decimal::nearest(self.file.delta, 17);
        let (adjacency, unit) = (&self.file.adjacency, &self.file.unit);
        Ok(format!(
            "Claim(epsilon={}, delta={delta}, adjacency='{adjacency}', unit={unit:?})",
            self.epsilon()?.shown()
        ))
    }
}

/// A claim from a file, or from its text.
#[pyfunction]
#[pyo3(signature = (claim))]
fn read_claim(py: Python<'_>, claim: &Bound<'_, PyAny>) -> PyResult<Claim> {
    let place = Place::of(claim)?;
    let read = move || -> Result<ClaimFile, Failure> {
        Ok(match place {
            Place::Text(text) => ClaimFile::parse(&text)?,
            Place::Path(path) => ClaimFile::parse(&read_text("claim", &path)?)
                .map_err(|refusal| Failure::damaged(&path, refusal))?,
        })
    };
    Ok(Claim { file: interruptible(py, read)?.map_err(failed)? })
}

/// Where a claim is.
enum Place {
    Text(String),
    Path(PathBuf),
}

impl Place {
    /// A text that begins as JSON does is a claim's own text; any other is a path.
    fn of(given: &Bound<'_, PyAny>) -> PyResult<Place> {
        if let Ok(claim) = given.cast::<Claim>() {
            return Ok(Place::Text(claim.get().text()?));
        }
        if let Ok(text) = given.cast::<PyString>() {
            let unreadable = |_| InvalidInput::new_err("claim is not readable text, expected a path or JSON");
            let text = text.to_str().map_err(unreadable)?;
            if text.trim_start().starts_with('{') {
                return Ok(Place::Text(text.to_owned()));
            }
        }
        argument::path("claim", given).map(Place::Path)
    }
}

/// Recomputes a claim, or the certificate of an audit with the trials beside it. A claim that does not stand raises nothing here;
/// `.assert_stands()` does.
#[pyfunction]
#[pyo3(signature = (claim))]
fn verify(py: Python<'_>, claim: &Bound<'_, PyAny>) -> PyResult<Verification> {
    let place = Place::of(claim)?;
    let work = move || -> Result<Verification, Failure> {
        Ok(match place {
            Place::Text(text) => Verification::of_claim(verify_text(&text)?),
            Place::Path(path) => match verify_file(&path)? {
                Verified::Claim(confirmation) => Verification::of_claim(*confirmation),
                Verified::Certificate(recomputed) => Verification::of_certificate(&recomputed),
            },
        })
    };
    interruptible(py, work)?.map_err(failed)
}

/// One number or word of a claim, and what was found in its place.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct VerifiedNumber {
    /// What it is.
    what: String,
    /// Which side it is stated from: "upper", "lower" or "value"; of a certificate, what is stated.
    stated: String,
    /// The number that is claimed; None where there is none.
    claimed: Option<f64>,
    /// The lower end that was found, where there is one.
    lower: Option<f64>,
    /// The upper end that was found, where there is one.
    upper: Option<f64>,
    /// Whether it holds.
    holds: bool,
}

#[pymethods]
impl VerifiedNumber {
    fn __repr__(&self) -> String {
        let holds = if self.holds { "holds" } else { "does not hold" };
        format!("<{}: {holds}>", words::one_line(&self.what))
    }
}

/// What came of checking a claim, or a certificate, again. It is true where it stands.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct Verification {
    /// Whether nothing is wrong with it.
    stands: bool,
    /// Every number that was recomputed, that of ε first.
    checks: Vec<VerifiedNumber>,
    /// What is taken as it stands: nobody could recompute it.
    assumed: Vec<String>,
    /// The result in words, as the command line tells it.
    text: String,
}

impl Verification {
    fn of_claim(confirmation: Confirmation) -> Verification {
        let number = |x: f64| Some(x).filter(|x| !x.is_nan());
        let checks = confirmation.checks.iter().map(|check| VerifiedNumber {
            what: check.what.clone(),
            stated: match check.stated {
                Stated::Upper => "upper",
                Stated::Lower => "lower",
                Stated::Value => "value",
            }
            .to_owned(),
            claimed: number(check.claimed),
            lower: check.lower.and_then(number),
            upper: number(check.upper),
            holds: check.holds,
        });
        Verification {
            stands: confirmation.stands(),
            checks: checks.collect(),
            text: words::confirmation(&confirmation),
            assumed: confirmation.assumed,
        }
    }

    fn of_certificate(recomputed: &Recomputed) -> Verification {
        let checks = recomputed.statements.iter().map(|one| VerifiedNumber {
            what: one.what.to_string(),
            stated: words::one_line(&one.stated),
            claimed: None,
            lower: None,
            upper: None,
            holds: one.holds,
        });
        Verification {
            stands: recomputed.failure().is_none(),
            checks: checks.collect(),
            assumed: recomputed.unknown.clone(),
            text: words::certificate(recomputed),
        }
    }

    fn first_line(&self) -> &str {
        self.text.lines().next().unwrap_or_default()
    }
}

#[pymethods]
impl Verification {
    /// Raises `Refuted` where it does not stand.
    fn assert_stands(&self) -> PyResult<()> {
        if self.stands { Ok(()) } else { Err(Refuted::new_err(self.first_line().to_owned())) }
    }

    fn __bool__(&self) -> bool {
        self.stands
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Verification: {}>", self.first_line())
    }
}
