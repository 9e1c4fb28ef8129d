//! Many models by one plan: each by itself, in memory of its own, from streams keyed by (run, trial, step).
//!
//! Model m of a cohort has the same bits as model m trained alone, on any number of threads, in any shard: micro-batches and
//! the lanes that sum them are laid out by the plan, never by the machine.

use crate::{
    ClippedSum, Clipping, Dataset, Network, Plan, Privacy,
    lanes::{Clip, Lanes, MICRO_BATCH},
    optimiser::Memory,
    pass::Pass,
    private::{Calibrated, privatize},
    sampling::{Sampling, poisson},
};
use rayon::prelude::*;
use veracity_core::Refusal;
use veracity_noise::{Entropy, Family, Purpose};

/// A trained model.
#[derive(Debug, Clone, PartialEq)]
pub struct Trained {
    /// Its parameters, as [`crate::Network`] lays them out.
    pub parameters: Vec<f32>,
}

/// Trains the models `trials` of run `run`.
pub fn train(
    plan: &Plan,
    data: &Dataset,
    entropy: &Entropy,
    run: u64,
    trials: std::ops::Range<u64>,
) -> Result<Vec<Trained>, Refusal> {
    check(plan, data)?;
    trials.into_par_iter().map(|trial| train_one(plan, data, entropy, run, trial)).collect()
}

fn check(plan: &Plan, data: &Dataset) -> Result<(), Refusal> {
    if data.width() != plan.network.input().size() {
        return Err(Refusal::NoAnswer(format!(
            "records have {} features, expected {} for this network",
            data.width(),
            plan.network.input().size()
        )));
    }
    plan.loss.check(plan.network.output(), data.labels())
}

fn train_one(
    plan: &Plan,
    data: &Dataset,
    entropy: &Entropy,
    run: u64,
    trial: u64,
) -> Result<Trained, Refusal> {
    let mut model = Model::new(plan, entropy, run, trial)?;
    for step in 0..plan.steps.get() {
        model.step(plan, data, step)?;
    }
    Ok(Trained { parameters: model.parameters })
}

/// The outputs of a network for every record, one row each.
pub fn predict(network: &Network, parameters: &[f32], data: &Dataset) -> Result<Vec<f32>, Refusal> {
    if data.width() != network.input().size() || parameters.len() != network.parameters() {
        return Err(Refusal::NoAnswer(
            "the model does not fit the records, expected as many features as it has inputs".into(),
        ));
    }
    let width = network.output().size();
    let mut outputs = vec![0.0; data.len() * width];
    outputs.par_chunks_mut(MICRO_BATCH * width).enumerate().for_each(|(at, rows)| {
        let (first, count) = (at * MICRO_BATCH, rows.len() / width);
        let mut pass = Pass::new(network, count);
        for (row, record) in pass.input(network, count).chunks_exact_mut(data.width()).zip(first..) {
            row.copy_from_slice(data.row(record));
        }
        pass.forward(network, parameters, count);
        rows.copy_from_slice(pass.output(network, count));
    });
    Ok(outputs)
}

/// One model at work.
struct Model {
    parameters: Vec<f32>,
    memory: Memory,
    noise: Option<Calibrated>,
    batches: Family,
    noises: Family,
    batch: Vec<u32>,
    lanes: Lanes,
}

impl Model {
    fn new(plan: &Plan, entropy: &Entropy, run: u64, trial: u64) -> Result<Model, Refusal> {
        let parameters = plan.network.initialise(&mut entropy.family(Purpose::Init, run, trial).stream(0));
        let noise = match plan.privacy {
            Privacy::Gaussian { noise, clip, .. } => Some(Calibrated::new(noise, clip, parameters.len())?),
            Privacy::None => None,
        };
        Ok(Model {
            memory: plan.optimiser.memory(parameters.len()),
            noise,
            batches: entropy.family(Purpose::Batch, run, trial),
            noises: entropy.family(Purpose::Noise, run, trial),
            batch: Vec::new(),
            lanes: Lanes::new(plan),
            parameters,
        })
    }

    /// One step; also when the batch is empty, since whether it is is private.
    fn step(&mut self, plan: &Plan, data: &Dataset, step: u64) -> Result<(), Refusal> {
        match plan.sampling {
            Sampling::Poisson { .. } => {
                let mut rng = self.batches.stream(step);
                poisson(plan.sampling.rate()?, data.len(), &mut self.batch, &mut rng);
            }
        }
        let clip = match (plan.privacy, &self.noise) {
            (Privacy::Gaussian { clipping, .. }, Some(noise)) => Clip { clipping, norm: noise.room() },
            // Without privacy nothing is clipped.
            _ => Clip { clipping: Clipping::Flat, norm: f32::INFINITY },
        };
        let sum = self.lanes.clipped_sum(plan, data, &self.batch, &self.parameters, clip);
        let scale = 1.0 / plan.sampling.planned().as_f64() as f32;
        let rate = plan.schedule.rate(step, plan.steps.get());
        let gradient: &[f32] = match &self.noise {
            Some(noise) => privatize(ClippedSum::new(sum), noise, &self.noises, step).values(),
            None => sum,
        };
        plan.optimiser.step(&mut self.parameters, gradient, scale, rate, &mut self.memory);
        Ok(())
    }
}
