//! Which record to plant where nobody says: a few trainings of its own for each kind, before the audit.

use super::{
    planting::CanaryKind,
    prepared_training::PreparedTraining,
    training::{self, Attack, Start},
};
use crate::Scoring;
use veracity_audit::{Observation, World, observe};
use veracity_core::Error;

/// Trainings that a search spends on each kind of canary.
const PILOTS: u64 = 60;

/// The kind of canary that tells the worlds apart best in a few trainings of their own, which are not counted.
///
/// # Promise  None of the draws of an audit with this seed is looked at, so that the choice costs no significance
pub(super) fn best_canary(
    training: &PreparedTraining,
    copies: usize,
    scoring: Scoring,
    start: Start,
    seed: u64,
) -> Result<CanaryKind, Error> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Another seed: another family of streams.
    let (elsewhere, pilots) = (seed ^ 0x7365_6172_6368, (0..PILOTS).collect::<Vec<u64>>());
    let mut best: Option<(CanaryKind, f64)> = None;
    let mut refused = None;
    let adjacency = training.stakes(None)?.claim.point.adjacency;
    for canary in CanaryKind::ALL {
        let attack = Attack::FinalModel { canary, copies, scoring, start };
        let subject = match training::subject(training, adjacency, attack, elsewhere, None) {
            Ok(subject) => subject,
            // Not every kind goes with every adjacency.
            Err(refusal) => {
                refused = Some(refusal);
                continue;
            }
        };
        let seen = observe(subject.as_ref(), elsewhere, &pilots, threads);
        let apart = separation(seen.iter().flat_map(|outcome| &outcome.observations));
        if best.is_none_or(|(_, most)| apart > most) {
            best = Some((canary, apart));
        }
    }
    match (best, refused) {
        (Some((canary, _)), _) => Ok(canary),
        (None, Some(refusal)) => Err(refusal),
        (None, None) => Err(Error::invalid("there is no canary to choose from")),
    }
}

/// How far apart the two worlds' scores are, in standard deviations.
fn separation<'a>(seen: impl Iterator<Item = &'a Observation>) -> f64 {
    let mut sums = [(0.0, 0.0, 0.0); 2];
    for (told, score) in seen.filter_map(|told| Some((told, told.score?))) {
        let sum = &mut sums[usize::from(told.world == World::In)];
        *sum = (sum.0 + 1.0, sum.1 + score, sum.2 + score * score);
    }
    let [outside, inside] = sums.map(|(n, sum, squares): (f64, f64, f64)| {
        let mean = sum / n.max(1.0);
        (mean, squares / n.max(1.0) - mean * mean)
    });
    (inside.0 - outside.0) / (inside.1 + outside.1).max(f64::MIN_POSITIVE).sqrt()
}
