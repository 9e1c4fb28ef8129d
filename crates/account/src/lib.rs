//! From what was done to what it can leak: a [`Question`] goes in, a certified [`veracity_core::Finding`] comes out.
//!
//! `expand` turns a mechanism under an adjacency into flat compositions of [`Part`]s; each method is one file that
//! reads those parts; `epsilon_at` and `delta_at` pick the file.
//!
//! What sixty epochs of DP-SGD on MNIST leak, and how much noise would bring it down to ε = 1:
//!
//! ```
//! use veracity_account::{Question, best, calibrate};
//! use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, SamplingRate};
//!
//! let (rate, steps) = (SamplingRate::new(256.0 / 60_000.0)?, Count::new(14_062)?);
//! let (adjacency, delta) = (Adjacency::AddRemove, Delta::new(1e-5)?);
//! let training = |noise| Mechanism::sampled_gaussian(rate, noise, steps);
//!
//! let question = Question { mechanism: training(NoiseMultiplier::new(1.1)?), adjacency };
//! let answer = best::epsilon_at(&question, delta)?;
//! assert!(answer.finding.upper().is_some_and(|upper| upper.0.get() < 2.6));
//!
//! let noise = calibrate::noise(&training, adjacency, Epsilon::new(1.0)?, delta)?;
//! assert!(noise.get() > 1.1 && noise.get() < 3.0);
//! # Ok::<(), veracity_core::Refusal>(())
//! ```
#![warn(clippy::missing_errors_doc)]

mod advanced;
mod basic;
pub mod best;
mod best_of;
pub mod bounded_range;
pub mod calibrate;
pub mod claims;
pub mod exact;
pub mod expand;
pub mod filter;
pub mod gdp;
mod integer;
pub mod matrix;
mod method;
mod optimal;
mod pld;
pub mod rdp;
mod shuffled;
mod single;
pub mod tradeoff;
mod zcdp;

pub use exact::Profile;
pub use expand::{Composition, Neighbours, Part};
pub use integer::IntegerNoise;
pub use method::Method;
pub use shuffled::Shuffled;

use veracity_core::{Adjacency, Delta, Epsilon, Finding, Mechanism, Refusal};

/// What is asked about: a mechanism, and which datasets it must not tell apart.
///
/// # Examples
///
/// The same mechanism leaks more where a record may be replaced, since two contributions move:
///
/// ```
/// use veracity_account::{Method, Question, epsilon_at};
/// use veracity_core::{Adjacency, Delta, Mechanism, NoiseMultiplier};
///
/// let mechanism = Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(2.0)? };
/// let leak = |adjacency| {
///     let question = Question { mechanism: mechanism.clone(), adjacency };
///     let found = epsilon_at(&question, Delta::new(0.0)?, Method::Exact)?;
///     Ok::<_, veracity_core::Refusal>(found.upper().map(|upper| upper.0.get()))
/// };
/// let near = |found: Option<f64>, truth: f64| found.is_some_and(|x| x >= truth && x < truth * 1.000001);
/// assert!(near(leak(Adjacency::AddRemove)?, 0.5));
/// assert!(near(leak(Adjacency::ReplaceOne)?, 1.0));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What was done.
    pub mechanism: Mechanism,
    /// Which datasets are adjacent.
    pub adjacency: Adjacency,
}

/// The ε that goes with `delta`, as `method` knows it.
///
/// # Errors
/// Refuses a question that the method has no theorem for or cannot certify.
///
/// # Examples
///
/// Methods differ in how much they promise:
///
/// ```
/// use veracity_account::{Method, Question, epsilon_at};
/// use veracity_core::{Adjacency, Count, Delta, Mechanism, NoiseMultiplier, SamplingRate, Standing};
///
/// let plan = Mechanism::sampled_gaussian(SamplingRate::new(0.01)?, NoiseMultiplier::new(1.0)?, Count::new(1_000)?);
/// let question = Question { mechanism: plan, adjacency: Adjacency::AddRemove };
/// let delta = Delta::new(1e-5)?;
///
/// let exact = epsilon_at(&question, delta, Method::Exact)?;
/// let renyi = epsilon_at(&question, delta, Method::Rdp)?;
/// assert_eq!(exact.standing(), Standing::TwoSided);
/// assert_eq!(renyi.standing(), Standing::UpperBound);
/// assert!(exact.upper().map(|upper| upper.0) < renyi.upper().map(|upper| upper.0));
/// // A limit theorem may be below the truth, so it promises nothing.
/// assert_eq!(epsilon_at(&question, delta, Method::GdpClt)?.upper(), None);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn epsilon_at(question: &Question, delta: Delta, method: Method) -> Result<Finding<Epsilon>, Refusal> {
    match method {
        Method::Exact => exact::epsilon_at(question, delta),
        Method::Pld => pld::epsilon_at(question, delta),
        Method::Rdp => rdp::epsilon_at(question, delta),
        Method::Moments => rdp::moments::epsilon_at(question, delta),
        Method::Zcdp => zcdp::epsilon_at(question, delta),
        Method::Gdp => gdp::epsilon_at(question, delta),
        Method::GdpClt => gdp::clt_epsilon_at(question, delta),
        Method::Edgeworth => gdp::edgeworth_epsilon_at(question, delta),
        Method::Basic => basic::epsilon_at(question, delta),
        Method::Advanced => advanced::epsilon_at(question, delta),
        Method::AdvancedKov => advanced::kov_epsilon_at(question, delta),
        Method::Optimal => optimal::epsilon_at(question, delta),
    }
}

/// The δ that goes with `epsilon`, as `method` knows it.
///
/// # Errors
/// As [`epsilon_at`].
///
/// # Examples
///
/// ```
/// use veracity_account::{Method, Question, delta_at};
/// use veracity_core::{Adjacency, Epsilon, Mechanism, NoiseMultiplier};
/// use veracity_core::numerics::normal;
///
/// let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0)? };
/// let question = Question { mechanism, adjacency: Adjacency::AddRemove };
/// let found = delta_at(&question, Epsilon::new(1.0)?, Method::Exact)?;
/// // In closed form: Φ(1/2 − ε) − e^ε Φ(−1/2 − ε) for a shift of one standard deviation.
/// let truth = normal::cdf(-0.5) - 1f64.exp() * normal::cdf(-1.5);
/// let (lower, upper) = (found.lower().map(|x| x.0.get()), found.upper().map(|x| x.0.get()));
/// assert!(lower.is_some_and(|lower| lower <= truth * (1.0 + 1e-14)));
/// assert!(upper.is_some_and(|upper| upper >= truth * (1.0 - 1e-14)));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn delta_at(question: &Question, epsilon: Epsilon, method: Method) -> Result<Finding<Delta>, Refusal> {
    match method {
        Method::Exact => exact::delta_at(question, epsilon),
        Method::Pld => pld::delta_at(question, epsilon),
        Method::Rdp => rdp::delta_at(question, epsilon),
        Method::Moments => rdp::moments::delta_at(question, epsilon),
        Method::Zcdp => zcdp::delta_at(question, epsilon),
        Method::Gdp => gdp::delta_at(question, epsilon),
        Method::GdpClt => gdp::clt_delta_at(question, epsilon),
        Method::Edgeworth => gdp::edgeworth_delta_at(question, epsilon),
        Method::Basic => basic::delta_at(question, epsilon),
        Method::Advanced => advanced::delta_at(question, epsilon),
        Method::AdvancedKov => advanced::kov_delta_at(question, epsilon),
        Method::Optimal => optimal::delta_at(question, epsilon),
    }
}
