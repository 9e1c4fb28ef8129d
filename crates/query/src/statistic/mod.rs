//! The statistics, one file each and all of one shape: what is public, then the answer.

mod count;
mod histogram;
mod mean;
mod pick;
mod quantile;
mod ranked;
mod split;
mod split_squares;
mod spread;
mod sum;
mod variance;

pub(crate) use count::Count;
pub(crate) use histogram::Histogram;
pub(crate) use mean::Mean;
pub(crate) use quantile::Quantile;
pub(crate) use sum::Sum;
pub(crate) use variance::Variance;

use crate::{Cell, Column, Part, Preview};
use veracity_core::{Mechanism, Refusal};
use veracity_noise::NoiseStream;

/// The chance that an error bar may miss.
pub(crate) const MISS: f64 = 0.05;

/// How a statistic is released.
pub(crate) trait Method {
    /// Its noise calls, in order.
    fn parts(&self) -> Vec<Part>;
    /// What the accountant reads.
    fn mechanism(&self) -> Mechanism;
    /// What to expect with this many values, spread evenly between the bounds.
    fn preview(&self, rows: u64) -> Preview;
    /// The answer.
    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal>;
}

/// What two floats of post-processing may be off: a few roundings of the value.
pub(crate) fn rounding(value: f64) -> f64 {
    4.0 * f64::EPSILON * value.abs()
}
