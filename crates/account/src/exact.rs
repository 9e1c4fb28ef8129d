//! Not built yet.
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

/// The privacy profile δ(ε) of a question, certified from both sides; built once, asked many times.
#[derive(Debug, Clone)]
pub struct Profile;

impl Profile {
    /// Prepares the profile, or refuses what has no dominating pair.
    pub fn new(_: &Question) -> Result<Profile, Refusal> {
        Err(Refusal::NoAnswer("not built".into()))
    }

    /// The ε that goes with `delta`.
    pub fn epsilon_at(&self, _: Delta) -> Result<veracity_core::Bracket<Epsilon>, Refusal> {
        Err(Refusal::NoAnswer("not built".into()))
    }

    /// The δ that goes with `epsilon`.
    pub fn delta_at(&self, _: Epsilon) -> Result<veracity_core::Bracket<Delta>, Refusal> {
        Err(Refusal::NoAnswer("not built".into()))
    }
}
