//! From counts to a lower bound on ε, with the most that so many runs could have shown beside it.

use crate::{Counts, bound::clopper_pearson::ErrorRates};
use veracity_core::{Claim, Count, Delta, Epsilon, Lower, Verdict, judge};

/// What an audit saw, and upper limits on the attacker's two error rates that hold together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// The guesses that were counted.
    pub counts: Counts,
    /// The score above which the attacker said "in", chosen on runs that were not counted.
    pub threshold: f64,
    /// All runs, those that chose the threshold included.
    pub trials: Count,
    /// What the runs' randomness was drawn from.
    pub seed: u64,
    /// The chance of error that was spent.
    pub significance: f64,
    errors: ErrorRates,
    fewest: ErrorRates,
}

impl Evidence {
    /// How its randomness came about; belongs in every report of it.
    pub const STANDING: &'static str = "seeded: not for release";

    pub(crate) fn new(counts: Counts, threshold: f64, trials: Count, seed: u64, level: f64) -> Evidence {
        Evidence {
            counts,
            threshold,
            trials,
            seed,
            significance: level,
            errors: ErrorRates::limits(counts, level),
            fewest: ErrorRates::limits(counts.never_wrong(), level),
        }
    }

    /// An ε that the truth does not fall below, but for the chance of error that was spent; good for all δ at once.
    ///
    /// # Reference  [KairouzOhViswanath15] (the region of error rates); Clopper–Pearson limits, half the level each
    pub fn epsilon_lower(&self, delta: Delta) -> Lower<Epsilon> {
        Lower(at_least_zero(self.errors.epsilon(delta.get(), 1.0)))
    }

    /// The largest ε that this many counted runs could have shown, had the attacker never erred.
    pub fn ceiling(&self, delta: Delta) -> Epsilon {
        at_least_zero(self.fewest.epsilon(delta.get(), 1.0))
    }

    /// What this evidence says of a claim.
    pub fn judge(&self, claim: &Claim) -> Verdict {
        judge(claim, self.epsilon_lower(claim.delta), self.ceiling(claim.delta))
    }
}

fn at_least_zero(epsilon: f64) -> Epsilon {
    Epsilon::new(epsilon).unwrap_or(Epsilon::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(tp: u64, fn_: u64, fp: u64, tn: u64, level: f64) -> Evidence {
        let counts =
            Counts { true_positives: tp, false_negatives: fn_, false_positives: fp, true_negatives: tn };
        Evidence::new(counts, 0.0, Count::ONE, 0, level)
    }

    /// Jagielski et al. at 500 runs a side and level 0.01 (closed form: a = 1 − 0.005^(1/500), log((1 − a)/a)); Tramèr et al. at 100 000 a side and level 1e-10; Nasr et
    /// al. at 1000 a side and level 0.05.
    #[test]
    fn published_bounds_are_reproduced() {
        let zero = Delta::new(0.0).unwrap();
        let small = Delta::new(1e-5).unwrap();
        let best = evidence(500, 0, 0, 500, 0.01);
        assert!((best.epsilon_lower(zero).0.get() - 4.541_915_810_224).abs() < 1e-11);
        assert_eq!(best.epsilon_lower(zero).0, best.ceiling(zero));
        let tramer = evidence(4922, 95_078, 174, 99_826, 1e-10);
        assert!((tramer.epsilon_lower(zero).0.get() - 2.795_222).abs() < 1e-6);
        assert!((tramer.epsilon_lower(small).0.get() - 2.795_000).abs() < 1e-6);
        let nasr = evidence(1000, 0, 0, 1000, 0.05);
        assert!((nasr.ceiling(zero).get() - 5.600_5).abs() < 1e-4);
    }

    #[test]
    fn no_evidence_shows_nothing() {
        let zero = Delta::new(0.0).unwrap();
        for found in [evidence(0, 0, 0, 0, 0.05), evidence(50, 50, 50, 50, 0.05), evidence(1, 99, 0, 0, 0.05)]
        {
            assert_eq!(found.epsilon_lower(zero).0, Epsilon::ZERO);
        }
    }

    #[test]
    fn a_mirrored_attack_shows_the_same() {
        let zero = Delta::new(0.0).unwrap();
        let attack = evidence(300, 700, 5, 995, 0.05);
        let mirror = evidence(995, 5, 700, 300, 0.05);
        assert_eq!(attack.epsilon_lower(zero), mirror.epsilon_lower(zero));
    }
}
