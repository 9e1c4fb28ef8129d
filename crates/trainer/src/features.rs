//! Features as they are written in a plan and in a model's file: maps that are applied to each record by itself, and private
//! means, which look at all records and are charged.

use super::{ModelSpec, chain::Stage, layers, mean::PrivateMean};
use serde::{Deserialize, Serialize};
use veracity_core::Refusal;
use veracity_noise::{Entropy, Key, Purpose, Stream};
use veracity_train::{
    Shape,
    features::{Features, FrontEnd},
};

/// A map as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // Each field is named as in train's Features, which documents it.
pub enum FeatureSpec {
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
    /// The private mean of what comes in, taken off. It is charged as a Gaussian mechanism of this noise multiplier.
    PrivateMean {
        noise_multiplier: f64,
        /// Records beyond this norm count as if they had it.
        #[serde(default = "one")]
        clip_norm: f64,
    },
}

fn one() -> f64 {
    1.0
}

/// A feature is one or the other.
enum Kind {
    Fixed(Features),
    Mean { noise: f64, clip: f64 },
}

impl FeatureSpec {
    fn kind(&self) -> Kind {
        Kind::Fixed(match *self {
            FeatureSpec::Scattering { scales, angles } => Features::Scattering { scales, angles },
            FeatureSpec::Patches { filters, side, cells } => Features::Patches { filters, side, cells },
            FeatureSpec::Fourier { count, bandwidth } => Features::Fourier { count, bandwidth },
            FeatureSpec::GroupNorm { groups } => Features::GroupNorm { groups },
            FeatureSpec::Power { exponent } => Features::Power { exponent },
            FeatureSpec::UnitNorm { norm } => Features::UnitNorm { norm },
            FeatureSpec::PrivateMean { noise_multiplier, clip_norm } => {
                return Kind::Mean { noise: noise_multiplier, clip: clip_norm };
            }
        })
    }
}

impl ModelSpec {
    /// The stages before the first layer, and the shape that comes out of them; nothing where there are none.
    pub(super) fn front(&self) -> Result<Option<(Vec<Stage>, Shape)>, Refusal> {
        if self.feature.is_empty() {
            return Ok(None);
        }
        let sides = self.input.as_deref().ok_or_else(|| {
            Refusal::invalid("input is missing, expected the sides of one record in [model] with features")
        })?;
        let size = sides.iter().try_fold(1usize, |size, side| size.checked_mul(*side)).unwrap_or(0);
        let mut front =
            Front { shape: layers::shape(Some(sides), size)?, stages: Vec::new(), maps: Vec::new() };
        let mut rng = self.stream(1);
        for (at, feature) in self.feature.iter().enumerate() {
            match feature.kind() {
                Kind::Fixed(map) => front.maps.push(map),
                Kind::Mean { noise, clip } => {
                    front.settle(&mut rng)?;
                    let mean = PrivateMean::new(at, front.shape.size(), noise, clip)?;
                    front.stages.push(Stage::Charged(Box::new(mean)));
                }
            }
        }
        front.settle(&mut rng)?;
        Ok(Some((front.stages, front.shape)))
    }

    /// What is random in features and views is drawn from the plan's public number, so that whoever has the model has it too.
    pub(super) fn stream(&self, step: u64) -> Stream {
        Entropy::seeded(self.feature_seed).stream(Purpose::Init, Key { step, ..Key::default() })
    }
}

/// Stages so far, and maps that will be one stage: an example passes through them at once.
struct Front {
    shape: Shape,
    stages: Vec<Stage>,
    maps: Vec<Features>,
}

impl Front {
    fn settle(&mut self, rng: &mut Stream) -> Result<(), Refusal> {
        let maps = std::mem::take(&mut self.maps);
        if !maps.is_empty() {
            let front = FrontEnd::new(self.shape, &maps, rng)?;
            self.shape = front.output();
            self.stages.push(Stage::Fixed(front));
        }
        Ok(())
    }
}
