//! Failed trials by world: a crash that is more frequent with the canary than without leaks information.

use crate::{Observation, World};
use veracity_core::numerics::binomial;

/// How many trials failed in either world.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FailuresByWorld {
    /// Trials with the canary.
    pub ins: u64,
    /// Those of them that failed.
    pub failed_in: u64,
    /// Trials without it.
    pub outs: u64,
    /// Those of them that failed.
    pub failed_out: u64,
}

impl FailuresByWorld {
    /// Counts trials with one canary by its world; several canaries of a run are all in one failure or none, and count as one world
    /// each.
    pub fn count(seen: &[Observation]) -> FailuresByWorld {
        let mut counts = FailuresByWorld::default();
        seen.iter().for_each(|told| counts.add(told.world, told.score.is_none()));
        counts
    }

    /// Counts one more trial.
    pub fn add(&mut self, world: World, failed: bool) {
        let (trials, failures) = match world {
            World::In => (&mut self.ins, &mut self.failed_in),
            World::Out => (&mut self.outs, &mut self.failed_out),
        };
        *trials += 1;
        *failures += u64::from(failed);
    }

    /// All that failed.
    pub fn failed(&self) -> u64 {
        self.failed_in + self.failed_out
    }

    /// Whether a larger part of the trials with the canary failed than of those without.
    pub fn is_worse_with(&self) -> bool {
        self.failed_in as f64 * self.outs as f64 > self.failed_out as f64 * self.ins as f64
    }

    /// The chance that failures fall as unevenly as this or more, did they not depend on the world: each was "in" with the share of all
    /// trials that were. Twice the smaller tail.
    ///
    /// # Reference  The binomial tail is above that of Fisher's exact test, so that this errs to the lenient side
    pub fn imbalance(&self) -> f64 {
        let failed = self.failed();
        if failed == 0 || self.ins == 0 || self.outs == 0 {
            return 1.0;
        }
        let share = self.ins as f64 / (self.ins + self.outs) as f64;
        let more = binomial::log_upper_tail(failed, self.failed_in, share);
        let fewer = binomial::log_lower_tail(failed, self.failed_in, share);
        let tail: f64 = more.min(fewer).exp();
        f64::min(2.0 * tail, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_that_depend_on_the_world_are_unlikely() {
        let by = |failed_in, failed_out| FailuresByWorld { ins: 500, failed_in, outs: 500, failed_out };
        assert_eq!(by(0, 0).imbalance(), 1.0);
        assert!(by(20, 20).imbalance() > 0.9 && by(30, 2).imbalance() < 1e-5 && by(2, 30).imbalance() < 1e-5);
        // 20 of 20 by fair coins: twice 2^-20.
        assert!((by(20, 0).imbalance() - 2f64.powi(-19)).abs() < 1e-12);
    }
}
