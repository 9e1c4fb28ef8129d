//! What is audited: anything that can be run with and without its canaries and leaves a score for each.
//!
//! A trial is known by its number alone: with the audit's seed it fixes which canaries are in and all that is drawn, so
//! any shard of the trials, run anywhere and any number of times, gives the same scores.

use std::fmt;
use veracity_noise::{Bits, Entropy, Key, Purpose};

/// Whether a canary is in the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum World {
    /// It is.
    In,
    /// It is not.
    Out,
}

impl World {
    /// The name used in files.
    pub fn name(self) -> &'static str {
        match self {
            World::In => "in",
            World::Out => "out",
        }
    }
}

/// Something that leaks, perhaps.
pub trait Subject: Sync {
    /// How many canaries one run holds, at least 1. With more than one, each is in or out by a coin of its own.
    fn canaries(&self) -> usize {
        1
    }

    /// Runs trial `trial` with the canaries that `worlds` has in, and returns the attacker's score for each: the higher, the
    /// more it speaks for "in". The same trial and worlds give the same scores.
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure>;
}

/// Why a run left no score, in one line. It counts against the auditor, never for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(pub String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which canaries of a trial are in.
///
/// One canary is in at every other trial, so that both worlds are seen equally often. Several have a fair coin each,
/// independent of one another, as the theorems for many canaries in one run demand.
pub fn worlds(seed: u64, trial: u64, canaries: usize) -> Vec<World> {
    let of = |is_in: bool| if is_in { World::In } else { World::Out };
    if canaries == 1 {
        return vec![of(trial.is_multiple_of(2))];
    }
    let mut coins = Entropy::seeded(seed).stream(Purpose::Canary, Key { trial, ..Key::default() });
    (0..canaries).map(|_| of(coins.bits(1) == 1)).collect()
}
