//! Many trainings at once, on whatever machine can take them: an auditor says what is to be read of each, and gets nothing else.
//!
//! [`Cpu`] trains by [`crate::Run`], one model after another on all cores. Other devices are crates of their own. They draw the same
//! batches and the same noise integers, to the bit, and compute in whole numbers ([`crate::integer`]): their sums are rounded otherwise.

use crate::{
    Dataset, Draws, Plan, World,
    cohort::{Cohort, predict},
    integer::Scores,
    sampling::Sampler,
};
use rayon::prelude::*;
use std::fmt;
use veracity_core::Refusal;
use veracity_noise::{Entropy, Purpose};

/// Trainings by one plan.
#[derive(Debug, Clone, Copy)]
pub struct Trainings<'a> {
    /// The plan of all of them.
    pub plan: &'a Plan,
    /// What each is trained on. All share one dataset, and differ in what was planted in it.
    pub worlds: &'a [World<'a>],
    /// The number of each: with the run and the entropy, what it draws.
    pub trials: &'a [u64],
    /// The run.
    pub run: u64,
    /// What they draw from.
    pub entropy: &'a Entropy,
    /// What is read of each.
    pub read: Reading<'a>,
}

/// What is read of a training.
#[derive(Debug, Clone, Copy)]
pub enum Reading<'a> {
    /// Step by step, what its noisy sum says at some parameters, and along some directions.
    Sums {
        /// The parameters.
        parameters: &'a [u32],
        /// The directions: each has a number for every parameter.
        directions: &'a [&'a [f32]],
    },
    /// What an attacker who sees every step makes of it: for each canary a log-likelihood ratio, in two parts whose sum it is.
    Scores(&'a Likelihoods<'a>),
    /// What the last model says of some records: the outputs of the first, of the second, and so on.
    Outputs(&'a Dataset),
    /// The parameters of the last model.
    Parameters,
}

/// What an attacker who sees every step knows: canaries own a parameter each, and what the records contribute there is expected.
#[derive(Debug, Clone, Copy)]
pub struct Likelihoods<'a> {
    /// The parameter of each canary.
    pub parameters: &'a [u32],
    /// Along which the records are heard: each has a number for every parameter.
    pub directions: &'a [&'a [f32]],
    /// For each stretch of steps, what to expect at each of the parameters and then along each direction.
    pub expected: &'a [f32],
    /// Stretches of steps.
    pub stretches: u64,
    /// For each direction, what is taken away at each canary's parameter for one along it.
    pub taken: &'a [f64],
    /// For each canary, what a sum is multiplied with to be in copies of it, and the inverse of its variance in these units.
    pub places: &'a [(f64, f64)],
    /// The chance that so many copies are in a batch, for none and up to all of them.
    pub chances: &'a [f64],
    /// How its worlds differ.
    pub worlds: Worlds,
}

/// How the worlds of a canary differ.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Worlds {
    /// Its copies may be in a batch, or there are none.
    Mixed,
    /// Its copies may be in a batch, or their opposites.
    Opposed,
    /// A sum is taken as it is, less what lies half way between the worlds.
    Apart {
        /// That.
        shift: f64,
    },
}

impl Likelihoods<'_> {
    /// The stretch that a step is in.
    pub fn stretch(&self, step: u64, steps: u64) -> usize {
        (u128::from(step) * u128::from(self.stretches) / u128::from(steps)) as usize
    }

    /// Whether there is a number for each canary, direction and stretch.
    fn is_whole(&self) -> bool {
        let (count, along) = (self.parameters.len(), self.directions.len());
        self.expected.len() as u64 == self.stretches.saturating_mul((count + along) as u64)
            && self.stretches >= 1
            && self.taken.len() == count * along
            && self.places.len() == count
            && !self.chances.is_empty()
    }
}

impl<'a> Reading<'a> {
    /// The parameters and directions at which noisy sums are looked at, where they are.
    pub fn of_sums(self) -> Option<(&'a [u32], &'a [&'a [f32]])> {
        match self {
            Reading::Sums { parameters, directions } => Some((parameters, directions)),
            Reading::Scores(attack) => Some((attack.parameters, attack.directions)),
            Reading::Outputs(_) | Reading::Parameters => None,
        }
    }

    /// How many numbers are read of one training of a plan.
    pub fn len(&self, plan: &Plan) -> usize {
        match self {
            Reading::Sums { parameters, directions } => {
                (parameters.len() + directions.len()) * plan.steps.get() as usize
            }
            Reading::Scores(attack) => 2 * attack.parameters.len(),
            Reading::Outputs(records) => records.len() * plan.network.output().size(),
            Reading::Parameters => plan.network.parameters(),
        }
    }
}

impl Trainings<'_> {
    /// Refuses trainings of which something does not fit: a world for each trial, one dataset, numbers for every parameter.
    ///
    /// # Errors
    /// Names the first mismatch.
    pub fn check(&self) -> Result<(), Refusal> {
        let wrong = |why: &str| Err(Refusal::Invalid(why.to_owned()));
        if self.worlds.len() != self.trials.len() {
            return wrong("the number of worlds differs from the number of trials");
        }
        if let Some(first) = self.worlds.first() {
            self.plan.check(*first)?;
            let others = || self.worlds.par_iter().with_min_len(256);
            if !others().all(|world| std::ptr::eq(first.data(), world.data())) {
                return wrong("the training runs use several datasets; they must share one");
            }
            // Most worlds differ from the first in what was chosen alone, and need not be looked at as a whole.
            others().try_for_each(|world| match world.differs_in_choices_alone(first) {
                true => self.plan.check_crafted(*world),
                false => self.plan.check(*world),
            })?;
        }
        let size = self.plan.network.parameters();
        if let Reading::Scores(attack) = self.read
            && (!attack.is_whole() || attack.stretches > self.plan.steps.get())
        {
            return wrong("the attack does not match the number of canaries, directions or parts of the run");
        }
        if let Some((parameters, directions)) = self.read.of_sums() {
            if matches!(self.plan.privacy, crate::Privacy::None) {
                return wrong("noisy sums cannot be read from a training run without noise");
            }
            if parameters.iter().any(|at| *at as usize >= size) {
                return wrong("the attack reads a parameter that the network does not have");
            }
            if directions.iter().any(|direction| direction.len() != size) {
                return wrong("a direction does not have as many entries as the network has parameters");
            }
        }
        if let Reading::Outputs(records) = self.read
            && records.width() != self.plan.network.input().size()
        {
            return wrong(
                "the model does not match the records; they need one feature per input of the model",
            );
        }
        Ok(())
    }
}

/// A machine that trains many models at once.
pub trait Device: fmt::Debug + Send + Sync {
    /// What it is, for protocols and pages: `cpu`, or the kind, number and name of an accelerator.
    fn name(&self) -> String;

    /// How many trainings it should be given at once.
    fn portion(&self, plan: &Plan) -> usize;

    /// Refuses a plan that it cannot train, in one line that says what it can.
    ///
    /// # Errors
    /// Names what the device cannot train.
    fn check(&self, plan: &Plan) -> Result<(), Refusal>;

    /// Whether it makes scores by itself ([`Reading::Scores`]), in operations of its own that [`crate::integer::IntegerReference`] repeats to
    /// the bit. Whoever asks others makes scores of the sums that are read.
    fn has_scores(&self) -> bool {
        false
    }

    /// Trains, and returns what was read of each.
    ///
    /// # Errors
    /// Refuses what [`Trainings::check`] or [`Device::check`] refuse.
    fn train(&self, trainings: &Trainings<'_>) -> Result<Vec<Vec<f32>>, Refusal>;
}

/// The cores of this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct Cpu;

impl Device for Cpu {
    fn name(&self) -> String {
        "cpu".to_owned()
    }

    fn portion(&self, _: &Plan) -> usize {
        4 * rayon::current_num_threads()
    }

    fn check(&self, _: &Plan) -> Result<(), Refusal> {
        Ok(())
    }

    fn train(&self, trainings: &Trainings<'_>) -> Result<Vec<Vec<f32>>, Refusal> {
        trainings.check()?;
        let cohort = Cohort::new(trainings.plan.clone())?;
        let each = trainings.worlds.par_iter().zip(trainings.trials);
        let draws = |trial: u64| Draws { entropy: trainings.entropy, run: trainings.run, trial };
        each.map(|(world, trial)| read_one(&cohort, *world, draws(*trial), trainings.read)).collect()
    }
}

/// Trains one model, and returns what is read of it: what [`Cpu`] reads of each.
///
/// # Errors
/// As [`Run::new`](crate::Run::new).
pub fn read_one(
    cohort: &Cohort,
    world: World<'_>,
    draws: Draws<'_>,
    read: Reading<'_>,
) -> Result<Vec<f32>, Refusal> {
    let mut run = cohort.begin(world, draws)?;
    let mut found = Vec::with_capacity(read.len(cohort.plan()));
    let steps = cohort.plan().steps.get();
    let mut scores = match read {
        Reading::Scores(attack) => Some(Scores::new(attack, steps)),
        _ => None,
    };
    let mut step = 0;
    while run.step()? {
        let Some(said) = run.last_noisy_sum() else { continue };
        if let Reading::Sums { parameters, directions } = read {
            found.extend(parameters.iter().map(|at| said[*at as usize]));
            found.extend(directions.iter().map(|direction| along(direction, said)));
        }
        if let (Reading::Scores(attack), Some(scores)) = (read, &mut scores) {
            let heard: Vec<f32> = attack.directions.iter().map(|direction| along(direction, said)).collect();
            scores.hear(step, |at| said[at as usize], &heard);
        }
        step += 1;
    }
    match read {
        Reading::Sums { .. } => Ok(found),
        Reading::Scores(_) => Ok(scores.map_or_else(Vec::new, |scores| scores.read())),
        Reading::Outputs(records) => predict(&cohort.plan().network, &run.model().parameters, records),
        Reading::Parameters => Ok(run.model().parameters),
    }
}

/// What is read along a direction: an inner product, added up in `f64` so that it does not matter in which order: here in as many sums side by side as processors
/// add at once.
pub fn along(direction: &[f32], said: &[f32]) -> f32 {
    const SIDE: usize = 8;
    let mut sums = [0.0f64; SIDE];
    let (ours, theirs) = (direction.chunks_exact(SIDE), said.chunks_exact(SIDE));
    let times = |(a, b): (&f32, &f32)| f64::from(*a) * f64::from(*b);
    let rest: f64 = ours.remainder().iter().zip(theirs.remainder()).map(times).sum();
    for (a, b) in ours.zip(theirs) {
        for (sum, pair) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += times(pair);
        }
    }
    (sums.iter().sum::<f64>() + rest) as f32
}

/// The positions of the batch of a step, for tests of devices that draw batches themselves.
///
/// # Errors
/// Refuses a sampling whose batch exceeds its population.
pub fn batch_of(
    plan: &Plan,
    entropy: &Entropy,
    run: u64,
    trial: u64,
    step: u64,
    positions: usize,
) -> Result<Vec<u32>, Refusal> {
    let mut batch = Vec::new();
    let family = entropy.family(Purpose::Batch, run, trial);
    Sampler::new(plan.sampling)?.draw(step, positions, &mut batch, &family);
    Ok(batch)
}
