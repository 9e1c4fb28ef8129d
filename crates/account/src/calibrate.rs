//! The least noise, the most steps or the largest sampling rate that keeps within a budget.

use crate::Question;
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal, SamplingRate};

/// The smallest noise multiplier for which `family(noise)` has a certified ε ≤ `epsilon` at `delta`.
pub fn noise(
    family: &dyn Fn(NoiseMultiplier) -> Mechanism,
    adjacency: Adjacency,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<NoiseMultiplier, Refusal> {
    let _ = Question { mechanism: family(NoiseMultiplier::new(1.0)?), adjacency };
    let _ = (epsilon, delta);
    Err(Refusal::NoAnswer("not built".into()))
}

/// The most uses of `mechanism` whose certified ε is ≤ `epsilon` at `delta`.
pub fn steps(_: &Mechanism, _: Adjacency, _: Epsilon, _: Delta) -> Result<Count, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}

/// The largest sampling rate for which `family(rate)` has a certified ε ≤ `epsilon` at `delta`.
pub fn sampling_rate(
    _: &dyn Fn(SamplingRate) -> Mechanism,
    _: Adjacency,
    _: Epsilon,
    _: Delta,
) -> Result<SamplingRate, Refusal> {
    Err(Refusal::NoAnswer("not built".into()))
}
