//! The one road from gradients to an optimiser: a clipped sum, noise, and what may be seen.
//!
//! [`Calibrated`] says how much noise on which grid; [`privatize`] adds it; [`Noises`] are the streams it comes from, which
//! can keep a tape for an auditor and are then not fit for release.

mod calibrated;
mod laplace;
mod noises;

pub(crate) use calibrated::CLIP_NORMS;
pub use calibrated::Calibrated;
pub use noises::Noises;

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

/// A sum of clipped contributions. It cannot be printed, cloned or saved; only [`privatize`] takes it.
pub struct ClippedSum<'a> {
    sum: &'a mut [f32],
    place: Place,
}

impl<'a> ClippedSum<'a> {
    /// # Assumes  Adding or taking away one record moves `sum` by at most [`Calibrated::room`]
    pub(crate) fn of_gradients(sum: &'a mut [f32]) -> ClippedSum<'a> {
        ClippedSum { sum, place: Place::Gradient }
    }

    /// # Assumes  As for gradients
    pub(crate) fn of_records(sum: &'a mut [f32]) -> ClippedSum<'a> {
        ClippedSum { sum, place: Place::Record }
    }

    /// A balance as a sum of one number, which is written to `cell`. Floats hold it exactly up to 2^24; beyond, it stops.
    pub(crate) fn of_balance(balance: Balance, cell: &'a mut [f32; 1]) -> ClippedSum<'a> {
        cell[0] = balance.clamp(-(1 << 24), 1 << 24) as f32;
        ClippedSum { sum: cell, place: Place::Balance }
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
pub fn privatize<'a>(sum: ClippedSum<'a>, noise: &Calibrated, step: u64, rng: &mut Noises) -> Noisy<'a> {
    let ClippedSum { sum, place } = sum;
    rng.add(place, noise, step, sum);
    Noisy { sum }
}
