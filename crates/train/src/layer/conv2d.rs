//! A window slides over an image; at each place every output channel is a weighted sum of what it sees, and a bias.
//!
//! One example at a time, so that what the window sees stays in cache: it is laid out side by side once for `forward` and
//! once more for the gradient, and the rest is matrix products.

use super::{Stage, Trace, initial, outer::Outer, scratch, sums, window::Window};
use crate::{
    Shape,
    product::{Into, Matrix, multiply},
    tiles::is_small,
};
use veracity_core::Refusal;
use veracity_noise::Stream;

/// Parameters: for each output channel what the window weighs, (channel, y, x); then the biases.
#[derive(Debug)]
pub(super) struct Conv2d {
    window: Window,
    outer: Outer,
}

impl Conv2d {
    pub(super) fn new(
        input: Shape,
        channels: usize,
        kernel: usize,
        stride: usize,
        padding: usize,
    ) -> Result<Conv2d, Refusal> {
        if !(1..=1 << 16).contains(&channels) {
            return Err(Refusal::out_of_range("channels", channels, "1 ≤ channels ≤ 2^16"));
        }
        let window = Window::new("conv2d", input, kernel, stride, padding)?;
        Ok(Conv2d { window, outer: Outer::new(window.places(), window.seen(), channels) })
    }

    fn channels(&self) -> usize {
        self.outer.outputs
    }

    fn weights<'a>(&self, parameters: &'a [f32]) -> Matrix<'a> {
        Matrix::new(&parameters[..self.outer.weights()], self.channels(), self.window.seen())
    }

    /// One example's outputs or gradients, places × channels.
    fn places<'a>(&self, row: &'a [f32]) -> Matrix<'a> {
        Matrix::new(row, self.channels(), self.window.places()).transposed()
    }

    fn input_size(&self) -> usize {
        self.window.channels * self.window.height * self.window.width
    }

    fn output_size(&self) -> usize {
        self.channels() * self.window.places()
    }

    /// Lends what the window sees of an image to `work`.
    fn see<T>(&self, image: &[f32], work: impl FnOnce(&[f32]) -> T) -> T {
        let window = &self.window;
        let padded = if window.padding == 0 { 0 } else { window.padded() };
        scratch::lend([padded, window.columns_size()], |[padded, columns]| {
            if window.padding == 0 {
                window.columns(image, columns);
            } else {
                window.pad(image, padded);
                window.columns(padded, columns);
            }
            work(columns)
        })
    }
}

impl Conv2d {
    /// From what the window sees, number by number, to the outputs of one example.
    fn forward_by_number(&self, parameters: &[f32], biases: &[f32], columns: &[f32], output: &mut [f32]) {
        for (plane, bias) in output.chunks_exact_mut(self.window.places()).zip(biases) {
            plane.fill(*bias);
        }
        let columns = self.window.matrix(columns).transposed();
        multiply(output, Into::Add, self.weights(parameters), columns);
    }

    /// The same, place by place: outputs are made that way round too, and turned. The product crate would turn what the window sees
    /// instead, which is more. Every output has the same bits as the other way round.
    fn forward_by_place(&self, weights: Matrix<'_>, biases: &[f32], columns: &[f32], output: &mut [f32]) {
        let (places, channels) = (self.window.places(), self.channels());
        scratch::lend([places * channels], |[by_place]| {
            for place in by_place.chunks_exact_mut(channels) {
                place.copy_from_slice(biases);
            }
            multiply(by_place, Into::Add, self.window.matrix(columns), weights);
            for (channel, plane) in output.chunks_exact_mut(places).enumerate() {
                for (output, place) in plane.iter_mut().zip(by_place.chunks_exact(channels)) {
                    *output = place[channel];
                }
            }
        });
    }

    /// The weights, what is seen × channels; written out that way round in `turned` where small products want them so.
    fn turn<'a>(&self, parameters: &'a [f32], turned: &'a mut Vec<f32>) -> Matrix<'a> {
        let (seen, channels) = (self.window.seen(), self.channels());
        if !is_small(self.window.places(), seen, channels) {
            return self.weights(parameters).transposed();
        }
        turned.resize(seen * channels, 0.0);
        for (channel, weights) in parameters[..seen * channels].chunks_exact(seen).enumerate() {
            for (turned, weight) in turned.chunks_exact_mut(channels).zip(weights) {
                turned[channel] = *weight;
            }
        }
        Matrix::new(turned, seen, channels)
    }
}

impl Stage for Conv2d {
    fn output(&self) -> Shape {
        self.window.output(self.channels())
    }

    fn parameters(&self) -> usize {
        self.outer.parameters()
    }

    fn kept(&self) -> usize {
        self.outer.kept()
    }

    /// Normal weights of variance 2/(what the window sees), biases zero.
    ///
    /// # Reference  [HeZhangRenSun15]
    fn initialise(&self, parameters: &mut [f32], rng: &mut Stream) {
        let (weights, biases) = parameters.split_at_mut(self.outer.weights());
        initial::normal(weights, 2.0 / self.window.seen() as f64, rng);
        biases.fill(0.0);
    }

    fn forward(&self, parameters: &[f32], _: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]) {
        self.outer.forget(kept);
        let biases = &parameters[self.outer.weights()..];
        let examples = input.chunks_exact(self.input_size()).zip(output.chunks_exact_mut(self.output_size()));
        if self.window.stride == 1 {
            for (image, output) in examples {
                self.see(image, |columns| self.forward_by_number(parameters, biases, columns, output));
            }
            return;
        }
        let mut turned = Vec::new();
        let weights = self.turn(parameters, &mut turned);
        for (image, output) in examples {
            self.see(image, |columns| self.forward_by_place(weights, biases, columns, output));
        }
    }

    fn backward(
        &self,
        parameters: &[f32],
        _: Trace<'_>,
        output_gradient: &[f32],
        input_gradient: &mut [f32],
    ) {
        let window = &self.window;
        let examples = output_gradient.chunks_exact(self.output_size());
        for (gradient, image) in examples.zip(input_gradient.chunks_exact_mut(self.input_size())) {
            let padded = if window.padding == 0 { 0 } else { window.padded() };
            scratch::lend([padded, window.columns_size()], |[padded, columns]| {
                window.product(columns, self.places(gradient), self.weights(parameters));
                if window.padding == 0 {
                    image.fill(0.0);
                    window.add_back(columns, image);
                } else {
                    padded.fill(0.0);
                    window.add_back(columns, padded);
                    window.unpad(padded, image);
                }
            });
        }
    }

    fn square_norms(&self, trace: Trace<'_>, output_gradient: &[f32], norms: &mut [f32]) {
        let images = trace.input.chunks_exact(self.input_size());
        let gradients = output_gradient.chunks_exact(self.output_size());
        for (example, ((image, gradient), norm)) in images.zip(gradients).zip(norms).enumerate() {
            let kept = &mut trace.kept[example * self.kept()..][..self.kept()];
            *norm += self.see(image, |columns| {
                self.outer.square_norm(self.window.matrix(columns), self.places(gradient), kept)
            });
        }
    }

    fn clipped_sum(&self, trace: Trace<'_>, output_gradient: &mut [f32], factors: &[f32], sum: &mut [f32]) {
        let images = trace.input.chunks_exact(self.input_size());
        let gradients = output_gradient.chunks_exact_mut(self.output_size());
        for (example, ((image, gradient), factor)) in images.zip(gradients).zip(factors).enumerate() {
            let kept = &trace.kept[example * self.kept()..][..self.kept()];
            if *factor == 0.0 || self.outer.add_kept(kept, *factor, sum) {
                continue;
            }
            sums::scale(gradient, *factor);
            self.see(image, |columns| {
                self.outer.accumulate(self.window.matrix(columns), self.places(gradient), sum);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_have_the_same_bits_either_way_round() {
        let numbers = |count: usize, salt: usize| -> Vec<f32> {
            (0..count).map(|i| ((i * 7919 + salt * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
        };
        for (inputs, side, channels, kernel) in [
            (1, 28, 16, 8),
            (16, 13, 32, 4),
            (1, 5, 1, 2),
            (3, 4, 2, 4),
            (1, 9, 17, 1),
            (2, 9, 3, 1),
            (40, 11, 33, 5),
            (64, 17, 100, 3),
        ] {
            let input = Shape::Image { channels: inputs, height: side, width: side };
            let conv = Conv2d::new(input, channels, kernel, 2, 0).expect("a small layer");
            let (parameters, image) = (numbers(conv.parameters(), 1), numbers(input.size(), 2));
            let biases = &parameters[conv.outer.weights()..];
            let (mut one, mut other) = (vec![9.0; conv.output_size()], vec![7.0; conv.output_size()]);
            conv.see(&image, |columns| {
                conv.forward_by_number(&parameters, biases, columns, &mut one);
                let mut turned = Vec::new();
                conv.forward_by_place(conv.turn(&parameters, &mut turned), biases, columns, &mut other);
            });
            let same = one.iter().zip(&other).all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(same, "{inputs} × {side}² → {channels}, kernel {kernel}");
        }
    }
}
