//! Layers as they are written in a plan and in a model's file.

use crate::Refusal;
use serde::{Deserialize, Serialize};
use veracity_train::{Layer, Shape};

/// A layer as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // Each field is named as in train's Layer, which documents it.
pub enum LayerSpec {
    Linear { outputs: usize },
    Relu {},
}

impl From<&LayerSpec> for Layer {
    fn from(spec: &LayerSpec) -> Layer {
        match spec {
            LayerSpec::Linear { outputs } => Layer::Linear { outputs: *outputs },
            LayerSpec::Relu {} => Layer::Relu,
        }
    }
}

/// Says why a layer cannot be, where its name is that of one which mixes examples.
pub(super) fn refuse_mixing(kind: &str) -> Result<(), Refusal> {
    let plain: String = kind.chars().filter(char::is_ascii_alphanumeric).collect();
    if plain.to_ascii_lowercase().starts_with("batchnorm") {
        return Err(Refusal::NoAnswer(
            "batch-norm mixes the examples of a batch, so that no gradient belongs to one record, expected group-norm, \
             layer-norm or no norm at all"
                .into(),
        ));
    }
    Ok(())
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
    Err(Refusal::NoAnswer(format!(
        "input has another size than the records, expected {width} numbers for each"
    )))
}
