//! A linear layer at each place of a sequence, with the same weights at all of them.

use super::{Stage, Trace, initial, outer::Outer, sums};
use crate::{
    Shape,
    product::{Into, Matrix, multiply_rows},
};
use veracity_core::Refusal;
use veracity_noise::Stream;

/// How large initial weights are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spread {
    /// Variance 2/inputs, for what a ReLU follows.
    ///
    /// # Reference  [HeZhangRenSun15]
    He,
    /// Variance 2/(inputs + outputs).
    ///
    /// # Reference  [GlorotBengio10]
    Glorot,
}

/// Parameters: outputs × inputs weights, then the biases.
#[derive(Debug)]
pub(super) struct LinearPlaces {
    outer: Outer,
    spread: Spread,
}

impl LinearPlaces {
    pub(super) fn new(
        length: usize,
        inputs: usize,
        outputs: usize,
        spread: Spread,
    ) -> Result<LinearPlaces, Refusal> {
        if !(1..=1 << 24).contains(&outputs) {
            return Err(Refusal::out_of_range("outputs", outputs, "1 ≤ outputs ≤ 2^24"));
        }
        Ok(LinearPlaces { outer: Outer::new(length, inputs, outputs), spread })
    }

    fn weights<'a>(&self, parameters: &'a [f32]) -> Matrix<'a> {
        Matrix::new(&parameters[..self.outer.weights()], self.outer.outputs, self.outer.inputs)
    }

    /// One example's inputs and gradients as matrices, a row for each place.
    fn matrices<'a>(&self, input: &'a [f32], gradient: &'a [f32]) -> (Matrix<'a>, Matrix<'a>) {
        let Outer { places, inputs, outputs, .. } = self.outer;
        (Matrix::new(input, places, inputs), Matrix::new(gradient, places, outputs))
    }

    fn input_size(&self) -> usize {
        self.outer.places * self.outer.inputs
    }

    fn output_size(&self) -> usize {
        self.outer.places * self.outer.outputs
    }
}

impl Stage for LinearPlaces {
    fn output(&self) -> Shape {
        Shape::Sequence { length: self.outer.places, width: self.outer.outputs }
    }

    fn parameters(&self) -> usize {
        self.outer.parameters()
    }

    fn initialise(&self, parameters: &mut [f32], rng: &mut Stream) {
        let (weights, biases) = parameters.split_at_mut(self.outer.weights());
        let (inputs, outputs) = (self.outer.inputs as f64, self.outer.outputs as f64);
        let variance = match self.spread {
            Spread::He => 2.0 / inputs,
            Spread::Glorot => 2.0 / (inputs + outputs),
        };
        initial::normal(weights, variance, rng);
        biases.fill(0.0);
    }

    fn kept(&self) -> usize {
        self.outer.kept()
    }

    fn forward(&self, parameters: &[f32], count: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]) {
        self.outer.forget(kept);
        for place in output.chunks_exact_mut(self.outer.outputs) {
            place.copy_from_slice(&parameters[self.outer.weights()..]);
        }
        let input = Matrix::new(input, count * self.outer.places, self.outer.inputs);
        multiply_rows(output, Into::Add, input, self.weights(parameters).transposed());
    }

    fn backward(&self, parameters: &[f32], trace: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        let gradient = Matrix::new(dy, trace.count * self.outer.places, self.outer.outputs);
        multiply_rows(dx, Into::Replace, gradient, self.weights(parameters));
    }

    fn square_norms(&self, trace: Trace<'_>, dy: &[f32], norms: &mut [f32]) {
        let inputs = trace.input.chunks_exact(self.input_size());
        let gradients = dy.chunks_exact(self.output_size());
        for (example, ((input, gradient), norm)) in inputs.zip(gradients).zip(norms).enumerate() {
            let kept = &mut trace.kept[example * self.kept()..][..self.kept()];
            let (input, gradient) = self.matrices(input, gradient);
            *norm += self.outer.square_norm(input, gradient, kept);
        }
    }

    fn clipped_sum(&self, trace: Trace<'_>, dy: &mut [f32], factors: &[f32], sum: &mut [f32]) {
        let inputs = trace.input.chunks_exact(self.input_size());
        let gradients = dy.chunks_exact_mut(self.output_size());
        for (example, ((input, gradient), factor)) in inputs.zip(gradients).zip(factors).enumerate() {
            let kept = &trace.kept[example * self.kept()..][..self.kept()];
            if *factor == 0.0 || self.outer.add_kept(kept, *factor, sum) {
                continue;
            }
            sums::scale(gradient, *factor);
            let (input, gradient) = self.matrices(input, gradient);
            self.outer.accumulate(input, gradient, sum);
        }
    }
}
