//! max(0, x), number by number.

use super::{Stage, Trace, curves};
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
        // Not `max`, which minds which of two zeros or NaNs it gives; this is one instruction. NaN becomes 0 in both.
        curves::map(output, input, |x| if x > 0.0 { x } else { 0.0 });
    }

    fn backward(&self, _: &[f32], trace: Trace<'_>, output_gradient: &[f32], input_gradient: &mut [f32]) {
        curves::map_pairs(
            input_gradient,
            output_gradient,
            trace.input,
            |dy, x| if x > 0.0 { dy } else { 0.0 },
        );
    }
}
