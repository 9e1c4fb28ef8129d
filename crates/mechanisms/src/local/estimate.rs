//! What the server learns: estimates with standard errors and intervals.

use crate::local::simplex;
use veracity_core::Refusal;
use veracity_core::numerics::normal;

/// An interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// Its lower end.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// The confidence level of intervals, and the normal quantile that goes with it.
///
/// # Assumes  Normal approximation: reports are many and independent. Standard errors are those of the randomisation; the
///   people who reported are taken as given.
///
/// # Examples
///
/// ```
/// use veracity_mechanisms::local::{Confidence, Estimate};
///
/// let estimate = Estimate { count: 120.0, standard_error: 10.0 };
/// let one = estimate.interval(Confidence::new(0.95)?);
/// assert!((one.high - 139.6).abs() < 0.01);
/// // To hold for all of 50 values together, intervals must be wider.
/// assert!(estimate.interval(Confidence::for_all(0.95, 50)?).high > one.high);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    level: f64,
    quantile: f64,
}

impl Confidence {
    /// Each interval covers the truth with probability `level`.
    ///
    /// # Errors
    /// Refuses levels outside of 0 to 1.
    pub fn new(level: f64) -> Result<Confidence, Refusal> {
        Confidence::for_all(level, 1)
    }

    /// `intervals` intervals cover their truths simultaneously with probability `level` (Bonferroni).
    ///
    /// # Errors
    /// Refuses levels outside of 0 to 1.
    pub fn for_all(level: f64, intervals: u32) -> Result<Confidence, Refusal> {
        if !(level > 0.0 && level < 1.0) {
            return Err(Refusal::out_of_range("confidence level", level, "0 < level < 1"));
        }
        let tail = (1.0 - level) / 2.0 / f64::from(intervals.max(1));
        Ok(Confidence { level, quantile: -normal::quantile(tail) })
    }

    /// The level.
    pub fn level(self) -> f64 {
        self.level
    }

    fn around(self, centre: f64, standard_error: f64) -> Interval {
        let half = self.quantile * standard_error;
        Interval { low: centre - half, high: centre + half }
    }
}

/// How many of those who reported have one value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The unbiased estimate of the count; it may be negative or exceed the number of reports.
    pub count: f64,
    /// The standard deviation of the count.
    pub standard_error: f64,
}

impl Estimate {
    /// The two-sided interval of the count.
    pub fn interval(self, confidence: Confidence) -> Interval {
        confidence.around(self.count, self.standard_error)
    }
}

/// The estimates of all values, in the order of the domain.
///
/// # Examples
///
/// ```
/// use veracity_mechanisms::local::{Estimate, Estimates};
///
/// let value = |count| Estimate { count, standard_error: 3.0 };
/// let estimates = Estimates { reports: 100, values: vec![value(80.0), value(28.0), value(-8.0)] };
/// // Unbiased, and absurd for one value; or a distribution, and biased.
/// assert_eq!(estimates.frequencies()[2], -0.08);
/// let projected = estimates.projected();
/// assert!(projected[2] == 0.0 && (projected.iter().sum::<f64>() - 1.0).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Estimates {
    /// How many reports there were.
    pub reports: u64,
    /// One estimate for each value.
    pub values: Vec<Estimate>,
}

impl Estimates {
    /// The unbiased frequencies: counts over reports, or zeros when there are no reports.
    pub fn frequencies(&self) -> Vec<f64> {
        let n = self.reports.max(1) as f64;
        self.values.iter().map(|estimate| estimate.count / n).collect()
    }

    /// The nearest frequencies that are a distribution. Biased: see [`simplex::project`].
    pub fn projected(&self) -> Vec<f64> {
        simplex::project(&self.frequencies())
    }
}

/// The mean of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MeanEstimate {
    /// How many reports there were.
    pub reports: u64,
    /// The unbiased estimate; it may lie outside the range.
    pub mean: f64,
    /// Its standard deviation.
    pub standard_error: f64,
}

impl MeanEstimate {
    /// The two-sided interval of the mean.
    pub fn interval(self, confidence: Confidence) -> Interval {
        confidence.around(self.mean, self.standard_error)
    }
}
