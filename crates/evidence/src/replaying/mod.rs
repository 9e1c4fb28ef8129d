//! Replays: runs on adjacent datasets that are made to say the same, so that only what noise hides may differ.
//!
//! [`traces`] compares two recorded runs of anyone's code, [`training`] does it for a plan on several neighbours of its
//! records, and [`release`] for a query on several neighbours of a column. What they print is about private data: for the
//! people who may see it.

mod queries;
mod trace_file;
mod training;

pub use queries::release;
pub use trace_file::{read_trace, traces};
pub use training::{MOST_STEPS, training};
pub use veracity_audit::replay::{Difference, Fault, Norm, Replayed, Trace, TraceCall, compare};

/// One pair of adjacent datasets.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// How the second differs from the first, in words.
    pub neighbour: String,
    /// What the replay showed.
    pub replayed: Replayed,
}

/// Several pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Replays {
    /// What was replayed, in one line.
    pub what: String,
    /// The pairs, up to the first with a fault.
    pub pairs: Vec<Pair>,
}

impl Replays {
    /// The first fault, with the pair that showed it.
    pub fn fault(&self) -> Option<(&Pair, &Fault)> {
        self.pairs.iter().find_map(|pair| pair.replayed.fault.as_ref().map(|fault| (pair, fault)))
    }

    /// The largest movement over the declared one.
    pub fn used(&self) -> f64 {
        self.pairs.iter().map(|pair| pair.replayed.used).fold(0.0, f64::max)
    }

    /// How many noise calls were compared.
    pub fn calls(&self) -> usize {
        self.pairs.iter().map(|pair| pair.replayed.calls).sum()
    }
}
