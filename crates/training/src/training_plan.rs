//! A training plan as TOML, and what it stands for.
//!
//! ```toml
//! unit = "example"
//! adjacency = "add-remove"
//!
//! [data]
//! format = "csv"                       # or npy, npz, idx, digits
//! path = "people.csv.gz"               # relative to the plan
//! # person = "customer"                # all records with one value there are one person's: clipped together
//! label = "outcome"
//! classes = ["no", ["yes", "yes."]]    # or a number of classes; without: numbers, by label_bounds
//!
//! [[data.column]]
//! name = "age"
//! bounds = [0, 100]                    # public, not read from the data
//! # private_bounds = { epsilon = 0.1, quantiles = [0.05, 0.95] }   # within them, by private quantiles: charged
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
//! # [[model.feature]]                 # the private mean of what comes in, taken off: charged beside the training
//! # kind = "private-mean"
//! # noise_multiplier = 10
//!
//! [[model.layer]]
//! kind = "linear"
//! outputs = 2
//!
//! [training]
//! batch_size = 256
//! epochs = 10
//! learning_rate = 0.5
//! # views = 8                          # of each image, shifted by up to view_shift pixels: their mean gradient is clipped
//! # view_shift = 1
//!
//! [privacy]
//! epsilon = 1                          # of everything together
//! delta = 1e-5
//! clip_norm = 1
//! ```
//!
//! Instead of layers there may be a convex model, which is minimised rather than trained; then `[training]` says nothing but
//! the number of `records`, if that:
//!
//! ```toml
//! [model.convex]
//! loss = "logistic"                    # or huber-svm, ridge
//! method = "objective"                 # where the noise goes; or output
//! regularisation = 0.01
//! ```

use super::{
    ConvexSpec, PlanChange,
    chain::Chain,
    features, init,
    settings::{PrivacySpec, TrainingSpec, ViewSettings},
    sources::{self, DataSpec},
};
use serde::{Deserialize, Serialize};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use veracity_account::claims::{Subject, plan};
use veracity_core::printable;
use veracity_core::{Adjacency, Error, Mechanism, NoiseMultiplier, PrivacyUnit, Refusal};
use veracity_train::{
    Dataset, Initial, Layer, Network, Plan, Privacy, Shape, ShiftedViews, Unit, Views, features::Feature,
};

/// The built-in plan.
const DIGITS: &str = include_str!("digits.toml");

/// `[model]`: the shape of one example and the layers on it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// One side for plain numbers, two for a sequence, three for an image: channels, height, width. Plain numbers without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Vec<usize>>,
    /// Features of each record before the first layer, first to last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature: Vec<Feature>,
    /// What random features are drawn from; public.
    #[serde(default)]
    pub feature_seed: u64,
    /// The layers, first to last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layer: Vec<Layer>,
    /// A convex model instead of layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub convex: Option<ConvexSpec>,
}

/// The sections of a training plan, as a file has them or as code writes them down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanSections {
    /// Which datasets must look alike [default: add-remove].
    pub adjacency: Option<String>,
    /// What one record, or all records of one person, is called.
    pub unit: Option<String>,
    /// The records.
    pub data: DataSpec,
    /// What is computed of them.
    pub model: ModelSpec,
    /// What is learnt, from which batches, how fast.
    #[serde(default)]
    pub training: TrainingSpec,
    /// The budget, and how gradients are clipped.
    #[serde(default)]
    pub privacy: PrivacySpec,
}

/// A training plan, read and not yet carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingPlan {
    file: PlanSections,
    folder: PathBuf,
    pub(super) adjacency: Adjacency,
    pub(super) unit: PrivacyUnit,
}

impl TrainingPlan {
    /// Reads a plan. Relative paths in it start at `folder`. Never panics, whatever the text.
    ///
    /// # Errors
    /// Refuses text that is no plan of a training, and names the line.
    pub fn parse(text: &str, folder: &Path) -> Result<TrainingPlan, Refusal> {
        TrainingPlan::parse_with(text, folder, &[])
    }

    /// Reads a plan with some of its lines replaced. What is run, claimed and reported is the plan with these changes.
    ///
    /// # Errors
    /// As [`TrainingPlan::parse`], with the changes named.
    pub fn parse_with(text: &str, folder: &Path, changes: &[PlanChange]) -> Result<TrainingPlan, Refusal> {
        let text = &in_our_words(text);
        let refuse = |error: toml::de::Error| plan::refuse(text, error.span(), error.message());
        let mut table: toml::Table = toml::from_str(text).map_err(refuse)?;
        if table.contains_key("mechanism") {
            return Err(Refusal::invalid(
                "the plan lists mechanisms; a training plan has [data], [model], [training] and [privacy]",
            ));
        }
        changes.iter().try_for_each(|change| change.apply(&mut table))?;
        init::refuse_open(text, &table)?;
        let listed = table.get("model").and_then(|model| model.get("layer")).and_then(toml::Value::as_array);
        for layer in listed.into_iter().flatten() {
            let kind = layer.get("kind").and_then(toml::Value::as_str).unwrap_or_default();
            // One that is refused for a reason; an unknown word is reported with its line below.
            if let Some(refusal @ Refusal::Invalid(_)) = Layer::refusal(kind) {
                return Err(refusal);
            }
        }
        let file = match changes {
            [] => toml::from_str(text).map_err(refuse)?,
            changes => changed(text, table, changes)?,
        };
        TrainingPlan::new(file, folder)
    }

    /// A plan from its sections, written in code. Relative paths start at `folder`.
    ///
    /// # Errors
    /// Refuses sections that contradict one another.
    ///
    /// ```
    /// use std::path::Path;
    /// use veracity_training::{DataSpec, Layer, ModelSpec, PlanSections, PrivacySpec, TrainingPlan, TrainingSpec};
    ///
    /// let sections = PlanSections {
    ///     adjacency: None,
    ///     unit: None,
    ///     data: DataSpec::Digits {},
    ///     model: ModelSpec { layer: vec![Layer::Linear { outputs: 10 }], ..ModelSpec::default() },
    ///     training: TrainingSpec {
    ///         batch_size: Some(256.0),
    ///         epochs: Some(20.0),
    ///         learning_rate: Some(2.0),
    ///         ..TrainingSpec::default()
    ///     },
    ///     privacy: PrivacySpec {
    ///         epsilon: Some(3.0),
    ///         delta: Some(1e-5),
    ///         clip_norm: Some(1.0),
    ///         ..PrivacySpec::default()
    ///     },
    /// };
    /// let plan = TrainingPlan::new(sections, Path::new(""))?;
    /// assert_eq!((plan.dataset(), plan.privacy().epsilon), ("digits".to_owned(), Some(3.0)));
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn new(file: PlanSections, folder: &Path) -> Result<TrainingPlan, Refusal> {
        let adjacency = file.adjacency.as_deref().map_or(Ok(Adjacency::default()), str::parse)?;
        let unit = unit(file.unit.as_deref(), file.data.person())?;
        if file.model.layer.is_empty() == file.model.convex.is_none() {
            return Err(Refusal::invalid(
                "[model] needs either [[model.layer]] or [model.convex], and not both",
            ));
        }
        let parsed = TrainingPlan { file, folder: folder.to_owned(), adjacency, unit };
        if parsed.file.data.person().is_some() {
            parsed.check_people()?;
        }
        Ok(parsed)
    }

    /// Stages that process single records would count a person once per record.
    fn check_people(&self) -> Result<(), Refusal> {
        let charged = self.chain()?.is_charged();
        match (self.is_convex(), charged) {
            (false, false) => Ok(()),
            (true, _) => Err(Refusal::invalid(
                "person cannot be used with a convex model, which protects single records; use layers",
            )),
            (false, true) => Err(Refusal::invalid(
                "person cannot be used with private bounds or a private mean, which protect single records; remove them",
            )),
        }
    }

    /// The built-in plan: a linear model of handwritten digits.
    ///
    /// # Errors
    /// Never: the plan is built in. The type is that of [`TrainingPlan::parse`].
    pub fn digits() -> Result<TrainingPlan, Refusal> {
        TrainingPlan::digits_with(&[])
    }

    /// The built-in plan with some of its lines replaced.
    ///
    /// # Errors
    /// As [`TrainingPlan::parse_with`].
    pub fn digits_with(changes: &[PlanChange]) -> Result<TrainingPlan, Refusal> {
        TrainingPlan::parse_with(DIGITS, Path::new(""), changes)
    }

    /// Reads the records to train on, checks them as a whole, and computes the features that cost nothing, up to the first that
    /// is charged.
    ///
    /// # Errors
    /// Refuses files that cannot be read, labels out of range, and a class without an example.
    pub fn records(&self) -> Result<Dataset, Error> {
        let chain = self.chain()?;
        // Features take their time; layers that do not fit them are refused before.
        if !self.file.model.feature.is_empty() && !self.is_convex() {
            self.file.model.network(0)?;
        }
        let data = self.file.data.records(&self.folder)?;
        sources::check(&data)?;
        Ok(chain.begin(data)?)
    }

    /// What becomes of the records before the model sees them.
    pub(super) fn chain(&self) -> Result<Chain, Refusal> {
        Chain::new(&self.file.data, &self.file.model)
    }

    /// Whether the model is a convex one, which is minimised rather than trained step by step.
    pub fn is_convex(&self) -> bool {
        self.file.model.convex.is_some()
    }

    /// What the records are like.
    pub fn data(&self) -> &DataSpec {
        &self.file.data
    }

    /// What the records are called in a claim: their file, without its folder.
    pub fn dataset(&self) -> String {
        match self.data().path() {
            Some(path) => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            None => "digits".to_owned(),
        }
    }

    /// What is computed of them.
    pub fn model(&self) -> &ModelSpec {
        &self.file.model
    }

    /// The budget, and how gradients are clipped.
    pub fn privacy(&self) -> &PrivacySpec {
        &self.file.privacy
    }

    /// What a mechanism does to the data of whom the plan protects.
    pub fn subject_of(&self, mechanism: Mechanism) -> Subject {
        Subject { mechanism, adjacency: self.adjacency, unit: self.unit.clone() }
    }

    /// What is learnt, from which batches.
    pub(super) fn training(&self) -> &TrainingSpec {
        &self.file.training
    }

    /// The plan at a noise multiplier, or without noise.
    pub(super) fn plan(&self, data: &Dataset, noise: Option<NoiseMultiplier>) -> Result<Plan, Refusal> {
        if self.is_convex() {
            return Err(Refusal::invalid("a convex model has no steps; use layers to train with steps"));
        }
        let training = &self.file.training;
        let sampling = training.sampling(data.units())?;
        let privacy = noise.map_or(Ok(Privacy::None), |noise| self.file.privacy.privacy(noise))?;
        let mut plan = Plan::new(
            self.file.model.network(data.width())?,
            training.loss()?,
            sampling,
            training.steps(sampling)?,
            privacy,
        )
        .with_optimiser(training.optimiser()?)
        .with_schedule(training.schedule()?);
        plan.initial = Initial::Random { scale: training.initial_scale.unwrap_or(1.0) };
        plan.weight_decay = training.weight_decay.unwrap_or(0.0);
        plan.averaging = training.averaging()?;
        plan.unit = if self.file.data.person().is_some() { Unit::Person } else { Unit::Record };
        plan.views = self.file.model.views(training, data.width())?;
        Ok(plan)
    }

    /// A number that another plan hardly shares: paths apart, every word counts.
    pub(super) fn fingerprint(&self) -> Result<u64, Refusal> {
        Ok(super::checkpoint::fingerprint(self.written()?.bytes()))
    }

    /// The whole plan in one line, for files that must say what was run.
    ///
    /// # Errors
    /// Refuses numbers that JSON cannot hold.
    pub fn written(&self) -> Result<String, Refusal> {
        serde_json::to_string(&self.file)
            .map_err(|error| Refusal::invalid(format!("plan cannot be written down: {error}")))
    }
}

/// A plan after its changes. Its lines are no longer those of the file, so an error names the changes, unless the file has it too.
fn changed(text: &str, table: toml::Table, changes: &[PlanChange]) -> Result<PlanSections, Refusal> {
    PlanSections::deserialize(toml::Value::Table(table)).map_err(|error| {
        let places = changes.iter().map(PlanChange::place).collect::<Vec<_>>().join(", ");
        match toml::from_str::<PlanSections>(text) {
            Err(own) if own.message() == error.message() => plan::refuse(text, own.span(), own.message()),
            _ => Refusal::invalid(format!("plan with {places} set: {}", plan::plainly(error.message()))),
        }
    })
}

/// Other tools call a linear layer dense. The word is taken in plans alone, so that models have one word for it.
fn in_our_words(text: &str) -> String {
    let mut words = text.to_owned();
    for quote in ['"', '\''] {
        let dense = format!("{quote}dense{quote}");
        let is_kind = |before: &str| {
            before.trim_end().strip_suffix('=').is_some_and(|key| key.trim_end().ends_with("kind"))
        };
        while let Some((at, _)) = words.match_indices(&dense).find(|(at, _)| is_kind(&words[..*at])) {
            words.replace_range(at..at + dense.len(), &format!("{quote}linear{quote}"));
        }
    }
    words
}

/// Whose data is protected: one record, or all records that a column says are of one person.
fn unit(name: Option<&str>, person: Option<&str>) -> Result<PrivacyUnit, Refusal> {
    let is_record = |name: &str| matches!(name, "record" | "example" | "row");
    match (name, person) {
        (None, None) => Ok(PrivacyUnit::default()),
        (None, Some(_)) => PrivacyUnit::new("person"),
        (Some(name), None) if is_record(name) => PrivacyUnit::new(name),
        (Some(name), Some(_)) if !is_record(name) => PrivacyUnit::new(name),
        (Some(other), None) => {
            let shown = printable(other, 40);
            Err(Refusal::invalid(format!(
                "unit is {shown}, expected record or example; to protect all records of one {shown}, add \
                 person = \"COLUMN\" to [data]"
            )))
        }
        (Some(name), Some(_)) => Err(Refusal::invalid(format!(
            "unit = \"{name}\" conflicts with person in [data]; name the unit after the person, such as \"patient\""
        ))),
    }
}

impl ModelSpec {
    /// The network on records of so many features.
    pub(super) fn network(&self, width: usize) -> Result<Network, Refusal> {
        Network::new(self.shape(width)?, self.layer.clone())
    }

    /// The shape of what the first layer is shown.
    fn shape(&self, width: usize) -> Result<Shape, Refusal> {
        match self.front()? {
            Some((_, output)) => Ok(output),
            None => features::shape(self.input.as_deref(), width),
        }
    }

    /// What an example is shown as, where the plan asks for more than one view.
    fn views(&self, training: &TrainingSpec, width: usize) -> Result<Option<Arc<dyn Views>>, Refusal> {
        let Some(views) = training.views()? else { return Ok(None) };
        if !self.feature.is_empty() {
            return Err(Refusal::invalid(
                "views cannot be used with features, because views are made from the image itself; remove one of them",
            ));
        }
        let ViewSettings { count, shift, mirror } = views;
        let shifted = ShiftedViews::new(self.shape(width)?, count, shift, mirror, &mut self.stream(2))?;
        Ok(Some(Arc::new(shifted)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{prelude::*, test_runner::RngSeed};
    use veracity_train::Labels;

    #[test]
    fn the_built_in_plan_is_a_plan_and_its_parts_do_not_overlap() {
        let asked = TrainingPlan::digits().unwrap();
        let (training, held_out) =
            (asked.records().unwrap(), sources::digits(sources::Part::HeldOut).unwrap());
        assert_eq!((training.len(), held_out.len(), training.width()), (1438, 359, 64));
        for data in [&training, &held_out] {
            assert!(matches!(data.labels(), Labels::Classes { classes: 10, .. }));
            sources::check(data).unwrap();
        }
        assert!((0..359).all(|at| held_out.row(at).iter().all(|grey| (0.0..=1.0).contains(grey))));
        let plan = asked.plan(&training, None).unwrap();
        assert_eq!((plan.steps.get(), plan.network.parameters()), (112, 650));
    }

    #[test]
    fn a_fingerprint_heeds_every_word_but_the_paths() {
        let of = |text: &str| TrainingPlan::parse(text, Path::new("")).unwrap().fingerprint().unwrap();
        assert_eq!(of(DIGITS), of(&format!("# a remark\n{DIGITS}")));
        assert_ne!(of(DIGITS), of(&DIGITS.replace("momentum = 0.5", "momentum = 0.6")));
        let idx = "[data]\nformat = \"idx\"\npath = \"a\"\nlabels = \"b\"\nclasses = 2\n\
                   [[model.layer]]\nkind = \"relu\"\n[training]\n";
        assert_eq!(of(idx), of(&idx.replace("\"a\"", "\"elsewhere\"")));
        assert_ne!(of(idx), of(&idx.replace("classes = 2", "classes = 3")));
    }

    #[test]
    fn words_of_other_tools_are_ours() {
        let of = |text: &str| TrainingPlan::parse(text, Path::new("")).unwrap().written().unwrap();
        let ours = DIGITS.replace("momentum = 0.5", "optimiser = \"sgd\"\nmomentum = 0.5");
        for theirs in [
            ours.replace("optimiser", "optimizer"),
            ours.replace("kind = \"linear\"", "kind = \"dense\""),
            ours.replace("kind = \"linear\"", "kind='dense'"),
        ] {
            assert_eq!(of(&theirs), of(&ours));
        }
    }

    #[test]
    fn changes_are_the_plan_with_these_lines_and_errors_name_them() {
        let with = |changes: &[&str]| {
            let changes: Vec<PlanChange> = changes.iter().map(|change| change.parse().unwrap()).collect();
            TrainingPlan::digits_with(&changes)
        };
        let twin = DIGITS.replace("epsilon = 3", "epsilon = 2").replace("outputs = 10", "outputs = 11");
        let twin = TrainingPlan::parse(&twin, Path::new("")).unwrap();
        assert_eq!(with(&["privacy.epsilon=2", "model.layer.0.outputs=11"]).unwrap(), twin);
        for (change, told) in [
            (
                "privcy.epsilon=2",
                "plan with privcy.epsilon set: unknown field `privcy`, expected adjacency, unit, data",
            ),
            (
                "privacy.epsilom=2",
                "plan with privacy.epsilom set: unknown field `epsilom`, expected epsilon, delta",
            ),
            ("privacy.epsilon=two", "plan with privacy.epsilon set: invalid type: string"),
        ] {
            let refusal = with(&[change]).unwrap_err().to_string();
            assert!(refusal.starts_with(told) && !refusal.contains('\n'), "{refusal}");
        }
        assert!(with(&["privcy.epsilon=2"]).unwrap_err().to_string().ends_with("did you mean `privacy`?"));
        // What is wrong in the file itself still has its line.
        let wrong = DIGITS.replace("momentum", "momentun");
        let change = "privacy.epsilon=2".parse().unwrap();
        let refusal = TrainingPlan::parse_with(&wrong, Path::new(""), &[change]).unwrap_err().to_string();
        assert!(refusal.starts_with("plan line 16: unknown field `momentun`"), "{refusal}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() })]
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
            if let Err(refusal) = TrainingPlan::parse(&text, Path::new("")) {
                prop_assert!(!refusal.to_string().contains('\n') && refusal.to_string().len() < 700);
            }
        }
    }
}
