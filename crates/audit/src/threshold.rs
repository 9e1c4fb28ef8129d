//! Where the line between "in" and "out" is drawn, without looking at the scores that are then counted.

use crate::{Counts, Scores, bound::clopper_pearson::ErrorRates};

/// How a threshold is found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Choice {
    /// It is given beforehand.
    Fixed(f64),
    /// The first half of the scores chooses it; the second half is counted.
    Split,
}

impl Choice {
    /// The threshold and the guesses that may be counted.
    pub(crate) fn count(self, scores: &Scores, delta: f64, group: f64, level: f64) -> (f64, Counts) {
        match self {
            Choice::Fixed(threshold) => (threshold, Counts::above(threshold, scores)),
            Choice::Split => {
                let (choosing, counting) = scores.halves();
                let threshold = best(&choosing, delta, group, level);
                (threshold, Counts::above(threshold, &counting))
            }
        }
    }
}

/// The threshold that would have shown most on these scores.
fn best(scores: &Scores, delta: f64, group: f64, level: f64) -> f64 {
    let mut best = (0.0, f64::NEG_INFINITY);
    for threshold in candidates(scores) {
        let shown = ErrorRates::limits(Counts::above(threshold, scores), level).epsilon(delta, group);
        if shown > best.1 {
            best = (threshold, shown);
        }
    }
    best.0
}

/// Scores at few, then ever more, errors from either end: about 100 thresholds whatever the number of runs.
fn candidates(scores: &Scores) -> Vec<f64> {
    let mut found = Vec::new();
    for (scores, flip) in [(scores.outside(), -1.0), (scores.inside(), 1.0)] {
        let mut ranked: Vec<f64> = scores.iter().map(|score| flip * score).collect();
        ranked.sort_by(f64::total_cmp);
        let mut rank = 0;
        while let Some(score) = ranked.get(rank) {
            found.push(flip * score);
            rank += 1 + rank / 5;
        }
    }
    found
}
