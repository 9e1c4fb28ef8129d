//! A private mean in a chain of features: taken once of the training records, kept with the model, charged as what it is.

use super::{
    chain::{ChargedStage, Learner},
    tensors::Tensor,
};
use veracity_account::claims::{NoiseNote, spec::Whole};
use veracity_core::ClipNorm;
use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::Purpose;
use veracity_train::{
    CalibratedNoise, Dataset, Noises, Rounding,
    features::{mean_without_privacy, private_mean, subtract_mean},
};

/// The mean of all records, each clipped, with Gaussian noise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct MeanStage {
    /// Its place among the features.
    at: usize,
    /// Numbers of one record there.
    width: usize,
    noise: NoiseMultiplier,
    clip: ClipNorm,
}

impl MeanStage {
    pub(super) fn new(at: usize, width: usize, noise: f64, clip: f64) -> Result<MeanStage, Refusal> {
        Ok(MeanStage { at, width, noise: NoiseMultiplier::new(noise)?, clip: ClipNorm::new(clip)? })
    }
}

impl ChargedStage for MeanStage {
    fn tensor(&self) -> Tensor {
        Tensor { name: format!("feature.{}.mean", self.at), shape: vec![self.width], values: Vec::new() }
    }

    fn mechanisms(&self, _: Adjacency) -> Result<Vec<Mechanism>, Refusal> {
        Ok(vec![Mechanism::Gaussian { noise_multiplier: self.noise }])
    }

    fn notes(&self) -> Result<Vec<NoiseNote>, Refusal> {
        let calibrated = CalibratedNoise::gaussian(self.noise, self.clip, self.width, Rounding::BY_RECORD)?;
        let steps = self.clip.get() / calibrated.granularity();
        Ok(vec![NoiseNote {
            place: "sum of clipped records, for their mean".to_owned(),
            sampler: "gaussian-vector".to_owned(),
            granularity: calibrated.granularity(),
            sensitivity: Whole(steps.ceil()),
            scale: self.noise.get() * steps,
        }])
    }

    fn learn(&self, data: &Dataset, learner: &Learner<'_>, place: u64) -> Result<Vec<f32>, Refusal> {
        let population = learner.population;
        if data.len() as u64 > population.get().saturating_mul(2) {
            return Err(Refusal::out_of_range(
                "records",
                population.get(),
                "at least half of the number of records in the file, for a private mean",
            ));
        }
        let rng = Noises::new(learner.entropy.family(Purpose::Preprocess, 0, place));
        private_mean(data, population, self.clip, self.noise, rng)
    }

    fn fit_without_noise(&self, data: &Dataset) -> Result<Vec<f32>, Refusal> {
        Ok(mean_without_privacy(data, self.clip))
    }

    fn apply(&self, statistic: &[f32], data: Dataset) -> Result<Dataset, Refusal> {
        subtract_mean(statistic, data)
    }
}
