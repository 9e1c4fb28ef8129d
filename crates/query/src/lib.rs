//! Mechanisms on values, vectors and columns: a question, its bounded answer on a public grid, and noise.
//!
//! A [`Question`] becomes a [`Design`] at a noise level: grids, sensitivities and scales, all public. The design turns a
//! [`Column`] into exact fixed-point integers, coarsens them to the public grid, passes them through the one door for
//! noise, and hands back a [`Release`]: answers, error bars, and the `Mechanism` that the accountant reads. Floats touch
//! the data only before (clamping and an exact conversion) and the noisy integers only after.

mod bounds;
mod column;
mod design;
mod fixed;
mod lane;
mod question;
mod response;
mod select;
mod statistic;
mod tail;
mod vector;

pub use bounds::Bounds;
pub use column::Column;
pub use design::{Cell, Design, Draw, Part, Preview, Release};
pub use fixed::FixedPoint;
pub use question::{Bins, NoiseKind, Question, Rank, Statistic};
pub use response::RandomizedResponse;
pub use select::{Chosen, Movement, Side, SparseVector, exponential, permute_and_flip, report_noisy_max};
pub use vector::{NoisyVector, VectorDesign};
