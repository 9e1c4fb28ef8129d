//! What is known of a number, from both sides where both are known.

use crate::{
    argument,
    errors::{InvalidInput, NotCertified, refused},
};
use pyo3::{basic::CompareOp, prelude::*, types::PyString};
use veracity::{Finding, Method, Refusal, decimal};

/// Digits that are shown at least.
const DIGITS: usize = 6;

/// A certified interval that contains the true ε or δ.
///
/// `float(interval)` is the upper bound, the number that you may report. A format such as `f"{interval:.3f}"` rounds it up.
/// Comparisons say only what is certain: `interval <= 3` compares the upper bound, and `interval > 3` the lower bound. If 3 lies
/// between the bounds, both are false.
///
/// An approximation, for example of `method="gdp-clt"`, has no bounds. `float()` then raises `NotCertified`.
#[pyclass(frozen, module = "veracity")]
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// The lower bound: the true value is at least this. None if the method has no lower bound.
    #[pyo3(get)]
    lower: Option<f64>,
    /// The upper bound: the true value is at most this. None for an approximation.
    #[pyo3(get)]
    upper: Option<f64>,
    /// The value of an approximation, which can be below the true value. None for a bound.
    #[pyo3(get)]
    approximate: Option<f64>,
    method: Method,
    /// The reason why the method `exact` could not answer. None if it did.
    #[pyo3(get)]
    fallback: Option<String>,
}

impl Interval {
    /// What a method found.
    pub fn new<T: Copy>(
        found: &Finding<T>,
        number: impl Fn(T) -> f64,
        method: Method,
        fallback: Option<&Refusal>,
    ) -> Interval {
        let approximate = match found {
            Finding::Approximation(value) => Some(number(*value)),
            Finding::Bracket(_) | Finding::Upper(_) => None,
        };
        Interval {
            lower: found.lower().map(|lower| number(lower.0)),
            upper: found.upper().map(|upper| number(upper.0)),
            approximate,
            method,
            fallback: fallback.map(ToString::to_string),
        }
    }

    /// What a file states.
    pub fn stated(stated: &veracity::Interval, method: &str) -> PyResult<Interval> {
        Ok(Interval {
            lower: stated.lower,
            upper: stated.upper,
            approximate: stated.approximate,
            method: method.parse().map_err(refused)?,
            fallback: None,
        })
    }

    /// As its repr has it.
    pub fn shown(&self) -> String {
        self.__repr__()
    }

    fn certified(&self) -> PyResult<f64> {
        self.upper.ok_or_else(|| {
            NotCertified::new_err(format!(
                "{} gives an approximation, which can be below the true value; read .approximate, or use a method that bounds",
                self.method
            ))
        })
    }

    /// Digits that distinguish the ends.
    fn digits(&self) -> usize {
        match self.relative_width() {
            Some(width) if width > 0.0 => (1.0 - width.log10().floor()).clamp(DIGITS as f64, 17.0) as usize,
            _ => DIGITS,
        }
    }
}

getters! {
    Interval {
        /// The accounting method that computed the interval, such as `exact`.
        method(this) -> &'static str { this.method.name() }
    }
}

#[pymethods]
impl Interval {
    /// The width of the interval divided by its upper bound. None unless there are two bounds.
    #[getter]
    fn relative_width(&self) -> Option<f64> {
        let (lower, upper) = (self.lower?, self.upper?);
        Some(if upper == 0.0 { 0.0 } else { (upper - lower) / upper })
    }

    fn __float__(&self) -> PyResult<f64> {
        self.certified()
    }

    fn __contains__(&self, number: &Bound<'_, PyAny>) -> PyResult<bool> {
        let number = argument::number("number", number)?;
        Ok(self.lower.is_none_or(|lower| lower <= number) && number <= self.certified()?)
    }

    fn __richcmp__(&self, other: &Bound<'_, PyAny>, how: CompareOp) -> PyResult<Py<PyAny>> {
        let py = other.py();
        if let Ok(other) = other.cast::<Interval>() {
            let same = self == other.get();
            return Ok(match how {
                CompareOp::Eq => same.into_pyobject(py)?.to_owned().into_any().unbind(),
                CompareOp::Ne => (!same).into_pyobject(py)?.to_owned().into_any().unbind(),
                _ => py.NotImplemented(),
            });
        }
        let Ok(number) = other.extract::<f64>() else { return Ok(py.NotImplemented()) };
        let above = |holds: fn(f64, f64) -> bool| self.upper.is_some_and(|upper| holds(upper, number));
        let below = |holds: fn(f64, f64) -> bool| self.lower.is_some_and(|lower| holds(lower, number));
        let certain = match how {
            CompareOp::Lt => above(|upper, number| upper < number),
            CompareOp::Le => above(|upper, number| upper <= number),
            CompareOp::Gt => below(|lower, number| lower > number),
            CompareOp::Ge => below(|lower, number| lower >= number),
            CompareOp::Eq | CompareOp::Ne => return Ok(py.NotImplemented()),
        };
        Ok(certain.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __hash__(&self) -> u64 {
        let bits = |end: Option<f64>| end.map_or(1, f64::to_bits);
        bits(self.lower) ^ bits(self.upper).rotate_left(21) ^ bits(self.approximate).rotate_left(42)
    }

    fn __repr__(&self) -> String {
        let digits = self.digits();
        if let Some(value) = self.approximate {
            let near = decimal::nearest(value, digits);
            return format!("Interval(lower=None, upper=None, approximate={near}, method='{}')", self.method);
        }
        let lower = self.lower.map_or("None".to_owned(), |lower| decimal::down(lower, digits));
        let upper = self.upper.map_or("None".to_owned(), |upper| decimal::up(upper, digits));
        format!("Interval(lower={lower}, upper={upper}, method='{}')", self.method)
    }

    /// Format the upper bound, rounded up, for example `f"{epsilon:.3f}"`.
    fn __format__<'py>(&self, py: Python<'py>, spec: &str) -> PyResult<Bound<'py, PyAny>> {
        if spec.is_empty() {
            return Ok(PyString::new(py, &self.__repr__()).into_any());
        }
        let upper = self.certified()?;
        let text = |x: f64| PyModule::import(py, "builtins")?.getattr("format")?.call1((x, spec));
        let mut more = 0.0;
        // A format rounds to the nearest; what is printed must not be below the bound.
        for _ in 0..128 {
            let printed = text(upper + more)?;
            let read = printed.extract::<String>()?.trim().replace(['_', ','], "").parse::<f64>();
            match read {
                Ok(read) if read >= upper => return Ok(printed),
                Ok(read) => more = (2.0 * more).max(upper - read),
                Err(_) => break,
            }
        }
        let given = argument::shown(spec);
        Err(InvalidInput::new_err(format!("format is {given}, expected a format such as .3f, .3g or .3e")))
    }
}
