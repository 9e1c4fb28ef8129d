//! max(0, x), number by number.

use super::{Stage, Trace};
use crate::Shape;

#[derive(Debug)]
pub(super) struct Relu {
    shape: Shape,
}

impl Relu {
    pub(super) fn new(shape: Shape) -> Relu {
        Relu { shape }
    }
}

impl Stage for Relu {
    fn output(&self) -> Shape {
        self.shape
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], _: &mut [f32]) {
        for (y, x) in output.iter_mut().zip(input) {
            // Not `max`, which minds which of two zeros or NaNs it gives; this is one instruction. NaN becomes 0 in both.
            *y = if *x > 0.0 { *x } else { 0.0 };
        }
    }

    fn backward(&self, _: &[f32], trace: Trace<'_>, output_gradient: &[f32], input_gradient: &mut [f32]) {
        for ((dx, dy), x) in input_gradient.iter_mut().zip(output_gradient).zip(trace.input) {
            *dx = if *x > 0.0 { *dy } else { 0.0 };
        }
    }
}
