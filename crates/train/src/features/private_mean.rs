//! The private mean of all records, which is subtracted from each of them: it distinguishes no class from another, but takes part of
//! every gradient's norm.
//!
//! Unlike the other features this one looks at data, so it has a price: a Gaussian mechanism, once, beside that of training.
//! Records are clipped here, summed, and privatised by the same road as gradients.

use crate::{CalibratedNoise, ClippedSum, Dataset, Noises, Rounding, privatize};
use rayon::prelude::*;
use veracity_core::{ClipNorm, Count, NoiseMultiplier, Refusal};

/// Records summed by one thread at a time; the layout follows from the data alone.
const BLOCK: usize = 1024;

/// The mean of the records, each clipped to norm `clip`, as if there were `population` of them.
///
/// `rng` is of [`veracity_noise::Purpose::Preprocess`], and is used up: two means from one would have the same noise.
///
/// # Promise   A Gaussian mechanism of this noise multiplier, for records added or removed
/// # Assumes   `population` is public
/// # Numerics  Every record is rounded to the grid of the noise by itself, and the sum is one of integers
///
/// # Errors
/// Refuses noise and records that [`CalibratedNoise`] refuses.
pub fn private_mean(
    data: &Dataset,
    population: Count,
    clip: ClipNorm,
    noise: NoiseMultiplier,
    mut rng: Noises,
) -> Result<Vec<f32>, Refusal> {
    let calibrated = CalibratedNoise::gaussian(noise, clip, data.width(), Rounding::BY_RECORD)?;
    calibrated.check_records(data.len())?;
    let steps = total(data, f64::from(calibrated.clip_limit()), |row, sum| calibrated.add_steps(sum, row));
    let scale = 1.0 / population.as_f64() as f32;
    let mut sum = vec![0.0; data.width()];
    let noisy = privatize(ClippedSum::of_records(&steps, &mut sum), &calibrated, 0, &mut rng);
    Ok(noisy.values().iter().map(|x| x * scale).collect())
}

/// Subtracts a mean that was computed before.
///
/// # Errors
/// Refuses records of another width.
pub fn subtract_mean(mean: &[f32], data: Dataset) -> Result<Dataset, Refusal> {
    if data.width() != mean.len() {
        return Err(Refusal::Invalid(format!(
            "records have {} features, but the private mean has {}",
            data.width(),
            mean.len()
        )));
    }
    let width = data.width();
    let mut features: Vec<f32> = (0..data.len()).flat_map(|at| data.row(at)).copied().collect();
    features.par_chunks_exact_mut(width).for_each(|row| {
        for (x, mean) in row.iter_mut().zip(mean) {
            *x -= mean;
        }
    });
    data.with_features(features, width)
}

/// The mean as it is, of records clipped to norm `clip`. It is as private as the data: for comparison, never for release.
pub fn mean_without_privacy(data: &Dataset, clip: ClipNorm) -> Vec<f32> {
    let count = data.len().max(1) as f64;
    let add = |row: &[f32], sum: &mut [f64]| {
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += f64::from(*x));
    };
    total(data, clip.get(), add).into_iter().map(|x| (x / count) as f32).collect()
}

/// The sum of all records, each at most `room` long, in blocks: the bits do not depend on the number of threads.
fn total(data: &Dataset, room: f64, add: impl Fn(&[f32], &mut [f64]) + Sync) -> Vec<f64> {
    let records: Vec<usize> = (0..data.len()).collect();
    let part = |records: &[usize]| {
        let (mut sum, mut row) = (vec![0.0; data.width()], vec![0.0; data.width()]);
        for record in records {
            clip_row(data.row(*record), room, &mut row);
            add(&row, &mut sum);
        }
        sum
    };
    let parts: Vec<Vec<f64>> = records.par_chunks(BLOCK).map(part).collect();
    let mut sum = vec![0.0; data.width()];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    sum
}

/// Writes a record, shortened where it is longer than `room`.
///
/// # Numerics  The norm is that of `f64`; every number is rounded once, by 2⁻²⁴ of it
fn clip_row(row: &[f32], room: f64, to: &mut [f32]) {
    let norm = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
    // A record whose norm overflows adds nothing; finite features are the dataset's promise.
    let factor = if norm <= room {
        1.0
    } else if norm.is_finite() {
        room / norm
    } else {
        0.0
    };
    to.iter_mut().zip(row).for_each(|(to, x)| *to = (factor * f64::from(*x)) as f32);
}
