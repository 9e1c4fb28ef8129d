//! The plain trainer with mistakes in its noise, attacked by someone who sees every step.

use super::{SPLIT, delta, gaussian};
use crate::zoo::planted::{
    Exhibit, Replays, Specimen,
    exhibit::Game,
    trainer::{Bug, PARAMETERS, Record, Trainer},
};
use veracity_audit::World;
use veracity_core::{Adjacency, ClipNorm, Count, NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;
use veracity_train::Rounding;

const NOISE: f64 = 2.0;
const STEPS: u64 = 2;
const TRIALS: u64 = 4000;
/// The batch size that is planned.
const PLANNED: u64 = 10;
/// Runs that are recorded, all on one pair of datasets.
const RECORDED: u64 = 10;
/// What the attacker takes for the noise of a coordinate that gets none.
const HARDLY_ANY: f64 = 1e-3;

pub(super) fn exhibits(seed: u64) -> Result<Vec<Exhibit>, Refusal> {
    [
        (
            Bug::NoiseNotScaledByClip,
            "noise-not-scaled-by-clip",
            "the noise has standard deviation sigma instead of sigma times the clip norm",
        ),
        (
            Bug::NoiseDividedByBatch,
            "noise-divided-by-batch",
            "the noise is divided by the batch size before it is added to the sum",
        ),
        (
            Bug::NoiseOnLastLayerOnly,
            "noise-on-last-layer-only",
            "the gradients of the first layer are released without noise",
        ),
        (
            Bug::BackpropagationSlip,
            "backpropagation-clipping-slip",
            "clipped signals of the mean loss get noise that is too small by a factor of the batch size",
        ),
    ]
    .into_iter()
    .map(|(bug, name, what)| {
        // Signals of the mean loss are short.
        let clip = if bug == Bug::BackpropagationSlip { 0.05 } else { 8.0 };
        Ok(Exhibit {
            name,
            what,
            claimed: gaussian(NOISE, STEPS)?,
            adjacency: Adjacency::AddRemove,
            delta: delta(1e-5)?,
            specimen: watched(seed, clip, Some(bug))?,
            twin: watched(seed, clip, None)?,
            replayed: Some((replayed(seed, clip, Some(bug))?, replayed(seed, clip, None)?)),
            noise_left: match bug {
                Bug::NoiseNotScaledByClip => Some(1.0 / clip),
                Bug::NoiseDividedByBatch => Some(1.0 / PLANNED as f64),
                _ => None,
            },
        })
    })
    .collect()
}

/// Four ordinary records, and one that pulls hard against its label.
const RECORDS: [Record; 4] =
    [([0.5, -0.2, 0.1], 0), ([-0.3, 0.4, 0.2], 1), ([0.1, 0.6, -0.4], 1), ([0.7, 0.3, -0.1], 0)];
const CANARY: Record = ([4.0, -3.0, 2.0], 1);

fn trainer(clip: f64, bug: Option<Bug>) -> Result<Trainer, Refusal> {
    // Parameters that answer the canary wrongly, with all units at work: its gradient is long.
    let start = (0..PARAMETERS).map(|at| if at % 3 == 0 { 0.6 } else { -0.2 + 0.05 * (at % 5) as f32 });
    Ok(Trainer {
        noise: NoiseMultiplier::new(NOISE)?,
        clip: ClipNorm::new(clip)?,
        planned: Count::new(PLANNED)?,
        rounding: Rounding::ONE_SUM,
        steps: STEPS,
        rate: 0.01,
        momentum: 0.0,
        start: start.collect(),
        bug,
    })
}

/// The same training on the same records, for a replay.
fn replayed(seed: u64, clip: f64, bug: Option<Bug>) -> Result<Replays, Refusal> {
    let trainer = trainer(clip, bug)?;
    let play = move |world: World, _pair: u64, rng: &mut NoiseStream| {
        let both: Vec<Record> = RECORDS.into_iter().chain([CANARY]).collect();
        let records = match world {
            World::In => &both[..],
            World::Out => &RECORDS[..],
        };
        Ok(trainer.train(records, rng)?.parameters.into_iter().map(f64::from).collect())
    };
    Ok(Replays::new(seed, RECORDED, NoiseMultiplier::new(NOISE)?, play))
}

fn watched(seed: u64, clip: f64, bug: Option<Bug>) -> Result<Specimen, Refusal> {
    let trainer = trainer(clip, bug)?;
    Game::runs(seed, TRIALS, SPLIT, move |world, trial| {
        let both: Vec<Record> = RECORDS.into_iter().chain([CANARY]).collect();
        let records = match world {
            World::In => &both[..],
            World::Out => &RECORDS[..],
        };
        let shown = trainer.train(records, &mut trial.noise(0))?;
        let room = trainer.clip.get();
        let steps = shown.visited.iter().zip(&shown.said);
        Ok(steps
            .map(|(parameters, said)| {
                let with = trainer.clipped_sum(&both, parameters, room);
                let without = trainer.clipped_sum(&RECORDS, parameters, room);
                likelihood(&trainer, said, &with, &without)
            })
            .sum())
    })
}

/// The log-likelihood ratio of "in" over "out", up to a factor, for noise as the code really adds it.
fn likelihood(trainer: &Trainer, said: &[f64], with: &[f64], without: &[f64]) -> f64 {
    let weight = |at: usize| trainer.deviation(at).max(HARDLY_ANY).powi(-2);
    (0..PARAMETERS)
        .map(|at| weight(at) * (said[at] - (with[at] + without[at]) / 2.0) * (with[at] - without[at]))
        .sum()
}
