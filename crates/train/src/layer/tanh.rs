//! tanh, number by number.

use super::{Stage, Trace, curves};
use crate::Shape;

#[derive(Debug)]
pub(super) struct Tanh {
    shape: Shape,
}

impl Tanh {
    pub(super) fn new(shape: Shape) -> Tanh {
        Tanh { shape }
    }
}

impl Stage for Tanh {
    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], _: &mut [f32]) {
        curves::map(output, input, curves::tanh);
    }

    /// The derivative is 1 − y².
    fn backward(&self, _: &[f32], trace: Trace<'_>, output_gradient: &[f32], input_gradient: &mut [f32]) {
        for ((dx, dy), y) in input_gradient.iter_mut().zip(output_gradient).zip(trace.output) {
            *dx = dy * (1.0 - y * y);
        }
    }
}
