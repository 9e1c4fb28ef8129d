//! Where the time of a step goes, for `cargo xtask bench steps`. Nothing is measured unless that was asked for.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Instant,
};

/// What a step is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Drawing a batch and assigning it to shards.
    Sampling,
    /// Fetching the features of records.
    Fetching,
    /// From features to outputs.
    Forward,
    /// From labels back to every layer.
    Backward,
    /// Norms of gradients, and factors.
    Norms,
    /// Sums of clipped gradients.
    Sum,
    /// Drawing noise ahead of the sum.
    Noise,
    /// Shards, noise and the optimiser's step: one pass over the parameters.
    Update,
}

impl Phase {
    /// All of them, in the order of a step.
    pub const ALL: [Phase; 8] = [
        Phase::Sampling,
        Phase::Fetching,
        Phase::Forward,
        Phase::Backward,
        Phase::Norms,
        Phase::Sum,
        Phase::Noise,
        Phase::Update,
    ];
}

static IS_ON: AtomicBool = AtomicBool::new(false);
static NANOSECONDS: [AtomicU64; 8] = [const { AtomicU64::new(0) }; 8];

/// Begins to measure, from nothing.
pub fn begin() {
    NANOSECONDS.iter().for_each(|phase| phase.store(0, Ordering::Relaxed));
    IS_ON.store(true, Ordering::Relaxed);
}

/// The seconds that all threads together have spent in a phase.
pub fn seconds(phase: Phase) -> f64 {
    NANOSECONDS[phase as usize].load(Ordering::Relaxed) as f64 * 1e-9
}

/// Does some work, which belongs to a phase.
#[inline(always)]
pub(crate) fn timed<T>(phase: Phase, work: impl FnOnce() -> T) -> T {
    if !IS_ON.load(Ordering::Relaxed) {
        return work();
    }
    let begun = Instant::now();
    let done = work();
    NANOSECONDS[phase as usize].fetch_add(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
    done
}
