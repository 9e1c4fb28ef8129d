//! Random convolutional features: every patch of an image, brought to mean 0 and variance 1, is held against random filters;
//! what agrees and what disagrees is averaged over the cells of a grid.

use super::{Map, Scratch, filled, fourier::normals};
use crate::{
    Shape,
    product::{Into, Matrix, multiply},
};
use veracity_core::Refusal;
use veracity_noise::Stream;

/// Added to the variance of a patch, for values between 0 and 1: flat patches stay flat.
const EPSILON: f32 = 0.01;

/// # Reference  [CoatesNgLee11], with random filters
pub(super) struct Patches {
    channels: usize,
    height: usize,
    width: usize,
    filters: usize,
    side: usize,
    cells: usize,
    /// One row of `filters` weights for each value of a patch.
    weights: Vec<f32>,
}

impl Patches {
    pub(super) fn new(
        input: Shape,
        filters: usize,
        side: usize,
        cells: usize,
        rng: &mut Stream,
    ) -> Result<Patches, Refusal> {
        let Shape::Image { channels, height, width } = input else {
            return Err(Refusal::Invalid(format!("patches need images, but the input is {input}")));
        };
        let shortest = height.min(width);
        if !(1..=shortest).contains(&side) {
            return Err(Refusal::out_of_range("side", side, "1 ≤ side ≤ sides of the image"));
        }
        if !(1..=shortest + 1 - side).contains(&cells) {
            return Err(Refusal::out_of_range("cells", cells, "1 ≤ cells ≤ patches along each side"));
        }
        if !(1..=1 << 16).contains(&filters) {
            return Err(Refusal::out_of_range("filters", filters, "1 ≤ filters ≤ 2^16"));
        }
        let length = channels * side * side;
        let mut weights = normals(filters * length, 1.0, rng);
        for filter in 0..filters {
            let own = || (0..length).map(move |at| at * filters + filter);
            let norm = own().map(|at| weights[at] * weights[at]).sum::<f32>().sqrt();
            own().for_each(|at| weights[at] /= norm);
        }
        Ok(Patches { channels, height, width, filters, side, cells, weights })
    }

    /// Patches along the two sides.
    fn places(&self) -> (usize, usize) {
        (self.height + 1 - self.side, self.width + 1 - self.side)
    }

    fn length(&self) -> usize {
        self.channels * self.side * self.side
    }

    /// Copies a patch and brings it to mean 0 and variance 1.
    fn copy(&self, input: &[f32], row: usize, column: usize, patch: &mut [f32]) {
        for (at, line) in patch.chunks_exact_mut(self.side).enumerate() {
            let (channel, down) = (at / self.side, at % self.side);
            let start = (channel * self.height + row + down) * self.width + column;
            line.copy_from_slice(&input[start..][..self.side]);
        }
        let count = patch.len() as f32;
        let mean = patch.iter().sum::<f32>() / count;
        let variance = patch.iter().map(|x| (x - mean) * (x - mean)).sum::<f32>() / count;
        let scale = 1.0 / (variance + EPSILON).sqrt();
        for value in patch {
            *value = (*value - mean) * scale;
        }
    }
}

impl Map for Patches {
    fn output(&self) -> Shape {
        Shape::Image { channels: 2 * self.filters, height: self.cells, width: self.cells }
    }

    fn map(&self, input: &[f32], output: &mut [f32], scratch: &mut Scratch) {
        let ((down, across), length, cells) = (self.places(), self.length(), self.cells);
        let (patches, responses) =
            filled(&mut scratch.real, across * (length + self.filters)).split_at_mut(across * length);
        let weights = Matrix::new(&self.weights, length, self.filters);
        output.fill(0.0);
        let cell = |at: usize, of: usize| at * cells / of;
        let count = |at: usize, of: usize| (0..of).filter(|other| cell(*other, of) == at).count();
        for row in 0..down {
            for (column, patch) in patches.chunks_exact_mut(length).enumerate() {
                self.copy(input, row, column, patch);
            }
            multiply(responses, Into::Replace, Matrix::new(patches, across, length), weights);
            for (column, responses) in responses.chunks_exact(self.filters).enumerate() {
                let place = cell(row, down) * cells + cell(column, across);
                for (filter, response) in responses.iter().enumerate() {
                    let of_sign = if *response > 0.0 { 0 } else { self.filters };
                    output[(filter + of_sign) * cells * cells + place] += response.abs();
                }
            }
        }
        for plane in output.chunks_exact_mut(cells * cells) {
            for (at, sum) in plane.iter_mut().enumerate() {
                *sum /= (count(at / cells, down) * count(at % cells, across)) as f32;
            }
        }
    }
}
