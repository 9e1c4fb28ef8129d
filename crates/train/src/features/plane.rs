//! Fourier transforms of small images, between a plane stored row by row and a spectrum stored column by column.
//!
//! Leaving the spectrum turned saves one of the two transpositions of each transform; filters are stored the same way.

use rustfft::{Fft, FftNum, FftPlanner, num_complex::Complex};
use std::sync::Arc;

/// Transforms of planes of one size.
pub(super) struct Plane<T: FftNum> {
    pub height: usize,
    pub width: usize,
    rows: Pair<T>,
    columns: Pair<T>,
}

struct Pair<T: FftNum> {
    forward: Arc<dyn Fft<T>>,
    inverse: Arc<dyn Fft<T>>,
}

impl<T: FftNum> Plane<T> {
    pub(super) fn new(height: usize, width: usize) -> Plane<T> {
        let mut planner = FftPlanner::new();
        let mut pair = |length| Pair {
            forward: planner.plan_fft_forward(length),
            inverse: planner.plan_fft_inverse(length),
        };
        Plane { height, width, rows: pair(width), columns: pair(height) }
    }

    pub(super) fn size(&self) -> usize {
        self.height * self.width
    }

    /// How long `scratch` has to be.
    pub(super) fn scratch(&self) -> usize {
        [&self.rows, &self.columns]
            .into_iter()
            .flat_map(|pair| [&pair.forward, &pair.inverse])
            .map(|fft| fft.get_inplace_scratch_len())
            .max()
            .unwrap_or(0)
    }

    /// The spectrum of a plane, not divided by anything. `plane` is spoilt.
    pub(super) fn forward(
        &self,
        plane: &mut [Complex<T>],
        spectrum: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        self.rows.forward.process_with_scratch(plane, scratch);
        transpose(plane, spectrum, self.width);
        self.columns.forward.process_with_scratch(spectrum, scratch);
    }

    /// The plane of a spectrum, times the number of its points. `spectrum` is spoilt.
    pub(super) fn inverse(
        &self,
        spectrum: &mut [Complex<T>],
        plane: &mut [Complex<T>],
        scratch: &mut [Complex<T>],
    ) {
        self.columns.inverse.process_with_scratch(spectrum, scratch);
        transpose(spectrum, plane, self.height);
        self.rows.inverse.process_with_scratch(plane, scratch);
    }
}

/// Rows of length `width` become columns.
fn transpose<T: Copy>(from: &[T], to: &mut [T], width: usize) {
    let height = from.len() / width;
    for (at, row) in from.chunks_exact(width).enumerate() {
        for (value, target) in row.iter().zip(to[at..].iter_mut().step_by(height)) {
            *target = *value;
        }
    }
}
