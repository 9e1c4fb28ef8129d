//! The one road from gradients to an optimiser: a clipped sum, noise, and what may be seen.

use rayon::prelude::*;
use veracity_core::{ClipNorm, NoiseMultiplier, Refusal};
use veracity_noise::{Family, vector::Grid};

/// Parameters that get their noise from one stream; the steps of a run have up to 2^20 such blocks each.
const BLOCK: usize = 1 << 15;

/// A sum of clipped gradients. It cannot be printed, cloned or saved; only [`privatize`] takes it.
pub struct ClippedSum<'a> {
    sum: &'a mut [f32],
}

impl<'a> ClippedSum<'a> {
    /// # Assumes  Adding or taking away one record moves `sum` by at most [`room`] in ℓ2
    pub(crate) fn new(sum: &'a mut [f32]) -> ClippedSum<'a> {
        ClippedSum { sum }
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

/// How noise is added: its grid, and the norm that leaves room for the rounding to it.
#[derive(Debug, Clone, Copy)]
pub struct Calibrated {
    grid: Grid,
    room: f32,
}

impl Calibrated {
    /// Noise of standard deviation `noise` × `clip` on a vector of so many parameters.
    ///
    /// # Promise  A sum in which one record moves at most [`Calibrated::room`] moves at most `clip` once it is on the grid
    pub fn new(noise: NoiseMultiplier, clip: ClipNorm, parameters: usize) -> Result<Calibrated, Refusal> {
        let grid = Grid::new(noise.get() * clip.get())?;
        // Float sums of many clipped gradients, and norms, are accurate to some 1e-5.
        let room = (clip.get() * (1.0 - 4e-5) - grid.extra_l2(parameters)) as f32;
        if room.is_finite() && room > 0.5 * clip.get() as f32 {
            return Ok(Calibrated { grid, room });
        }
        Err(Refusal::out_of_range(
            "noise multiplier",
            noise,
            "less noise or fewer parameters: rounding to the grid of the noise would use up the clip norm",
        ))
    }

    /// The norm to which one record's gradient is clipped.
    pub fn room(&self) -> f32 {
        self.room
    }

    /// What every released coordinate is a multiple of.
    pub fn granularity(&self) -> f64 {
        self.grid.granularity()
    }
}

/// Adds Gaussian noise to a clipped sum.
///
/// Blocks of parameters draw from streams of their own, so the bits do not depend on the number of threads.
///
/// # Promise  Its privacy is that of a Gaussian mechanism with the noise multiplier of `noise`
pub fn privatize<'a>(sum: ClippedSum<'a>, noise: &Calibrated, rng: &Family, step: u64) -> Noisy<'a> {
    let add = |(block, values): (usize, &mut [f32])| {
        noise.grid.add_noise(values, &mut rng.stream(step << 20 | block as u64));
    };
    if sum.sum.len() > BLOCK {
        sum.sum.par_chunks_mut(BLOCK).enumerate().for_each(add);
    } else {
        add((0, &mut *sum.sum));
    }
    Noisy { sum: sum.sum }
}
