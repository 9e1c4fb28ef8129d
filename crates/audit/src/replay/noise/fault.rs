//! What is wrong with noise, in a line.

use std::fmt;
use veracity_core::decimal::{down, nearest, up};

/// A test of noise that fell.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseFault {
    /// What is wrong.
    pub flaw: NoiseFlaw,
    /// With which call, counted from 0, and its place; nothing, where it is all of them together.
    pub of: Option<(usize, String)>,
    /// The logarithm of the chance, from above, that noise as declared looks as bad.
    pub(super) log_chance: f64,
    /// What this test has of the significance.
    pub(super) level: f64,
}

/// How noise can be wrong.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum NoiseFlaw {
    /// Numbers came out as they went in.
    Missing {
        /// How many.
        zeros: u64,
        /// Of how many.
        numbers: u64,
    },
    /// There is less of it than declared.
    TooSmall {
        /// About which part of the declared scale it has.
        part: f64,
    },
    /// Numbers of one call share their noise.
    Repeated {
        /// How many pairs of them.
        pairs: u64,
    },
    /// A call got the noise of an earlier one.
    Reused {
        /// The earlier one.
        first: usize,
        /// How many numbers.
        hits: u64,
        /// Of how many.
        numbers: u64,
        /// Multiplied with what.
        factor: f64,
    },
    /// The noise of a call goes with that of another, or against it.
    Correlated {
        /// The earlier one; nothing, where it is the call before, over all calls.
        first: Option<usize>,
        /// Whether the two have the same sign more often than by chance.
        is_alike: bool,
    },
}

impl NoiseFault {
    /// A short name of its kind, as in files.
    pub fn kind(&self) -> &'static str {
        match self.flaw {
            NoiseFlaw::Missing { .. } => "noise-missing",
            NoiseFlaw::TooSmall { .. } => "noise-too-small",
            NoiseFlaw::Repeated { .. } | NoiseFlaw::Reused { .. } => "noise-reused",
            NoiseFlaw::Correlated { .. } => "noise-correlated",
        }
    }

    /// Which call, from 0; nothing, where it is all of them together.
    pub fn call(&self) -> Option<usize> {
        self.of.as_ref().map(|(call, _)| *call)
    }

    /// The chance that noise as declared looks as bad in this test, from above.
    pub fn p_value(&self) -> f64 {
        self.log_chance.exp()
    }
}

impl fmt::Display for NoiseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let who = match &self.of {
            Some((call, place)) => format!("{place} (call {call})"),
            None => "all calls together".to_owned(),
        };
        match &self.flaw {
            NoiseFlaw::Missing { zeros, numbers } => {
                write!(f, "{who} adds no noise to {zeros} of {numbers} numbers")
            }
            NoiseFlaw::TooSmall { part } => {
                write!(f, "the noise of {who} is too small, about {}× declared", nearest(*part, 3))
            }
            NoiseFlaw::Repeated { pairs } => {
                write!(f, "{who} adds the same noise to {pairs} pairs of its numbers")
            }
            NoiseFlaw::Reused { first, hits, numbers, factor } => {
                write!(f, "{who} reuses the noise of call {first} on {hits} of {numbers} numbers")?;
                if (factor - 1.0).abs() > 1e-6 { write!(f, ", times {factor:.4}") } else { Ok(()) }
            }
            NoiseFlaw::Correlated { first, is_alike } => {
                let sign = if *is_alike { "positively" } else { "negatively" };
                let other = first.map_or("the previous call".to_owned(), |first| format!("call {first}"));
                write!(f, "the noise of {who} is {sign} correlated with that of {other}")
            }
        }?;
        let p = if self.p_value() < 1e-300 {
            "< 1e-300".to_owned()
        } else {
            format!("≤ {}", up(self.p_value(), 2))
        };
        write!(f, " (p {p}, tested at level {})", down(self.level, 2))
    }
}
