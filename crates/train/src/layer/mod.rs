//! Layers, one file each: what they compute, the way back, and how one example's gradient is measured and added up clipped.
//!
//! No layer mixes examples: row i of every output depends on row i of the input alone. That is what makes a gradient belong
//! to one record, and why there is no batch normalisation here.

mod activation;
mod attention;
mod average_pool;
mod chain;
mod columns;
mod conv2d;
mod conv_relu_pool;
mod elementwise;
mod embedding;
mod example_gradient;
mod flatten;
mod initial;
mod linear;
mod linear_places;
mod max_pool;
mod normalise;
mod outer;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod reference;
mod residual;
mod scratch;
mod stack;
mod sums;
mod transpose;
mod window;

pub(crate) use stack::Stack;

use crate::Shape;
use activation::{Activation, Function};
use std::fmt;
use veracity_core::Refusal;
use veracity_core::printable;
use veracity_noise::Stream;

/// A layer as it is written in a plan. Its input shape is that of the layer before.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Layer {
    /// Every output is a weighted sum of all inputs, plus a bias; on sequences the same at each place.
    Linear {
        /// How many outputs.
        outputs: usize,
    },
    /// A window slides over an image; at each place every output channel is a weighted sum of what it sees, plus a bias.
    Conv2d {
        /// How many output channels.
        channels: usize,
        /// Height and width of the window.
        kernel: usize,
        /// How far it moves.
        stride: usize,
        /// Zeros around the image.
        padding: usize,
    },
    /// The largest number in a sliding window.
    MaxPool {
        /// Height and width of the window.
        kernel: usize,
        /// How far it moves.
        stride: usize,
    },
    /// The mean of a sliding window.
    AveragePool {
        /// Height and width of the window.
        kernel: usize,
        /// How far it moves.
        stride: usize,
    },
    /// max(0, x).
    Relu,
    /// tanh x.
    Tanh,
    /// x Φ(x), in its tanh form.
    Gelu,
    /// The same numbers without a shape.
    Flatten,
    /// Groups of channels brought to mean 0 and variance 1 within each example, then scaled and shifted.
    GroupNorm {
        /// How many groups; a divisor of the channels.
        groups: usize,
    },
    /// All numbers, or those of each place, brought to mean 0 and variance 1 within each example, then scaled and shifted.
    LayerNorm,
    /// A learned vector for each token. The input is a sequence of width 1 that holds 0, 1, …; anything else is no token
    /// and gets the zero vector.
    Embedding {
        /// How many tokens there are.
        tokens: usize,
        /// Numbers in each vector.
        width: usize,
    },
    /// Layers, and what went into the first added to what comes out of the last.
    Residual {
        /// The layers.
        layers: Vec<Layer>,
    },
    /// Multi-head self-attention over the places of a sequence.
    Attention {
        /// How many heads; a divisor of the width.
        heads: usize,
    },
}

impl Layer {
    /// The names used in plans.
    pub const NAMES: [&'static str; 13] = [
        "linear", "conv2d", "max-pool", "average-pool", "relu", "tanh", "gelu", "flatten", "group-norm",
        "layer-norm", "embedding", "residual", "attention",
    ];

    /// The layer at work on inputs of a shape.
    pub(crate) fn stage(&self, input: Shape) -> Result<Box<dyn Stage>, Refusal> {
        let activation = |shape, function| Box::new(Activation { shape, function });
        Ok(match (self, input) {
            (Layer::Linear { outputs }, Shape::Sequence { length, width }) => {
                let spread = linear_places::Spread::He;
                Box::new(linear_places::LinearPlaces::new(length, width, *outputs, spread)?)
            }
            (Layer::Linear { outputs }, _) => Box::new(linear::Linear::new(input, *outputs)?),
            (Layer::Conv2d { channels, kernel, stride, padding }, _) => {
                Box::new(conv2d::Conv2d::new(input, *channels, *kernel, *stride, *padding)?)
            }
            (Layer::MaxPool { kernel, stride }, _) => {
                Box::new(max_pool::MaxPool::new(input, *kernel, *stride)?)
            }
            (Layer::AveragePool { kernel, stride }, _) => {
                Box::new(average_pool::AveragePool::new(input, *kernel, *stride)?)
            }
            (Layer::Relu, _) => activation(input, Function::Relu),
            (Layer::Tanh, _) => activation(input, Function::Tanh),
            (Layer::Gelu, _) => activation(input, Function::Gelu),
            (Layer::Flatten, _) => Box::new(flatten::Flatten::new(input)),
            (Layer::GroupNorm { groups }, _) => Box::new(normalise::group_norm(input, *groups)?),
            (Layer::LayerNorm, _) => Box::new(normalise::layer_norm(input)?),
            (Layer::Embedding { tokens, width }, _) => {
                Box::new(embedding::Embedding::new(input, *tokens, *width)?)
            }
            (Layer::Residual { layers }, _) => Box::new(residual::new(input, layers)?),
            (Layer::Attention { heads }, _) => Box::new(attention::new(input, *heads)?),
        })
    }

    /// The name used in plans.
    pub fn name(&self) -> &'static str {
        match self {
            Layer::Linear { .. } => "linear",
            Layer::Conv2d { .. } => "conv2d",
            Layer::MaxPool { .. } => "max-pool",
            Layer::AveragePool { .. } => "average-pool",
            Layer::Relu => "relu",
            Layer::Tanh => "tanh",
            Layer::Gelu => "gelu",
            Layer::Flatten => "flatten",
            Layer::GroupNorm { .. } => "group-norm",
            Layer::LayerNorm => "layer-norm",
            Layer::Embedding { .. } => "embedding",
            Layer::Residual { .. } => "residual",
            Layer::Attention { .. } => "attention",
        }
    }

    /// Why a plan cannot have a layer of this name, if it cannot: for the reader of plans.
    pub fn refusal(name: &str) -> Option<Refusal> {
        if Layer::NAMES.contains(&name) {
            return None;
        }
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        Some(match plain.to_ascii_lowercase().as_str() {
            "batchnorm" | "batchnorm1d" | "batchnorm2d" | "batchnormalization" | "syncbatchnorm" => {
                Refusal::Invalid(
                    "batch-norm mixes the examples of a batch, so no gradient belongs to a single record; \
                     use group-norm, which uses one example at a time"
                        .into(),
                )
            }
            "instancenorm" | "instancenorm2d" => Refusal::Invalid(
                "instance-norm is not supported; use group-norm with one group per channel".into(),
            ),
            _ => Refusal::out_of_range(
                "layer",
                printable(name, 40),
                "linear, conv2d, max-pool, average-pool, relu, tanh, gelu, flatten, group-norm, layer-norm, \
                 embedding, residual or attention",
            ),
        })
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

    /// How many stages there are within that have parameters of their own, itself included.
    fn leaves(&self) -> usize {
        usize::from(self.parameters() > 0)
    }

    /// Whether `clipped_sum` adds up the terms of all examples first, and then adds them to the sum.
    fn adds_together(&self) -> bool {
        self.parameters() == 0
    }

    /// Random initial parameters; they do not depend on data.
    fn initialise(&self, _parameters: &mut [f32], _rng: &mut Stream) {}

    /// Numbers to remember for each example.
    fn kept(&self) -> usize {
        0
    }

    /// Whether `backward` also writes what `square_norms` and `clipped_sum` read, so that it must be called even where
    /// nobody asks for the gradient by the inputs.
    fn keeps_gradients(&self) -> bool {
        false
    }

    /// Zeroes all that is kept of one example out of `count`.
    fn silence(&self, kept: &mut [f32], _count: usize, example: usize) {
        kept[example * self.kept()..][..self.kept()].fill(0.0);
    }

    /// Computes the outputs.
    fn forward(&self, parameters: &[f32], count: usize, input: &[f32], output: &mut [f32], kept: &mut [f32]);

    /// The gradient by the inputs from that by the outputs.
    fn backward(&self, parameters: &[f32], trace: Trace<'_>, dy: &[f32], dx: &mut [f32]);

    /// Adds the squared norm of each example's gradient by the parameters to `norms`. Called after `backward`.
    ///
    /// # Promise  At least the squared norm of what `clipped_sum` adds, over the factor squared, but for 300 roundings of 2⁻²⁴:
    /// see [`crate::private::Rounding`]
    fn square_norms(&self, _trace: Trace<'_>, _output_gradient: &[f32], _norms: &mut [f32]) {}

    /// Whether norms follow from those of the inputs, so that these may be measured once for all steps.
    fn measures_inputs(&self) -> bool {
        false
    }

    /// As `square_norms`, with the squared norm of each example's inputs.
    fn square_norms_of(&self, _of_inputs: &[f32], trace: Trace<'_>, dy: &[f32], norms: &mut [f32]) {
        self.square_norms(trace, dy, norms);
    }

    /// Adds Σᵢ factorᵢ × gradientᵢ by the parameters to `sum`. Called after `square_norms`, or without it where no norms are
    /// needed; may spoil `dy`.
    ///
    /// # Promise  Each example adds one number to each coordinate: one that depends on its own values, gradients, kept numbers and
    /// factor alone, and may be a product that is not rounded before it is added. Where all of these are zero it adds zero
    fn clipped_sum(
        &self,
        _trace: Trace<'_>,
        _output_gradient: &mut [f32],
        _factors: &[f32],
        _sum: &mut [f32],
    ) {
    }
}
