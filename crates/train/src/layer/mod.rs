//! Layers, one file each: what they compute, the way back, and how one example's gradient is measured and added up clipped.
//!
//! No layer mixes examples: row i of every output depends on row i of the input alone. That is what makes a gradient belong
//! to one record, and why there is no batch normalisation here.

mod linear;
mod relu;

use crate::Shape;
use std::fmt;
use veracity_core::Refusal;
use veracity_noise::Stream;

/// A layer as it is written in a plan. Its input shape is that of the layer before.
#[derive(Debug, Clone, PartialEq)]
pub enum Layer {
    /// Every output is a weighted sum of all inputs, plus a bias.
    Linear {
        /// How many outputs.
        outputs: usize,
    },
    /// max(0, x).
    Relu,
}

impl Layer {
    /// The layer at work on inputs of a shape.
    pub(crate) fn stage(&self, input: Shape) -> Result<Box<dyn Stage>, Refusal> {
        match self {
            Layer::Linear { outputs } => Ok(Box::new(linear::Linear::new(input, *outputs)?)),
            Layer::Relu => Ok(Box::new(relu::Relu::new(input))),
        }
    }

    /// The name used in plans.
    pub fn name(&self) -> &'static str {
        match self {
            Layer::Linear { .. } => "linear",
            Layer::Relu => "relu",
        }
    }
}

/// What went through a stage for some examples, one after another.
pub(crate) struct Trace<'a> {
    /// How many examples.
    pub count: usize,
    /// What went in.
    pub input: &'a [f32],
    /// What came out.
    pub output: &'a [f32],
    /// The stage's own memory from `forward` to `clipped_sum`, [`Stage::kept`] numbers for each example.
    pub kept: &'a mut [f32],
}

/// A layer at work. All slices hold examples one after another; parameters are shared by them.
pub(crate) trait Stage: fmt::Debug + Send + Sync {
    /// What comes out.
    fn output(&self) -> Shape;

    /// How many parameters it has.
    fn parameters(&self) -> usize {
        0
    }

    /// Random initial parameters; they do not depend on data.
    fn initialise(&self, _parameters: &mut [f32], _rng: &mut Stream) {}

    /// Numbers to remember for each example.
    fn kept(&self) -> usize {
        0
    }

    /// Computes the outputs.
    fn forward(&self, parameters: &[f32], count: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]);

    /// The gradient by the inputs from that by the outputs.
    fn backward(
        &self,
        parameters: &[f32],
        trace: Trace<'_>,
        output_gradient: &[f32],
        input_gradient: &mut [f32],
    );

    /// Adds the squared norm of each example's gradient by the parameters to `norms`. Called after `backward`.
    ///
    /// # Promise  Within a relative 1e-5 of the squared norm of what `clipped_sum` adds at factor 1
    fn square_norms(&self, _trace: Trace<'_>, _output_gradient: &[f32], _norms: &mut [f32]) {}

    /// Adds Σᵢ factorᵢ × gradientᵢ by the parameters to `sum`. Called after `square_norms`; may spoil `output_gradient`.
    fn clipped_sum(
        &self,
        _trace: Trace<'_>,
        _output_gradient: &mut [f32],
        _factors: &[f32],
        _sum: &mut [f32],
    ) {
    }
}
