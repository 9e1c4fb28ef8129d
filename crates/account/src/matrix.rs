//! Correlated noise: from a strategy matrix and a participation to the Gaussians that it is.

use crate::Part;
use veracity_core::{Adjacency, Count, NoiseMultiplier, Participation, Refusal, Strategy};

/// The part that a strategy is, and how often it is used.
pub(crate) fn parts(
    strategy: &Strategy,
    participation: Participation,
    noise: NoiseMultiplier,
    adjacency: Adjacency,
    group: Count,
) -> Result<(Part, Count), Refusal> {
    let _ = (strategy, participation, noise, group);
    Err(Refusal::no_theorem("a strategy matrix", adjacency, "account its steps as a composition"))
}
