//! The one road from gradients to an optimiser: a clipped sum, noise, and what may be seen.
//!
//! [`CalibratedNoise`] says how much noise on which grid; [`privatize`] adds it; [`Noises`] are the streams it comes from, which
//! can keep a tape for an auditor and are then not fit for release.

mod calibrated;
mod laplace;
mod noises;
mod prefetch;
mod rounding;

pub(crate) use calibrated::CLIP_NORMS;
pub use calibrated::CalibratedNoise;
pub use noises::Noises;
pub(crate) use noises::{PIECE, Piece, Target, is_shared, pieces};
pub(crate) use prefetch::Prefetch;
pub use rounding::Rounding;

use crate::clip::Balance;

/// What a sum is of. Each has streams of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Clipped gradients.
    Gradient,
    /// On which side of the clip norm they were.
    Balance,
    /// Clipped records.
    Record,
}

impl Place {
    fn name(self) -> &'static str {
        match self {
            Place::Gradient => "gradient",
            Place::Balance => "balance",
            Place::Record => "record",
        }
    }
}

/// One of several parts of a sum.
#[derive(Clone, Copy)]
pub(crate) enum Part<'a> {
    /// Floats, each of which is rounded to the grid.
    Floats(&'a [f32]),
    /// Whole numbers of steps of the grid.
    Steps(&'a [f64]),
}

impl<'a> Part<'a> {
    /// A stretch of it.
    fn block(self, from: usize, length: usize) -> Part<'a> {
        match self {
            Part::Floats(floats) => Part::Floats(&floats[from..][..length]),
            Part::Steps(steps) => Part::Steps(&steps[from..][..length]),
        }
    }

    /// Adds it to a sum that counts steps.
    fn add_to(self, totals: &mut [f64], noise: &CalibratedNoise) {
        match self {
            Part::Floats(floats) => noise.add_steps(totals, floats),
            Part::Steps(steps) => totals.iter_mut().zip(steps).for_each(|(total, steps)| *total += steps),
        }
    }
}

/// A sum of clipped contributions. It cannot be printed, cloned or saved; only [`privatize`] takes it.
///
/// It is in parts, each of which is on the grid of its noise or is rounded to it by itself; what noise is added to is the sum of
/// whole numbers.
///
/// # Examples
///
/// What has no noise yet cannot be shown:
///
/// ```compile_fail,E0277
/// fn show(sum: veracity_train::ClippedSum<'_>) {
///     println!("{sum:?}");
/// }
/// ```
pub struct ClippedSum<'a> {
    /// The first part, which the noisy sum replaces.
    sum: &'a mut [f32],
    others: Vec<Part<'a>>,
    place: Place,
}

impl<'a> ClippedSum<'a> {
    /// # Assumes  Adding or taking away one record moves the sum of all parts, once on the grid, by at most [`CalibratedNoise::clip`]
    pub(crate) fn of_gradients(sum: &'a mut [f32], others: Vec<Part<'a>>) -> ClippedSum<'a> {
        ClippedSum { sum, others, place: Place::Gradient }
    }

    /// A sum of records in steps of the grid; the noisy sum goes to `sum`.
    ///
    /// # Assumes  As for gradients
    pub(crate) fn of_records(steps: &'a [f64], sum: &'a mut [f32]) -> ClippedSum<'a> {
        sum.fill(0.0);
        ClippedSum { sum, others: vec![Part::Steps(steps)], place: Place::Record }
    }

    /// A balance as a sum of one number, which is written to `cell`. Floats hold it exactly up to 2^24; beyond, it stops.
    pub(crate) fn of_balance(balance: Balance, cell: &'a mut [f32; 1]) -> ClippedSum<'a> {
        cell[0] = balance.clamp(-(1 << 24), 1 << 24) as f32;
        ClippedSum { sum: cell, others: Vec::new(), place: Place::Balance }
    }
}

/// A sum with its noise: what came out of [`privatize`], free to be used.
pub struct Noisy<'a> {
    sum: &'a [f32],
}

impl<'a> Noisy<'a> {
    /// The noisy sum.
    pub fn values(&self) -> &'a [f32] {
        self.sum
    }
}

/// Adds noise to a clipped sum: at step `step`, from streams of its own for each block of parameters, so that the bits do
/// not depend on the number of threads.
///
/// # Promise  Its privacy is that of the mechanism of `noise`, Gaussian or Laplace, with its noise multiplier
pub fn privatize<'a>(sum: ClippedSum<'a>, noise: &CalibratedNoise, step: u64, rng: &mut Noises) -> Noisy<'a> {
    let ClippedSum { sum, others, place } = sum;
    rng.add(ClippedSum { sum: &mut *sum, others, place }, noise, step, (), |(), _| ());
    Noisy { sum }
}

/// As [`privatize`], and hands some noisy numbers at a time to `then` with their part of the target, while they are at hand.
pub(crate) fn privatize_into<T: Target>(
    sum: ClippedSum<'_>,
    noise: &CalibratedNoise,
    step: u64,
    rng: &mut Noises,
    target: T,
    then: impl Fn(T, Noisy<'_>) + Sync,
) {
    rng.add(sum, noise, step, target, |target, sum| then(target, Noisy { sum }));
}
