//! Rényi differential privacy: each part has a divergence at each order, they add up, and the best order is converted.

pub(crate) mod convert;

use crate::Question;
use veracity_core::{Delta, Epsilon, Finding, Refusal};

/// ε at δ.
pub fn epsilon_at(_: &Question, _: Delta) -> Result<Finding<Epsilon>, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}

/// δ at ε.
pub fn delta_at(_: &Question, _: Epsilon) -> Result<Finding<Delta>, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}

/// ε at δ.
pub fn moments_epsilon_at(_: &Question, _: Delta) -> Result<Finding<Epsilon>, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}

/// δ at ε.
pub fn moments_delta_at(_: &Question, _: Epsilon) -> Result<Finding<Delta>, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}
