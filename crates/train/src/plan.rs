//! Everything about a run that is not data: it drives the run, and it is what the accountant reads.

use crate::{Clipping, Loss, Network, Optimiser, Sampling, Schedule};
use veracity_core::{ClipNorm, Count, Mechanism, NoiseMultiplier, Refusal};

/// What protects the records.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Privacy {
    /// Gradients are clipped, and their sum gets Gaussian noise.
    Gaussian {
        /// Noise over clip norm.
        noise: NoiseMultiplier,
        /// How long one record's gradient may be.
        clip: ClipNorm,
        /// How it is brought to that.
        clipping: Clipping,
    },
    /// Nothing. For comparison only; there is nothing to claim.
    None,
}

/// A run.
#[derive(Debug)]
pub struct Plan {
    /// The model.
    pub network: Network,
    /// What it learns to make small.
    pub loss: Loss,
    /// How batches are drawn.
    pub sampling: Sampling,
    /// How many.
    pub steps: Count,
    /// What protects the records.
    pub privacy: Privacy,
    /// How parameters follow the gradient.
    pub optimiser: Optimiser,
    /// How far.
    pub schedule: Schedule,
}

impl Plan {
    /// What is done to the data, for the accountant.
    pub fn mechanism(&self) -> Result<Mechanism, Refusal> {
        match (self.privacy, self.sampling) {
            (Privacy::Gaussian { noise, .. }, Sampling::Poisson { .. }) => {
                Ok(Mechanism::dp_sgd(self.sampling.rate()?, noise, self.steps))
            }
            (Privacy::None, _) => {
                Err(Refusal::NoAnswer("training without noise has no guarantee to account for".into()))
            }
        }
    }
}
