//! From evidence to a lower bound on ε: one file a bound, all of one shape.
//!
//! Each takes counts, guesses or scores with a δ and a [`Significance`], which it spends, and gives a [`Shown`]: what the
//! truth does not fall below, the most that so much evidence could have shown, and what the statement rests on.

pub mod clopper_pearson;
pub mod gdp;
pub mod log_katz;
pub mod one_run;
mod profile;

use veracity_core::{Epsilon, Lower};

/// What a bound shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shown {
    /// The truth is at least this, up to the significance that was spent and what the basis says.
    pub epsilon: Lower<Epsilon>,
    /// The most that so much evidence could have shown.
    pub ceiling: Epsilon,
    /// What it rests on.
    pub basis: Basis,
}

/// What a lower bound rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Basis {
    /// A theorem, without assumptions on the mechanism.
    Proved,
    /// A theorem about Gaussian mechanisms; it says nothing of any other.
    IfGaussian,
    /// A posterior probability under a prior; no promise on how often it errs.
    Credible,
    /// The law of large numbers; small counts err more often than stated.
    Approximate,
}

impl Basis {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Basis::Proved => "proved, whatever the mechanism",
            Basis::IfGaussian => "proved if the mechanism is Gaussian",
            Basis::Credible => "credible under a Jeffreys prior, not proved",
            Basis::Approximate => "approximate for large counts, not proved",
        }
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Proved => "proved",
            Basis::IfGaussian => "if-gaussian",
            Basis::Credible => "credible",
            Basis::Approximate => "approximate",
        }
    }

    /// Whether a bound on this basis alone refutes a claim of differential privacy.
    pub fn may_refute(self) -> bool {
        match self {
            Basis::Proved => true,
            Basis::IfGaussian | Basis::Credible | Basis::Approximate => false,
        }
    }

    /// Whether it refutes the narrower claim that a Gaussian mechanism keeps to an ε.
    pub fn may_refute_gaussian(self) -> bool {
        match self {
            Basis::Proved | Basis::IfGaussian => true,
            Basis::Credible | Basis::Approximate => false,
        }
    }
}

/// An ε, or zero where nothing is shown.
fn at_least_zero(epsilon: f64) -> Epsilon {
    Epsilon::new(epsilon).unwrap_or(Epsilon::ZERO)
}
