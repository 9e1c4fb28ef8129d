//! Unary encodings: one bit for each value, every bit flipped on its own. Basic RAPPOR is the symmetric kind.

use crate::local::{BitRow, Chances, Coin, Odds, Report, columns::add_columns, domain};
use veracity_core::{Epsilon, Refusal};
use veracity_noise::Bits;

/// How the bits are flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum UnaryKind {
    /// Ones and zeros alike, each with the odds e^{ε/2}: basic RAPPOR without memory.
    Symmetric,
    /// A one stays with probability 1/2, a zero flips with 1/(e^ε + 1): the least variance for rare values.
    Optimised,
}

/// A unary encoding of `size` values.
///
/// # Reference  \[WangBlockiLiJha17\] (SUE, OUE); \[ErlingssonPihurKorolova14\] (basic RAPPOR)
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unary {
    size: u32,
    epsilon: Epsilon,
    kind: UnaryKind,
    own: Coin,
    other: Coin,
}

impl Unary {
    /// Checks the number of values and ε.
    ///
    /// # Promise  Two values differ in two bits, so the ratio is own (1 − other) / (other (1 − own)): (1 − other)/other for
    ///   the optimised kind, its square for the symmetric one. Rounding `other` up keeps both at most e^ε.
    ///
    /// # Errors
    /// Refuses domain sizes and ε out of range.
    pub fn new(size: u32, epsilon: Epsilon, kind: UnaryKind) -> Result<Self, Refusal> {
        domain::check_size(size as usize)?;
        let (own, other) = match kind {
            UnaryKind::Symmetric => {
                let other = Coin::against(Odds::share(epsilon, 2)?);
                (other.complement(), other)
            }
            UnaryKind::Optimised => (Coin::FAIR, Coin::against(Odds::within(epsilon)?)),
        };
        Ok(Unary { size, epsilon, kind, own, other })
    }

    /// How many values.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The ε of one report.
    pub fn epsilon(&self) -> Epsilon {
        self.epsilon
    }

    /// Which kind.
    pub fn kind(&self) -> UnaryKind {
        self.kind
    }

    /// A report on `value`. How many bits of the stream it reads does not depend on the value.
    ///
    /// # Errors
    /// Refuses a value outside of the domain.
    pub fn encode(&self, value: u32, bits: &mut impl Bits) -> Result<Report, Refusal> {
        domain::check_place(value, self.size)?;
        Ok(Report::Bits(one_hot(self.size, value, self.own, self.other, bits)))
    }

    /// P(report | value).
    pub fn likelihood(&self, value: u32, report: &Report) -> f64 {
        match report {
            Report::Bits(row) if self.fits(report) => one_hot_likelihood(row, value, self.own, self.other),
            _ => 0.0,
        }
    }

    /// The realised chances of support.
    pub fn chances(&self) -> Chances {
        Chances { own: self.own.chance(), other: self.other.chance() }
    }

    pub(crate) fn fits(&self, report: &Report) -> bool {
        matches!(report, Report::Bits(row) if row.len() == self.size)
    }

    pub(crate) fn absorb(&self, reports: &[Report], counts: &mut [i64]) {
        let rows = reports.iter().filter_map(|report| match report {
            Report::Bits(row) => Some(row.words()),
            _ => None,
        });
        add_columns(rows, counts);
    }
}

/// A row in which the bit at `value` is a toss of `own` and every other one of `other`.
pub(crate) fn one_hot(len: u32, value: u32, own: Coin, other: Coin, bits: &mut impl Bits) -> BitRow {
    let words = (0..len.div_ceil(64)).map(|_| other.toss_64(bits));
    let mut row = BitRow::new(len, words);
    row.set(value, own.toss(bits));
    row
}

/// The probability of a row made by [`one_hot`].
pub(crate) fn one_hot_likelihood(row: &BitRow, value: u32, own: Coin, other: Coin) -> f64 {
    (0..row.len())
        .map(|place| {
            let coin = if place == value { own } else { other };
            if row.bit(place) { coin.chance() } else { coin.complement().chance() }
        })
        .product()
}
