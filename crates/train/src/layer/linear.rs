//! Weighted sums and a bias. One example's gradient is the outer product of its input a and its output gradient g, so its
//! squared norm is ‖a‖²‖g‖² + ‖g‖², and the clipped sum is one matrix product, Aᵀ diag(c) G.

use super::{Stage, Trace};
use crate::{
    Shape,
    product::{Into, Matrix, multiply},
};
use veracity_core::Refusal;
use veracity_noise::{Stream, vector};

/// Parameters: inputs × outputs weights, then the biases.
#[derive(Debug)]
pub(super) struct Linear {
    inputs: usize,
    outputs: usize,
}

impl Linear {
    pub(super) fn new(input: Shape, outputs: usize) -> Result<Linear, Refusal> {
        match input {
            Shape::Flat(inputs) if (1..=1 << 24).contains(&outputs) => Ok(Linear { inputs, outputs }),
            Shape::Flat(_) => Err(Refusal::out_of_range("outputs", outputs, "1 ≤ outputs ≤ 2^24")),
            Shape::Image { .. } | Shape::Sequence { .. } => Err(Refusal::NoAnswer(format!(
                "a linear layer was given {input}, expected plain numbers; put a flatten layer before it"
            ))),
        }
    }

    fn weights(&self) -> usize {
        self.inputs * self.outputs
    }
}

impl Stage for Linear {
    fn output(&self) -> Shape {
        Shape::Flat(self.outputs)
    }

    fn parameters(&self) -> usize {
        self.weights() + self.outputs
    }

    /// Normal weights of variance 2/inputs, biases zero.
    ///
    /// # Reference  [HeZhangRenSun15]
    fn initialise(&self, parameters: &mut [f32], rng: &mut Stream) {
        let mut normals = vec![0; self.weights()];
        vector::fill(&mut normals, rng);
        let scale = (2.0 / self.inputs as f64).sqrt() / f64::from(1u32 << vector::UNIT_BITS);
        for (weight, normal) in parameters.iter_mut().zip(&normals) {
            *weight = (scale * f64::from(*normal)) as f32;
        }
        parameters[self.weights()..].fill(0.0);
    }

    fn forward(&self, parameters: &[f32], count: usize, input: &[f32], output: &mut [f32], _: &mut [f32]) {
        let (weights, biases) = parameters.split_at(self.weights());
        for row in output.chunks_exact_mut(self.outputs) {
            row.copy_from_slice(biases);
        }
        let weights = Matrix::new(weights, self.inputs, self.outputs);
        multiply(output, Into::Add, Matrix::new(input, count, self.inputs), weights);
    }

    fn backward(
        &self,
        parameters: &[f32],
        trace: Trace<'_>,
        output_gradient: &[f32],
        input_gradient: &mut [f32],
    ) {
        let weights = Matrix::new(&parameters[..self.weights()], self.inputs, self.outputs);
        let gradient = Matrix::new(output_gradient, trace.count, self.outputs);
        multiply(input_gradient, Into::Replace, gradient, weights.transposed());
    }

    fn square_norms(&self, trace: Trace<'_>, output_gradient: &[f32], norms: &mut [f32]) {
        let rows = trace.input.chunks_exact(self.inputs).zip(output_gradient.chunks_exact(self.outputs));
        for ((a, g), norm) in rows.zip(norms) {
            *norm += (square(a) + 1.0) * square(g);
        }
    }

    fn clipped_sum(&self, trace: Trace<'_>, output_gradient: &mut [f32], factors: &[f32], sum: &mut [f32]) {
        let (weights, biases) = sum.split_at_mut(self.weights());
        for (g, factor) in output_gradient.chunks_exact_mut(self.outputs).zip(factors) {
            for (g, bias) in g.iter_mut().zip(&mut *biases) {
                *g *= factor;
                *bias += *g;
            }
        }
        let input = Matrix::new(trace.input, trace.count, self.inputs).transposed();
        multiply(weights, Into::Add, input, Matrix::new(output_gradient, trace.count, self.outputs));
    }
}

/// The squared norm of a row.
fn square(row: &[f32]) -> f32 {
    row.iter().map(|x| x * x).sum()
}
