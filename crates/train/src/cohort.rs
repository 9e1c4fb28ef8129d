//! Many models by one plan: each by itself, in memory of its own, from streams keyed by (run, trial, step).
//!
//! Model m of a cohort has the same bits as model m trained alone, on any number of threads, in any shard: micro-batches and
//! the shards that sum them are laid out by the plan, never by the machine.

use crate::{
    Dataset, Network, Plan, World,
    pass::Pass,
    run::{Draws, Run, TrainedModel},
    sampling::Sampler,
};
use rayon::prelude::*;
use std::ops::Range;
use veracity_core::Refusal;
use veracity_noise::Entropy;

/// A plan with what all its models share, made once.
#[derive(Debug)]
pub struct Cohort {
    plan: Plan,
    sampler: Sampler,
}

impl Cohort {
    /// Makes it.
    ///
    /// # Errors
    /// Refuses a sampling whose batch exceeds its population.
    pub fn new(plan: Plan) -> Result<Cohort, Refusal> {
        let sampler = Sampler::new(plan.sampling)?;
        Ok(Cohort { plan, sampler })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// One model before its first step.
    ///
    /// # Errors
    /// As [`Run::new`].
    pub fn begin<'a>(&'a self, world: World<'a>, draws: Draws<'_>) -> Result<Run<'a>, Refusal> {
        self.plan.check(world)?;
        Run::with_sampler(&self.plan, world, draws, self.sampler.clone())
    }
}

/// Trains the models `trials` of run `run`, all on one world.
///
/// # Errors
/// As [`Run::new`].
///
/// # Examples
///
/// Model 2 of a cohort is model 2 trained alone:
///
/// ```
/// use veracity_noise::Entropy;
/// use veracity_train::cohort;
/// # use veracity_core::{ClipNorm, Count, NoiseMultiplier};
/// # use veracity_train::*;
/// # let features = (0..400).flat_map(|i| [if i % 2 == 1 { 1.0 } else { -1.0 }, 0.5]).collect();
/// # let data = Dataset::new(features, 2, Labels::Classes { of: (0..400).map(|i| i % 2).collect(), classes: 2 })?;
/// # let network = Network::new(Shape::Flat(2), vec![Layer::Linear { outputs: 1 }])?;
/// # let sampling = Sampling::Poisson { batch: Count::new(40)?, population: Count::new(400)? };
/// # let privacy = Privacy::gaussian(NoiseMultiplier::new(1.0)?, ClipNorm::new(1.0)?);
/// # let plan = Plan::new(network, Loss::Logistic, sampling, Count::new(20)?, privacy);
///
/// let entropy = Entropy::seeded(1);
/// let cohort = cohort::train(&plan, &data, &entropy, 0, 0..4)?;
/// let alone = cohort::train(&plan, &data, &entropy, 0, 2..3)?;
/// assert_eq!(cohort[2], alone[0]);
/// assert_ne!(cohort[1], alone[0]);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn train<'a>(
    plan: &'a Plan,
    world: impl Into<World<'a>>,
    entropy: &Entropy,
    run: u64,
    trials: Range<u64>,
) -> Result<Vec<TrainedModel>, Refusal> {
    let world = world.into();
    plan.check(world)?;
    let sampler = Sampler::new(plan.sampling)?;
    let one = |trial| train_one(plan, world, Draws { entropy, run, trial }, &sampler);
    trials.into_par_iter().map(one).collect()
}

fn train_one(
    plan: &Plan,
    world: World<'_>,
    draws: Draws<'_>,
    sampler: &Sampler,
) -> Result<TrainedModel, Refusal> {
    let mut run = Run::with_sampler(plan, world, draws, sampler.clone())?;
    while run.step()? {}
    Ok(run.model())
}

/// The outputs of a network for every record, one row each.
///
/// # Errors
/// Refuses records or parameters of another network.
pub fn predict(network: &Network, parameters: &[f32], data: &Dataset) -> Result<Vec<f32>, Refusal> {
    if data.width() != network.input().size() || parameters.len() != network.parameters() {
        return Err(Refusal::Invalid(
            "the model does not match the records; they need one feature per input of the model".into(),
        ));
    }
    let (width, most) = (network.output().size(), network.micro_batch());
    let mut outputs = vec![0.0; data.len() * width];
    outputs.par_chunks_mut(most * width).enumerate().for_each(|(at, rows)| {
        let (first, count) = (at * most, rows.len() / width);
        let mut pass = Pass::new(network, count);
        for (row, record) in pass.input(network, count).chunks_exact_mut(data.width()).zip(first..) {
            row.copy_from_slice(data.row(record));
        }
        pass.forward(network, parameters, count);
        rows.copy_from_slice(pass.output(network, count));
    });
    Ok(outputs)
}
