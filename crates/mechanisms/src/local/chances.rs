//! The two chances that describe a protocol: how often a report supports its own value, and how often another.

use crate::local::{Estimate, Estimates};

/// A report *supports* a value if it speaks for it: a set bit, an equal hash, an equal sign. Every protocol here supports
/// the true value with one chance and each other value with a second, smaller one.
///
/// # Reference  \[WangBlockiLiJha17\] ("pure" protocols)
///
/// # Examples
///
/// What privacy costs in variance, and what it gives to liars:
///
/// ```
/// use veracity_core::Epsilon;
/// use veracity_mechanisms::local::RandomizedResponse;
///
/// let strict = RandomizedResponse::new(10, Epsilon::new(0.5)?)?.chances();
/// let loose = RandomizedResponse::new(10, Epsilon::new(3.0)?)?.chances();
/// assert!(strict.noise() > 10.0 * loose.noise());
/// // One made-up report counts for many honest ones.
/// assert!(strict.largest_gain(1) > 10.0 && loose.largest_gain(1) < 2.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chances {
    /// The chance that a report supports the value it was made from.
    pub own: f64,
    /// The chance that it supports any other given value.
    pub other: f64,
}

impl Chances {
    /// Variance of an estimated count when `holders` of `reports` people have the value and reports are independent.
    pub fn variance(self, holders: f64, reports: f64) -> f64 {
        let Chances { own: p, other: q } = self;
        (holders * p * (1.0 - p) + (reports - holders) * q * (1.0 - q)) / ((p - q) * (p - q))
    }

    /// n·Var of the frequency of a value that hardly anyone has: what a report costs in variance.
    pub fn noise(self) -> f64 {
        self.variance(0.0, 1.0)
    }

    /// The unbiased count from how many reports support a value.
    pub fn count(self, supports: f64, reports: f64) -> f64 {
        (supports - reports * self.other) / (self.own - self.other)
    }

    /// How far `fakes` made-up reports can raise the estimated count of one value of the attacker's choice, at most.
    /// An honest answer raises it by one each, on average; so noise for privacy is leverage for liars.
    ///
    /// # Reference  \[CaoJiaGong21\], \[CheuSmithUllman21\]
    pub fn largest_gain(self, fakes: u64) -> f64 {
        fakes as f64 * (1.0 - self.other) / (self.own - self.other)
    }

    /// Estimates from supports; `extra` is variance beyond that of independent reports.
    pub(crate) fn estimates(
        self,
        supports: &[i64],
        reports: u64,
        extra: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Estimates {
        let n = reports as f64;
        let counts: Vec<f64> = supports.iter().map(|support| self.count(*support as f64, n)).collect();
        let extra = extra(&counts);
        let values = counts
            .iter()
            .zip(extra)
            .map(|(&count, extra)| Estimate {
                count,
                standard_error: (self.variance(count.clamp(0.0, n), n) + extra).sqrt(),
            })
            .collect();
        Estimates { reports, values }
    }
}
