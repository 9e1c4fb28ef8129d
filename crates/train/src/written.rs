//! Layers, features and shapes in plan and model files: objects with a `kind`.
//!
//! Each table below names every field as files have it, and serde compares it with the type that it stands for: a variant that
//! is missing here does not compile. Variants without fields have braces, because serde accepts unknown fields for those without.

use crate::{
    Layer, Shape,
    features::{Feature, Features},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

#[derive(Serialize, Deserialize)]
#[serde(remote = "Layer", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenLayer {
    Linear {
        outputs: usize,
    },
    Conv2d {
        channels: usize,
        kernel: usize,
        #[serde(default = "one_pixel")]
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
        layers: Vec<Layer>,
    },
    Attention {
        heads: usize,
    },
}

fn one_pixel() -> usize {
    1
}

/// Reads and writes a type by its table. The fields of layers and features depend on the shape of their input, which `Network::new`
/// and `FrontEnd::new` check.
macro_rules! by_table {
    ($type:ident, $table:ident) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $table::serialize(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                $table::deserialize(deserializer)
            }
        }
    };
}

by_table!(Layer, WrittenLayer);
by_table!(Features, WrittenFeatures);

/// The tables of features: maps alone, and maps and private means side by side, whose kinds share one name space.
macro_rules! features {
    ($($kind:ident { $($field:ident: $type:ty),* })*) => {
        #[derive(Serialize, Deserialize)]
        #[serde(remote = "Features", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        enum WrittenFeatures {
            $($kind { $($field: $type),* },)*
        }

        #[derive(Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        enum WrittenFeature {
            $($kind { $($field: $type),* },)*
            PrivateMean {
                noise_multiplier: f64,
                #[serde(default = "norm_of_one")]
                clip_norm: f64,
            },
        }

        impl<'de> Deserialize<'de> for Feature {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Feature, D::Error> {
                Ok(match WrittenFeature::deserialize(deserializer)? {
                    $(WrittenFeature::$kind { $($field),* } => Feature::Fixed(Features::$kind { $($field),* }),)*
                    WrittenFeature::PrivateMean { noise_multiplier, clip_norm } => {
                        Feature::PrivateMean { noise_multiplier, clip_norm }
                    }
                })
            }
        }
    };
}

features! {
    Scattering { scales: usize, angles: usize }
    Patches { filters: usize, side: usize, cells: usize }
    Fourier { count: usize, bandwidth: f32 }
    GroupNorm { groups: usize }
    Power { exponent: f32 }
    UnitNorm { norm: f32 }
}

fn norm_of_one() -> f64 {
    1.0
}

impl Serialize for Feature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Feature::Fixed(map) => map.serialize(serializer),
            Feature::PrivateMean { noise_multiplier, clip_norm } => {
                WrittenFeature::PrivateMean { noise_multiplier, clip_norm }.serialize(serializer)
            }
        }
    }
}

/// A list of sides.
impl Serialize for Shape {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.sides().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Shape, D::Error> {
        Shape::of_sides(&Vec::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
