//! Layers as they are written in a plan and in a model's file.

use serde::{Deserialize, Serialize};
use veracity_core::Refusal;
use veracity_train::{Layer, Shape};

/// A layer as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // Each field is named as in train's Layer, which documents it.
pub enum LayerSpec {
    Linear {
        outputs: usize,
    },
    Conv2d {
        channels: usize,
        kernel: usize,
        #[serde(default = "one")]
        stride: usize,
        #[serde(default)]
        padding: usize,
    },
    MaxPool {
        kernel: usize,
        stride: usize,
    },
    AveragePool {
        kernel: usize,
        stride: usize,
    },
    Relu {},
    Tanh {},
    Gelu {},
    Flatten {},
    GroupNorm {
        groups: usize,
    },
    LayerNorm {},
    Embedding {
        tokens: usize,
        width: usize,
    },
    Residual {
        layers: Vec<LayerSpec>,
    },
    Attention {
        heads: usize,
    },
}

fn one() -> usize {
    1
}

impl From<&LayerSpec> for Layer {
    fn from(spec: &LayerSpec) -> Layer {
        match spec {
            LayerSpec::Linear { outputs } => Layer::Linear { outputs: *outputs },
            LayerSpec::Conv2d { channels, kernel, stride, padding } => {
                Layer::Conv2d { channels: *channels, kernel: *kernel, stride: *stride, padding: *padding }
            }
            LayerSpec::MaxPool { kernel, stride } => Layer::MaxPool { kernel: *kernel, stride: *stride },
            LayerSpec::AveragePool { kernel, stride } => {
                Layer::AveragePool { kernel: *kernel, stride: *stride }
            }
            LayerSpec::Relu {} => Layer::Relu,
            LayerSpec::Tanh {} => Layer::Tanh,
            LayerSpec::Gelu {} => Layer::Gelu,
            LayerSpec::Flatten {} => Layer::Flatten,
            LayerSpec::GroupNorm { groups } => Layer::GroupNorm { groups: *groups },
            LayerSpec::LayerNorm {} => Layer::LayerNorm,
            LayerSpec::Embedding { tokens, width } => Layer::Embedding { tokens: *tokens, width: *width },
            LayerSpec::Residual { layers } => {
                Layer::Residual { layers: layers.iter().map(Layer::from).collect() }
            }
            LayerSpec::Attention { heads } => Layer::Attention { heads: *heads },
        }
    }
}

/// The shape of one example: plain numbers unless sides are given.
pub(super) fn shape(sides: Option<&[usize]>, width: usize) -> Result<Shape, Refusal> {
    let shape = match sides {
        None | Some([_]) => Shape::Flat(sides.map_or(width, |sides| sides[0])),
        Some([length, width]) => Shape::Sequence { length: *length, width: *width },
        Some([channels, height, width]) => {
            Shape::Image { channels: *channels, height: *height, width: *width }
        }
        Some(sides) => return Err(Refusal::out_of_range("sides of the input", sides.len(), "1, 2 or 3")),
    };
    let size = sides.unwrap_or(&[width]).iter().try_fold(1usize, |size, side| size.checked_mul(*side));
    if size == Some(width) && width > 0 {
        return Ok(shape);
    }
    Err(Refusal::invalid(format!(
        "input has another size than the records, expected {width} numbers for each"
    )))
}
