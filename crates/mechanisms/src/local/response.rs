//! k-ary randomized response: the true value with favoured odds, else any other. The best for few values.

use crate::local::{Chances, Odds, Report, domain};
use veracity_core::{Buckets, Epsilon, Mechanism, Probability, Refusal};
use veracity_noise::Bits;

/// Generalised randomized response on `size` values.
///
/// # Reference  \[KairouzBonawitzRamage16\], \[WangBlockiLiJha17\] (direct encoding)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RandomizedResponse {
    size: u32,
    epsilon: Epsilon,
    odds: Odds,
}

impl RandomizedResponse {
    /// Checks the number of values and ε.
    ///
    /// # Errors
    /// Refuses domain sizes and ε out of range.
    pub fn new(size: u32, epsilon: Epsilon) -> Result<Self, Refusal> {
        domain::check_size(size as usize)?;
        Ok(RandomizedResponse { size, epsilon, odds: Odds::within(epsilon)? })
    }

    /// How many values.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The ε of one report.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// The weights of all outcomes together.
    fn total(&self) -> u128 {
        self.odds.yes() + u128::from(self.size - 1) * self.odds.no()
    }

    /// A report on `value`.
    ///
    /// # Promise  P(true value) : P(any other) = yes : no exactly, at most e^ε : 1
    ///
    /// # Errors
    /// Refuses a value outside of the domain.
    pub fn encode(&self, value: u32, bits: &mut impl Bits) -> Result<Report, Refusal> {
        domain::check_place(value, self.size)?;
        Ok(Report::Value(match self.odds.choose(self.size - 1, bits) {
            None => value,
            Some(other) if other < value => other,
            Some(other) => other + 1,
        }))
    }

    /// P(report | value).
    pub fn likelihood(&self, value: u32, report: &Report) -> f64 {
        match report {
            Report::Value(said) if *said == value => self.odds.yes() as f64 / self.total() as f64,
            Report::Value(said) if *said < self.size => self.odds.no() as f64 / self.total() as f64,
            _ => 0.0,
        }
    }

    /// The realised chances of support.
    pub fn chances(&self) -> Chances {
        let total = self.total() as f64;
        Chances { own: self.odds.yes() as f64 / total, other: self.odds.no() as f64 / total }
    }

    /// Randomized response with its chance of ignoring the truth, rounded down: the claim is never too small.
    ///
    /// # Errors
    /// Refuses more buckets than the mechanism has.
    pub fn mechanism(&self) -> Result<Mechanism, Refusal> {
        let noise =
            (f64::from(self.size) * self.odds.no() as f64 / self.total() as f64).next_down().next_down();
        Ok(Mechanism::RandomizedResponse {
            buckets: Buckets::new(self.size)?,
            noise: Probability::new(noise)?,
        })
    }

    pub(crate) fn fits(&self, report: &Report) -> bool {
        matches!(report, Report::Value(said) if *said < self.size)
    }

    pub(crate) fn absorb(&self, reports: &[Report], counts: &mut [i64]) {
        for report in reports {
            if let Report::Value(said) = report {
                counts[*said as usize] += 1;
            }
        }
    }
}
