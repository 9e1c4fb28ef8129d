//! Choosing by whole-number scores: the best of several candidates, or those above a threshold. One mechanism per file.
//!
//! Here a sensitivity is how far a score moves between adjacent datasets, whatever the adjacency: where a record is
//! replaced, that is the whole move, since the accountant does not double a declared ε.

mod exponential;
mod noisy_max;
mod pair;
mod permute_and_flip;
mod sparse;

pub(crate) use exponential::choose;
pub use exponential::exponential;
pub use noisy_max::report_noisy_max;
pub(crate) use pair::{PairWeights, choose_pair};
pub use permute_and_flip::permute_and_flip;
pub use sparse::{Side, SparseVector};

use veracity_core::{Count, Epsilon, Mechanism, Refusal};
use veracity_noise::Ratio;

/// The chance that an error statement may miss.
const MISS: f64 = 0.05;

/// Covers the few roundings between an ε and a ratio, so that what is drawn costs no more than the ε.
const OUTWARD: f64 = 1.0 + 16.0 * f64::EPSILON;

/// How scores move between adjacent datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Movement {
    /// Each as it likes.
    Any,
    /// All up or all down, as counts do when a record is added or removed: half the noise suffices.
    Together,
}

impl Movement {
    /// How far one score can move against another, in sensitivities.
    fn span(self) -> u64 {
        match self {
            Movement::Any => 2,
            Movement::Together => 1,
        }
    }
}

/// A choice that protects.
#[derive(Debug, Clone, PartialEq)]
pub struct Selection {
    /// Which candidate.
    pub index: usize,
    /// With chance at least 95 %, its score is within this of the best.
    pub score_error: f64,
    /// What the accountant reads.
    pub mechanism: Mechanism,
}

/// The checked parameters that every choice shares.
struct Choice {
    scores: Vec<i128>,
    /// 1/ε, rounded up.
    multiplier: Ratio,
    /// The sensitivity, twice unless scores move together.
    widening: u64,
}

impl Choice {
    fn new(
        scores: &[i64],
        sensitivity: Count,
        movement: Movement,
        epsilon: Epsilon,
    ) -> Result<Choice, Refusal> {
        if scores.is_empty() {
            return Err(Refusal::out_of_range("candidates", 0, "at least one candidate"));
        }
        let multiplier = checked_multiplier(epsilon)?;
        let widening = movement.span() * sensitivity.get();
        Ok(Choice { scores: scores.iter().map(|score| i128::from(*score)).collect(), multiplier, widening })
    }

    /// The gap that is passed with chance at most [`MISS`]: each candidate passes it with chance e^{−gap ε/widening}.
    fn score_error(&self) -> f64 {
        self.widening as f64 * self.multiplier.as_f64() * (self.scores.len() as f64 / MISS).ln() * OUTWARD
    }
}

/// 1/ε rounded up: what is drawn with it costs at most ε.
fn checked_multiplier(epsilon: Epsilon) -> Result<Ratio, Refusal> {
    if (1e-9..=1e6).contains(&epsilon.get()) {
        Ratio::at_least(OUTWARD / epsilon.get())
    } else {
        Err(Refusal::out_of_range("epsilon", epsilon, "1e-9 ≤ epsilon ≤ 1e6"))
    }
}
