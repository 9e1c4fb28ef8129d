//! Blocks of one example's numbers brought to mean 0 and variance 1, then scaled and shifted by learned numbers. Group norm
//! and layer norm differ only in what a block is; neither looks at another example.

use super::{Stage, Trace, example_gradient, sums};
use crate::Shape;
use veracity_core::Refusal;
use veracity_noise::Stream;

/// What is added to the variance.
const EPSILON: f32 = 1e-5;

/// Which numbers are scaled by which parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gains {
    /// Each block has its own.
    Own,
    /// All blocks share them.
    Shared,
}

/// Blocks of `rows` × `columns` numbers; one gain and one shift for each row. Parameters: gains, then shifts.
#[derive(Debug)]
pub(super) struct Normalise {
    pub shape: Shape,
    pub blocks: usize,
    pub rows: usize,
    pub columns: usize,
    pub gains: Gains,
}

/// What is kept of an example.
struct Kept<'a> {
    own: &'a mut [f32],
    /// 1/√(variance + ε), for each block.
    scales: &'a mut [f32],
    /// The numbers with mean 0 and variance 1.
    normal: &'a mut [f32],
}

impl Normalise {
    fn count(&self) -> usize {
        match self.gains {
            Gains::Own => self.blocks * self.rows,
            Gains::Shared => self.rows,
        }
    }

    /// The first gain of a block.
    fn first(&self, block: usize) -> usize {
        match self.gains {
            Gains::Own => block * self.rows,
            Gains::Shared => 0,
        }
    }

    fn split<'a>(&self, kept: &'a mut [f32]) -> Kept<'a> {
        let (own, rest) = kept.split_at_mut(example_gradient::kept(2 * self.count()));
        let (scales, normal) = rest.split_at_mut(self.blocks);
        Kept { own, scales, normal }
    }

    /// Writes the gradient by gains and shifts.
    fn gradient(&self, normal: &[f32], dy: &[f32], gradient: &mut [f32]) {
        gradient.fill(0.0);
        let (gains, shifts) = gradient.split_at_mut(self.count());
        let size = self.rows * self.columns;
        for (block, (x, g)) in normal.chunks_exact(size).zip(dy.chunks_exact(size)).enumerate() {
            let gains = &mut gains[self.first(block)..][..self.rows];
            let shifts = &mut shifts[self.first(block)..][..self.rows];
            if self.columns == 1 {
                for (((gain, shift), x), g) in gains.iter_mut().zip(shifts).zip(x).zip(g) {
                    *gain += x * g;
                    *shift += g;
                }
            } else {
                let rows = x.chunks_exact(self.columns).zip(g.chunks_exact(self.columns));
                for ((gain, shift), (x, g)) in gains.iter_mut().zip(shifts).zip(rows) {
                    *gain += sums::dot(x, g);
                    *shift += sums::sum(g);
                }
            }
        }
    }

    fn forward_one(&self, parameters: &[f32], input: &[f32], output: &mut [f32], kept: Kept<'_>) {
        example_gradient::forget(kept.own);
        let (gains, shifts) = parameters.split_at(self.count());
        let size = self.rows * self.columns;
        let blocks = input.chunks_exact(size).zip(output.chunks_exact_mut(size));
        let kept = kept.normal.chunks_exact_mut(size).zip(kept.scales);
        for (block, ((x, y), (normal, scale))) in blocks.zip(kept).enumerate() {
            let mean = sums::sum(x) / size as f32;
            normal.iter_mut().zip(x).for_each(|(normal, x)| *normal = x - mean);
            *scale = 1.0 / (sums::square(normal) / size as f32 + EPSILON).sqrt();
            normal.iter_mut().for_each(|normal| *normal *= *scale);
            let rows = y.chunks_exact_mut(self.columns).zip(normal.chunks_exact(self.columns));
            let learned = gains[self.first(block)..].iter().zip(&shifts[self.first(block)..]);
            for ((y, normal), (gain, shift)) in rows.zip(learned) {
                y.iter_mut().zip(normal).for_each(|(y, x)| *y = x * gain + shift);
            }
        }
    }

    fn backward_one(&self, gains: &[f32], kept: Kept<'_>, dy: &[f32], dx: &mut [f32]) {
        let size = self.rows * self.columns;
        let blocks = dy.chunks_exact(size).zip(dx.chunks_exact_mut(size));
        let kept = kept.normal.chunks_exact(size).zip(kept.scales);
        for (block, ((dy, dx), (normal, scale))) in blocks.zip(kept).enumerate() {
            let rows = dx.chunks_exact_mut(self.columns).zip(dy.chunks_exact(self.columns));
            for ((dx, dy), gain) in rows.zip(&gains[self.first(block)..]) {
                dx.iter_mut().zip(dy).for_each(|(dx, dy)| *dx = dy * gain);
            }
            let mean = sums::sum(dx) / size as f32;
            let slope = sums::dot(dx, normal) / size as f32;
            dx.iter_mut().zip(normal).for_each(|(dx, x)| *dx = *scale * (*dx - mean - x * slope));
        }
    }
}

/// Group norm on images, or on plain numbers, each of which is a channel then.
///
/// # Reference  [WuHe18]
pub(super) fn group_norm(input: Shape, groups: usize) -> Result<Normalise, Refusal> {
    let (channels, columns) = match input {
        Shape::Image { channels, height, width } => (channels, height * width),
        Shape::Flat(size) => (size, 1),
        Shape::Sequence { .. } => {
            return Err(Refusal::Invalid(format!(
                "a group-norm layer needs an image or a flat input, but its input is {input}; use layer-norm for sequences"
            )));
        }
    };
    if groups == 0 || channels % groups != 0 {
        return Err(Refusal::Invalid(format!(
            "groups is {groups}, expected a divisor of the {channels} channels"
        )));
    }
    // The variance of one number is zero, and nothing would be left of it.
    if channels / groups * columns == 1 {
        return Err(Refusal::Invalid(format!(
            "groups is {groups}, but each group of an input of {input} needs at least two numbers; use fewer groups"
        )));
    }
    Ok(Normalise { shape: input, blocks: groups, rows: channels / groups, columns, gains: Gains::Own })
}

/// Layer norm on plain numbers, or at each place of a sequence.
///
/// # Reference  [BaKirosHinton16]
pub(super) fn layer_norm(input: Shape) -> Result<Normalise, Refusal> {
    let (blocks, rows) = match input {
        Shape::Flat(size) => (1, size),
        Shape::Sequence { length, width } => (length, width),
        Shape::Image { .. } => {
            return Err(Refusal::Invalid(format!(
                "a layer-norm layer needs a sequence or a flat input, but its input is {input}; use group-norm for images"
            )));
        }
    };
    // The variance of one number is zero, and nothing would be left of it.
    if rows < 2 {
        return Err(Refusal::out_of_range("width", rows, "at least 2 for layer-norm"));
    }
    Ok(Normalise { shape: input, blocks, rows, columns: 1, gains: Gains::Shared })
}

impl Stage for Normalise {
    fn output(&self) -> Shape {
        self.shape
    }

    fn parameters(&self) -> usize {
        2 * self.count()
    }

    /// Gains one, shifts zero.
    fn initialise(&self, parameters: &mut [f32], _: &mut Stream) {
        let (gains, shifts) = parameters.split_at_mut(self.count());
        gains.fill(1.0);
        shifts.fill(0.0);
    }

    fn kept(&self) -> usize {
        example_gradient::kept(2 * self.count()) + self.blocks + self.shape.size()
    }

    fn forward(&self, parameters: &[f32], _: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]) {
        let size = self.shape.size();
        let rows = input.chunks_exact(size).zip(output.chunks_exact_mut(size));
        for ((input, output), kept) in rows.zip(kept.chunks_exact_mut(self.kept())) {
            self.forward_one(parameters, input, output, self.split(kept));
        }
    }

    fn backward(&self, parameters: &[f32], trace: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        let size = self.shape.size();
        let rows = dy.chunks_exact(size).zip(dx.chunks_exact_mut(size));
        for ((dy, dx), kept) in rows.zip(trace.kept.chunks_exact_mut(self.kept())) {
            self.backward_one(&parameters[..self.count()], self.split(kept), dy, dx);
        }
    }

    fn square_norms(&self, trace: Trace<'_>, dy: &[f32], norms: &mut [f32]) {
        let rows = dy.chunks_exact(self.shape.size()).zip(norms);
        for ((dy, norm), kept) in rows.zip(trace.kept.chunks_exact_mut(self.kept())) {
            let kept = self.split(kept);
            *norm += example_gradient::measure(kept.own, |gradient| self.gradient(kept.normal, dy, gradient));
        }
    }

    fn clipped_sum(&self, trace: Trace<'_>, dy: &mut [f32], factors: &[f32], sum: &mut [f32]) {
        let rows = dy.chunks_exact(self.shape.size()).zip(factors);
        for ((dy, factor), kept) in rows.zip(trace.kept.chunks_exact_mut(self.kept())) {
            let kept = self.split(kept);
            example_gradient::add(kept.own, *factor, sum, |gradient| {
                self.gradient(kept.normal, dy, gradient)
            });
        }
    }
}
