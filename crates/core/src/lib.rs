//! The nouns of differential privacy as checked values: a number is checked once, at the door, and trusted ever after.
//!
//! A [`Mechanism`] says what was done to the data, an [`Adjacency`] says which datasets must look alike, and a
//! [`Bracket`] carries what is known of the answer: a lower and an upper bound that travel as different types.
//!
//! Training is claimed to be (1, 1e-5)-private, and an audit shows a leak of 1.4:
//!
//! ```
//! use veracity_core::{Adjacency, Claim, Count, Delta, Epsilon, Lower, Mechanism, NoiseMultiplier};
//! use veracity_core::{SamplingRate, Upper, Verdict, judge};
//!
//! let steps = Mechanism::sampled_gaussian(SamplingRate::new(0.01)?, NoiseMultiplier::new(1.1)?, Count::new(5_000)?);
//! assert_eq!(steps.kind(), "repeated");
//!
//! let epsilon = Upper(Epsilon::new(1.0)?);
//! let claim = Claim { epsilon, delta: Delta::new(1e-5)?, adjacency: Adjacency::AddRemove };
//! let shown = Lower(Epsilon::new(1.4)?);
//! assert_eq!(judge(&claim, shown, Epsilon::new(5.2)?), Verdict::Refuted { shown });
//! # Ok::<(), veracity_core::Refusal>(())
//! ```
//!
//! With feature `serde`, quantities are plain numbers in files, [`Adjacency`] and [`PrivacyUnit`] are their names, and a
//! [`Mechanism`] is an object that says its `kind`, as in claims. What is read passes through the constructors that check it.
//! Whoever reads JSON by `serde_json` needs its feature `float_roundtrip`: without it, some numbers come back an ulp off.
#![warn(clippy::missing_errors_doc)]

mod adjacency;
mod bound;
mod claim;
pub mod decimal;
mod error;
pub mod files;
mod losses;
mod mechanism;
pub mod numerics;
mod origin;
mod printable;
mod quantity;
mod quantity_format;
mod refusal;
mod runs;
mod scaled;
pub mod spec;
mod strategy;

pub use adjacency::{Adjacency, PrivacyUnit};
pub use bound::{Bracket, Finding, Lower, Standing, Upper};
pub use claim::{Claim, Verdict, judge};
pub use error::Error;
pub use losses::{LossDistribution, LossMasses};
pub use mechanism::{Mechanism, RdpCurve};
pub use origin::Origin;
pub use printable::{is_invisible, printable};
pub use quantity::{
    Buckets, ClipNorm, Count, Delta, Epsilon, GdpMu, NoiseMultiplier, Probability, Rho, SamplingRate,
    Sensitivity, Significance,
};
pub use refusal::{ErrorKind, Refusal};
pub use runs::Runs;
pub use strategy::{Coefficients, Participation, Strategy, TriangularMatrix};
