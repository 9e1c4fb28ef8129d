//! A window slides over an image; at each place every output channel is a weighted sum of what it sees, and a bias.
//!
//! One example at a time, so that it stays in cache. What the window sees is a matrix, and the rest is products: in tiles that
//! read it from the image where they can, else it is laid out side by side for them.

use super::{
    Stage, Trace, example_gradient, initial,
    outer::{Form, Outer, add_places},
    scratch, sums,
    transpose::transpose,
    window::Window,
};
use crate::{
    Shape,
    product::{Into, Matrix, multiply},
    small_product::{Grid, has_tiles, multiply_by_scattered, weigh_scattered},
};
use veracity_core::Refusal;
use veracity_noise::Stream;

/// Places beyond which a list of them would be long.
const MOST_PLACES: usize = 1 << 16;

/// Parameters: for each output channel what the window weighs, (channel, y, x); then the biases.
#[derive(Debug)]
pub(super) struct Conv2d {
    window: Window,
    outer: Outer,
    /// Where in a padded image what the window sees is, places × what is seen there; nothing where tiles have no use for it.
    grid: Option<Grid>,
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
        let has_tiles = window.places() <= MOST_PLACES && has_tiles(window.places(), window.seen(), channels);
        Ok(Conv2d {
            window,
            outer: Outer::new(window.places(), window.seen(), channels),
            grid: has_tiles.then(|| window.grid()),
        })
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

    /// Whether outputs and gradients are made in tiles, and norms from written-out gradients.
    pub(super) fn has_tiles(&self) -> bool {
        self.grid.is_some() && self.outer.form == Form::Explicit
    }

    pub(super) fn input_size(&self) -> usize {
        self.window.channels * self.window.height * self.window.width
    }

    fn output_size(&self) -> usize {
        self.channels() * self.window.places()
    }

    /// Lends an image with its zeros around it to `work`.
    fn pad<T>(&self, image: &[f32], work: impl FnOnce(&[f32]) -> T) -> T {
        if self.window.padding == 0 {
            return work(image);
        }
        scratch::lend([self.window.padded()], |[padded]| {
            self.window.pad(image, padded);
            work(padded)
        })
    }

    /// Lends what the window sees of a padded image to `work`.
    fn see<T>(&self, padded: &[f32], work: impl FnOnce(&[f32]) -> T) -> T {
        scratch::lend([self.window.columns_size()], |[columns]| {
            self.window.columns(padded, columns);
            work(columns)
        })
    }
}

impl Conv2d {
    /// From an image to the outputs, places × channels: from what the window sees where it is, if that can be done.
    pub(super) fn forward_by_place(
        &self,
        parameters: &[f32],
        transposed: &[f32],
        image: &[f32],
        by_place: &mut [f32],
    ) {
        self.pad(image, |padded| {
            if !self.forward_in_place(parameters, transposed, padded, by_place) {
                self.see(padded, |columns| self.forward_laid_out(parameters, columns, by_place));
            }
        });
    }

    /// From what the window sees to the outputs, places × channels.
    fn forward_laid_out(&self, parameters: &[f32], columns: &[f32], by_place: &mut [f32]) {
        let biases = &parameters[self.outer.weights()..];
        for place in by_place.chunks_exact_mut(self.channels()) {
            place.copy_from_slice(biases);
        }
        let weights = self.weights(parameters).transposed();
        multiply(by_place, Into::Add, self.window.matrix(columns), weights);
    }

    /// From what the window sees, number by number, to the outputs, channels × places.
    fn forward_by_number(&self, parameters: &[f32], columns: &[f32], output: &mut [f32]) {
        let biases = &parameters[self.outer.weights()..];
        for (plane, bias) in output.chunks_exact_mut(self.window.places()).zip(biases) {
            plane.fill(*bias);
        }
        let columns = self.window.matrix(columns).transposed();
        multiply(output, Into::Add, self.weights(parameters), columns);
    }

    /// From a padded image to the outputs, places × channels and with the same bits, if it can be done: whether it was.
    fn forward_in_place(
        &self,
        parameters: &[f32],
        transposed: &[f32],
        padded: &[f32],
        by_place: &mut [f32],
    ) -> bool {
        let Some(grid) = &self.grid else { return false };
        let weights = Matrix::new(transposed, self.window.seen(), self.channels());
        weigh_scattered(by_place, grid.of(padded), weights, &parameters[self.outer.weights()..])
    }

    /// The gradient by the weights, from a padded image and `gradients`, channels × places, if it can be done: whether it was.
    fn gradient_in_place(&self, padded: &[f32], gradients: Matrix<'_>, weights: &mut [f32]) -> bool {
        self.grid.as_ref().is_some_and(|grid| multiply_by_scattered(weights, gradients, grid.of(padded)))
    }

    /// The weights, what is seen × channels; nothing where tiles have no use for them.
    pub(super) fn transposed_weights(&self, parameters: &[f32]) -> Vec<f32> {
        if self.grid.is_none() {
            return Vec::new();
        }
        let mut transposed = vec![0.0; self.outer.weights()];
        transpose(&parameters[..self.outer.weights()], self.window.seen(), &mut transposed);
        transposed
    }

    /// Writes one example's gradient: weights, then biases.
    fn write_gradient(&self, image: &[f32], gradients: Matrix<'_>, gradient: &mut [f32]) {
        self.pad(image, |padded| {
            let (weights, biases) = gradient.split_at_mut(self.outer.weights());
            if !self.gradient_in_place(padded, gradients.transposed(), weights) {
                self.see(padded, |columns| {
                    let columns = self.window.matrix(columns);
                    multiply(weights, Into::Replace, gradients.transposed(), columns);
                });
            }
            if gradients.row_step == 1 {
                biases.fill(0.0);
                add_places(gradients, biases);
            } else {
                sums::sum_columns(gradients.values, biases);
            }
        });
    }

    /// One example's gradient by its inputs from `gradients`, places × channels.
    pub(super) fn backward_one(&self, parameters: &[f32], gradients: Matrix<'_>, image: &mut [f32]) {
        let window = &self.window;
        let padded = if window.padding == 0 { 0 } else { window.padded() };
        scratch::lend([padded, window.columns_size()], |[padded, columns]| {
            window.product(columns, gradients, self.weights(parameters));
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

    /// Forgets what was kept of examples before.
    pub(super) fn forget(&self, kept: &mut [f32]) {
        self.outer.forget(kept);
    }

    /// The squared norm of one example's gradient by the parameters, from `gradients`, places × channels.
    pub(super) fn square_norm(&self, image: &[f32], gradients: Matrix<'_>, kept: &mut [f32]) -> f32 {
        match self.outer.form {
            Form::Explicit => example_gradient::measure(kept, |written| {
                self.write_gradient(image, gradients, written);
            }),
            Form::Gram => self.pad(image, |padded| {
                self.see(padded, |columns| self.outer.gram(self.window.matrix(columns), gradients))
            }),
        }
    }

    /// Adds `factor` × the gradient that `square_norm` kept; whether there was one.
    pub(super) fn add_kept(&self, kept: &[f32], factor: f32, sum: &mut [f32]) -> bool {
        self.outer.add_kept(kept, factor, sum)
    }

    /// Adds one example's gradient, which is made by itself first, as by [`Outer::accumulate`].
    pub(super) fn accumulate(&self, image: &[f32], gradients: Matrix<'_>, sum: &mut [f32]) {
        scratch::lend([self.parameters()], |[written]| {
            self.write_gradient(image, gradients, written);
            sums::add_scaled(sum, 1.0, written);
        });
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
        let transposed = self.transposed_weights(parameters);
        let examples = input.chunks_exact(self.input_size()).zip(output.chunks_exact_mut(self.output_size()));
        for (image, output) in examples {
            if self.grid.is_some() || self.window.stride > 1 {
                // Made place by place and transposed: the product crate would turn what the window sees instead, which is more.
                scratch::lend([self.output_size()], |[by_place]| {
                    self.forward_by_place(parameters, &transposed, image, by_place);
                    transpose(by_place, self.channels(), output);
                });
            } else {
                self.pad(image, |padded| {
                    self.see(padded, |columns| self.forward_by_number(parameters, columns, output));
                });
            }
        }
    }

    fn backward(&self, parameters: &[f32], _: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        let examples = dy.chunks_exact(self.output_size());
        for (gradient, image) in examples.zip(dx.chunks_exact_mut(self.input_size())) {
            self.backward_one(parameters, self.places(gradient), image);
        }
    }

    fn square_norms(&self, trace: Trace<'_>, dy: &[f32], norms: &mut [f32]) {
        let images = trace.input.chunks_exact(self.input_size());
        let gradients = dy.chunks_exact(self.output_size());
        for (example, ((image, gradient), norm)) in images.zip(gradients).zip(norms).enumerate() {
            let kept = &mut trace.kept[example * self.kept()..][..self.kept()];
            *norm += self.square_norm(image, self.places(gradient), kept);
        }
    }

    fn clipped_sum(&self, trace: Trace<'_>, dy: &mut [f32], factors: &[f32], sum: &mut [f32]) {
        let images = trace.input.chunks_exact(self.input_size());
        let gradients = dy.chunks_exact_mut(self.output_size());
        for (example, ((image, gradient), factor)) in images.zip(gradients).zip(factors).enumerate() {
            let kept = &trace.kept[example * self.kept()..][..self.kept()];
            if *factor == 0.0 || self.add_kept(kept, *factor, sum) {
                continue;
            }
            sums::scale(gradient, *factor);
            self.accumulate(image, self.places(gradient), sum);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::test_numbers::{have_same_bits as same, numbers};

    /// The slow twins: one chain of fused multiply-adds for each output and each weight.
    fn one_by_one(conv: &Conv2d, parameters: &[f32], columns: Matrix<'_>, given: &[f32]) -> [Vec<f32>; 2] {
        let (places, seen, channels) = (columns.rows, columns.columns, conv.channels());
        let see = |place: usize, k: usize| columns.values[place * columns.row_step + k * columns.column_step];
        let output = |at: usize| {
            let weights = &parameters[at / places * seen..][..seen];
            let chain = (0..seen).fold(0.0, |sum, k| see(at % places, k).mul_add(weights[k], sum));
            parameters[channels * seen + at / places] + chain
        };
        let weight = |at: usize| {
            let given = &given[at / seen * places..][..places];
            (0..places).fold(0.0, |sum, place| given[place].mul_add(see(place, at % seen), sum))
        };
        [(0..places * channels).map(output).collect(), (0..seen * channels).map(weight).collect()]
    }

    #[test]
    fn outputs_and_gradients_have_the_same_bits_in_place_and_laid_out() {
        let mut in_place = [0, 0];
        for (inputs, side, channels, kernel, stride, padding) in [
            (1, 28, 16, 8, 2, 3),
            (16, 13, 32, 4, 2, 0),
            (1, 5, 1, 2, 2, 0),
            (3, 4, 2, 4, 2, 1),
            (1, 9, 17, 1, 2, 0),
            (2, 9, 3, 1, 1, 0),
            (40, 11, 33, 5, 2, 2),
            (64, 17, 100, 3, 2, 0),
            (2, 11, 16, 3, 1, 1),
            (16, 14, 32, 3, 1, 0),
            (3, 15, 48, 5, 3, 2),
            (2, 19, 16, 4, 1, 3),
            (1, 24, 32, 16, 3, 5),
            (32, 21, 64, 4, 1, 1),
        ] {
            let input = Shape::Image { channels: inputs, height: side + 1, width: side };
            let conv = Conv2d::new(input, channels, kernel, stride, padding).expect("a small layer");
            let (parameters, image) = (numbers(conv.parameters(), 1), numbers(input.size(), 2));
            let given = numbers(conv.output_size(), 3);
            let (mut one, mut other) = (vec![9.0; conv.output_size()], vec![7.0; conv.output_size()]);
            let (mut weights, mut laid_out) =
                (vec![9.0; conv.outer.weights()], vec![7.0; conv.outer.weights()]);
            let transposed = conv.transposed_weights(&parameters);
            conv.pad(&image, |padded| {
                let (gradients, mut by_place) = (conv.places(&given).transposed(), other.clone());
                let slow = conv.see(padded, |columns| {
                    conv.forward_by_number(&parameters, columns, &mut other);
                    conv.forward_laid_out(&parameters, columns, &mut by_place);
                    transpose(&by_place, channels, &mut one);
                    assert!(same(&one, &other), "outputs have the same bits either way round");
                    multiply(&mut laid_out, Into::Replace, gradients, conv.window.matrix(columns));
                    one_by_one(&conv, &parameters, conv.window.matrix(columns), &given)
                });
                let task = format!("{inputs} × {side}² → {channels}, kernel {kernel}, stride {stride}");
                if conv.forward_in_place(&parameters, &transposed, padded, &mut by_place) {
                    transpose(&by_place, channels, &mut one);
                    assert!(same(&one, &other) && same(&one, &slow[0]), "{task}");
                    in_place[0] += 1;
                }
                if conv.gradient_in_place(padded, gradients, &mut weights) {
                    assert!(same(&weights, &laid_out) && same(&weights, &slow[1]), "gradient of {task}");
                    in_place[1] += 1;
                }
            });
        }
        assert!(in_place == [8, 5] || in_place == [0, 0], "what can be done in place is: {in_place:?}");
    }
}
