//! Training attacked from within: canaries that own one parameter each, and an attacker who sees every step.
//!
//! A canary is a record whose gradient lies along one parameter and has the length of the clip norm. The attacker reads that
//! parameter in the noisy sum of every step, takes away what the records are expected to contribute, and adds up what is left
//! for "in" over "out".

use super::{background::Background, planting::part, trainer::Trainer};
use rayon::prelude::*;
use std::sync::Arc;
use veracity_audit::{AuditSubject, Failure, World};
use veracity_core::Refusal;
use veracity_core::{Adjacency, NoiseMultiplier};
use veracity_noise::Entropy;
use veracity_train::{
    CraftedGradient, Dataset, Plan, Privacy, Sampling,
    cohort::Cohort,
    device::{Device, Likelihoods, Reading, Worlds},
};

/// A plan, its records and the canaries planted in them.
#[derive(Debug)]
pub struct WhiteBox {
    trainer: Trainer,
    data: Dataset,
    canaries: Vec<CraftedGradient>,
    /// Under replace-one, what stands in a canary's place when it is out: its opposite. Else nothing does.
    opposites: Option<Vec<CraftedGradient>>,
    copies: usize,
    game: Game,
    /// What the records contribute to the canaries' parameters.
    background: Background,
    /// The same as a device scores by it, where there is one.
    known: CanaryFacts,
}

/// What is known of canaries, in the order in which a device takes it.
#[derive(Debug)]
struct CanaryFacts {
    taken: Vec<f64>,
    places: Vec<(f64, f64)>,
    chances: Vec<f64>,
}

/// What the attacker knows of one step: along a canary's parameter the sum is Σ copies in the batch + σN.
#[derive(Debug, Clone, Copy)]
pub(super) struct Game {
    clip: f64,
    pub(super) sigma: f64,
    /// Batch size over population: the chance with which a copy is in a batch.
    pub(super) rate: f64,
    /// Whether copies enter batches independently, and not always.
    is_mixed: bool,
    copies: u32,
    /// Whether a canary that is out leaves its opposite in its place.
    pub(super) is_opposed: bool,
}

impl WhiteBox {
    /// Plants `canaries` canaries of `copies` records each.
    ///
    /// Under Poisson sampling they come on top of the records; where the number of records is part of the mechanism they take
    /// the places of the last ones. Models are trained on a device where there is one; what to expect of the records is learnt on the
    /// CPU all the same.
    ///
    /// # Errors
    /// A plan without a theorem for such canaries, or more canaries than parameters.
    pub fn new(
        plan: Plan,
        data: Dataset,
        adjacency: Adjacency,
        canaries: usize,
        copies: usize,
        seed: u64,
        device: Option<Arc<dyn Device>>,
    ) -> Result<WhiteBox, Refusal> {
        let game = Game::of(&plan, adjacency, copies as u32)?;
        let planted = canaries * copies;
        let data = match plan.sampling {
            Sampling::Poisson { .. } => data,
            Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => {
                part(&data, 0..data.len().saturating_sub(planted))?
            }
        };
        let trainer = Trainer::new(Cohort::new(plan.clone())?, seed, device)?;
        let noise = game.sigma * game.clip;
        let background = Background::learn(&plan, &data, &Entropy::seeded(seed), noise, planted, canaries)?;
        let of = |length: f64| -> Result<Vec<CraftedGradient>, Refusal> {
            background.parameters().iter().map(|at| CraftedGradient::dirac(*at, length as f32)).collect()
        };
        let opposites = if game.is_opposed { Some(of(-game.clip)?) } else { None };
        let canaries = of(game.clip)?;
        let (taken, places) = background.of_device(game.clip);
        let known = CanaryFacts { taken, places, chances: game.chances() };
        Ok(WhiteBox { trainer, data, canaries, opposites, copies, game, background, known })
    }

    /// What stands at each of the planted places of trials, one trial after another.
    fn planted<'a>(&'a self, worlds: impl Iterator<Item = &'a [World]>) -> Vec<Option<&'a CraftedGradient>> {
        let stands = |(at, world): (usize, &World)| match world {
            World::In => Some(&self.canaries[at]),
            World::Out => self.opposites.as_ref().map(|opposites| &opposites[at]),
        };
        worlds
            .flat_map(|worlds| worlds.iter().enumerate())
            .flat_map(|canary| std::iter::repeat_n(stands(canary), self.copies))
            .collect()
    }

    fn read<'a>(
        &'a self,
        trials: &[u64],
        worlds: impl Iterator<Item = &'a [World]>,
    ) -> Vec<Result<Vec<f32>, Failure>> {
        let planted = self.planted(worlds);
        let worlds: Vec<veracity_train::World<'_>> = planted
            .chunks_exact(self.canaries.len() * self.copies)
            .map(|planted| veracity_train::World::from(&self.data).crafting(planted))
            .collect();
        self.reading(|read| self.trainer.read(0, trials, &worlds, read))
    }

    /// Asks for what is read of a training: its noisy sums, which are scored here, or its scores where a device makes them.
    fn reading<T>(&self, ask: impl FnOnce(Reading<'_>) -> T) -> T {
        let directions = self.background.directions();
        let parameters = self.background.parameters();
        if !self.trainer.has_scores() {
            return ask(Reading::Sums { parameters, directions: &directions });
        }
        let (expected, stretches) = self.background.expected();
        let CanaryFacts { taken, places, chances } = &self.known;
        ask(Reading::Scores(&Likelihoods {
            parameters,
            directions: &directions,
            expected,
            stretches,
            taken,
            places,
            chances,
            worlds: self.game.worlds(),
        }))
    }

    /// The scores of what was read of one training: nothing is set aside for a step.
    fn scores(&self, read: &[f32]) -> Vec<f64> {
        if self.trainer.has_scores() {
            return read.chunks_exact(2).map(|parts| f64::from(parts[0]) + f64::from(parts[1])).collect();
        }
        let (background, game) = (&self.background, &self.game);
        let mut along = vec![0.0; background.width() - self.canaries.len()];
        let mut tallies = vec![Tally::default(); self.canaries.len()];
        for (step, read) in read.chunks_exact(background.width()).enumerate() {
            for (tally, (beyond, variance)) in
                tallies.iter_mut().zip(background.beyond(step as u64, read, &mut along))
            {
                game.score(tally, beyond / game.clip, variance / (game.clip * game.clip));
            }
        }
        tallies.iter().map(Tally::total).collect()
    }
}

impl AuditSubject for WhiteBox {
    fn canaries(&self) -> usize {
        self.canaries.len()
    }

    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        let read = self.read(&[trial], [worlds].into_iter()).swap_remove(0)?;
        Ok(self.scores(&read))
    }

    fn portion(&self) -> usize {
        let planted = size_of::<Option<&CraftedGradient>>() * self.canaries.len() * self.copies;
        self.reading(|read| self.trainer.portion(read, planted))
    }

    fn run_many(&self, trials: &[u64], worlds: &[Vec<World>]) -> Vec<Result<Vec<f64>, Failure>> {
        let read = self.read(trials, worlds.iter().map(Vec::as_slice));
        read.into_par_iter().map(|read| read.map(|read| self.scores(&read))).collect()
    }
}

/// Log-likelihood ratios, added up: as a product of ratios as long as that is a number of ordinary size, since logarithms take time.
#[derive(Debug, Clone, Copy)]
struct Tally {
    sum: f64,
    product: f64,
}

impl Default for Tally {
    fn default() -> Tally {
        Tally { sum: 0.0, product: 1.0 }
    }
}

impl Tally {
    /// Two numbers of this size have a product that is one, and no rounding of it is lost.
    const ORDINARY: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

    fn add(&mut self, score: f64) {
        self.sum += score;
    }

    /// Adds the logarithm of a ratio.
    fn add_log(&mut self, ratio: f64) {
        if !Tally::ORDINARY.contains(&ratio) {
            self.sum += ratio.ln();
            return;
        }
        self.product *= ratio;
        if !Tally::ORDINARY.contains(&self.product) {
            self.sum += self.product.ln();
            self.product = 1.0;
        }
    }

    fn total(&self) -> f64 {
        self.sum + self.product.ln()
    }
}

impl Game {
    pub(super) fn of(plan: &Plan, adjacency: Adjacency, copies: u32) -> Result<Game, Refusal> {
        let (noise, clip): (NoiseMultiplier, _) = match &plan.privacy {
            Privacy::Gaussian { noise, clip, .. } | Privacy::Laplace { noise, clip } => (*noise, *clip),
            Privacy::None => {
                return Err(Refusal::invalid("training without noise has no claim to audit"));
            }
        };
        if copies == 0 {
            return Err(Refusal::out_of_range("copies", copies, "at least 1"));
        }
        let rate = plan.sampling.rate()?.get();
        Ok(Game {
            clip: clip.get(),
            sigma: noise.get(),
            rate,
            is_mixed: matches!(plan.sampling, Sampling::Poisson { .. }) && rate < 1.0,
            copies,
            is_opposed: match adjacency {
                Adjacency::ReplaceOne => true,
                Adjacency::AddRemove | Adjacency::ZeroOut => false,
            },
        })
    }

    /// Adds what one step says to a tally: the log-likelihood ratio of "in" over "out", up to a factor where every copy is in every
    /// batch, or where batches are not drawn independently (then the sum is as good an order as any). What the records make of a
    /// parameter counts as noise, in the variance `s2`, both in units of the clip norm: canaries with loud ones say less.
    ///
    /// # Reference  [NasrEtAl23]; Neyman–Pearson: for Gaussian noise no other score tells the worlds apart better
    fn score(&self, tally: &mut Tally, seen: f64, s2: f64) {
        match (self.is_mixed, self.is_opposed) {
            (true, false) => tally.add_log(self.ratio(seen, s2)),
            (true, true) => {
                tally.add_log(self.ratio(seen, s2));
                tally.add_log(self.ratio(-seen, s2).recip());
            }
            // Half way between the worlds.
            (false, false) => tally.add((seen - 0.5 * self.rate * f64::from(self.copies)) / s2),
            (false, true) => tally.add(seen / s2),
        }
    }

    /// The chance that so many copies are in a batch, for none and up to all of them.
    fn chances(&self) -> Vec<f64> {
        let (q, k) = (self.rate, self.copies);
        let mut chances = vec![(1.0 - q).powi(k as i32)];
        for b in 1..=k {
            let before = chances[b as usize - 1];
            chances.push(before * (q / (1.0 - q) * f64::from(k - b + 1) / f64::from(b)));
        }
        chances
    }

    /// How a device tells the worlds apart.
    fn worlds(&self) -> Worlds {
        match (self.is_mixed, self.is_opposed) {
            (true, false) => Worlds::Mixed,
            (true, true) => Worlds::Opposed,
            // Half way between the worlds.
            (false, false) => Worlds::Apart { shift: 0.5 * self.rate * f64::from(self.copies) },
            (false, true) => Worlds::Apart { shift: 0.0 },
        }
    }

    /// The likelihood ratio of copies that may be in the batch over none.
    fn ratio(&self, seen: f64, s2: f64) -> f64 {
        let (q, k) = (self.rate, self.copies);
        // Σ_b C(k, b) q^b (1 − q)^(k − b) exp((2bx − b²)/2σ²), b copies being in the batch.
        let mut weight = (1.0 - q).powi(k as i32);
        let mut ratio = weight;
        for b in 1..=k {
            weight *= q / (1.0 - q) * f64::from(k - b + 1) / f64::from(b);
            let b = f64::from(b);
            // Finite where noise is next to none.
            ratio += weight * ((2.0 * b * seen - b * b) / (2.0 * s2)).min(700.0).exp();
        }
        ratio
    }
}
