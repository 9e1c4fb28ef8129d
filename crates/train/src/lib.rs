//! Private training: cohorts of models, clipped sums, noise, optimisers.
//!
//! A [`Plan`] says everything about a run that is not data. [`cohort::train`] trains one model or thousands by the same
//! code: for each step it draws a batch, passes it through a [`Network`] forward and back in micro-batches, adds up the
//! clipped gradients into a [`ClippedSum`], and [`privatize`]s it. The optimiser sees only what came out of that. What the
//! accountant reads is [`Plan::mechanism`], so that code and claim cannot drift.

mod clip;
pub mod cohort;
mod data;
pub mod features;
mod lanes;
mod layer;
mod loss;
mod network;
mod optimiser;
mod pass;
mod plan;
mod private;
mod product;
mod sampling;
mod shape;

pub use clip::Clipping;
pub use data::{Dataset, Labels};
pub use layer::Layer;
pub use loss::Loss;
pub use network::Network;
pub use optimiser::{Optimiser, Schedule};
pub use plan::{Plan, Privacy};
pub use private::{Calibrated, ClippedSum, Noisy, privatize};
pub use sampling::Sampling;
pub use shape::Shape;
