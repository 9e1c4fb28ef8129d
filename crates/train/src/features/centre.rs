//! The private mean of all records, to be taken off each of them: what they have in common tells no class from another, but
//! takes part of every gradient's norm.
//!
//! Unlike the other features this one looks at data, so it has a price: a Gaussian mechanism, once, beside that of training.
//! Records are clipped here, summed, and privatised by the same road as gradients.

use crate::{Calibrated, ClippedSum, Dataset, Noises, privatize};
use rayon::prelude::*;
use veracity_core::{ClipNorm, Count, Mechanism, NoiseMultiplier, Refusal};

/// Records summed by one thread at a time; the layout follows from the data alone.
const BLOCK: usize = 1024;

/// A private mean.
#[derive(Debug, Clone, PartialEq)]
pub struct Centre {
    mean: Vec<f32>,
    noise: NoiseMultiplier,
}

impl Centre {
    /// The mean of the records, each clipped to norm `clip`, as if there were `population` of them.
    ///
    /// `rng` is of [`veracity_noise::Purpose::Preprocess`], and is used up: two means from one would have the same noise.
    ///
    /// # Promise   It costs what [`Centre::mechanism`] says, for records added or removed
    /// # Assumes   `population` is public, and there are at most twice as many records
    /// # Numerics  Sums are in f64, rounded once to f32: ‖S‖ ≤ n·clip, so two such roundings are at most n·clip·2⁻²³ apart,
    /// which is taken off the clip norm beforehand
    pub fn new(
        data: &Dataset,
        population: Count,
        clip: ClipNorm,
        noise: NoiseMultiplier,
        mut rng: Noises,
    ) -> Result<Centre, Refusal> {
        // A batch of one: the rounding of the sum is taken off below.
        let calibrated = Calibrated::gaussian(noise, clip, data.width(), Count::ONE)?;
        let rounding = 2.0 * population.as_f64() * clip.get() / f64::from(1u32 << 23);
        let room = f64::from(calibrated.room()) - rounding;
        if !(room > 0.5 * clip.get()) {
            return Err(Refusal::out_of_range(
                "population",
                population.get(),
                "at most some 2 million records: the rounding of their sum would use up the clip norm",
            ));
        }
        let records: Vec<usize> = (0..data.len()).collect();
        let mut sum: Vec<f32> = total(data, &records, room).into_iter().map(|x| x as f32).collect();
        let scale = 1.0 / population.as_f64() as f32;
        let noisy = privatize(ClippedSum::of_records(&mut sum), &calibrated, 0, &mut rng);
        Ok(Centre { mean: noisy.values().iter().map(|x| x * scale).collect(), noise })
    }

    /// The mean.
    pub fn mean(&self) -> &[f32] {
        &self.mean
    }

    /// What was done to the data, for the accountant.
    pub fn mechanism(&self) -> Mechanism {
        Mechanism::Gaussian { noise_multiplier: self.noise }
    }

    /// Records less the mean.
    pub fn apply(&self, data: Dataset) -> Result<Dataset, Refusal> {
        take_off(&self.mean, data)
    }
}

/// Records less a mean that was taken before.
pub fn take_off(mean: &[f32], data: Dataset) -> Result<Dataset, Refusal> {
    if data.width() != mean.len() {
        return Err(Refusal::NoAnswer(format!(
            "records have {} features, expected {} as those of which the mean was taken",
            data.width(),
            mean.len()
        )));
    }
    let (mut features, width, labels) = data.into_parts();
    features.par_chunks_exact_mut(width).for_each(|row| {
        for (x, mean) in row.iter_mut().zip(mean) {
            *x -= mean;
        }
    });
    Dataset::new(features, width, labels)
}

/// The mean as it is, of records clipped to norm `clip`. It is as private as the data: for comparison, never for release.
pub fn mean_without_privacy(data: &Dataset, clip: ClipNorm) -> Vec<f32> {
    let records: Vec<usize> = (0..data.len()).collect();
    let count = records.len().max(1) as f64;
    total(data, &records, clip.get()).into_iter().map(|x| (x / count) as f32).collect()
}

/// The sum of all records, each at most `room` long, in blocks: the bits do not depend on the number of threads.
fn total(data: &Dataset, records: &[usize], room: f64) -> Vec<f64> {
    let parts: Vec<Vec<f64>> = records.par_chunks(BLOCK).map(|part| clipped(data, part, room)).collect();
    let mut sum = vec![0.0; data.width()];
    for part in parts {
        sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
    }
    sum
}

/// The sum of some records, each at most `room` long.
fn clipped(data: &Dataset, records: &[usize], room: f64) -> Vec<f64> {
    let mut sum = vec![0.0; data.width()];
    for record in records {
        let row = data.row(*record);
        let norm = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        // A record whose norm overflows adds nothing; finite features are the dataset's promise.
        let factor = if norm <= room {
            1.0
        } else if norm.is_finite() {
            room / norm
        } else {
            0.0
        };
        sum.iter_mut().zip(row).for_each(|(sum, x)| *sum += factor * f64::from(*x));
    }
    sum
}
