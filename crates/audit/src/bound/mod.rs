//! From evidence to a lower bound on ε: one file a bound, all of one shape.
//!
//! Each takes counts, guesses or scores with a δ and a [`Significance`], which it spends, and gives a [`Shown`]: what the
//! truth does not fall below, the most that so much evidence could have shown, and what the statement rests on.

pub mod bayesian;
pub mod clopper_pearson;
mod from_guesses;
pub mod gdp;
pub mod log_katz;
pub mod many_runs;
pub mod one_run;
pub mod one_run_fdp;
pub mod one_run_independent;
pub(crate) mod profile;
pub mod sequential;
pub mod trade_off;

pub use from_guesses::FromGuesses;

use crate::Counts;
use std::str::FromStr;
use veracity_core::{Count, Delta, Epsilon, Lower, Refusal, Significance};

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
    /// A theorem, if what makes a run fail has nothing to do with its data: runs that failed were tried again.
    IfRetriesTellNothing,
    /// A theorem about canaries of one run that do not know of each other. No mechanism has to keep them apart, so it says
    /// nothing of one that does not.
    IfIndependent,
    /// A theorem about Gaussian mechanisms that keep the canaries of one run apart.
    IfIndependentGaussian,
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
            Basis::IfRetriesTellNothing => {
                "proved if runs fail for reasons that have nothing to do with their data"
            }
            Basis::IfIndependent => "proved if canaries are independent",
            Basis::IfIndependentGaussian => {
                "proved if canaries are independent and the mechanism is Gaussian"
            }
            Basis::Credible => "credible under a Jeffreys prior, not proved",
            Basis::Approximate => "approximate for large counts, not proved",
        }
    }

    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Proved => "proved",
            Basis::IfGaussian => "if-gaussian",
            Basis::IfRetriesTellNothing => "if-retries-tell-nothing",
            Basis::IfIndependent => "if-independent",
            Basis::IfIndependentGaussian => "if-independent-gaussian",
            Basis::Credible => "credible",
            Basis::Approximate => "approximate",
        }
    }

    /// Whether a bound on this basis alone refutes a claim of differential privacy.
    pub fn may_refute(self) -> bool {
        match self {
            Basis::Proved => true,
            Basis::IfGaussian
            | Basis::IfRetriesTellNothing
            | Basis::IfIndependent
            | Basis::IfIndependentGaussian
            | Basis::Credible
            | Basis::Approximate => false,
        }
    }

    /// Whether it refutes the narrower claim that a Gaussian mechanism keeps to an ε.
    pub fn may_refute_gaussian(self) -> bool {
        match self {
            Basis::Proved | Basis::IfGaussian => true,
            Basis::IfRetriesTellNothing
            | Basis::IfIndependent
            | Basis::IfIndependentGaussian
            | Basis::Credible
            | Basis::Approximate => false,
        }
    }
}

/// The bounds that need no more than counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FromCounts {
    /// Exact limits on both error rates.
    ClopperPearson,
    /// The logarithm of a ratio of rates, by the law of large numbers.
    LogKatz,
    /// Posterior of both error rates.
    Bayesian,
    /// The μ of a Gaussian mechanism.
    Gdp,
}

impl FromCounts {
    /// All of them.
    pub const ALL: [FromCounts; 4] =
        [FromCounts::ClopperPearson, FromCounts::LogKatz, FromCounts::Bayesian, FromCounts::Gdp];

    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            FromCounts::ClopperPearson => "clopper-pearson",
            FromCounts::LogKatz => "log-katz",
            FromCounts::Bayesian => "bayesian",
            FromCounts::Gdp => "gdp",
        }
    }

    /// The bound for counts at a threshold that these counts did not choose. Only Clopper–Pearson knows of groups.
    pub fn bound(
        self,
        counts: Counts,
        delta: Delta,
        group: Count,
        significance: Significance,
    ) -> Result<Shown, Refusal> {
        if group != Count::ONE && self != FromCounts::ClopperPearson {
            return Err(Refusal::no_theorem(
                self.name(),
                format!("group size {}", group.get()),
                "use clopper-pearson",
            ));
        }
        Ok(match self {
            FromCounts::ClopperPearson => clopper_pearson::bound(counts, delta, group, significance),
            FromCounts::LogKatz => log_katz::bound(counts, delta, significance),
            FromCounts::Bayesian => bayesian::bound(counts, delta, significance),
            FromCounts::Gdp => gdp::bound(counts, delta, significance),
        })
    }
}

impl FromStr for FromCounts {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Self, Refusal> {
        FromCounts::ALL
            .into_iter()
            .find(|bound| bound.name() == name)
            .ok_or_else(|| Refusal::out_of_range("bound", name, "clopper-pearson, log-katz, bayesian or gdp"))
    }
}

/// An ε, or zero where nothing is shown.
fn at_least_zero(epsilon: f64) -> Epsilon {
    Epsilon::new(epsilon).unwrap_or(Epsilon::ZERO)
}
