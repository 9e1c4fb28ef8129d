//! Claims: what is promised, as a file that anyone can verify.

use crate::{
    argument,
    errors::{InvalidInput, Refuted, failed, refused},
    interruptible::interruptible,
    interval::Interval,
    mechanism::PyMechanism,
};
use pyo3::{prelude::*, types::PyString};
use std::path::PathBuf;
use veracity::{
    Adjacency, Choice, ClaimFile, Confirmation, Error as Failure, LONGEST_TEXT, Mechanism, PrivacyUnit,
    Stated, Subject, Target, VerifiedFile, account, auditing::certificate::Recomputation, read_text,
    saving::create, verify as verify_text, verify_file, words,
};

/// A claim: ε and δ of a mechanism, with everything that others need to recompute them.
///
/// Make one with `Mechanism.claim`, or read a file with `read_claim`. Sessions, queries, estimators and audits have claims too.
#[pyclass(frozen, module = "veracity", eq)]
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The claim as in its file.
    pub file: ClaimFile,
}

impl Claim {
    /// The text of its file, unless it is too long to be verified.
    fn text(&self) -> PyResult<String> {
        let text = self.file.to_json().map_err(refused)?;
        if text.len() as u64 > LONGEST_TEXT {
            return Err(InvalidInput::new_err(
                "claim is longer than 1 MiB, the most that verify reads; ask about fewer groups or parts, or give the strategy as a band",
            ));
        }
        Ok(text)
    }
}

#[pymethods]
impl PyMechanism {
    /// Make a claim: the guarantee with everything that others need to recompute it.
    ///
    /// Give either `delta` or `epsilon`. The accountant computes the other.
    ///
    /// Args:
    ///     delta: δ of the claim.
    ///     epsilon: ε of the claim.
    ///     method: one accounting method, such as "pld" or "rdp". None takes the tightest bound.
    ///     adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.
    ///
    /// Returns:
    ///     A `Claim`. Save it with `Claim.save`.
    ///
    /// Raises:
    ///     InvalidInput: if both or neither of `delta` and `epsilon` are given.
    ///     NoTheorem: if no theorem covers the mechanism.
    ///
    /// Example:
    ///     >>> v.gaussian(noise_multiplier=4).claim(delta=1e-5).epsilon.method
    ///     'exact'
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
    let delta = argument::maybe_number("delta", delta)?;
    Target::given("", delta, argument::maybe_number("epsilon", epsilon)?).map_err(refused)
}

getters! {
    Claim {
        /// The certified interval of ε at `delta`.
        epsilon(this) -> PyResult<Interval> { Interval::stated(&this.file.epsilon, &this.file.method.name) }
        /// δ of the claim.
        delta(this) -> f64 { this.file.delta }
        /// The guarantee as a sentence.
        definition(this) -> &str { &this.file.definition }
        /// Points of the privacy profile, each (ε, lower bound on δ or None, upper bound on δ or None).
        profile(this) -> Vec<(f64, Option<f64>, Option<f64>)> { this.file.profile.iter().map(|point| (point.epsilon, point.delta.lower, point.delta.upper)).collect() }
        /// The adjacency: which datasets count as neighbors.
        adjacency(this) -> &str { &this.file.adjacency }
        /// The privacy unit, such as `example` or `patient`.
        unit(this) -> &str { &this.file.unit }
        /// The accounting method that computed the claim.
        method(this) -> &str { &this.file.method.name }
        /// The list of risks that the claim does not cover, such as side channels.
        not_covered(this) -> Vec<String> { this.file.not_covered.clone() }
    }
}

#[pymethods]
impl Claim {
    /// The mechanism of the claim, with its adjacency and unit.
    #[getter]
    fn mechanism(&self) -> PyResult<PyMechanism> {
        let mechanism = Mechanism::try_from(&self.file.mechanism).map_err(refused)?;
        let adjacency = self.file.adjacency.parse::<Adjacency>().map_err(refused)?;
        let unit = PrivacyUnit::new(&self.file.unit).map_err(refused)?;
        PyMechanism::of_subject(Subject { mechanism, adjacency, unit })
    }

    /// Return the claim as the text of its file.
    ///
    /// Returns:
    ///     A JSON object.
    ///
    /// Raises:
    ///     InvalidInput: if the claim is longer than 1 MiB, which `verify` does not read.
    fn to_json(&self) -> PyResult<String> {
        self.text()
    }

    /// Write the claim to a new file.
    ///
    /// Args:
    ///     path: the file. It must not exist yet.
    ///
    /// Raises:
    ///     FileError: if the file exists or cannot be written.
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<()> {
        let (text, path) = (self.text()?, argument::path("path", path)?);
        interruptible(py, move || create("claim", &path, text.as_bytes()))?.map_err(failed)
    }

    /// Recompute the claim.
    ///
    /// Returns:
    ///     A `Verification`.
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
        let delta = veracity::decimal::nearest(self.file.delta, 17);
        let (adjacency, unit) = (&self.file.adjacency, &self.file.unit);
        Ok(format!(
            "Claim(epsilon={}, delta={delta}, adjacency='{adjacency}', unit={unit:?})",
            self.epsilon()?.shown()
        ))
    }
}

/// Read a claim from a file or from JSON.
///
/// Args:
///     claim: a path, or the text of a claim.
///
/// Returns:
///     A `Claim`. Its numbers are not recomputed yet. Call `Claim.verify` for that.
///
/// Raises:
///     FileError: if the file does not exist or is not a claim.
///     InvalidInput: if the text is not a claim.
///
/// Example:
///     >>> claim = v.gaussian(noise_multiplier=4).claim(delta=1e-5)
///     >>> v.read_claim(claim.to_json()) == claim
///     True
#[pyfunction]
#[pyo3(signature = (claim))]
pub fn read_claim(py: Python<'_>, claim: &Bound<'_, PyAny>) -> PyResult<Claim> {
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
            let unreadable =
                |_| InvalidInput::new_err("claim is not valid Unicode text, expected a path or JSON");
            let text = text.to_str().map_err(unreadable)?;
            if text.trim_start().starts_with('{') {
                return Ok(Place::Text(text.to_owned()));
            }
        }
        argument::path("claim", given).map(Place::Path)
    }
}

/// Recompute a claim, or the certificate of an audit from the trials next to it.
///
/// An invalid claim raises nothing here. Call `.raise_if_invalid()` on the result if you want an exception, for example in a test.
///
/// Args:
///     claim: a path, the text of a claim, or a `Claim`.
///
/// Returns:
///     A `Verification`. It is true if the claim is valid.
///
/// Raises:
///     FileError: if the file does not exist or is damaged.
///     InvalidInput: if the text is not a claim.
///
/// Example:
///     >>> v.verify(v.gaussian(noise_multiplier=4).claim(delta=1e-5)).is_valid
///     True
#[pyfunction]
#[pyo3(signature = (claim))]
pub fn verify(py: Python<'_>, claim: &Bound<'_, PyAny>) -> PyResult<Verification> {
    let place = Place::of(claim)?;
    let work = move || -> Result<Verification, Failure> {
        Ok(match place {
            Place::Text(text) => Verification::of_claim(verify_text(&text)?),
            Place::Path(path) => match verify_file(&path)? {
                VerifiedFile::Claim(confirmation) => Verification::of_claim(*confirmation),
                VerifiedFile::Certificate(recomputed) => Verification::of_certificate(&recomputed),
            },
        })
    };
    interruptible(py, work)?.map_err(failed)
}

/// One number or string of a claim or certificate, with the result of recomputing it.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct VerifiedNumber {
    /// The name of the number.
    what: String,
    /// The side that the claim states: "upper", "lower" or "value". For a certificate, the stated value.
    stated: String,
    /// The number in the claim. None if there is none.
    claimed: Option<f64>,
    /// The recomputed lower bound. None if there is none.
    lower: Option<f64>,
    /// The recomputed upper bound. None if there is none.
    upper: Option<f64>,
    /// True if the claimed number is valid.
    holds: bool,
}

#[pymethods]
impl VerifiedNumber {
    fn __repr__(&self) -> String {
        let holds = if self.holds { "holds" } else { "does not hold" };
        format!("<{}: {holds}>", words::one_line(&self.what))
    }
}

/// Result of `verify`. It is true if the claim or certificate is valid.
#[pyclass(frozen, get_all, module = "veracity")]
#[derive(Debug, Clone)]
pub struct Verification {
    /// True if every recomputed number supports the claim.
    is_valid: bool,
    /// Every number that was recomputed, ε first.
    checks: Vec<VerifiedNumber>,
    /// Assumptions that cannot be recomputed from the file. Check these yourself.
    assumed: Vec<String>,
    /// The result as text, as `veracity verify` prints it.
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
            is_valid: confirmation.stands(),
            checks: checks.collect(),
            text: words::confirmation(&confirmation),
            assumed: confirmation.assumed,
        }
    }

    fn of_certificate(recomputed: &Recomputation) -> Verification {
        let checks = recomputed.statements.iter().map(|one| VerifiedNumber {
            what: one.what.to_string(),
            stated: words::one_line(&one.stated),
            claimed: None,
            lower: None,
            upper: None,
            holds: one.holds,
        });
        Verification {
            is_valid: recomputed.failure().is_none(),
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
    /// Raise `Refuted` if the claim or certificate is invalid.
    ///
    /// Raises:
    ///     Refuted: with the first line of `text`. It is an `AssertionError`, so a test fails with that line.
    fn raise_if_invalid(&self) -> PyResult<()> {
        if self.is_valid { Ok(()) } else { Err(Refuted::new_err(self.first_line().to_owned())) }
    }

    fn __bool__(&self) -> bool {
        self.is_valid
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<Verification: {}>", self.first_line())
    }
}
