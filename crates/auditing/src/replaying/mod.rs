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
pub use veracity_audit::replay::{
    DeclaredNoise, Difference, Fault, NoiseFault, NoiseFlaw, NoiseLaw, NoiseReading, Norm, ReplayComparison,
    Trace, TraceCall, compare, examine,
};

/// One pair of adjacent datasets.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// How the second differs from the first, in words.
    pub neighbour: String,
    /// What the replay showed.
    pub replayed: ReplayComparison,
}

/// Several pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Replays {
    /// What was replayed, in one line.
    pub what: String,
    /// The pairs, up to the first with a fault.
    pub pairs: Vec<Pair>,
    /// What the noise of each recorded run looked like, where it is declared.
    pub noise: Vec<NoiseReading>,
    /// The faults of those, as faults.
    noise_fault: Option<Fault>,
}

impl Replays {
    fn new(what: String, pairs: Vec<Pair>, noise: Vec<NoiseReading>) -> Replays {
        let noise_fault = noise.iter().find_map(|reading| reading.fault.clone().map(Fault::Noise));
        Replays { what, pairs, noise, noise_fault }
    }

    /// The first fault, with the pair that showed it. What is certain comes before what chance has a part in: a fault of noise,
    /// which no pair shows but the recorded run alone.
    pub fn fault(&self) -> Option<(Option<&Pair>, &Fault)> {
        let mut shown =
            self.pairs.iter().filter_map(|pair| Some((Some(pair), pair.replayed.fault.as_ref()?)));
        shown.next().or_else(|| self.noise_fault.as_ref().map(|fault| (None, fault)))
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
