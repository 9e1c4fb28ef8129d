//! The nouns of differential privacy as checked values: a number is checked once, at the door, and trusted ever after.
//!
//! A [`Mechanism`] says what was done to the data, an [`Adjacency`] says which datasets must look alike, and a
//! [`Bracket`] carries what is known of the answer: a lower and an upper bound that travel as different types.

mod adjacency;
mod bound;
mod claim;
pub mod decimal;
mod losses;
mod mechanism;
mod origin;
mod quantity;
mod refusal;
mod runs;
mod strategy;

pub use adjacency::{Adjacency, PrivacyUnit};
pub use bound::{Bracket, Finding, Lower, Standing, Upper};
pub use claim::{Claim, Verdict, judge};
pub use losses::{LossDistribution, LossMasses};
pub use mechanism::{Mechanism, RdpCurve};
pub use origin::Origin;
pub use quantity::{
    Buckets, ClipNorm, Count, Delta, Epsilon, GdpMu, NoiseMultiplier, Probability, Rho, SamplingRate,
    Sensitivity, Significance,
};
pub use refusal::Refusal;
pub use runs::Runs;
pub use strategy::{Coefficients, Participation, Strategy, TriangularMatrix};
