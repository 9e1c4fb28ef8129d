//! Private training: cohorts of models, clipped sums, noise, optimisers.
//!
//! A [`Plan`] says everything about a run that is not data. [`cohort::train`] trains one model or thousands by the same
//! code, each a [`Run`]: for each step it draws a batch, passes it through a [`Network`] forward and back in micro-batches,
//! adds up the clipped gradients into a [`ClippedSum`], and [`privatize`]s it. The optimiser sees only what came out of that.
//! What the accountant reads is [`Plan::mechanism`], so that code and claim cannot drift.
//!
//! A logistic regression on 400 records, and what the accountant reads of it:
//!
//! ```
//! use veracity_core::{Adjacency, ClipNorm, Count, NoiseMultiplier};
//! use veracity_noise::Entropy;
//! use veracity_train::{Dataset, Labels, Layer, Loss, Network, Plan, Privacy, Sampling, Schedule, Shape, cohort};
//!
//! # let features = (0..400).flat_map(|i| [if i % 2 == 1 { 1.0 } else { -1.0 }, 0.5]).collect();
//! # let labels = Labels::Classes { of: (0..400).map(|i| i % 2).collect(), classes: 2 };
//! let data = Dataset::new(features, 2, labels)?;
//! let network = Network::new(Shape::Flat(2), vec![Layer::Linear { outputs: 1 }])?;
//! let sampling = Sampling::Poisson { batch: Count::new(40)?, population: Count::new(400)? };
//! let privacy = Privacy::gaussian(NoiseMultiplier::new(1.0)?, ClipNorm::new(1.0)?);
//! let plan = Plan::new(network, Loss::Logistic, sampling, Count::new(60)?, privacy)
//!     .with_schedule(Schedule::Constant { rate: 0.5 });
//!
//! // For a model to hand over: system entropy. Here: a seed, so that the figure stays the same.
//! let models = cohort::train(&plan, &data, &Entropy::seeded(1), 0, 0..1)?;
//! let outputs = cohort::predict(&plan.network, &models[0].parameters, &data)?;
//! let right = outputs.iter().zip(0..).filter(|(output, i)| (**output > 0.0) == (i % 2 == 1)).count();
//! assert!(right > 300, "{right} of 400");
//! assert_eq!(plan.mechanism(Adjacency::AddRemove)?.kind(), "repeated");
//! # Ok::<(), veracity_core::Refusal>(())
//! ```
//!
//! In files, layers and features are objects with a `kind`.

#![warn(clippy::missing_errors_doc)]

mod aligned;
mod byte_features;
mod clip;
pub mod cohort;
pub mod convex;
mod crafted_gradient;
mod data;
pub mod device;
#[cfg(target_arch = "x86_64")]
mod dot_avx2;
mod explicit;
mod exponential;
pub mod features;
pub mod integer;
mod layer;
mod loss;
mod network;
mod optimiser;
mod partial_sums;
mod pass;
#[doc(hidden)]
pub mod phases;
mod plan;
mod private;
mod product;
pub mod replay;
mod run;
mod sampling;
mod shape;
mod sharding;
mod skinny_product;
mod small_product;
#[cfg(target_arch = "x86_64")]
mod softmax_avx2;
mod vectors;
mod views;
mod world;
mod written;

pub use clip::Clipping;
pub use crafted_gradient::CraftedGradient;
pub use data::{Dataset, Labels, People};
pub use layer::Layer;
pub use loss::Loss;
pub use network::Network;
pub use optimiser::{Averaging, Optimiser, Schedule};
pub use plan::{Initial, Plan, Privacy, Unit};
pub use private::{CalibratedNoise, ClippedSum, Noises, Noisy, Rounding, privatize};
pub use run::{Draws, Run, State, TrainedModel};
pub use sampling::Sampling;
pub use shape::Shape;
pub use views::{Mirror, ShiftedViews, Views};
pub use world::{World, WorldParts};

/// 1797 handwritten digits of 65 bytes: a label, and 64 grey values from 0 to 16. See NOTICE.
pub const DIGITS: &[u8] = include_bytes!("../data/digits.bin");
