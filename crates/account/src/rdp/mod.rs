//! Rényi differential privacy: each part has a divergence at each order, they add up, and the best order is converted.
//!
//! `curve` knows unsampled parts, `sampled` and `series` sampled ones, `selection` the best of several runs; `convert`
//! turns a divergence into (ε, δ).

pub(crate) mod convert;
pub(crate) mod curve;
pub(crate) mod moments;
mod sampled;
pub(crate) mod selection;
mod series;

use crate::{Composition, Part, Question, single};
use selection::Selection;
use veracity_core::{Delta, Epsilon, Finding, Refusal, Upper};

/// ε at `delta`, by the order that serves best.
///
/// # Promise    Never below the true ε
/// # Reference  \[Mironov17\] Proposition 1 (composition); \[CanonneKamathSteinke20\] Proposition 12 (conversion)
/// # Numerics   Rounded up; every order is valid, so the search need not find the best
pub(crate) fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let epsilon = single::worst(question, |composition| {
        let curve = Curve::new(composition)?;
        let converted = convert::epsilon_at(delta.get(), convert::ORDERS, |order| curve.at(order))?;
        Ok(converted.min(single::pure_epsilon(composition)))
    })?;
    single::upper_epsilon(epsilon)
}

/// δ at `epsilon`, by the order that serves best.
///
/// # Promise    Never below the true δ
/// # Reference  \[Mironov17\] Proposition 1 (composition); \[CanonneKamathSteinke20\] Corollary 13 (conversion)
/// # Numerics   Rounded up
pub(crate) fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let epsilon = epsilon.get();
    let delta = single::worst(question, |composition| {
        if epsilon >= single::pure_epsilon(composition) || epsilon.is_infinite() {
            return Ok(0.0);
        }
        let curve = Curve::new(composition)?;
        convert::delta_at(epsilon, convert::ORDERS, |order| curve.at(order))
    })?;
    single::upper_delta(delta)
}

/// The Rényi divergence of the whole question at `order`, the worst over the alternatives.
///
/// # Promise    Never below the true divergence
/// # Reference  \[Mironov17\] Proposition 1; the parts as in `curve`
/// # Assumes    order > 1
/// # Numerics   Rounded up
///
/// # Errors
/// Refuses an order that is not finite and above 1, and parts without a Rényi bound.
///
/// # Examples
///
/// ```
/// use veracity_account::{Question, rdp};
/// use veracity_core::{Adjacency, Mechanism, NoiseMultiplier};
///
/// let mechanism = Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(2.0)? };
/// let question = Question { mechanism, adjacency: Adjacency::AddRemove };
/// // α/(2σ²), rounded up.
/// let found = rdp::divergence(&question, 6.0)?.0;
/// assert!(found >= 0.75 && found < 0.75 * (1.0 + 1e-12));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn divergence(question: &Question, order: f64) -> Result<Upper<f64>, Refusal> {
    if !(order > 1.0 && order.is_finite()) {
        return Err(Refusal::out_of_range("rdp order", order, "a finite order > 1"));
    }
    Ok(Upper(single::worst(question, |composition| total(composition, order))?))
}

/// The Rényi curve of a composition, with what is the same at all orders computed once.
struct Curve<'a> {
    composition: &'a Composition,
    /// Beside each part that is the best of several runs, its selection.
    selections: Vec<Option<Selection<'a>>>,
}

impl<'a> Curve<'a> {
    fn new(composition: &'a Composition) -> Result<Curve<'a>, Refusal> {
        let mut selections = Vec::new();
        for (part, _) in &composition.parts {
            let selection =
                if let Part::BestOf { runs, run } = part { Some(Selection::new(*runs, run)?) } else { None };
            selections.push(selection);
        }
        Ok(Curve { composition, selections })
    }

    /// The divergence at `order`, rounded up.
    fn at(&self, order: f64) -> Result<f64, Refusal> {
        let mut sum = 0.0;
        for ((part, count), selection) in self.composition.parts.iter().zip(&self.selections) {
            let one = match selection {
                Some(selection) => {
                    selection.divergence(order)?.min(curve::pure(single::pure_part(part), order))
                }
                None => curve::divergence(part, order)?,
            };
            sum += count.as_f64() * one;
        }
        Ok(sum * (1.0 + self.composition.parts.len() as f64 * f64::EPSILON) * single::OUTWARD)
    }
}

/// The divergence of a composition at one order, rounded up.
fn total(composition: &Composition, order: f64) -> Result<f64, Refusal> {
    Curve::new(composition)?.at(order)
}
