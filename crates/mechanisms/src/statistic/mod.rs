//! The statistics, one file each and all of one shape: what is public, then the answer.

mod count;
mod ends;
mod histogram;
mod mean;
mod pick;
mod quantile;
mod rank_errors;
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

/// A check that the sums of a record move by exactly what is declared.
#[cfg(test)]
pub(crate) mod neighbors {
    use crate::Bounds;
    use veracity_noise::Distance;

    /// Takes the last row from small tables of hostile values, on several bounds and at several noise levels. `record` gives the input
    /// of the noise call of a table, and what is declared of it. The input moves by exactly what is declared in ℓ1, so that a
    /// declaration of one step less is refuted by every table.
    pub(crate) fn move_by_what_is_declared<R>(record: impl Fn(Bounds, f64) -> R)
    where
        R: Fn(&[f64]) -> (Vec<i128>, Distance),
    {
        const INFINITY: f64 = f64::INFINITY;
        let places = [-INFINITY, -1e308, -0.0, 5e-324, 0.1, 1.0 / 3.0, 0.5, 0.75, 0.999, 1.0, 1e9, INFINITY];
        for (lower, upper) in [(0.0, 1.0), (-3.0, 1e6), (1e15, 1e15 + 0.25), (-7.5, -7.25), (0.0, 1e-99)] {
            for multiplier in [1e-4, 0.03, 0.7, 3.3, 128.0, 5000.0] {
                let record = record(Bounds::new(lower, upper).unwrap(), multiplier);
                for code in 0..places.len().pow(3) {
                    let at = |place: u32| {
                        let part = places[code / places.len().pow(place) % places.len()];
                        if part.abs() <= 1.0 { lower + (upper - lower) * part } else { part }
                    };
                    let table = [at(0), at(1), at(2)];
                    let ((with, declared), (without, same)) = (record(&table), record(&table[..2]));
                    let apart: u128 = with.iter().zip(&without).map(|(a, b)| a.abs_diff(*b)).sum();
                    assert_eq!(declared, same);
                    assert_eq!(declared, Distance::L1(apart), "{table:?} of {lower}..{upper}");
                    assert!(with.iter().zip(&without).all(|(a, b)| a >= b), "{table:?} of {lower}..{upper}");
                }
            }
        }
    }
}
