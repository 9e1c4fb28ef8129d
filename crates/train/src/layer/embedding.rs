//! Tokens to vectors: each place of a sequence holds the number of a token, 0, 1, …, and gets that row of the table.
//!
//! A number that is no token (too large, negative, broken) gets the zero vector and has no gradient, so that no input can
//! stop a run. The gradient of an example touches the rows of its tokens only; a token that comes twice has the sum of both
//! places' gradients, which are added before the norm is taken.

use super::{Stage, Trace, initial, sums};
use crate::Shape;
use veracity_core::Refusal;
use veracity_noise::Stream;

/// Parameters: the table, a row for each token.
#[derive(Debug)]
pub(super) struct Embedding {
    length: usize,
    tokens: usize,
    width: usize,
}

impl Embedding {
    pub(super) fn new(input: Shape, tokens: usize, width: usize) -> Result<Embedding, Refusal> {
        let Shape::Sequence { length, width: 1 } = input else {
            return Err(Refusal::Invalid(format!(
                "an embedding layer needs a sequence with one number (the token) per position, but its input is {input}"
            )));
        };
        // Floats tell integers apart up to here.
        if !(1..=1 << 24).contains(&tokens) {
            return Err(Refusal::out_of_range("tokens", tokens, "1 ≤ tokens ≤ 2^24"));
        }
        if !(1..=1 << 16).contains(&width) {
            return Err(Refusal::out_of_range("width", width, "1 ≤ width ≤ 2^16"));
        }
        Ok(Embedding { length, tokens, width })
    }

    fn token(&self, x: f32) -> Option<usize> {
        let token = x as usize;
        (x >= 0.0 && token < self.tokens && token as f32 == x).then_some(token)
    }

    /// Passes the gradient of each token that one example has to `visit`, once, with `row` for the sum over its places. Norms
    /// and sums are both taken of these: places that cancel are rounded before anyone measures them, so what is added must be
    /// the very numbers that were measured.
    fn each_token(
        &self,
        input: &[f32],
        gradient: &[f32],
        row: &mut [f32],
        mut visit: impl FnMut(usize, &[f32]),
    ) {
        for (place, x) in input.iter().enumerate() {
            let Some(token) = self.token(*x).filter(|_| !input[..place].contains(x)) else { continue };
            row.fill(0.0);
            for (y, g) in input[place..].iter().zip(gradient[place * self.width..].chunks_exact(self.width)) {
                if x == y {
                    sums::add_scaled(row, 1.0, g);
                }
            }
            visit(token, row);
        }
    }
}

impl Stage for Embedding {
    fn output(&self) -> Shape {
        Shape::Sequence { length: self.length, width: self.width }
    }

    fn parameters(&self) -> usize {
        self.tokens * self.width
    }

    /// Normal, of variance 1/width: vectors of about unit length.
    fn initialise(&self, parameters: &mut [f32], rng: &mut Stream) {
        initial::normal(parameters, 1.0 / self.width as f64, rng);
    }

    /// Room for one token's gradient.
    fn kept(&self) -> usize {
        self.width
    }

    fn forward(&self, parameters: &[f32], _: usize, input: &[f32], output: &mut [f32], _: &mut [f32]) {
        for (x, vector) in input.iter().zip(output.chunks_exact_mut(self.width)) {
            match self.token(*x) {
                Some(token) => vector.copy_from_slice(&parameters[token * self.width..][..self.width]),
                None => vector.fill(0.0),
            }
        }
    }

    /// Tokens have no slope.
    fn backward(&self, _: &[f32], _: Trace<'_>, _: &[f32], dx: &mut [f32]) {
        dx.fill(0.0);
    }

    fn square_norms(&self, trace: Trace<'_>, dy: &[f32], norms: &mut [f32]) {
        let examples = trace.input.chunks_exact(self.length);
        let gradients = dy.chunks_exact(self.length * self.width);
        let kept = trace.kept.chunks_exact_mut(self.width);
        for (((input, gradient), row), norm) in examples.zip(gradients).zip(kept).zip(norms) {
            // Added up in double precision: there may be thousands of tokens.
            let mut square = 0.0;
            self.each_token(input, gradient, row, |_, row| square += f64::from(sums::square(row)));
            *norm += square as f32;
        }
    }

    fn clipped_sum(&self, trace: Trace<'_>, dy: &mut [f32], factors: &[f32], sum: &mut [f32]) {
        let examples = trace.input.chunks_exact(self.length);
        let gradients = dy.chunks_exact(self.length * self.width);
        let kept = trace.kept.chunks_exact_mut(self.width);
        for (((input, gradient), row), factor) in examples.zip(gradients).zip(kept).zip(factors) {
            // Zero times infinity is not zero.
            if *factor != 0.0 {
                self.each_token(input, gradient, row, |token, row| {
                    sums::add_scaled(&mut sum[token * self.width..][..self.width], *factor, row);
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token at three places: 2^27, 1 and −2^27. Their sum is measured as 0, since 2^27 + 1 is 2^27 in floats, so nothing may
    /// be added, least of all the rounding of 2^27 + 0.7 to the 0.7 that others added.
    #[test]
    fn places_that_cancel_add_what_was_measured_and_leave_the_rest_alone() {
        let embedding = Embedding::new(Shape::Sequence { length: 3, width: 1 }, 2, 1).expect("a small layer");
        let big = (1u32 << 27) as f32;
        let (input, mut gradient, mut norms, mut row) = ([1.0; 3], [big, 1.0, -big], [0.0], [f32::NAN]);
        let trace = Trace { count: 1, input: &input, output: &[0.0; 3], kept: &mut row };
        embedding.square_norms(trace, &gradient, &mut norms);
        for before in [0.0, 0.7, -3.3] {
            let mut sum = [before; 2];
            let trace = Trace { count: 1, input: &input, output: &[0.0; 3], kept: &mut row };
            embedding.clipped_sum(trace, &mut gradient, &[1.0], &mut sum);
            let moved = f64::from(sum[1]) - f64::from(before);
            assert!(moved * moved <= f64::from(norms[0]) && sum[0] == before, "moved by {moved}");
        }
    }
}
