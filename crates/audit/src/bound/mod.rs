//! From evidence to a lower bound on ε: one file a bound, all of one shape.
//!
//! Each takes counts, guesses or scores with a δ and a [`Significance`], which it spends, and gives a [`LowerBound`]: what the
//! truth does not fall below, the most that so much evidence could have shown, and what the statement rests on.

pub mod bayesian;
pub mod clopper_pearson;
mod from_guesses;
pub mod gdp;
pub mod log_katz;
pub mod many_runs;
pub mod one_per_run;
pub mod one_run;
pub mod one_run_exact;
pub mod one_run_fdp;
pub mod one_run_independent;
pub(crate) mod profile;
pub mod sequential;
pub mod trade_off;

pub use from_guesses::FromGuesses;

use crate::Counts;
use std::str::FromStr;
use veracity_core::numerics::root;
use veracity_core::{Count, Delta, Epsilon, Lower, Refusal, Significance};

/// The largest parameter that is seen to be refuted, to `width`, from zero to `most`; zero where there is none.
///
/// Where a smaller parameter is at least as hard to meet, for one truth all refutations of larger parameters are nested events, and the
/// union of them is no likelier than the level.
fn largest_refuted(most: f64, width: f64, refuted: impl Fn(f64) -> bool) -> f64 {
    if !refuted(0.0) {
        return 0.0;
    }
    let mut beyond = 0.25;
    while beyond < most && refuted(beyond) {
        beyond *= 2.0;
    }
    if refuted(beyond) { beyond } else { root::bisect(0.0, beyond, width, refuted).holds }
}

/// A lower bound on ε.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowerBound {
    /// The true ε is at least this, up to the significance and the conditions of the basis.
    pub epsilon: Lower<Epsilon>,
    /// The largest lower bound that this much evidence could give.
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
    /// Description for people.
    pub fn describe(self) -> &'static str {
        match self {
            Basis::Proved => "valid for any mechanism",
            Basis::IfGaussian => "valid if the mechanism is Gaussian",
            Basis::IfRetriesTellNothing => "valid if failures do not depend on the data",
            Basis::IfIndependent => "valid if canaries are independent",
            Basis::IfIndependentGaussian => "valid if canaries are independent and the mechanism is Gaussian",
            Basis::Credible => "credible under a Jeffreys prior, not a proof",
            Basis::Approximate => "approximation for large counts, not a proof",
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
    ///
    /// # Errors
    /// A group size other than one, for a bound without a theorem for groups.
    pub fn bound(
        self,
        counts: Counts,
        delta: Delta,
        group: Count,
        significance: Significance,
    ) -> Result<LowerBound, Refusal> {
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
