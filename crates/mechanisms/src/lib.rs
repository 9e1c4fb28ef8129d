//! Mechanisms on values, vectors and columns: a question, its bounded answer on a public grid, and noise.
//!
//! A [`Question`] becomes a [`Design`] at a noise level: grids, sensitivities and scales, all public. The design turns a
//! [`Column`] into exact fixed-point integers, coarsens them to the public grid, adds noise through [`veracity_noise`],
//! and returns a [`Release`]: answers, error bars, and the `Mechanism` that the accountant reads. Floats touch
//! the data only before (clamping and an exact conversion) and the noisy integers only after.
//!
//! ```
//! use veracity_core::{Adjacency, NoiseMultiplier};
//! use veracity_noise::{NoiseStream, Purpose};
//! use veracity_mechanisms::{Bounds, Column, NoiseKind, Question, Statistic};
//!
//! let question =
//!     Question { statistic: Statistic::Sum(Bounds::new(0.0, 100.0)?), adjacency: Adjacency::AddRemove };
//! let design = question.design(NoiseKind::Laplace, NoiseMultiplier::new(2.0)?)?;
//! let mut rng = NoiseStream::system(Purpose::Noise)?;
//! let release = design.release(&Column::from(vec![Some(31.0), None, Some(1e9)]), &mut rng)?;
//! // A billion was clamped to 100, so the sum is 131; noise of scale 200 passes 12,000 with probability e^-60.
//! assert!((release.cells[0].value - 131.0).abs() < 12_000.0);
//! println!("{} ± {}", release.cells[0].value, release.cells[0].error_bar);
//! # Ok::<(), veracity_core::Refusal>(())
//! ```

#![warn(clippy::missing_errors_doc)]

mod bounds;
mod column;
mod design;
mod edges;
mod fixed;
mod grid;
mod horizon;
pub mod local;
mod moments;
mod noisy_sum;
mod question;
mod row_sums;
mod select;
pub mod shares;
mod statistic;
mod tail;
mod vector;

pub use bounds::Bounds;
pub use column::Column;
pub use design::{Cell, Design, Draw, Part, Preview, Release};
pub use fixed::FixedPoint;
pub use horizon::{Horizon, NoisyPeriods, PeriodSums, Priority};
pub use moments::{JointMoments, Side as MomentSide};
pub use noisy_sum::{Contribution, NoisySum};
pub use question::{Bins, ErrorBar, NoiseKind, Question, Rank, Statistic};
pub use row_sums::{Clipping, RowSums, RowsOf, Term};
pub use select::{Movement, Selection, Side, SparseVector, exponential, permute_and_flip, report_noisy_max};
pub use tail::{chance_below, half_width};
pub use vector::{NoisyVector, VectorDesign};
