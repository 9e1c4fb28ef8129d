//! A training plan as TOML, and what it stands for.
//!
//! ```toml
//! unit = "example"
//! adjacency = "add-remove"
//!
//! [data]
//! format = "csv"                       # or npy, npz, idx, digits
//! path = "people.csv.gz"               # relative to the plan
//! label = "outcome"
//! classes = ["no", ["yes", "yes."]]    # or a number of classes; without: numbers, by label_bounds
//!
//! [[data.column]]
//! name = "age"
//! bounds = [0, 100]                    # public, not read from the data
//!
//! [[data.column]]
//! name = "city"
//! categories = ["Basel", "Bern"]
//! unknown = "other"
//!
//! # input = [1, 28, 28]              # sides of one record, where layers or features are for images or sequences
//! # [[model.feature]]                 # fixed features of each record, which cost nothing
//! # kind = "scattering"
//! # scales = 2
//! # angles = 8
//!
//! [[model.layer]]
//! kind = "linear"
//! outputs = 2
//!
//! [training]
//! batch_size = 256
//! epochs = 10
//! learning_rate = 0.5
//!
//! [privacy]
//! epsilon = 1
//! delta = 1e-5
//! clip_norm = 1
//! ```

use super::{
    FeatureSpec, LayerSpec, layers,
    settings::{PrivacySpec, TrainingSpec},
    sources::{self, DataSpec},
};
use crate::{Adjacency, NoiseMultiplier, PrivacyUnit, Refusal, plan};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use veracity_train::{Dataset, Layer, Network, Plan, Privacy};

/// The built-in plan.
const DIGITS: &str = include_str!("digits.toml");

/// `[model]`: the shape of one example and the layers on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// One side for plain numbers, two for a sequence, three for an image: channels, height, width. Plain numbers without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<usize>>,
    /// Fixed features of each record before the first layer, first to last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature: Vec<FeatureSpec>,
    /// What random features are drawn from; public.
    #[serde(default)]
    pub feature_seed: u64,
    /// The layers, first to last.
    pub layer: Vec<LayerSpec>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RecipeFile {
    adjacency: Option<String>,
    unit: Option<String>,
    data: DataSpec,
    model: ModelSpec,
    training: TrainingSpec,
    #[serde(default)]
    privacy: PrivacySpec,
}

/// A training plan, read and not yet carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Recipe {
    file: RecipeFile,
    folder: PathBuf,
    pub(super) adjacency: Adjacency,
    pub(super) unit: PrivacyUnit,
}

impl Recipe {
    /// Reads a plan. Relative paths in it start at `folder`. Never panics, whatever the text.
    pub fn parse(text: &str, folder: &Path) -> Result<Recipe, Refusal> {
        let refuse = |error: toml::de::Error| plan::refuse(text, error.span(), error.message());
        let table: toml::Table = toml::from_str(text).map_err(refuse)?;
        let listed = table.get("model").and_then(|model| model.get("layer")).and_then(toml::Value::as_array);
        for layer in listed.into_iter().flatten() {
            let kind = layer.get("kind").and_then(toml::Value::as_str).unwrap_or_default();
            if let Some(refusal) = Layer::refusal(kind) {
                return Err(refusal);
            }
        }
        let file: RecipeFile = toml::from_str(text).map_err(refuse)?;
        let adjacency = file.adjacency.as_deref().map_or(Ok(Adjacency::default()), str::parse)?;
        let unit = file.unit.as_deref().map_or(Ok(PrivacyUnit::default()), PrivacyUnit::new)?;
        Ok(Recipe { file, folder: folder.to_owned(), adjacency, unit })
    }

    /// The built-in plan: a linear model of handwritten digits.
    pub fn digits() -> Result<Recipe, Refusal> {
        Recipe::parse(DIGITS, Path::new(""))
    }

    /// Reads the records to train on, and checks them as a whole.
    pub fn records(&self) -> Result<Dataset, Refusal> {
        // Features take their time; layers that do not fit them are refused before.
        if self.file.model.front()?.is_some() {
            self.file.model.network(0)?;
        }
        let data = self.file.data.records(&self.folder)?;
        sources::check(&data)?;
        self.file.model.mapped(data)
    }

    /// What the records are like.
    pub fn data(&self) -> &DataSpec {
        &self.file.data
    }

    /// What is computed of them.
    pub fn model(&self) -> &ModelSpec {
        &self.file.model
    }

    /// The budget, and how gradients are clipped.
    pub fn privacy(&self) -> &PrivacySpec {
        &self.file.privacy
    }

    pub(super) fn loss(&self) -> Result<veracity_train::Loss, Refusal> {
        self.file.training.loss()
    }

    /// The plan at a noise multiplier, or without noise.
    pub(super) fn plan(&self, data: &Dataset, noise: Option<NoiseMultiplier>) -> Result<Plan, Refusal> {
        let training = &self.file.training;
        let sampling = training.sampling(data.len())?;
        let privacy = noise.map_or(Ok(Privacy::None), |noise| self.file.privacy.privacy(noise))?;
        let mut plan = Plan::new(
            self.file.model.network(data.width())?,
            training.loss()?,
            sampling,
            training.steps(sampling)?,
            privacy,
            training.optimiser()?,
            training.schedule()?,
        );
        plan.weight_decay = training.weight_decay.unwrap_or(0.0);
        plan.averaging = training.averaging()?;
        Ok(plan)
    }

    /// A number that another plan hardly shares: paths apart, every word counts.
    pub(super) fn fingerprint(&self) -> Result<u64, Refusal> {
        Ok(super::checkpoint::fingerprint(self.written()?.bytes()))
    }

    /// The whole plan in one line, for files that must say what was run.
    pub(crate) fn written(&self) -> Result<String, Refusal> {
        serde_json::to_string(&self.file)
            .map_err(|error| Refusal::NoAnswer(format!("plan cannot be written down: {error}")))
    }
}

impl ModelSpec {
    /// The network on records of so many features.
    pub(super) fn network(&self, width: usize) -> Result<Network, Refusal> {
        let input = match self.front()? {
            Some(front) => front.output(),
            None => layers::shape(self.input.as_deref(), width)?,
        };
        Network::new(input, self.layer.iter().map(Layer::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use veracity_train::Labels;

    #[test]
    fn the_built_in_plan_is_a_plan_and_its_parts_do_not_overlap() {
        let recipe = Recipe::digits().unwrap();
        let (training, held_out) =
            (recipe.records().unwrap(), sources::digits(sources::Part::HeldOut).unwrap());
        assert_eq!((training.len(), held_out.len(), training.width()), (1438, 359, 64));
        for data in [&training, &held_out] {
            assert!(matches!(data.labels(), Labels::Classes { classes: 10, .. }));
            sources::check(data).unwrap();
        }
        assert!((0..359).all(|at| held_out.row(at).iter().all(|grey| (0.0..=1.0).contains(grey))));
        let plan = recipe.plan(&training, None).unwrap();
        assert_eq!((plan.steps.get(), plan.network.parameters()), (112, 650));
    }

    #[test]
    fn a_fingerprint_heeds_every_word_but_the_paths() {
        let of = |text: &str| Recipe::parse(text, Path::new("")).unwrap().fingerprint().unwrap();
        assert_eq!(of(DIGITS), of(&format!("# a remark\n{DIGITS}")));
        assert_ne!(of(DIGITS), of(&DIGITS.replace("momentum = 0.5", "momentum = 0.6")));
        let idx = "[data]\nformat = \"idx\"\npath = \"a\"\nlabels = \"b\"\nclasses = 2\n\
                   [[model.layer]]\nkind = \"relu\"\n[training]\n";
        assert_eq!(of(idx), of(&idx.replace("\"a\"", "\"elsewhere\"")));
        assert_ne!(of(idx), of(&idx.replace("classes = 2", "classes = 3")));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_text_makes_the_reader_panic(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<char>()), 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut text: Vec<char> = DIGITS.chars().collect();
            for (at, change) in changes {
                let at = at.index(text.len());
                text[at] = change;
            }
            text.truncate(cut.index(text.len() + 1));
            let text: String = text.into_iter().collect();
            if let Err(refusal) = Recipe::parse(&text, Path::new("")) {
                prop_assert!(!refusal.to_string().contains('\n') && refusal.to_string().len() < 600);
            }
        }
    }
}
