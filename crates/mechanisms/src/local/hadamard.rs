//! One-bit Hadamard response: a random row of the Hadamard matrix, and the sign of the value's column in it, flipped rarely.

use crate::local::{Chances, Coin, Odds, Report, domain, walsh};
use veracity_core::{Epsilon, Refusal};
use veracity_noise::Bits;

/// Hadamard response on `size` values, padded to a power of two. A report is log2 of that many bits and one more.
///
/// # Reference  \[AcharyaSunZhang19\]; \[AppleDP17\] (the one-bit form)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hadamard {
    size: u32,
    epsilon: Epsilon,
    flip: Coin,
}

impl Hadamard {
    /// Checks the number of values and ε.
    ///
    /// # Errors
    /// Refuses domain sizes and ε out of range.
    pub fn new(size: u32, epsilon: Epsilon) -> Result<Self, Refusal> {
        domain::check_size(size as usize)?;
        Ok(Hadamard { size, epsilon, flip: Coin::against(Odds::within(epsilon)?) })
    }

    /// How many values.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The ε of one report.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// How many rows the matrix has.
    pub fn rows(&self) -> u32 {
        self.size.next_power_of_two()
    }

    /// A report on `value`: a row, and whether the sign is said to be negative.
    ///
    /// # Errors
    /// Refuses a value outside of the domain.
    pub fn encode(&self, value: u32, bits: &mut impl Bits) -> Result<Report, Refusal> {
        domain::check_place(value, self.size)?;
        let row = bits.bits(self.rows().trailing_zeros()) as u32;
        Ok(Report::Sign { row, negative: walsh::is_negative(row, value) ^ self.flip.toss(bits) })
    }

    /// P(report | value).
    pub fn likelihood(&self, value: u32, report: &Report) -> f64 {
        match report {
            Report::Sign { row, negative } if *row < self.rows() => {
                let flipped = walsh::is_negative(*row, value) != *negative;
                let coin = if flipped { self.flip } else { self.flip.complement() };
                coin.chance() / f64::from(self.rows())
            }
            _ => 0.0,
        }
    }

    /// The realised chances of support: different columns agree in exactly half of the rows.
    pub fn chances(&self) -> Chances {
        Chances { own: self.flip.complement().chance(), other: 0.5 }
    }

    pub(crate) fn fits(&self, report: &Report) -> bool {
        matches!(report, Report::Sign { row, .. } if *row < self.rows())
    }

    pub(crate) fn absorb(&self, reports: &[Report], counts: &mut [i64]) {
        for report in reports {
            if let Report::Sign { row, negative } = report {
                counts[*row as usize] += 1 - 2 * i64::from(*negative);
            }
        }
    }

    /// Supports from the sums of signs by row: a report supports the columns whose sign it says.
    pub(crate) fn supports(&self, sums: &[i64], reports: u64) -> Vec<i64> {
        let mut agreement = sums.to_vec();
        walsh::transform(&mut agreement);
        // Agreeing less disagreeing reports is even exactly when their number is.
        agreement.truncate(self.size as usize);
        agreement.iter().map(|difference| (reports as i64 + difference) / 2).collect()
    }
}
