//! What is known of a number, from both sides where both are known.

use crate::{
    argument,
    errors::{InvalidInput, NotCertified, refused},
};
use pyo3::{basic::CompareOp, prelude::*, types::PyString};
use veracity::{Finding, Method, Refusal, report::decimal};

/// Digits that are shown at least.
const DIGITS: usize = 6;

/// A number between two certified ends. As a float it is the upper end: the one that may be promised.
///
/// `lower` is None where no lower end is known. An approximation has neither end; it is in `approximate`, and may be below the
/// truth. Comparisons with a number say what is certain: `interval <= 3` when the upper end is, `interval > 3` when the lower end
/// is; both can be false.
#[pyclass(frozen, module = "veracity")]
#[derive(Debug, Clone, PartialEq)]
pub struct Interval {
    /// The truth is at least this.
    #[pyo3(get)]
    lower: Option<f64>,
    /// The truth is at most this.
    #[pyo3(get)]
    upper: Option<f64>,
    /// The truth may be larger than this; never a guarantee.
    #[pyo3(get)]
    approximate: Option<f64>,
    method: Method,
    /// Why the best method is not exact, where it is not.
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
                "{} gives an approximation, which can be below the truth; read .approximate, or use a method that bounds",
                self.method
            ))
        })
    }

    /// Digits that tell the ends apart.
    fn digits(&self) -> usize {
        match self.relative_width() {
            Some(width) if width > 0.0 => (1.0 - width.log10().floor()).clamp(DIGITS as f64, 17.0) as usize,
            _ => DIGITS,
        }
    }
}

#[pymethods]
impl Interval {
    /// The method that found it.
    #[getter]
    fn method(&self) -> &'static str {
        self.method.name()
    }

    /// How far apart the ends are, relative to the upper one; None where there is one end or none.
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

    /// The upper end, rounded up: `f"{epsilon:.3f}"`, `:.3g`, `:.3e`; empty for its repr.
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
        Err(InvalidInput::new_err(format!("format is {given}, expected one such as .3f, .3g or .3e")))
    }
}
