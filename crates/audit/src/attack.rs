//! The trials: every other run has the canary; the first half chooses the threshold, the second half is counted.
//!
//! A run's score depends on (seed, trial) alone, so the number of threads changes nothing but the time.

use crate::bound::clopper_pearson::ErrorRates;
use crate::{
    Counts, World,
    evidence::Evidence,
    idealised::{AttackStream, Idealised},
};
use veracity_core::{Count, Significance};

/// The δ by which thresholds are compared. Any value gives a valid bound, since the choice is made on runs that are not
/// counted; this one makes good choices for the δ that people ask about.
const DELTA_OF_CHOICE: f64 = 1e-5;

/// Attacks `subject` in `trials` runs and spends `significance` on what the counted half shows.
///
/// # Promise  Whatever the subject is, with chance ≥ 1 − significance every lower bound read from the evidence holds.
pub fn run(subject: &Idealised, trials: Count, seed: u64, significance: Significance) -> Evidence {
    let scores = all_scores(subject, trials.get(), seed);
    let (choosing, counting) = scores.split_at(scores.len() / 2);
    let level = significance.spend();
    let threshold = choose_threshold(choosing, level);
    let counts = count(counting, threshold);
    Evidence::new(counts, threshold, trials, seed, level)
}

/// The scores of all runs, in the order of their trial.
fn all_scores(subject: &Idealised, trials: u64, seed: u64) -> Vec<(World, f64)> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(64);
    let mut scores = vec![(World::In, 0.0); trials as usize];
    let share = scores.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        for (chunk, part) in scores.chunks_mut(share).enumerate() {
            scope.spawn(move || {
                for (i, slot) in part.iter_mut().enumerate() {
                    let trial = (chunk * share + i) as u64;
                    let world = if trial.is_multiple_of(2) { World::In } else { World::Out };
                    *slot = (world, subject.score(world, &mut AttackStream::of(seed, trial)));
                }
            });
        }
    });
    scores
}

/// The threshold that would have shown most on these runs.
fn choose_threshold(scores: &[(World, f64)], level: f64) -> f64 {
    let mut best = (0.0, f64::NEG_INFINITY);
    for threshold in candidates(scores) {
        let shown = ErrorRates::limits(count(scores, threshold), level).epsilon(DELTA_OF_CHOICE, 1.0);
        if shown > best.1 {
            best = (threshold, shown);
        }
    }
    best.0
}

/// Scores at few, then ever more, errors from either end: about 100 thresholds whatever the number of runs.
fn candidates(scores: &[(World, f64)]) -> Vec<f64> {
    let mut found = Vec::new();
    for (world, flip) in [(World::Out, -1.0), (World::In, 1.0)] {
        let mut ranked: Vec<f64> = scores.iter().filter(|s| s.0 == world).map(|s| flip * s.1).collect();
        ranked.sort_by(f64::total_cmp);
        let mut rank = 0;
        while let Some(score) = ranked.get(rank) {
            found.push(flip * score);
            rank += 1 + rank / 5;
        }
    }
    found
}

/// Guesses "in" above the threshold.
fn count(scores: &[(World, f64)], threshold: f64) -> Counts {
    let mut counts = Counts::default();
    for &(world, score) in scores {
        let cell = match (world, score > threshold) {
            (World::In, true) => &mut counts.true_positives,
            (World::In, false) => &mut counts.false_negatives,
            (World::Out, true) => &mut counts.false_positives,
            (World::Out, false) => &mut counts.true_negatives,
        };
        *cell += 1;
    }
    counts
}
