//! The trade-off curve of a mechanism: for each share of people wrongly accused, the share of culprits missed.

use crate::{argument, errors::refused, interruptible::interruptible, mechanism::PyMechanism};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use veracity::{
    PrivacyProfile, Probability, Refusal, Subject,
    tradeoff::{Sided, TradeoffCurve},
};

/// Points of the profile that the curve is drawn through.
const POINTS: usize = 257;
/// The side of a picture.
const SIDE: f64 = 240.0;

/// Bounds on the trade-off curve of a mechanism at given false-positive rates.
///
/// For each false-positive rate in `alphas`, `lower` is the smallest false-negative rate that any attack can have. A higher curve is
/// more private. A notebook shows the curve as a plot.
#[pyclass(frozen, module = "veracity")]
#[derive(Debug)]
pub struct Tradeoff {
    alphas: Py<PyArray1<f64>>,
    lower: Py<PyArray1<f64>>,
    upper: Option<Py<PyArray1<f64>>>,
    method: &'static str,
}

#[pymethods]
impl Tradeoff {
    /// The false-positive rates that you asked for.
    #[getter]
    fn alphas(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.alphas.clone_ref(py)
    }

    /// Lower bounds on the false-negative rate, rounded down. No attack has a smaller one.
    #[getter]
    fn lower(&self, py: Python<'_>) -> Py<PyArray1<f64>> {
        self.lower.clone_ref(py)
    }

    /// Upper bounds on the trade-off curve, rounded up. None if the profile has no lower bounds.
    #[getter]
    fn upper(&self, py: Python<'_>) -> Option<Py<PyArray1<f64>>> {
        self.upper.as_ref().map(|upper| upper.clone_ref(py))
    }

    /// The accounting method that computed the privacy profile.
    #[getter]
    fn method(&self) -> &'static str {
        self.method
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.lower.bind(py).len()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let sides = if self.upper.is_some() { "both sides" } else { "below" };
        Ok(format!("<Tradeoff of {} points, from {sides}, method '{}'>", self.__len__(py)?, self.method))
    }

    /// The curve as a picture, for notebooks, light or dark as they are.
    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let alphas = self.alphas.bind(py).try_readonly()?;
        let drawn = |ends: &Py<PyArray1<f64>>, look: &str| -> PyResult<String> {
            Ok(line(alphas.as_slice()?, ends.bind(py).try_readonly()?.as_slice()?, look))
        };
        let lower = drawn(&self.lower, "stroke='#4c8bb8' stroke-width='2'")?;
        let upper = match &self.upper {
            Some(upper) => drawn(upper, "stroke='#4c8bb8' stroke-dasharray='3'")?,
            None => String::new(),
        };
        let guessing = line(&[0.0, 1.0], &[1.0, 0.0], "stroke='currentColor' opacity='.4'");
        Ok(format!(
            "<div><b>trade-off curve</b> <span style='opacity:.7'>x: false-positive rate, y: false-negative \
             rate. No attack is below the curve, random guessing is on the diagonal. Method \
             {}</span><br><svg width='{SIDE}' height='{SIDE}' role='img'><rect width='{SIDE}' \
             height='{SIDE}' fill='none' stroke='currentColor' \
             opacity='.4'/>{guessing}{upper}{lower}</svg></div>",
            self.method
        ))
    }
}

/// A line through points of the unit square, from left to right.
fn line(across: &[f64], up: &[f64], look: &str) -> String {
    let mut points: Vec<(f64, f64)> = across.iter().copied().zip(up.iter().copied()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let written: Vec<String> =
        points.iter().map(|(x, y)| format!("{:.1},{:.1}", SIDE * x, SIDE * (1.0 - y))).collect();
    format!("<polyline points='{}' fill='none' {look}/>", written.join(" "))
}

/// The ends of a curve, and the method behind it.
struct Ends {
    lower: Vec<f64>,
    upper: Option<Vec<f64>>,
    method: &'static str,
}

#[pymethods]
impl PyMechanism {
    /// Compute the trade-off curve: the smallest false-negative rate at each false-positive rate.
    ///
    /// Args:
    ///     alphas: one false-positive rate or several, each from 0 to 1.
    ///     adjacency: "add-remove", "replace-one" or "zero-out". None takes the adjacency of the mechanism.
    ///
    /// Returns:
    ///     A `Tradeoff` with the arrays `alphas`, `lower` and `upper`.
    ///
    /// Raises:
    ///     InvalidInput: if a rate is not between 0 and 1.
    ///     NoTheorem: if no theorem covers the mechanism.
    ///
    /// Example:
    ///     >>> bool(v.gaussian(noise_multiplier=4).tradeoff(0.01).lower[0] > 0.98)
    ///     True
    #[pyo3(signature = (alphas, *, adjacency=None))]
    fn tradeoff(
        &self,
        py: Python<'_>,
        alphas: &Bound<'_, PyAny>,
        adjacency: Option<&str>,
    ) -> PyResult<Tradeoff> {
        let given = match argument::number("alphas", alphas) {
            Ok(one) => vec![one],
            Err(_) => argument::numbers("alphas", alphas)?,
        };
        let rates = given.iter().map(|&alpha| rate(alpha)).collect::<PyResult<Vec<Probability>>>()?;
        let subject = self.subject(adjacency)?;
        let ends = interruptible(py, move || ends(&subject, &rates))?.map_err(refused)?;
        let array = |values: Vec<f64>| {
            let array = PyArray1::from_vec(py, values);
            array.try_readwrite()?.make_nonwriteable();
            Ok::<_, PyErr>(array.unbind())
        };
        Ok(Tradeoff {
            alphas: array(given)?,
            lower: array(ends.lower)?,
            upper: ends.upper.map(array).transpose()?,
            method: ends.method,
        })
    }
}

fn rate(alpha: f64) -> PyResult<Probability> {
    Probability::new(alpha).map_err(|_| refused(Refusal::out_of_range("alpha", alpha, "0 ≤ alpha ≤ 1")))
}

fn ends(subject: &Subject, rates: &[Probability]) -> Result<Ends, Refusal> {
    let profile = PrivacyProfile::near_zero(subject, POINTS)?;
    let is_sided = profile.points.iter().any(|point| point.lower.is_some());
    let sided = profile.points.iter().map(|point| (point.epsilon, point.lower.unwrap_or(0.0), point.upper));
    let curve = TradeoffCurve::new(&sided.collect::<Vec<Sided>>());
    let lower = rates.iter().map(|&alpha| curve.lower(alpha).0.get()).collect();
    let upper = is_sided.then(|| rates.iter().map(|&alpha| curve.upper(alpha).0.get()).collect());
    Ok(Ends { lower, upper, method: profile.method.name() })
}
