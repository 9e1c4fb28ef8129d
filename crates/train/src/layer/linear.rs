//! Weighted sums and a bias. One example's gradient is the outer product of its input a and its output gradient g, so its
//! squared norm is ‖a‖²‖g‖² + ‖g‖², and the clipped sum is one matrix product, Aᵀ diag(c) G.

use super::{
    Stage, Trace, initial,
    outer::{LONGEST, VANISHED},
    scratch,
};
use crate::{
    Shape,
    product::{Into, Matrix, multiply, multiply_rows},
    skinny_product::{MOST_OUTPUTS, Skinny, scale_rows, square_norms},
};
use veracity_core::Refusal;
use veracity_noise::Stream;

/// Examples whose norms are held at once.
const AT_ONCE: usize = 64;

/// Parameters: outputs × inputs weights, so that those of one output are side by side, then the biases.
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
            Shape::Image { .. } | Shape::Sequence { .. } => Err(Refusal::Invalid(format!(
                "a linear layer needs a flat input, but its input is {input}; put a flatten layer before it"
            ))),
        }
    }

    fn weights(&self) -> usize {
        self.inputs * self.outputs
    }

    /// Adds the squared norms of up to [`AT_ONCE`] gradients, from those of the inputs and from what came back.
    fn add_square_norms(&self, of_inputs: &[f32], outputs: &[f32], norms: &mut [f32]) {
        let mut of_outputs = [0.0; AT_ONCE];
        square_norms(outputs, self.outputs, &mut of_outputs);
        for ((norm, a), g) in norms.iter_mut().zip(of_inputs).zip(of_outputs) {
            *norm += square_norm(*a, g, self.outputs);
        }
    }

    /// The kernels for few outputs, where they are few.
    fn skinny(&self) -> Option<Skinny> {
        (self.outputs <= MOST_OUTPUTS).then_some(Skinny { inputs: self.inputs, outputs: self.outputs })
    }
}

impl Stage for Linear {
    fn output(&self) -> Shape {
        Shape::Flat(self.outputs)
    }

    fn parameters(&self) -> usize {
        self.weights() + self.outputs
    }

    fn adds_together(&self) -> bool {
        true
    }

    /// Normal weights of variance 2/inputs, biases zero.
    ///
    /// # Reference  [HeZhangRenSun15]
    fn initialise(&self, parameters: &mut [f32], rng: &mut Stream) {
        initial::normal(&mut parameters[..self.weights()], 2.0 / self.inputs as f64, rng);
        parameters[self.weights()..].fill(0.0);
    }

    fn forward(&self, parameters: &[f32], count: usize, input: &[f32], output: &mut [f32], _: &mut [f32]) {
        let (weights, biases) = parameters.split_at(self.weights());
        if let Some(skinny) = self.skinny() {
            return skinny.forward(weights, biases, input, output);
        }
        for row in output.chunks_exact_mut(self.outputs) {
            row.copy_from_slice(biases);
        }
        let weights = Matrix::new(weights, self.outputs, self.inputs).transposed();
        multiply_rows(output, Into::Add, Matrix::new(input, count, self.inputs), weights);
    }

    fn backward(&self, parameters: &[f32], trace: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        let weights = &parameters[..self.weights()];
        if let Some(skinny) = self.skinny() {
            return skinny.backward(weights, dy, dx);
        }
        let weights = Matrix::new(weights, self.outputs, self.inputs);
        let gradient = Matrix::new(dy, trace.count, self.outputs);
        multiply_rows(dx, Into::Replace, gradient, weights);
    }

    fn square_norms(&self, trace: Trace<'_>, dy: &[f32], norms: &mut [f32]) {
        // A few examples at a time, so that no memory but the stack is needed.
        let mut of_inputs = [0.0; AT_ONCE];
        let inputs = trace.input.chunks(AT_ONCE * self.inputs);
        let outputs = dy.chunks(AT_ONCE * self.outputs);
        for ((inputs, outputs), norms) in inputs.zip(outputs).zip(norms.chunks_mut(AT_ONCE)) {
            square_norms(inputs, self.inputs, &mut of_inputs);
            self.add_square_norms(&of_inputs, outputs, norms);
        }
    }

    fn measures_inputs(&self) -> bool {
        true
    }

    fn square_norms_of(&self, of_inputs: &[f32], _: Trace<'_>, dy: &[f32], norms: &mut [f32]) {
        let outputs = dy.chunks(AT_ONCE * self.outputs);
        let examples = of_inputs.chunks(AT_ONCE).zip(outputs).zip(norms.chunks_mut(AT_ONCE));
        for ((of_inputs, outputs), norms) in examples {
            self.add_square_norms(of_inputs, outputs, norms);
        }
    }

    fn clipped_sum(&self, trace: Trace<'_>, dy: &mut [f32], factors: &[f32], sum: &mut [f32]) {
        let (weights, biases) = sum.split_at_mut(self.weights());
        scratch::lend([self.outputs], |[total]| {
            total.fill(0.0);
            scale_rows(dy, factors, total);
            biases.iter_mut().zip(total).for_each(|(bias, total)| *bias += *total);
        });
        if let Some(skinny) = self.skinny() {
            return skinny.add_outer_products(dy, trace.input, weights);
        }
        let gradient = Matrix::new(dy, trace.count, self.outputs).transposed();
        multiply(weights, Into::Add, gradient, Matrix::new(trace.input, trace.count, self.inputs));
    }
}
/// (‖a‖² + 1)‖g‖², with what squares of `outputs` small numbers may have lost put back; or infinity where one of them is so long
/// that the other may be too short for its square to be seen: such a gradient would pass as nothing.
///
/// # Promise  At least the squared norm, but for roundings of 2⁻²⁴: 138 for each of the two norms, and one
fn square_norm(a: f32, g: f32, outputs: usize) -> f32 {
    if a <= LONGEST && g <= LONGEST {
        ((f64::from(a) + 1.0) * (f64::from(g) + outputs as f64 * VANISHED)) as f32
    } else {
        f32::INFINITY
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long input and an output gradient whose square underflows: their product is far from nothing.
    #[test]
    fn a_gradient_whose_norm_cannot_be_measured_counts_as_infinite() {
        let linear = Linear::new(Shape::Flat(1), 2).expect("a small layer");
        let (input, gradient) = ([1.8e19], [2.6e-23, -2.6e-23]);
        let trace = Trace { count: 1, input: &input, output: &[0.0; 2], kept: &mut [] };
        let mut norms = [0.0];
        linear.square_norms(trace, &gradient, &mut norms);
        assert_eq!(norms[0], f32::INFINITY);
        // What is short enough is measured as it was.
        assert_eq!(square_norm(3.0, 2.0, 5), 8.0);
    }
}
