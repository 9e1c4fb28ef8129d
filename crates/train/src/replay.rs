//! The same run on an adjacent dataset, made to say the same: what may differ then is only what noise hides, and only by as
//! much as is accounted.
//!
//! A recorded run holds private sums, so only seeded entropy can be recorded and nothing of it is fit for release.

use crate::{Draws, Plan, Run, World};
use veracity_core::{Adjacency, Refusal};
use veracity_noise::{Call, Departure, Distance, Tape};

/// What a recorded run leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedRun {
    /// Every sum that noise hid, and what was said. Private.
    pub tape: Tape,
    /// The parameters at the end.
    pub parameters: Vec<f32>,
}

/// Why a run does not keep what its plan promises.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ReplayFault {
    /// A sum moved farther than is accounted, or there are other sums.
    Hidden(Departure),
    /// The parameters depend on more than what was said.
    Parameters,
    /// Two sums got the same noise.
    NoiseReused {
        /// The later one, counted from 0.
        call: usize,
    },
}

/// Two adjacent worlds side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// What was wrong, if anything.
    pub fault: Option<ReplayFault>,
    /// How much of what is accounted was used: the largest movement over the declared one.
    pub used: f64,
}

/// Trains on a world, and again on an adjacent one with the same draws and the same words.
///
/// # Errors
/// As [`Run::new`]; also refuses entropy that is fit for release.
///
/// # Examples
///
/// ```
/// use veracity_core::Adjacency;
/// use veracity_noise::Entropy;
/// use veracity_train::{Draws, World, replay::replay};
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
/// let world = World::from(&data);
/// let draws = Draws { entropy: &entropy, run: 0, trial: 0 };
/// let found = replay(&plan, world, world.without(17)?, Adjacency::AddRemove, draws)?;
/// // The record moved the sums, and by no more than is accounted.
/// assert_eq!(found.fault, None);
/// assert!(found.used > 0.1 && found.used <= 1.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub fn replay(
    plan: &Plan,
    world: World<'_>,
    neighbour: World<'_>,
    adjacency: Adjacency,
    draws: Draws<'_>,
) -> Result<Replay, Refusal> {
    let first = RecordedRun::of(Run::new(plan, world, draws)?.recording(adjacency)?)?;
    let second = Run::new(plan, neighbour, draws)?.replaying(adjacency, first.tape.clone())?;
    let second = RecordedRun::of(second)?;
    Ok(Replay { fault: first.fault(&second), used: first.used(&second) })
}

impl RecordedRun {
    /// Takes a recording or replaying run to its end.
    ///
    /// # Errors
    /// Refuses a run that keeps no tape.
    pub fn of(mut run: Run<'_>) -> Result<RecordedRun, Refusal> {
        while run.step()? {}
        let parameters = run.state().parameters;
        match run.into_tape() {
            Some(tape) => Ok(RecordedRun { tape, parameters }),
            None => Err(Refusal::Invalid("the run was not recorded; start it with recording".into())),
        }
    }

    /// What is wrong with this run, given its replay on an adjacent dataset.
    pub fn fault(&self, replay: &RecordedRun) -> Option<ReplayFault> {
        if let Some(departure) = self.tape.departure(&replay.tape) {
            return Some(ReplayFault::Hidden(departure));
        }
        let bits = |run: &RecordedRun| run.parameters.iter().map(|w| w.to_bits()).collect::<Vec<u32>>();
        if bits(self) != bits(replay) {
            return Some(ReplayFault::Parameters);
        }
        let noises = self.noises();
        // By chance two single numbers are equal once in a million; two vectors of the size of a model are not.
        (1..noises.len())
            .find(|call| noises[*call].len() > 2 && noises[..*call].contains(&noises[*call]))
            .map(|call| ReplayFault::NoiseReused { call })
    }

    /// What was added, call by call, in steps of the grid.
    pub fn noises(&self) -> Vec<Vec<i128>> {
        let noise = |(said, hidden): (&i128, &i128)| said - hidden;
        let of = |call: &Call| call.output.iter().zip(&call.input).map(noise).collect();
        self.tape.calls.iter().map(of).collect()
    }

    /// The largest movement of a sum over the declared one.
    pub fn used(&self, replay: &RecordedRun) -> f64 {
        let part = |(one, other): (&Call, &Call)| {
            let moved = one.input.iter().zip(&other.input).map(|(a, b)| a.abs_diff(*b) as f64);
            match one.declared {
                Distance::L1(most) => moved.sum::<f64>() / most as f64,
                Distance::L2Squared(most) => (moved.map(|x| x * x).sum::<f64>() / most as f64).sqrt(),
                Distance::LInf(most) => moved.fold(0.0, f64::max) / most as f64,
            }
        };
        self.tape.calls.iter().zip(&replay.tape.calls).map(part).fold(0.0, f64::max)
    }
}
