//! The same numbers, without a shape.

use super::{Stage, Trace};
use crate::Shape;

#[derive(Debug)]
pub(super) struct Flatten {
    size: usize,
}

impl Flatten {
    pub(super) fn new(input: Shape) -> Flatten {
        Flatten { size: input.size() }
    }
}

impl Stage for Flatten {
    fn output(&self) -> Shape {
        Shape::Flat(self.size)
    }

    fn forward(&self, _: &[f32], _: usize, input: &[f32], output: &mut [f32], _: &mut [f32]) {
        output.copy_from_slice(input);
    }

    fn backward(&self, _: &[f32], _: Trace<'_>, dy: &[f32], dx: &mut [f32]) {
        dx.copy_from_slice(dy);
    }
}
