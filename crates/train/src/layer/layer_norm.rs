//! Layer norm: all numbers of an example, or of one place of a sequence, brought to mean 0 and variance 1.
//!
//! # Reference  [BaKirosHinton16]

use super::normalise::{Gains, Normalise};
use crate::Shape;
use veracity_core::Refusal;

/// Layer norm on plain numbers, or at each place of a sequence.
pub(super) fn new(input: Shape) -> Result<Normalise, Refusal> {
    let (blocks, rows) = match input {
        Shape::Flat(size) => (1, size),
        Shape::Sequence { length, width } => (length, width),
        Shape::Image { .. } => {
            return Err(Refusal::Invalid(format!(
                "a layer-norm layer was given {input}, expected a sequence or plain numbers; use group-norm on images"
            )));
        }
    };
    // The variance of one number is zero, and nothing would be left of it.
    if rows < 2 {
        return Err(Refusal::out_of_range("width", rows, "at least 2 for layer-norm"));
    }
    Ok(Normalise { shape: input, blocks, rows, columns: 1, gains: Gains::Shared })
}
