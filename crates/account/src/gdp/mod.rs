//! Gaussian differential privacy: exact where every part is Gaussian, a limit theorem and its refinement elsewhere.

pub(crate) mod profile;

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
pub fn clt_epsilon_at(_: &Question, _: Delta) -> Result<Finding<Epsilon>, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}

/// δ at ε.
pub fn clt_delta_at(_: &Question, _: Epsilon) -> Result<Finding<Delta>, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}

/// ε at δ.
pub fn edgeworth_epsilon_at(_: &Question, _: Delta) -> Result<Finding<Epsilon>, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}

/// δ at ε.
pub fn edgeworth_delta_at(_: &Question, _: Epsilon) -> Result<Finding<Delta>, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}
