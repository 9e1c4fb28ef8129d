//! Zero-concentrated differential privacy: each part has a ρ, they add up, and the sum is converted once.

use crate::{Composition, Part, Question, rdp::convert, single};
use veracity_core::{Delta, Epsilon, Finding, Refusal};

/// ε at `delta`.
///
/// # Promise    Never below the true ε
/// # Reference  \[BunSteinke16\] Lemma 1.7 (composition); \[CanonneKamathSteinke20\] Corollary 13 (conversion)
/// # Numerics   Rounded up; the order is searched, and every order is valid
pub fn epsilon_at(question: &Question, delta: Delta) -> Result<Finding<Epsilon>, Refusal> {
    let epsilon = single::worst(question, |composition| {
        let rho = total(composition)?;
        if rho == 0.0 {
            return Ok(0.0);
        }
        convert::epsilon_at(delta.get(), convert::ORDERS, |order| Ok(order * rho))
    })?;
    single::upper_epsilon(epsilon)
}

/// δ at `epsilon`.
///
/// # Promise    Never below the true δ
/// # Reference  As [`epsilon_at`]
/// # Numerics   Rounded up
pub fn delta_at(question: &Question, epsilon: Epsilon) -> Result<Finding<Delta>, Refusal> {
    let delta = single::worst(question, |composition| {
        let rho = total(composition)?;
        if rho == 0.0 || epsilon.get().is_infinite() {
            return Ok(0.0);
        }
        convert::delta_at(epsilon.get(), convert::ORDERS, |order| Ok(order * rho))
    })?;
    single::upper_delta(delta)
}

/// The ρ of a composition, rounded up.
fn total(composition: &Composition) -> Result<f64, Refusal> {
    let mut sum = 0.0;
    for (part, count) in &composition.parts {
        sum += count.as_f64() * rho(part)?;
    }
    Ok(sum * (1.0 + composition.parts.len() as f64 * f64::EPSILON) * single::OUTWARD)
}

/// The ρ of one use.
///
/// # Promise    One use is ρ-zCDP
/// # Reference  [BunSteinke16] Proposition 1.6 (Gaussian) and Proposition 1.4 (pure ε: ε²/2);
/// [CanonneKamathSteinke20] Theorem 4 (discrete Gaussian); [CesarRogers21] Lemma 3.4 (bounded range: ε²/8)
/// # Assumes    A pure part may be sampled: what is amplified is again pure
/// # Numerics   Rounded up
pub(crate) fn rho(part: &Part) -> Result<f64, Refusal> {
    let exact = match part {
        Part::Gaussian { mu } => 0.5 * mu * mu,
        Part::Integer { noise, shift } => {
            return match noise.rho(*shift) {
                Some(rho) => Ok(rho * single::OUTWARD),
                None => Err(unknown(part)),
            };
        }
        Part::Zcdp { rho } => *rho,
        Part::AtMost(part) => return rho(part),
        Part::BoundedRange { epsilon } => 0.125 * epsilon * epsilon,
        _ => match single::declared(part) {
            Some((epsilon, 0.0)) => 0.5 * epsilon * epsilon,
            Some(_) | None => return Err(unknown(part)),
        },
    };
    Ok(exact * single::OUTWARD)
}

fn unknown(part: &Part) -> Refusal {
    Refusal::no_theorem(single::name(part), "method zcdp", "use method rdp or exact")
}
