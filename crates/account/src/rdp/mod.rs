//! Rényi differential privacy: each part has a divergence at each order, they add up, and the best order is converted.
//!
//! `curve` knows unsampled parts, `sampled` and `series` sampled ones, `convert` turns a divergence into (ε, δ).

pub(crate) mod convert;
pub(crate) mod curve;
mod sampled;
mod series;

use crate::{Composition, Question, single};
use veracity_core::{Delta, Epsilon, Finding, Refusal, Upper};

/// ε at `delta`, by the order that serves best.
///
/// # Promise    Never below the true ε
/// # Reference  [Mironov17] Proposition 1 (composition); [CanonneKamathSteinke20] Proposition 12 (conversion)
/// # Numerics   Rounded up; every order is valid, so the search need not find the best
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let epsilon = single::worst(question, |composition| {
        let converted = convert::epsilon_at(delta.get(), convert::ORDERS, |order| total(composition, order))?;
        Ok(converted.min(order_infinity(composition)))
    })?;
    single::upper_epsilon(epsilon)
}

/// δ at `epsilon`, by the order that serves best.
///
/// # Promise    Never below the true δ
/// # Reference  [Mironov17] Proposition 1 (composition); [CanonneKamathSteinke20] Corollary 13 (conversion)
/// # Numerics   Rounded up
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let epsilon = epsilon.get();
    let delta = single::worst(question, |composition| {
        if epsilon >= order_infinity(composition) || epsilon.is_infinite() {
            return Ok(0.0);
        }
        convert::delta_at(epsilon, convert::ORDERS, |order| total(composition, order))
    })?;
    single::upper_delta(delta)
}

/// The Rényi divergence of the whole question at `order`, the worst over the alternatives.
///
/// # Promise    Never below the true divergence
/// # Reference  [Mironov17] Proposition 1; the parts as in `curve`
/// # Assumes    order > 1
/// # Numerics   Rounded up
pub fn divergence(question: &Question, order: f64) -> Result<Upper<f64>, Refusal> {
    if !(order > 1.0 && order.is_finite()) {
        return Err(Refusal::out_of_range("rdp order", order, "a finite order > 1"));
    }
    Ok(Upper(single::worst(question, |composition| total(composition, order))?))
}

/// ε at `delta` as the moments accountant has it: (α(λ) + log 1/δ)/λ over whole λ, where α(λ) = λ D_{λ+1}.
///
/// # Promise    Never below the true ε
/// # Reference  [Abadi16] Theorem 2; the seeds divide by λ − 1 and use an expansion that fails for small noise
/// # Numerics   Rounded up
pub fn moments_epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let cost = -delta.get().ln() * single::OUTWARD;
    let epsilon = single::worst(question, |composition| {
        least_over_moments(|moment| Ok(total(composition, moment + 1.0)? + cost / moment))
    })?;
    single::upper_epsilon(epsilon * single::OUTWARD)
}

/// δ at `epsilon` as the moments accountant has it: e^{α(λ) − λε} over whole λ.
///
/// # Promise    Never below the true δ
/// # Reference  [Abadi16] Theorem 2
/// # Numerics   Rounded up
pub fn moments_delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let epsilon = epsilon.get();
    let delta = single::worst(question, |composition| {
        let log = least_over_moments(|moment| {
            let loss = total(composition, moment + 1.0)?;
            Ok(moment * (loss - epsilon) + 8.0 * f64::EPSILON * moment * (loss + epsilon))
        })?;
        Ok(log.exp() * single::OUTWARD + f64::MIN_POSITIVE)
    })?;
    single::upper_delta(delta)
}

/// The divergence of a composition at `order`, rounded up.
fn total(composition: &Composition, order: f64) -> Result<f64, Refusal> {
    let mut sum = 0.0;
    for (part, count) in &composition.parts {
        sum += count.as_f64() * curve::divergence(part, order)?;
    }
    Ok(sum * (1.0 + composition.parts.len() as f64 * f64::EPSILON) * single::OUTWARD)
}

/// The divergence at order infinity: the sum of pure ε, where all parts are pure.
fn order_infinity(composition: &Composition) -> f64 {
    let mut sum = 0.0;
    for (part, count) in &composition.parts {
        sum += match single::declared(part) {
            Some((epsilon, 0.0)) => count.as_f64() * epsilon,
            Some(_) | None => f64::INFINITY,
        };
    }
    sum * (1.0 + composition.parts.len() as f64 * f64::EPSILON) * single::OUTWARD
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
