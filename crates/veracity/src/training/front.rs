//! Fixed features as they are written in a plan and in a model's file: maps that are applied to each record by itself.

use super::{ModelSpec, layers};
use crate::Refusal;
use serde::{Deserialize, Serialize};
use veracity_noise::{Entropy, Key, Purpose};
use veracity_train::{
    Dataset,
    features::{Features, FrontEnd},
};

/// A map as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // Each field is named as in train's Features, which documents it.
pub enum FeatureSpec {
    Scattering { scales: usize, angles: usize },
    Patches { filters: usize, side: usize, cells: usize },
    Fourier { count: usize, bandwidth: f32 },
    GroupNorm { groups: usize },
    Power { exponent: f32 },
    UnitNorm { norm: f32 },
}

impl From<&FeatureSpec> for Features {
    fn from(spec: &FeatureSpec) -> Features {
        match *spec {
            FeatureSpec::Scattering { scales, angles } => Features::Scattering { scales, angles },
            FeatureSpec::Patches { filters, side, cells } => Features::Patches { filters, side, cells },
            FeatureSpec::Fourier { count, bandwidth } => Features::Fourier { count, bandwidth },
            FeatureSpec::GroupNorm { groups } => Features::GroupNorm { groups },
            FeatureSpec::Power { exponent } => Features::Power { exponent },
            FeatureSpec::UnitNorm { norm } => Features::UnitNorm { norm },
        }
    }
}

impl ModelSpec {
    /// The maps before the first layer, if there are any. What is random in them is drawn from the plan's public number, so
    /// that whoever has the model has them too.
    pub(super) fn front(&self) -> Result<Option<FrontEnd>, Refusal> {
        if self.feature.is_empty() {
            return Ok(None);
        }
        let sides = self.input.as_deref().ok_or_else(|| {
            Refusal::NoAnswer(
                "input is missing, expected the sides of one record in [model] with features".into(),
            )
        })?;
        let size = sides.iter().try_fold(1usize, |size, side| size.checked_mul(*side)).unwrap_or(0);
        let mut rng =
            Entropy::seeded(self.feature_seed).stream(Purpose::Init, Key { step: 1, ..Key::default() });
        let maps: Vec<Features> = self.feature.iter().map(Features::from).collect();
        FrontEnd::new(layers::shape(Some(sides), size)?, &maps, &mut rng).map(Some)
    }

    /// What the first layer is shown of the records.
    pub(super) fn mapped(&self, data: Dataset) -> Result<Dataset, Refusal> {
        match self.front()? {
            Some(front) => front.apply(&data),
            None => Ok(data),
        }
    }
}
