//! Private training: cohorts of models, clipped sums, noise, optimisers.
//!
//! A [`Plan`] says everything about a run that is not data. [`cohort::train`] trains one model or thousands by the same
//! code, each a [`Run`]: for each step it draws a batch, passes it through a [`Network`] forward and back in micro-batches, adds up the
//! clipped gradients into a [`ClippedSum`], and [`privatize`]s it. The optimiser sees only what came out of that. What the
//! accountant reads is [`Plan::mechanism`], so that code and claim cannot drift.

mod clip;
pub mod cohort;
pub mod convex;
mod crafted;
mod data;
mod dealing;
mod explicit;
mod exponential;
pub mod features;
mod lanes;
mod layer;
mod loss;
mod narrow;
mod network;
mod optimiser;
mod packed;
mod pass;
mod plan;
mod private;
mod product;
pub mod replay;
mod run;
mod sampling;
mod shape;
mod vectors;
mod views;
mod world;

pub use clip::Clipping;
pub use crafted::Crafted;
pub use data::{Dataset, Labels, People};
pub use layer::Layer;
pub use loss::Loss;
pub use network::Network;
pub use optimiser::{Averaging, Optimiser, Schedule};
pub use plan::{Initial, Plan, Privacy, Unit};
pub use private::{Calibrated, ClippedSum, Noises, Noisy, Rounding, privatize};
pub use run::{Draws, Run, State, Trained};
pub use sampling::Sampling;
pub use shape::Shape;
pub use views::{Mirror, Shifted, Views};
pub use world::World;

/// 1797 handwritten digits of 65 bytes: a label, and 64 grey values from 0 to 16. See NOTICE.
pub const DIGITS: &[u8] = include_bytes!("../data/digits.bin");
