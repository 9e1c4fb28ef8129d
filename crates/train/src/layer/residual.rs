//! A residual block: layers, and what went in added to what comes out of them.
//!
//! # Reference  [HeZhangRenSun16]

use super::{
    Layer,
    chain::{Chain, Skip},
    stack::Stack,
};
use crate::Shape;
use veracity_core::Refusal;

/// The layers with a skip around them.
pub(super) fn new(input: Shape, layers: &[Layer]) -> Result<Chain, Refusal> {
    let stack = Stack::of_layers(input, layers)?;
    if stack.output() != input {
        return Err(Refusal::Invalid(format!(
            "a residual block needs the same shape for input and output, but it turns {input} into {}",
            stack.output()
        )));
    }
    Ok(Chain::new(stack, Skip::Input))
}
