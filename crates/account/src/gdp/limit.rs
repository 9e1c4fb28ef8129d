//! The central limit theorem of Gaussian differential privacy: after many uses the loss looks normal, so one μ describes
//! it. An approximation from either side, never a bound.

use super::{
    law::{Seen, cumulants, law},
    profile::{gaussian_delta, gaussian_epsilon},
};
use crate::{Composition, Neighbours, Part, Question, expand, single};
use veracity_core::{Delta, Epsilon, Finding, Refusal};

/// ε at `delta` in the limit of many uses.
///
/// # Promise    None: the truth may be larger
/// # Reference  \[DongRothSu22\] Theorem 3.4: μ = 2 Σkl/√Σ(κ₂ − kl²); \[BuDongLongSu20\] Theorem 5 for Poisson batches:
/// μ² = T q² (e^{1/σ²} − 1). Beware of copies whose Corollary 5.4 lacks √2, or whose Theorem 3.4 has the signs of κ₂ wrong
/// # Numerics   About 1e-10
pub(crate) fn clt_epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let (lower, upper) = gaussian_epsilon(limit_mu(question)?, delta.get());
    single::finite(upper)?;
    Ok(Finding::Approximation(Epsilon::new(0.5 * (lower + upper))?))
}

/// δ at `epsilon` in the limit of many uses.
///
/// # Promise    None: the truth may be larger
/// # Reference  As [`clt_epsilon_at`]
/// # Numerics   About 1e-10
pub(crate) fn clt_delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let delta = gaussian_delta(limit_mu(question)?, epsilon.get());
    Ok(Finding::Approximation(single::below_one(delta)?))
}

/// The largest μ over alternatives and directions.
fn limit_mu(question: &Question) -> Result<f64, Refusal> {
    let mut largest: f64 = 0.0;
    for composition in expand::expand(&question.mechanism, question.adjacency)? {
        for seen in [Seen::With, Seen::Without] {
            largest = largest.max(one_mu(&composition, seen)?);
        }
    }
    single::finite(largest)
}

fn one_mu(composition: &Composition, seen: Seen) -> Result<f64, Refusal> {
    let (mut mean, mut variance) = (0.0, 0.0);
    for (part, count) in &composition.parts {
        let (kl, spread) = functionals(part, seen)?;
        mean += count.as_f64() * kl;
        variance += count.as_f64() * spread;
    }
    Ok(if variance == 0.0 { 0.0 } else { 2.0 * mean / f64::sqrt(variance) })
}

/// Mean and variance of the loss of one use; for Poisson batches their limit as q → 0, q² χ²/2 and q² χ².
fn functionals(part: &Part, seen: Seen) -> Result<(f64, f64), Refusal> {
    match part {
        Part::Gaussian { mu } => Ok((0.5 * mu * mu, mu * mu)),
        Part::PoissonSampled { rate, part, neighbours: Neighbours::Present } => {
            let spread = rate * rate * chi_square(part)?;
            Ok((0.5 * spread, spread))
        }
        Part::PoissonSampled { neighbours: Neighbours::Replaced, .. } => Err(Refusal::no_theorem(
            format!("{} with a replaced record", single::name(part)),
            "method gdp-clt",
            "use add-remove or zero-out, or method exact",
        )),
        _ => {
            let [mean, variance, ..] = cumulants(&law(part, "method gdp-clt")?, seen, seen);
            Ok((mean, variance))
        }
    }
}

/// χ² of the pair of a part, in closed form for Gaussian noise.
fn chi_square(part: &Part) -> Result<f64, Refusal> {
    if let Part::Gaussian { mu } = part {
        return Ok((mu * mu).exp_m1());
    }
    let points = law(part, "method gdp-clt")?;
    Ok(points.iter().map(|point| point.q * point.loss.exp_m1().powi(2)).sum())
}
