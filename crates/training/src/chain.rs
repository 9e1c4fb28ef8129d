//! What becomes of records before a model sees them: stages, of which some cost nothing and some are charged.
//!
//! A stage that looks at one record at a time is free. One that is charged learns a statistic of all training records, with
//! noise; the statistic is kept with the model, and whoever has it applies the stage to other records without a further cost.

use super::{
    DataSpec, ModelSpec,
    tensors::{Tensor, Tensors},
};
use std::{collections::BTreeMap, fmt, path::Path};
use veracity_account::claims::NoiseNote;
use veracity_core::files::saving::replace;
use veracity_core::{Adjacency, Count, Error, Mechanism, Refusal};
use veracity_noise::Entropy;
use veracity_train::{Dataset, Shape, features::FrontEnd};

/// Under which word the fingerprint is in the metadata of kept statistics.
const PLAN: &str = "veracity-statistics";

/// What a charged stage learns by: where its noise comes from, and what is public.
#[derive(Debug, Clone, Copy)]
pub(super) struct Learner<'a> {
    pub entropy: &'a Entropy,
    /// The number of records that the plan says.
    pub population: Count,
    pub adjacency: Adjacency,
}

/// A stage that looks at all records.
pub(super) trait ChargedStage: fmt::Debug {
    /// The name and the shape of what it learns; without values.
    fn tensor(&self) -> Tensor;

    /// What learning does to the records, for the accountant.
    fn mechanisms(&self, adjacency: Adjacency) -> Result<Vec<Mechanism>, Refusal>;

    /// Its noise calls, as a claim lists them.
    fn notes(&self) -> Result<Vec<NoiseNote>, Refusal>;

    /// Learns with noise. No two stages have the same `place`.
    fn learn(&self, data: &Dataset, learner: &Learner<'_>, place: u64) -> Result<Vec<f32>, Refusal>;

    /// Learns without noise: for comparison, never for release.
    fn fit_without_noise(&self, data: &Dataset) -> Result<Vec<f32>, Refusal>;

    /// Applies what was learnt to each record.
    fn apply(&self, statistic: &[f32], data: Dataset) -> Result<Dataset, Refusal>;
}

/// A stage.
#[derive(Debug)]
pub(super) enum Stage {
    Fixed(FrontEnd),
    Charged(Box<dyn ChargedStage>),
}

/// What the charged stages learnt, one after the other.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics(pub(super) Vec<Vec<f32>>);

/// All stages, in their order.
#[derive(Debug)]
pub(super) struct Chain {
    stages: Vec<Stage>,
    /// What comes out, where features say so; otherwise what went in.
    output: Option<Shape>,
}

impl Chain {
    pub(super) fn new(data: &DataSpec, model: &ModelSpec) -> Result<Chain, Refusal> {
        let bounds = data.private_bounds()?;
        let mut stages: Vec<Stage> = bounds
            .into_iter()
            .map(|bounds| Stage::Charged(Box::new(bounds) as Box<dyn ChargedStage>))
            .collect();
        let output = match model.front()? {
            Some((front, output)) => {
                stages.extend(front);
                Some(output)
            }
            None => None,
        };
        Ok(Chain { stages, output })
    }

    /// How many numbers come out for records of so many.
    pub(super) fn width(&self, records: usize) -> usize {
        self.output.map_or(records, Shape::size)
    }

    fn charged(&self) -> impl Iterator<Item = &dyn ChargedStage> {
        self.stages.iter().filter_map(|stage| match stage {
            Stage::Fixed(_) => None,
            Stage::Charged(charged) => Some(&**charged),
        })
    }

    /// Whether anything in it has a price.
    pub(super) fn is_charged(&self) -> bool {
        self.charged().next().is_some()
    }

    pub(super) fn mechanisms(&self, adjacency: Adjacency) -> Result<Vec<Mechanism>, Refusal> {
        let parts: Result<Vec<_>, _> = self.charged().map(|stage| stage.mechanisms(adjacency)).collect();
        Ok(parts?.concat())
    }

    pub(super) fn notes(&self) -> Result<Vec<NoiseNote>, Refusal> {
        let parts: Result<Vec<_>, _> = self.charged().map(ChargedStage::notes).collect();
        Ok(parts?.concat())
    }

    /// The tensors of what is learnt; without values.
    pub(super) fn tensors(&self) -> Vec<Tensor> {
        self.charged().map(ChargedStage::tensor).collect()
    }

    /// The free stages before the first that is charged: nothing of them needs noise.
    pub(super) fn begin(&self, data: Dataset) -> Result<Dataset, Refusal> {
        pass(&self.stages[..self.price()], data, |_, _| {
            Err(Refusal::invalid("a charged stage is no free one"))
        })
    }

    /// The stages from the first that is charged on, learning as they come.
    pub(super) fn learn(
        &self,
        data: Dataset,
        learner: Option<&Learner<'_>>,
    ) -> Result<(Dataset, Statistics), Refusal> {
        let mut statistics = Vec::new();
        let data = pass(&self.stages[self.price()..], data, |stage, data| {
            let learnt = match learner {
                Some(learner) => stage.learn(data, learner, statistics.len() as u64)?,
                None => stage.fit_without_noise(data)?,
            };
            statistics.push(learnt.clone());
            Ok(learnt)
        })?;
        Ok((data, Statistics(statistics)))
    }

    /// The same stages with what was learnt before.
    pub(super) fn recall(&self, data: Dataset, statistics: &Statistics) -> Result<Dataset, Refusal> {
        let mut learnt = statistics.0.iter();
        pass(&self.stages[self.price()..], data, |_, _| {
            learnt
                .next()
                .cloned()
                .ok_or_else(|| Refusal::invalid("internal error: a statistic of the features is missing"))
        })
    }

    /// All stages, on records that were not trained on.
    pub(super) fn apply(&self, data: Dataset, statistics: &Statistics) -> Result<Dataset, Refusal> {
        self.recall(self.begin(data)?, statistics)
    }

    /// The first charged stage.
    fn price(&self) -> usize {
        let charged = |stage: &Stage| matches!(stage, Stage::Charged(_));
        self.stages.iter().position(charged).unwrap_or(self.stages.len())
    }
}

fn pass(
    stages: &[Stage],
    mut data: Dataset,
    mut statistic: impl FnMut(&dyn ChargedStage, &Dataset) -> Result<Vec<f32>, Refusal>,
) -> Result<Dataset, Refusal> {
    for stage in stages {
        data = match stage {
            Stage::Fixed(front) => front.apply(&data)?,
            Stage::Charged(stage) => {
                let statistic = statistic(&**stage, &data)?;
                stage.apply(&statistic, data)?
            }
        };
    }
    Ok(data)
}

impl Statistics {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keeps what was learnt beside a checkpoint: learnt anew, it would have to be paid for again.
    pub(super) fn save(&self, path: &Path, chain: &Chain, plan: u64) -> Result<(), Error> {
        let named = chain.tensors().into_iter().zip(&self.0);
        let tensors = named.map(|(tensor, values)| Tensor { values: values.clone(), ..tensor }).collect();
        let about = BTreeMap::from([(PLAN.to_owned(), format!("{plan:016x}"))]);
        replace("statistics", path, &Tensors { about, tensors }.to_bytes(), is_statistics)
    }

    /// What was kept, if it is of this plan. Whether it is of these records shows in the checkpoint: that of others is refused.
    pub(super) fn load(path: &Path, chain: &Chain, plan: u64) -> Result<Statistics, Error> {
        let refuse = |why: &str| Error::file("statistics", path, why);
        let found = Tensors::read("statistics", path)?;
        if found.about.get(PLAN) != Some(&format!("{plan:016x}")) {
            return Err(refuse("statistics of this plan; resume with the plan that the run started with"));
        }
        let expected = chain.tensors();
        let fits = expected.len() == found.tensors.len()
            && expected.iter().zip(&found.tensors).all(|(a, b)| {
                a.name == b.name && a.shape == b.shape && b.values.iter().all(|value| value.is_finite())
            });
        if !fits {
            return Err(refuse("statistics of the features of this plan, found others"));
        }
        Ok(Statistics(found.tensors.into_iter().map(|tensor| tensor.values).collect()))
    }
}

/// Whether a file is what a run kept of its records.
pub(super) fn is_statistics(bytes: &[u8]) -> bool {
    Tensors::parse(bytes).is_ok_and(|found| found.about.contains_key(PLAN))
}
