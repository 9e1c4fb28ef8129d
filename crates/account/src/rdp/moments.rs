//! The moments accountant: Rényi divergences at whole orders, with the original conversion.

use super::Curve;
use crate::{Question, single};
use veracity_core::{Delta, Epsilon, Finding, Refusal};

/// ε at `delta` as the moments accountant has it: (α(λ) + log 1/δ)/λ over whole λ, where α(λ) = λ D_{λ+1}.
///
/// # Promise    Never below the true ε
/// # Reference  \[Abadi16\] Theorem 2; the expansion in its Lemma 3 needs σ ≥ 1 and is not used
/// # Numerics   Rounded up
pub(crate) fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let cost = -delta.get().ln() * single::OUTWARD;
    let epsilon = single::worst(question, |composition| {
        let curve = Curve::new(composition)?;
        least_over_moments(|moment| Ok(curve.at(moment + 1.0)? + cost / moment))
    })?;
    single::upper_epsilon(epsilon * single::OUTWARD)
}

/// δ at `epsilon` as the moments accountant has it: e^{α(λ) − λε} over whole λ.
///
/// # Promise    Never below the true δ
/// # Reference  \[Abadi16\] Theorem 2
/// # Numerics   Rounded up
pub(crate) fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let epsilon = epsilon.get();
    let delta = single::worst(question, |composition| {
        let curve = Curve::new(composition)?;
        let log = least_over_moments(|moment| {
            let loss = curve.at(moment + 1.0)?;
            Ok(moment * (loss - epsilon) + 8.0 * f64::EPSILON * moment * (loss + epsilon))
        })?;
        Ok(log.exp() * single::OUTWARD + f64::MIN_POSITIVE)
    })?;
    single::upper_delta(delta)
}

/// The least value of `bound` over whole λ: all up to 50, then steps of one in fifty to 10^6.
fn least_over_moments(bound: impl Fn(f64) -> Result<f64, Refusal>) -> Result<f64, Refusal> {
    let (mut best, mut moment) = (f64::INFINITY, 1.0f64);
    while moment < 1e6 {
        best = best.min(bound(moment)?);
        moment = (1.02 * moment).ceil();
    }
    Ok(best)
}
