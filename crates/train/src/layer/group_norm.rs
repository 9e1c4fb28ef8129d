//! Group norm: the channels of an image in groups, each brought to mean 0 and variance 1 within one example.
//!
//! # Reference  [WuHe18]

use super::normalise::{Gains, Normalise};
use crate::Shape;
use veracity_core::Refusal;

/// Group norm on images, or on plain numbers, each of which is a channel then.
pub(super) fn new(input: Shape, groups: usize) -> Result<Normalise, Refusal> {
    let (channels, columns) = match input {
        Shape::Image { channels, height, width } => (channels, height * width),
        Shape::Flat(size) => (size, 1),
        Shape::Sequence { .. } => {
            return Err(Refusal::Invalid(format!(
                "a group-norm layer was given {input}, expected an image or plain numbers; use layer-norm on sequences"
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
            "groups is {groups}, expected at least two numbers in each group of an input of {input}"
        )));
    }
    Ok(Normalise { shape: input, blocks: groups, rows: channels / groups, columns, gains: Gains::Own })
}
