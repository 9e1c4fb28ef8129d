//! Multi-head self-attention: every place of a sequence looks at all places of the same example. Three stages: a linear
//! layer makes queries, keys and values; [`Heads`] mixes values by how queries and keys match; a linear layer mixes heads.
//!
//! # Reference  [VaswaniEtAl17]

use super::{
    Stage, Trace,
    chain::{Chain, Skip},
    elementwise,
    linear_places::{LinearPlaces, Spread},
    scratch,
    stack::Stack,
    sums,
};
use crate::{
    Shape,
    product::{Into, Matrix, multiply},
};
use veracity_core::Refusal;

/// Self-attention with so many heads, on sequences. Parameters: those of the first linear layer, whose outputs are queries,
/// keys and values side by side, then those of the last.
pub(super) fn new(input: Shape, heads: usize) -> Result<Chain, Refusal> {
    let Shape::Sequence { length, width } = input else {
        return Err(Refusal::Invalid(format!(
            "an attention layer needs a sequence (length × width), but its input is {input}"
        )));
    };
    if heads == 0 || width % heads != 0 {
        return Err(Refusal::Invalid(format!("heads is {heads}, expected a divisor of the width {width}")));
    }
    let mut stack = Stack::on(input)?;
    stack.push(Box::new(LinearPlaces::new(length, width, 3 * width, Spread::Glorot)?))?;
    stack.push(Box::new(Heads { length, width, heads }))?;
    stack.push(Box::new(LinearPlaces::new(length, width, width, Spread::Glorot)?))?;
    Ok(Chain::new(stack, Skip::None))
}

/// From queries, keys and values side by side to the mixed values. Keeps how much each place looks at each other, for each
/// head.
#[derive(Debug)]
struct Heads {
    length: usize,
    width: usize,
    heads: usize,
}

impl Heads {
    /// Numbers for each place and head.
    fn depth(&self) -> usize {
        self.width / self.heads
    }

    /// What scores are multiplied with, so that they do not grow with the depth.
    fn scale(&self) -> f32 {
        1.0 / (self.depth() as f32).sqrt()
    }

    /// The queries (0), keys (1) or values (2) of one head, a row for each place.
    fn part<'a>(&self, row: &'a [f32], which: usize, head: usize) -> Matrix<'a> {
        let start = which * self.width + head * self.depth();
        Matrix {
            values: &row[start..],
            rows: self.length,
            columns: self.depth(),
            row_step: 3 * self.width,
            column_step: 1,
        }
    }

    /// What one head gives, a row for each place.
    fn mixed<'a>(&self, row: &'a [f32], head: usize) -> Matrix<'a> {
        let start = head * self.depth();
        let values = &row[start..];
        Matrix { values, rows: self.length, columns: self.depth(), row_step: self.width, column_step: 1 }
    }

    fn forward_head(&self, input: &[f32], output: &mut [f32], looks: &mut [f32], head: usize) {
        let [queries, keys, values] = [0, 1, 2].map(|which| self.part(input, which, head));
        multiply(looks, Into::Replace, queries, keys.transposed());
        for row in looks.chunks_exact_mut(self.length) {
            softmax(row, self.scale());
        }
        scratch::lend([self.length * self.depth()], |[mixed]| {
            multiply(mixed, Into::Replace, Matrix::new(looks, self.length, self.length), values);
            place(mixed, output, self.depth(), self.width, head * self.depth());
        });
    }

    fn backward_head(&self, input: &[f32], looks: &[f32], dy: &[f32], dx: &mut [f32], head: usize) {
        let (length, depth) = (self.length, self.depth());
        let [queries, keys, values] = [0, 1, 2].map(|which| self.part(input, which, head));
        let dy = self.mixed(dy, head);
        let looks_matrix = Matrix::new(looks, length, length);
        scratch::lend([length * length, length * depth], |[slopes, part]| {
            let mut put = |part: &[f32], which: usize| {
                place(part, dx, depth, 3 * self.width, which * self.width + head * depth);
            };
            multiply(part, Into::Replace, looks_matrix.transposed(), dy);
            put(part, 2);
            multiply(slopes, Into::Replace, dy, values.transposed());
            for (slopes, looks) in slopes.chunks_exact_mut(length).zip(looks.chunks_exact(length)) {
                let mean = sums::dot(slopes, looks);
                let scale = self.scale();
                slopes
                    .iter_mut()
                    .zip(looks)
                    .for_each(|(slope, look)| *slope = scale * look * (*slope - mean));
            }
            let slopes = Matrix::new(slopes, length, length);
            multiply(part, Into::Replace, slopes, keys);
            put(part, 0);
            multiply(part, Into::Replace, slopes.transposed(), queries);
            put(part, 1);
        });
    }
}

impl Stage for Heads {
    fn output(&self) -> Shape {
        Shape::Sequence { length: self.length, width: self.width }
    }

    fn kept(&self) -> usize {
        self.heads.saturating_mul(self.length).saturating_mul(self.length)
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]) {
        let size = self.length * self.width;
        let rows = input.chunks_exact(3 * size).zip(output.chunks_exact_mut(size));
        for ((input, output), kept) in rows.zip(kept.chunks_exact_mut(self.kept())) {
            for (head, looks) in kept.chunks_exact_mut(self.length * self.length).enumerate() {
                self.forward_head(input, output, looks, head);
            }
        }
    }

    fn backward(&self, _: &[f32], trace: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        let size = self.length * self.width;
        let rows = dy.chunks_exact(size).zip(dx.chunks_exact_mut(3 * size));
        let seen = trace.input.chunks_exact(3 * size).zip(trace.kept.chunks_exact(self.kept()));
        for ((dy, dx), (input, kept)) in rows.zip(seen) {
            for (head, looks) in kept.chunks_exact(self.length * self.length).enumerate() {
                self.backward_head(input, looks, dy, dx, head);
            }
        }
    }
}

/// Copies rows of `depth` numbers into rows of `width`, from `start` on.
fn place(rows: &[f32], target: &mut [f32], depth: usize, width: usize, start: usize) {
    for (row, target) in rows.chunks_exact(depth).zip(target.chunks_exact_mut(width)) {
        target[start..][..depth].copy_from_slice(row);
    }
}

/// Scores to shares: e to the power of scale × score, over their sum.
fn softmax(row: &mut [f32], scale: f32) {
    let largest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    row.iter_mut().for_each(|x| *x = scale * (*x - largest));
    elementwise::apply(row, elementwise::exp);
    let share = 1.0 / sums::sum(row);
    row.iter_mut().for_each(|x| *x *= share);
}
