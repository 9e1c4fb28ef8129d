//! The trainings of a subject and what is read of them: on the cores of this machine, or many at once on a device.
//!
//! What is read is the same to the bit on these cores, one by one or many at once. A device computes in whole numbers, which these cores
//! can do as well (`veracity_train::whole`). Scores are made of what is read by whoever asked for it, so that there is one way to score,
//! wherever a model was trained.

use rayon::prelude::*;
use std::sync::Arc;
use veracity_audit::Failure;
use veracity_core::Refusal;
use veracity_noise::Entropy;
use veracity_train::{
    Draws, Plan, World,
    cohort::Cohort,
    device::{Device, Reading, Trainings, read_one},
};

/// The most bytes of one portion: what is planted in its worlds, and what is read of it.
const MOST_HELD: usize = 1 << 29;
/// What a training costs beside those, at most.
const BESIDE: usize = 256;

/// A plan, what its trainings draw from, and where they are run.
#[derive(Debug)]
pub(super) struct Trainer {
    cohort: Cohort,
    entropy: Entropy,
    device: Option<Arc<dyn Device>>,
}

impl Trainer {
    /// Refuses a plan that the device cannot train.
    pub(super) fn new(
        cohort: Cohort,
        seed: u64,
        device: Option<Arc<dyn Device>>,
    ) -> Result<Trainer, Refusal> {
        device.as_ref().map_or(Ok(()), |device| device.check(cohort.plan()))?;
        Ok(Trainer { cohort, entropy: Entropy::seeded(seed), device })
    }

    /// Whether it trains on these cores.
    pub(super) fn is_here(&self) -> bool {
        self.device.is_none()
    }

    /// Whether scores are made where it trains, and not of what is read there.
    pub(super) fn has_scores(&self) -> bool {
        self.device.as_ref().is_some_and(|device| device.has_scores())
    }

    /// How many trainings are asked for at once: as many as the device says, if what they hold is bounded. `planted` is how many bytes
    /// say what is planted in a world.
    pub(super) fn portion(&self, read: Reading<'_>, planted: usize) -> usize {
        let Some(device) = &self.device else { return 1 };
        let plan: &Plan = self.cohort.plan();
        let each = size_of::<f32>() * read.len(plan) + planted + BESIDE;
        (MOST_HELD / each).clamp(1, device.portion(plan).max(1))
    }

    /// Trains on each of the worlds, and returns what is read, or why there is nothing.
    pub(super) fn read(
        &self,
        run: u64,
        trials: &[u64],
        worlds: &[World<'_>],
        read: Reading<'_>,
    ) -> Vec<Result<Vec<f32>, Failure>> {
        let entropy = &self.entropy;
        let Some(device) = &self.device else {
            let each = trials.par_iter().zip(worlds);
            return each.map(|(trial, world)| self.read_here(run, *trial, *world, read)).collect();
        };
        let plan = self.cohort.plan();
        let trainings = Trainings { plan, worlds, trials, run, entropy, read };
        let mut found = Vec::with_capacity(trials.len());
        self.ask(device.as_ref(), &trainings, &mut found);
        found
    }

    /// One training on these cores.
    pub(super) fn read_here(
        &self,
        run: u64,
        trial: u64,
        world: World<'_>,
        read: Reading<'_>,
    ) -> Result<Vec<f32>, Failure> {
        let draws = Draws { entropy: &self.entropy, run, trial };
        Ok(read_one(&self.cohort, world, draws, read)?)
    }

    /// Asks a device. Where it refuses several trainings, each half is asked for by itself, so that one of them does not fail the
    /// others. What it alone refuses is a fault of the machine, and then nothing more is asked of it; what these cores refuse too is an
    /// outcome of the training.
    fn ask(
        &self,
        device: &dyn Device,
        trainings: &Trainings<'_>,
        found: &mut Vec<Result<Vec<f32>, Failure>>,
    ) {
        let Trainings { worlds, trials, read, run, .. } = *trainings;
        let fault = |why: String| Failure::Machine(format!("{}: {why}", device.name()));
        let why = match device.train(trainings) {
            Ok(all) if is_whole(&all, trials.len(), read.len(trainings.plan)) => {
                found.extend(all.into_iter().map(Ok));
                return;
            }
            Ok(_) => {
                let why = "the device returned other values than requested";
                found.extend(trials.iter().map(|_| Err(fault(why.to_owned()))));
                return;
            }
            Err(why) => why,
        };
        if let ([trial], [world]) = (trials, worlds) {
            let here = self.read_here(run, *trial, *world, read);
            found.push(Err(here.err().unwrap_or_else(|| fault(why.to_string()))));
            return;
        }
        let half = trials.len() / 2;
        self.ask(
            device,
            &Trainings { worlds: &worlds[..half], trials: &trials[..half], ..*trainings },
            found,
        );
        match found.last() {
            Some(Err(Failure::Machine(why))) => {
                let why = Failure::Machine(why.clone());
                found.extend(trials[half..].iter().map(|_| Err(why.clone())));
            }
            _ => {
                let rest = Trainings { worlds: &worlds[half..], trials: &trials[half..], ..*trainings };
                self.ask(device, &rest, found);
            }
        }
    }
}

/// Whether so many numbers were read of each of so many trainings.
fn is_whole(all: &[Vec<f32>], trainings: usize, numbers: usize) -> bool {
    all.len() == trainings && all.iter().all(|read| read.len() == numbers)
}
