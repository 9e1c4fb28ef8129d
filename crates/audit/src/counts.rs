//! How an attacker's guesses came out, once a threshold stands.

use crate::Scores;

/// How the guesses of the counted runs came out.
///
/// # Examples
///
/// ```
/// use veracity_audit::{Counts, Scores};
///
/// let scores = Scores::new(vec![0.9, 0.7, 0.2], vec![0.1, 0.8, 0.3])?;
/// let counts = Counts::above(0.5, &scores);
/// assert_eq!((counts.true_positives, counts.false_negatives), (2, 1));
/// assert_eq!((counts.false_positives, counts.true_negatives), (1, 2));
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// The canary was in, and the attacker said so.
    pub true_positives: u64,
    /// The canary was in, and the attacker missed it.
    pub false_negatives: u64,
    /// The canary was out, and the attacker saw one.
    pub false_positives: u64,
    /// The canary was out, and the attacker said so.
    pub true_negatives: u64,
}

impl Counts {
    /// Guesses "in" above the threshold.
    pub fn above(threshold: f64, scores: &Scores) -> Counts {
        let above = |scores: &[f64]| scores.iter().filter(|score| **score > threshold).count() as u64;
        let (found, alarms) = (above(scores.inside()), above(scores.outside()));
        Counts {
            true_positives: found,
            false_negatives: scores.inside().len() as u64 - found,
            false_positives: alarms,
            true_negatives: scores.outside().len() as u64 - alarms,
        }
    }

    /// Runs with the canary.
    pub fn ins(&self) -> u64 {
        self.true_positives.saturating_add(self.false_negatives)
    }

    /// Runs without it.
    pub fn outs(&self) -> u64 {
        self.false_positives.saturating_add(self.true_negatives)
    }

    /// All runs.
    pub fn trials(&self) -> u64 {
        self.ins().saturating_add(self.outs())
    }

    /// As many runs of an attacker who never errs: what they could have shown is the ceiling.
    pub fn perfect_attack(&self) -> Counts {
        Counts { true_positives: self.ins(), true_negatives: self.outs(), ..Counts::default() }
    }

    /// The same guesses seen from the other side: "out" is what is looked for.
    pub fn mirrored(&self) -> Counts {
        Counts {
            true_positives: self.true_negatives,
            false_negatives: self.false_positives,
            false_positives: self.false_negatives,
            true_negatives: self.true_positives,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_at_the_threshold_says_out() {
        let scores = Scores::new(vec![1.0, 2.0, 3.0], vec![2.0, 0.0]).unwrap();
        let counts = Counts::above(2.0, &scores);
        let expected =
            Counts { true_positives: 1, false_negatives: 2, false_positives: 0, true_negatives: 2 };
        assert_eq!(counts, expected);
        assert_eq!((counts.ins(), counts.outs(), counts.trials()), (3, 2, 5));
        assert_eq!(counts.mirrored().mirrored(), counts);
    }
}
