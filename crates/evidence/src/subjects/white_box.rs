//! Training attacked from within: canaries that own one parameter each, and an attacker who sees every step.
//!
//! A canary is a record whose gradient lies along one parameter and has the length of the clip norm. The attacker reads that
//! parameter in the noisy sum of every step, takes away what the records are expected to contribute, and adds up what is left
//! for "in" over "out".

use super::{background::Background, planting::part};
use veracity_audit::{AuditSubject, Failure, World};
use veracity_core::Refusal;
use veracity_core::{Adjacency, NoiseMultiplier};
use veracity_noise::Entropy;
use veracity_train::{Crafted, Dataset, Draws, Plan, Privacy, Run, Sampling, cohort::Cohort};

/// A plan, its records and the canaries planted in them.
#[derive(Debug)]
pub struct WhiteBox {
    cohort: Cohort,
    data: Dataset,
    canaries: Vec<Crafted>,
    /// Under replace-one, what stands in a canary's place when it is out: its opposite. Else nothing does.
    opposites: Option<Vec<Crafted>>,
    copies: usize,
    game: Game,
    /// What the records contribute to the canaries' parameters.
    background: Background,
    entropy: Entropy,
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
    /// the places of the last ones.
    pub fn new(
        plan: Plan,
        data: Dataset,
        adjacency: Adjacency,
        canaries: usize,
        copies: usize,
        seed: u64,
    ) -> Result<WhiteBox, Refusal> {
        let game = Game::of(&plan, adjacency, copies as u32)?;
        let planted = canaries * copies;
        let data = match plan.sampling {
            Sampling::Poisson { .. } => data,
            Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => {
                part(&data, 0..data.len().saturating_sub(planted))?
            }
        };
        let entropy = Entropy::seeded(seed);
        let noise = game.sigma * game.clip;
        let background = Background::learn(&plan, &data, &entropy, noise, planted, canaries)?;
        let of = |length: f64| -> Result<Vec<Crafted>, Refusal> {
            background.parameters().map(|at| Crafted::dirac(at, length as f32)).collect()
        };
        let opposites = if game.is_opposed { Some(of(-game.clip)?) } else { None };
        let canaries = of(game.clip)?;
        Ok(WhiteBox {
            cohort: Cohort::new(plan)?,
            data,
            canaries,
            opposites,
            copies,
            game,
            background,
            entropy,
        })
    }

    fn scores(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Refusal> {
        let stands = |(at, world): (usize, &World)| match world {
            World::In => Some(&self.canaries[at]),
            World::Out => self.opposites.as_ref().map(|opposites| &opposites[at]),
        };
        let planted: Vec<Option<&Crafted>> = worlds
            .iter()
            .enumerate()
            .flat_map(|canary| std::iter::repeat_n(stands(canary), self.copies))
            .collect();
        let world = veracity_train::World::from(&self.data).crafting(&planted);
        let draws = Draws { entropy: &self.entropy, run: 0, trial };
        let mut run: Run<'_> = self.cohort.begin(world, draws)?;
        let mut scores = vec![0.0; worlds.len()];
        while run.step()? {
            let Some(said) = run.last_noisy_sum() else { break };
            let heard = self.background.beyond(run.steps_done() - 1, said);
            for (score, (beyond, variance)) in scores.iter_mut().zip(heard) {
                *score += self.game.score(beyond, variance);
            }
        }
        Ok(scores)
    }
}

impl AuditSubject for WhiteBox {
    fn canaries(&self) -> usize {
        self.canaries.len()
    }

    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        self.scores(trial, worlds).map_err(|refusal| Failure::Run(refusal.to_string()))
    }
}

impl Game {
    pub(super) fn of(plan: &Plan, adjacency: Adjacency, copies: u32) -> Result<Game, Refusal> {
        let (noise, clip): (NoiseMultiplier, _) = match &plan.privacy {
            Privacy::Gaussian { noise, clip, .. } | Privacy::Laplace { noise, clip } => (*noise, *clip),
            Privacy::None => {
                return Err(Refusal::invalid("training without noise has no claim to attack"));
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

    /// What one step says: the log-likelihood ratio of "in" over "out", up to a factor where every copy is in every batch, or
    /// where batches are not drawn independently (then the sum is as good an order as any). What the records make of a
    /// parameter counts as noise, in `variance`: canaries with loud ones say less.
    ///
    /// # Reference  [NasrEtAl23]; Neyman–Pearson: for Gaussian noise no other score tells the worlds apart better
    fn score(&self, beyond: f64, variance: f64) -> f64 {
        let seen = beyond / self.clip;
        let s2 = variance / (self.clip * self.clip);
        match (self.is_mixed, self.is_opposed) {
            (true, false) => self.log_ratio(seen, s2),
            (true, true) => self.log_ratio(seen, s2) - self.log_ratio(-seen, s2),
            // Half way between the worlds.
            (false, false) => (seen - 0.5 * self.rate * f64::from(self.copies)) / s2,
            (false, true) => seen / s2,
        }
    }

    /// The log-likelihood ratio of copies that may be in the batch over none.
    fn log_ratio(&self, seen: f64, s2: f64) -> f64 {
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
        ratio.ln()
    }
}
