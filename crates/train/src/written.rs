//! Layers, features and the rest of a plan in files, with feature `serde`: objects that say their `kind`.
//!
//! Each table below names every field as files have it, and serde holds it against the type that it stands for: a variant that
//! is missing here does not compile. Variants without fields have braces, since serde would let fields that nobody knows pass
//! those that have none.

use crate::{
    Clipping, Layer, Loss, Optimiser, Schedule, Shape,
    features::{Feature, Features},
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use veracity_core::{Count, NoiseMultiplier, Probability};

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

#[derive(Serialize, Deserialize)]
#[serde(remote = "Features", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenFeatures {
    Scattering { scales: usize, angles: usize },
    Patches { filters: usize, side: usize, cells: usize },
    Fourier { count: usize, bandwidth: f32 },
    GroupNorm { groups: usize },
    Power { exponent: f32 },
    UnitNorm { norm: f32 },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Loss", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenLoss {
    SoftmaxCrossEntropy {},
    Logistic {},
    Squared {},
    Huber { delta: f32 },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Optimiser", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenOptimiser {
    Sgd { momentum: f32 },
    Nesterov { momentum: f32 },
    Adam { beta1: f32, beta2: f32, epsilon: f32 },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Schedule", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenSchedule {
    Constant { rate: f32 },
    Warmup { rate: f32, warmup: u64 },
    Cosine { rate: f32, warmup: u64, last: f32 },
    StepDecay { rate: f32, factor: f32, every: Count },
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Clipping", tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenClipping {
    Flat {},
    PerLayer {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        weights: Option<Vec<f32>>,
    },
    Automatic {
        gamma: f32,
    },
    Adaptive {
        quantile: Probability,
        rate: f32,
        count_noise: NoiseMultiplier,
    },
}

/// A type through its table, and what is read through its check, which says what is wrong without a look at any data.
macro_rules! through {
    ($($type:ident by $table:ident, $check:expr;)*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                $table::serialize(self, serializer)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let read = $table::deserialize(deserializer)?;
                let check: fn(&$type) -> Result<(), veracity_core::Refusal> = $check;
                check(&read).map_err(de::Error::custom)?;
                Ok(read)
            }
        }
    )*};
}

through! {
    // The sides of layers and features depend on what comes in; `Network::new` and `FrontEnd::new` check them.
    Layer by WrittenLayer, |_| Ok(());
    Features by WrittenFeatures, |_| Ok(());
    Loss by WrittenLoss, |loss| loss.check_number();
    Optimiser by WrittenOptimiser, |optimiser| optimiser.check();
    Schedule by WrittenSchedule, |schedule| schedule.check();
    Clipping by WrittenClipping, Clipping::check_numbers;
}

/// Maps and private means side by side; a table of its own, since their kinds share one name space.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenFeature {
    Scattering {
        scales: usize,
        angles: usize,
    },
    Patches {
        filters: usize,
        side: usize,
        cells: usize,
    },
    Fourier {
        count: usize,
        bandwidth: f32,
    },
    GroupNorm {
        groups: usize,
    },
    Power {
        exponent: f32,
    },
    UnitNorm {
        norm: f32,
    },
    PrivateMean {
        noise_multiplier: f64,
        #[serde(default = "norm_of_one")]
        clip_norm: f64,
    },
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

impl<'de> Deserialize<'de> for Feature {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Feature, D::Error> {
        Ok(Feature::Fixed(match WrittenFeature::deserialize(deserializer)? {
            WrittenFeature::Scattering { scales, angles } => Features::Scattering { scales, angles },
            WrittenFeature::Patches { filters, side, cells } => Features::Patches { filters, side, cells },
            WrittenFeature::Fourier { count, bandwidth } => Features::Fourier { count, bandwidth },
            WrittenFeature::GroupNorm { groups } => Features::GroupNorm { groups },
            WrittenFeature::Power { exponent } => Features::Power { exponent },
            WrittenFeature::UnitNorm { norm } => Features::UnitNorm { norm },
            WrittenFeature::PrivateMean { noise_multiplier, clip_norm } => {
                return Ok(Feature::PrivateMean { noise_multiplier, clip_norm });
            }
        }))
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
