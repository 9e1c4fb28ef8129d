//! Gaussian differential privacy: exact where every part is Gaussian, a limit theorem and its refinement elsewhere.
//!
//! `profile` is the mathematics of one Gaussian; `law` lists the losses of a part; `limit` and `edgeworth` add them up.

mod edgeworth;
mod law;
mod limit;
pub(crate) mod profile;

pub(crate) use edgeworth::{edgeworth_delta_at, edgeworth_epsilon_at};
pub(crate) use limit::{clt_delta_at, clt_epsilon_at};

use crate::{Composition, Question, expand, single};
use profile::{MARGIN, gaussian_delta, gaussian_epsilon, gaussian_mu};
use veracity_core::numerics::normal;
use veracity_core::{Bracket, Delta, Epsilon, Finding, GdpMu, Probability, Refusal};

/// ε at `delta`, when every part is Gaussian: composing them is one Gaussian with μ = √Σμ².
///
/// # Promise    The truth lies in the bracket; Gaussian noise attains it
/// # Reference  \[DongRothSu22\] Corollary 3.3 (composition) and Corollary 2.13 (profile)
/// # Numerics   μ widened by a few ulp, δ by 1e-12, both ways
pub(crate) fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let (low, high) = widest_mu(question)?;
    let (lower, _) = gaussian_epsilon(low, delta.get());
    let (_, upper) = gaussian_epsilon(high, delta.get());
    single::finite(upper)?;
    Ok(Finding::Bracket(Bracket::new(Epsilon::new(lower)?, Epsilon::new(upper)?)))
}

/// δ at `epsilon`, when every part is Gaussian.
///
/// # Promise    The truth lies in the bracket; Gaussian noise attains it
/// # Reference  As [`epsilon_at`]
/// # Numerics   As [`epsilon_at`]
pub(crate) fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let (low, high) = widest_mu(question)?;
    let lower = gaussian_delta(low, epsilon.get()) * (1.0 - MARGIN);
    let upper = gaussian_delta(high, epsilon.get()) * (1.0 + MARGIN) + f64::MIN_POSITIVE;
    let upper = if high == 0.0 || epsilon.get().is_infinite() { 0.0 } else { upper };
    Ok(Finding::Bracket(Bracket::new(Delta::new(lower)?, single::below_one(upper)?)))
}

/// The μ whose trade-off curve passes through (ε, δ): whoever satisfies no more than (ε, δ) is at least μ-GDP there.
///
/// # Reference  \[DongRothSu22\] Corollary 2.13, solved for μ
/// # Numerics   Relative error about 1e-13
///
/// # Examples
///
/// ```
/// use veracity_account::{Method, Question, delta_at, gdp::mu_at};
/// use veracity_core::{Adjacency, Delta, Epsilon, Mechanism, NoiseMultiplier};
///
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-5)?);
/// // Gaussian noise of 1/μ has this (ε, δ) and no better one.
/// let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(1.0 / mu_at(epsilon, delta))? };
/// let question = Question { mechanism, adjacency: Adjacency::AddRemove };
/// let found = delta_at(&question, epsilon, Method::Gdp)?;
/// assert!(found.upper().is_some_and(|upper| (upper.0.get() / 1e-5 - 1.0).abs() < 1e-9));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn mu_at(epsilon: Epsilon, delta: Delta) -> f64 {
    gaussian_mu(epsilon.get(), delta.get())
}

/// The least chance to miss a record (type II error) of an attack on N(0, 1) against N(μ, 1) whose chance of false alarm
/// is `alpha`.
///
/// # Reference  \[DongRothSu22\] Equation (6): Φ(Φ⁻¹(1 − α) − μ)
/// # Numerics   Relative error about 1e-13
pub fn tradeoff(mu: GdpMu, alpha: Probability) -> f64 {
    match alpha.get() {
        0.0 => 1.0,
        1.0 => 0.0,
        inside => normal::cdf(-normal::quantile(inside) - mu.get()),
    }
}

/// The largest μ over the alternatives, from below and above.
fn widest_mu(question: &Question) -> Result<(f64, f64), Refusal> {
    let mut square: f64 = 0.0;
    let mut parts = 0;
    for composition in expand::expand(&question.mechanism, question.adjacency)? {
        square = square.max(sum_of_squares(&composition)?);
        parts = parts.max(composition.parts.len());
    }
    let slack = (8 + parts) as f64 * f64::EPSILON;
    Ok((square.sqrt() * (1.0 - slack), square.sqrt() * (1.0 + slack)))
}

fn sum_of_squares(composition: &Composition) -> Result<f64, Refusal> {
    let mut sum = 0.0;
    for (part, count) in &composition.parts {
        let Some(mu) = part.gaussian_shift() else {
            return Err(Refusal::no_theorem(single::name(part), "method gdp", "use method exact"));
        };
        sum += count.as_f64() * mu * mu;
    }
    Ok(sum)
}
