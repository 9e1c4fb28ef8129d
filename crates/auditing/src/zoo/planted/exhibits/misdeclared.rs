//! The library's own trainer, run by one plan and claimed as another, attacked by someone who sees every step.

use super::{Health, SPLIT, delta, gaussian};
use crate::zoo::planted::{Exhibit, Runs, Specimen};
use veracity_audit::{AuditSubject, Failure, World};
use veracity_core::{Adjacency, ClipNorm, Count, Mechanism, NoiseMultiplier, Refusal, SamplingRate};
use veracity_noise::Entropy;
use veracity_train::{
    Clipping, CraftedGradient, Dataset, Draws, Labels, Layer, Loss, Network, Optimiser, Plan, Privacy,
    Sampling, Schedule, Shape, cohort::Cohort,
};

/// Layers with parameters.
const LAYERS: usize = 9;
/// Parameters of each: single units with a weight and a bias.
const LAYER: u32 = 2;
const CLIP: f64 = 1.0;
const NOISE: f64 = 2.0;
/// Steps of the runs that have full batches.
const STEPS: u64 = 4;
/// Steps of an epoch where batches are drawn, and so one over the sampling rate.
const EPOCH: u64 = 20;
const NOISE_OF_EPOCH: f64 = 0.5;
const TRIALS: u64 = 16_000;

pub(super) fn exhibits(seed: u64) -> Result<Vec<Exhibit>, Refusal> {
    let full = |name, what, adjacency, claimed, specimen, twin| {
        let pair = [FullBatch::specimen(seed, specimen)?, FullBatch::specimen(seed, twin)?];
        Ok::<_, Refusal>(Exhibit::new(name, what, claimed, (adjacency, delta(0.01)?), pair))
    };
    let honest = FullBatch { steps: STEPS, noise: NOISE, clip: CLIP, layers: 1, opposite: false };
    let doubled = FullBatch { noise: 2.0 * NOISE, opposite: true, ..honest };
    // A clip norm √L times as long gives each of L layers the whole of the one that is accounted; the noise stays.
    let longer = (LAYERS as f64).sqrt();
    let loose = FullBatch { noise: NOISE / longer, clip: longer * CLIP, layers: LAYERS, ..honest };
    let layered = FullBatch { layers: LAYERS, ..honest };
    Ok(vec![
        full(
            "halved-noise",
            "the mechanism adds half of the noise that it declares",
            Adjacency::AddRemove,
            gaussian(NOISE, STEPS)?,
            FullBatch { noise: NOISE / 2.0, ..honest },
            honest,
        )?
        .leaving(0.5),
        full(
            "forgotten-repeat",
            "the training runs 16 steps, but the accounting covers 4",
            Adjacency::AddRemove,
            gaussian(NOISE, STEPS)?,
            FullBatch { steps: 4 * STEPS, ..honest },
            honest,
        )?
        .leaving(0.5),
        full(
            "wrong-adjacency",
            "noise for add-remove adjacency is claimed for replace-one",
            Adjacency::ReplaceOne,
            gaussian(2.0 * NOISE, STEPS)?,
            FullBatch { noise: NOISE, ..doubled },
            doubled,
        )?
        .leaving(0.5),
        full(
            "per-layer-claimed-as-flat",
            "each of nine layers is clipped to C, but the accounting assumes C for all layers together",
            Adjacency::AddRemove,
            gaussian(NOISE, STEPS)?,
            loose,
            layered,
        )?
        .leaving(1.0 / longer),
        shuffled(seed)?,
    ])
}

fn shuffled(seed: u64) -> Result<Exhibit, Refusal> {
    let rate = SamplingRate::new(1.0 / EPOCH as f64)?;
    Ok(Exhibit::new(
        "shuffled-claimed-as-poisson",
        "batches are shuffled, but the accounting assumes Poisson sampling",
        Mechanism::sampled_gaussian(rate, NoiseMultiplier::new(NOISE_OF_EPOCH)?, Count::new(EPOCH)?),
        (Adjacency::ZeroOut, delta(0.1)?),
        [Epoch::specimen(seed, Health::Sick)?, Epoch::specimen(seed, Health::Sound)?],
    ))
}

fn plan(sampling: Sampling, steps: u64, noise: f64, clip: f64, clipping: Clipping) -> Result<Plan, Refusal> {
    let privacy =
        Privacy::Gaussian { noise: NoiseMultiplier::new(noise)?, clip: ClipNorm::new(clip)?, clipping };
    Ok(Plan::new(
        Network::new(Shape::Flat(1), vec![Layer::Linear { outputs: 1 }; LAYERS])?,
        Loss::Squared,
        sampling,
        Count::new(steps)?,
        privacy,
    )
    .with_optimiser(Optimiser::Sgd { momentum: 0.0 })
    .with_schedule(Schedule::Constant { rate: 0.01 }))
}

/// All records in every batch.
#[derive(Debug, Clone, Copy)]
struct FullBatch {
    steps: u64,
    noise: f64,
    clip: f64,
    /// Into how many layers the canary reaches; clipped each by itself where there are several.
    layers: usize,
    /// Whether something stands in the canary's place when it is out: its opposite.
    opposite: bool,
}

struct CohortAttack {
    cohort: Cohort,
    data: Dataset,
    canary: CraftedGradient,
    opposite: Option<CraftedGradient>,
    entropy: Entropy,
}

impl FullBatch {
    fn specimen(seed: u64, this: FullBatch) -> Result<Specimen, Refusal> {
        let data = Dataset::new(vec![0.1, -0.2, 0.3], 1, Labels::Values(vec![0.0, 0.1, -0.1]))?;
        let n = Count::new(data.len() as u64 + 1)?;
        let clipping = if this.layers > 1 { Clipping::PerLayer { weights: None } } else { Clipping::Flat };
        let sampling = Sampling::Poisson { batch: n, population: n };
        let plan = plan(sampling, this.steps, this.noise, this.clip, clipping)?;
        let reaching = |length: f32| {
            CraftedGradient::new((0..this.layers as u32).map(|layer| (LAYER * layer, length)).collect())
        };
        let long = 10.0 * CLIP as f32;
        let subject = CohortAttack {
            cohort: Cohort::new(plan)?,
            data,
            canary: reaching(long)?,
            opposite: if this.opposite { Some(reaching(-long)?) } else { None },
            entropy: Entropy::seeded(seed),
        };
        Ok(Specimen::Runs(Runs { subject: Box::new(subject), trials: Count::new(TRIALS)?, method: SPLIT }))
    }
}

impl CohortAttack {
    fn score(&self, trial: u64, world: World) -> Result<f64, Refusal> {
        let stands = match world {
            World::In => Some(&self.canary),
            World::Out => self.opposite.as_ref(),
        };
        let planted = [stands];
        let world = veracity_train::World::from(&self.data).crafting(&planted);
        let mut run = self.cohort.begin(world, Draws { entropy: &self.entropy, run: 0, trial })?;
        let mut score = 0.0;
        while run.step()? {
            score += self.canary.along(run.last_noisy_sum().unwrap_or_default());
        }
        Ok(score)
    }
}

impl AuditSubject for CohortAttack {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let score =
            |world: &World| self.score(trial, *world).map_err(|refusal| Failure::Run(refusal.to_string()));
        worlds.iter().map(score).collect()
    }
}

/// An epoch of batches of one record: the canary, and others that all pull the other way.
///
/// From a deck, some batch holds the canary for certain: among batches that say −1 it says +1, or 0 where it is blank. That
/// batch stands out in both worlds, and nothing is amplified.
///
/// # Reference  [ChuaEtAl24], the pair of datasets; [AnnamalaiBalleHayesDeCristofaro24], audits of it
struct Epoch {
    cohort: Cohort,
    nobody: Dataset,
    canary: CraftedGradient,
    other: CraftedGradient,
    entropy: Entropy,
}

impl Epoch {
    fn specimen(seed: u64, health: Health) -> Result<Specimen, Refusal> {
        let (batch, population) = (Count::ONE, Count::new(EPOCH)?);
        let sampling = match health {
            Health::Sick => Sampling::Shuffled { batch, population },
            Health::Sound => Sampling::Poisson { batch, population },
        };
        let subject = Epoch {
            cohort: Cohort::new(plan(sampling, EPOCH, NOISE_OF_EPOCH, CLIP, Clipping::Flat)?)?,
            nobody: Dataset::new(Vec::new(), 1, Labels::Values(Vec::new()))?,
            canary: CraftedGradient::dirac(0, CLIP as f32)?,
            other: CraftedGradient::dirac(0, -CLIP as f32)?,
            entropy: Entropy::seeded(seed),
        };
        Ok(Specimen::Runs(Runs { subject: Box::new(subject), trials: Count::new(TRIALS)?, method: SPLIT }))
    }

    /// The log-likelihood ratio for a deck: somewhere 2 above the others, or somewhere 1 above them.
    fn score(&self, trial: u64, world: World) -> Result<f64, Refusal> {
        let mut planted = vec![Some(&self.other); EPOCH as usize];
        planted[0] = match world {
            World::In => Some(&self.canary),
            World::Out => None,
        };
        let world = veracity_train::World::from(&self.nobody).crafting(&planted);
        let mut run = self.cohort.begin(world, Draws { entropy: &self.entropy, run: 0, trial })?;
        let precision = (NOISE_OF_EPOCH * CLIP).powi(-2);
        let (mut with, mut without) = (0.0, 0.0);
        while run.step()? {
            let above = self.canary.along(run.last_noisy_sum().unwrap_or_default()) + 1.0;
            with += ((2.0 * above - 2.0) * precision).exp();
            without += ((above - 0.5) * precision).exp();
        }
        Ok((with / without).ln())
    }
}

impl AuditSubject for Epoch {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let score =
            |world: &World| self.score(trial, *world).map_err(|refusal| Failure::Run(refusal.to_string()));
        worlds.iter().map(score).collect()
    }
}
