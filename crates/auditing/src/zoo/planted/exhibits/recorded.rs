//! The plain trainer with mistakes in what it hides and when, recorded on random datasets and replayed on adjacent ones.

use super::{delta, gaussian};
use crate::zoo::planted::{
    Exhibit, Replays, Specimen,
    trainer::{Bug, PARAMETERS, Record, Trainer},
};
use veracity_audit::World;
use veracity_core::{Adjacency, ClipNorm, Count, NoiseMultiplier, Refusal};
use veracity_noise::{Bits, Entropy, Key, Purpose};
use veracity_train::Rounding;

const NOISE: f64 = 1.0;
const STEPS: u64 = 3;
/// Random pairs of datasets that are tried.
const PAIRS: u64 = 100;
/// Records beside the one that is added.
const RECORDS: usize = 7;

pub(super) fn exhibits(seed: u64) -> Result<Vec<Exhibit>, Refusal> {
    [
        (Bug::NeverClips, "not-clipped", "gradients are summed without clipping"),
        (
            Bug::KeepsWhatIsNotFinite,
            "nan-spoils-sum",
            "a NaN gradient is not removed by clipping and turns the whole sum into NaN",
        ),
        (Bug::ClipsTheMean, "clip-after-averaging", "gradients are averaged before the mean is clipped"),
        (
            Bug::ClipsMicroBatches,
            "clip-by-micro-batch",
            "means of micro-batches are clipped instead of single gradients",
        ),
        (
            Bug::ClipsViewsApart,
            "views-clipped-apart",
            "each augmented view of a record is clipped separately",
        ),
        (Bug::BiasNotClipped, "bias-not-clipped", "biases are left out of the norm and the clipping"),
        (
            Bug::LayersClippedApart,
            "layers-clipped-apart",
            "each layer is clipped to the clip norm of the whole gradient",
        ),
        (Bug::ClampsAboveOnly, "one-sided-clip", "gradients are clamped from above but not from below"),
        (
            Bug::NormalisesByBatch,
            "batch-normalisation",
            "features are centered by the batch mean, so one record changes the gradients of all others",
        ),
        (
            Bug::DividesByRealisedBatch,
            "realised-batch-size",
            "noisy sums are divided by the realized batch size",
        ),
        (
            Bug::MomentumBeforeNoise,
            "momentum-before-noise",
            "momentum accumulates sums before noise is added",
        ),
        (Bug::NoiseReused, "noise-reused", "every step reuses the noise of the first step"),
        (
            Bug::AdaptsClipInTheOpen,
            "adaptive-clip-without-noise",
            "the adaptive clip norm depends on a count without noise",
        ),
        (Bug::StopsEarly, "early-stopping", "training stops when the exact training loss is small"),
        (Bug::SkipsEmptyBatches, "empty-batch-skipped", "empty batches are skipped without a noisy step"),
        (
            Bug::SkipsBatchesWithNan,
            "nan-skips-batch",
            "batches with a NaN gradient are skipped without a noisy step",
        ),
    ]
    .into_iter()
    .map(|(bug, name, what)| {
        Ok(Exhibit {
            name,
            what,
            claimed: gaussian(NOISE, STEPS)?,
            adjacency: Adjacency::AddRemove,
            delta: delta(1e-5)?,
            specimen: recorded(seed, bug, Some(bug))?,
            twin: recorded(seed, bug, None)?,
            replayed: None,
            noise_left: match bug {
                // Two layers of one norm each: √2 of it together.
                Bug::LayersClippedApart => Some(std::f64::consts::FRAC_1_SQRT_2 + 0.01),
                _ => None,
            },
        })
    })
    .collect()
}

/// Training on the datasets that suit `scene`, with or without its bug.
fn recorded(seed: u64, scene: Bug, bug: Option<Bug>) -> Result<Specimen, Refusal> {
    let (noise, clip) = (NoiseMultiplier::new(NOISE)?, ClipNorm::new(0.1)?);
    let planned = Count::new(RECORDS as u64)?;
    let play = move |world: World, pair: u64, rng: &mut _| {
        let (records, start) = scene_of(seed, pair, scene);
        // After one step the parameters tell; in a second one they would have other gradients.
        let steps = if scene == Bug::DividesByRealisedBatch { 1 } else { STEPS };
        let rounding = Rounding::ONE_SUM;
        let trainer = Trainer { noise, clip, planned, rounding, steps, rate: 1.0, momentum: 0.9, start, bug };
        let records = match world {
            World::In => &records[..],
            World::Out => &records[1..],
        };
        Ok(trainer.train(records, rng)?.parameters.into_iter().map(f64::from).collect())
    };
    Ok(Specimen::Replays(Replays::new(seed, PAIRS, noise, play)))
}

/// Random records of which the first is the one that is added, and random parameters to start from.
fn scene_of(seed: u64, pair: u64, scene: Bug) -> (Vec<Record>, Vec<f32>) {
    let mut rng = Entropy::seeded(seed).stream(Purpose::Canary, Key { trial: pair, ..Key::default() });
    let mut uniform = move || rng.bits(24) as f32 / (1 << 23) as f32 - 1.0;
    let others = if scene == Bug::SkipsEmptyBatches { 0 } else { RECORDS };
    let mut records: Vec<Record> = (0..=others)
        .map(|_| ([uniform() * 3.0, uniform() * 3.0, uniform() * 3.0], usize::from(uniform() > 0.0)))
        .collect();
    if matches!(scene, Bug::SkipsBatchesWithNan | Bug::KeepsWhatIsNotFinite) {
        records[0].0 = [3e38; 3];
    }
    let start = (0..PARAMETERS).map(|_| uniform()).collect();
    (records, start)
}
