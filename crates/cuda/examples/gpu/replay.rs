//! Replay on crafted worlds: one step on records and weights that strain clipping and rounding, with each record and without it.
//!
//! Both have the same noise, so that their noisy sums differ by what the record adds. Sums stay below 2^24 steps of the grid: what is read
//! of them, in single precision, is exact.

use crate::layers;
use veracity_core::{ClipNorm, Count, NoiseMultiplier, Refusal};
use veracity_cuda::Cuda;
use veracity_noise::Entropy;
use veracity_train::{
    CalibratedNoise, Dataset, Initial, Loss, Network, Plan, Privacy, Sampling, Shape, World,
    device::{Reading, Trainings},
};

/// Records of a batch: their sum and its noise are below 2^24 steps.
const RECORDS: usize = 8;

/// A shape of network, and whether features are bytes.
const SHAPES: [(usize, usize, usize, bool); 7] = [
    (64, 0, 10, true),
    (64, 0, 3, true),
    (60, 0, 10, true),
    (784, 0, 10, true),
    (784, 32, 10, true),
    (100, 0, 4, false),
    (100, 20, 4, false),
];

/// Features that strain a sum: all at their largest, nothing, one alone, one below the largest, two signs where there are any.
fn records(kind: usize, width: usize, has_bytes: bool) -> Vec<f32> {
    let level = |record: usize, at: usize| -> f32 {
        let mixed = ((record * width + at) as u32).wrapping_mul(2_654_435_761) >> 20;
        match kind {
            0 => 1.0,
            1 => 0.0,
            2 => f32::from(u8::from(at == record)),
            3 => 254.0 / 255.0,
            4 => (mixed & 255) as f32 / 255.0,
            _ => f32::from(u8::from((at + record).is_multiple_of(2))),
        }
    };
    let signed =
        |record: usize, at: usize| if has_bytes || at.is_multiple_of(3) { 1.0 } else { -7.3 - record as f32 };
    (0..RECORDS).flat_map(|r| (0..width).map(move |at| level(r, at) * signed(r, at))).collect()
}

/// Weights that strain it: none, so large that outputs saturate, of both signs, and tiny.
fn weights(kind: usize, count: usize) -> Vec<f32> {
    let wave = |i: usize| (i as f32 * 1.7).sin();
    let one = |i: usize| match kind {
        0 => 0.0,
        1 => 1e3 * wave(i),
        2 => wave(i),
        _ => 1e-20 * wave(i),
    };
    (0..count).map(one).collect()
}

/// How far sums move at most, over what is accounted, for each shape.
pub fn replay(device: &Cuda, say: &mut impl FnMut(String, bool)) -> Result<(), Refusal> {
    let entropy = Entropy::seeded(11);
    for (width, hidden, outputs, has_bytes) in SHAPES {
        let (mut worst, mut compared) = (0f64, 0);
        for clip in [1.0, 0.037, 300.0] {
            for of_records in 0..6 {
                for of_weights in 0..4 {
                    let labels = (0..RECORDS as u32).map(|i| i * (of_weights as u32 % 2) % outputs as u32);
                    let features = records(of_records, width, has_bytes);
                    let data = Dataset::of_classes(features, width, labels.collect(), outputs)?;
                    let data = if has_bytes { data.packed() } else { data };
                    let moved = moves(device, &entropy, &data, (hidden, outputs), clip, of_weights)?;
                    compared += moved.len();
                    worst = moved.into_iter().fold(worst, f64::max);
                }
            }
        }
        let name =
            if hidden > 0 { format!("{width}-{hidden}-{outputs}") } else { format!("{width}-{outputs}") };
        // What is never near the bound would say little.
        say(
            format!("replay {name}: {compared} neighbours, farthest {worst:.6} of what is accounted"),
            worst <= 1.0 && worst > 0.98,
        );
    }
    Ok(())
}

/// The distance between sums with and without each record, over what is accounted.
fn moves(
    device: &Cuda,
    entropy: &Entropy,
    data: &Dataset,
    (hidden, outputs): (usize, usize),
    clip: f64,
    of_weights: usize,
) -> Result<Vec<f64>, Refusal> {
    let all = Count::new(RECORDS as u64)?;
    let (noise, clip) = (NoiseMultiplier::new(1.0)?, ClipNorm::new(clip)?);
    let network = Network::new(Shape::Flat(data.width()), layers(hidden, outputs))?;
    let parameters = network.parameters();
    let sampling = Sampling::Poisson { batch: all, population: all };
    let plan = Plan::new(
        network,
        Loss::SoftmaxCrossEntropy,
        sampling,
        Count::new(1)?,
        Privacy::gaussian(noise, clip),
    );
    let plan = Plan { initial: Initial::At(weights(of_weights, parameters)), ..plan };
    let calibrated = CalibratedNoise::gaussian(noise, clip, parameters, plan.rounding())?;
    let mut worlds = vec![World::from(data)];
    for at in 0..RECORDS {
        worlds.push(World::from(data).without(at)?);
    }
    let trials = vec![5; worlds.len()];
    let every: Vec<u32> = (0..parameters as u32).collect();
    let read = Reading::Sums { parameters: &every, directions: &[] };
    let found = device.train_flat(&Trainings {
        plan: &plan,
        worlds: &worlds,
        trials: &trials,
        run: 1,
        entropy,
        read,
    })?;
    let (with, without) = found.split_at(parameters);
    let distance = |other: &[f32]| {
        let square: f64 = with.iter().zip(other).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
        square.sqrt() / calibrated.clip()
    };
    Ok(without.chunks_exact(parameters).map(distance).collect())
}
