//! The bounds of one run, by the names that the command line, files and pages have for them.

use super::{LowerBound, one_run, one_run::Guesses, one_run_exact, one_run_fdp, one_run_independent};
use veracity_core::{Delta, Significance};

/// The bounds that need no more than the guesses of one run: one name for each theorem.
///
/// # Examples
///
/// ```
/// use veracity_audit::bound::{FromGuesses, one_run::Guesses};
/// use veracity_core::{Delta, Significance};
///
/// let seen = Guesses::new(10_000, 500, 450)?;
/// let shown = |bound: FromGuesses| {
///     let shown = bound.bound(seen, Delta::new(1e-5)?, Significance::new(0.05)?);
///     Ok::<_, veracity_core::Refusal>(shown)
/// };
/// // The more is assumed, the more is shown, and the less it refutes.
/// let (proved, assumed) = (shown(FromGuesses::OneRun)?, shown(FromGuesses::Independent)?);
/// assert!(proved.epsilon.0 < assumed.epsilon.0);
/// assert!(proved.basis.may_refute() && !assumed.basis.may_refute());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FromGuesses {
    /// Exact worst case over all (ε, δ)-private mechanisms: what audits use.
    OneRun,
    /// A binomial tail, and a term for δ.
    Binomial,
    /// The recursion with the curve of a Gaussian mechanism.
    Gaussian,
    /// The law of errors among the loudest of independent canaries, with the lines of (ε, δ).
    Independent,
    /// The same with the curve of a Gaussian mechanism.
    IndependentGaussian,
}

impl FromGuesses {
    /// All of them.
    pub const ALL: [FromGuesses; 5] = [
        FromGuesses::OneRun,
        FromGuesses::Binomial,
        FromGuesses::Gaussian,
        FromGuesses::Independent,
        FromGuesses::IndependentGaussian,
    ];

    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            FromGuesses::OneRun => "one-run",
            FromGuesses::Binomial => "one-run-binomial",
            FromGuesses::Gaussian => "one-run-gaussian",
            FromGuesses::Independent => "one-run-independent",
            FromGuesses::IndependentGaussian => "one-run-independent-gaussian",
        }
    }

    /// Whether it goes by the μ of a Gaussian mechanism, for which there is no finite ε at δ = 0.
    pub fn is_gaussian(self) -> bool {
        match self {
            FromGuesses::Gaussian | FromGuesses::IndependentGaussian => true,
            FromGuesses::OneRun | FromGuesses::Binomial | FromGuesses::Independent => false,
        }
    }

    /// The bound for guesses whose number was fixed before the scores were seen.
    pub fn bound(self, guesses: Guesses, delta: Delta, significance: Significance) -> LowerBound {
        match self {
            FromGuesses::OneRun => one_run_exact::bound(guesses, delta, significance),
            FromGuesses::Binomial => one_run::bound(guesses, delta, significance),
            FromGuesses::Gaussian => one_run_fdp::bound(guesses, delta, significance),
            FromGuesses::Independent => one_run_independent::bound(guesses, delta, significance),
            FromGuesses::IndependentGaussian => one_run_independent::gaussian(guesses, delta, significance),
        }
    }
}
