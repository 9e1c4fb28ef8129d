//! Training attacked from within: canaries that own one parameter each, and an attacker who sees every step.
//!
//! A canary is a record whose gradient lies along one parameter and has the length of the clip norm. The attacker reads that
//! parameter in the noisy sum of every step and adds up what it says for "in" over "out".

use super::planting::part;
use veracity_audit::{AuditSubject, Failure, World};
use veracity_core::Refusal;
use veracity_core::{Adjacency, NoiseMultiplier};
use veracity_noise::Entropy;
use veracity_train::{Crafted, Dataset, Draws, Plan, Privacy, Run, Sampling, cohort::Cohort};

/// Steps that show which parameters the records move least.
const SCOUTED: u64 = 10;

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
    entropy: Entropy,
}

/// What the attacker knows of one step: along a canary's parameter the sum is Σ copies in the batch + σN.
#[derive(Debug, Clone, Copy)]
struct Game {
    clip: f64,
    sigma: f64,
    /// The chance with which a copy is in a batch; none where batches are not drawn independently.
    rate: Option<f64>,
    copies: u32,
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
        let game = Game::of(&plan, copies as u32)?;
        let planted = canaries * copies;
        let data = match plan.sampling {
            Sampling::Poisson { .. } => data,
            Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => {
                part(&data, 0..data.len().saturating_sub(planted))?
            }
        };
        let entropy = Entropy::seeded(seed);
        let parameters = least_moved(&plan, &data, adjacency, &entropy, planted)?;
        if canaries == 0 || canaries > parameters.len() {
            return Err(Refusal::out_of_range("canaries", canaries, "1 to the number of parameters"));
        }
        let of = |length: f64| -> Result<Vec<Crafted>, Refusal> {
            parameters[..canaries].iter().map(|at| Crafted::dirac(*at, length as f32)).collect()
        };
        let opposites = match adjacency {
            Adjacency::ReplaceOne => Some(of(-game.clip)?),
            Adjacency::AddRemove | Adjacency::ZeroOut => None,
        };
        let canaries = of(game.clip)?;
        Ok(WhiteBox { cohort: Cohort::new(plan)?, data, canaries, opposites, copies, game, entropy })
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
            let said = run.last_noisy_sum().unwrap_or_default();
            for (score, canary) in scores.iter_mut().zip(&self.canaries) {
                // A canary's gradient is the clip norm times a unit vector.
                *score += self.game.score(canary.along(said) / (self.game.clip * self.game.clip));
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
    fn of(plan: &Plan, copies: u32) -> Result<Game, Refusal> {
        let (noise, clip): (NoiseMultiplier, _) = match &plan.privacy {
            Privacy::Gaussian { noise, clip, .. } | Privacy::Laplace { noise, clip } => (*noise, *clip),
            Privacy::None => {
                return Err(Refusal::invalid("training without noise has no claim to attack"));
            }
        };
        if copies == 0 {
            return Err(Refusal::out_of_range("copies", copies, "at least 1"));
        }
        let rate = match plan.sampling {
            Sampling::Poisson { .. } => Some(plan.sampling.rate()?.get()).filter(|rate| *rate < 1.0),
            Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => None,
        };
        Ok(Game { clip: clip.get(), sigma: noise.get(), rate, copies })
    }

    /// What one step says: the log-likelihood ratio of "in" over "out", up to a constant and a factor where every copy is in
    /// every batch, or where batches are not drawn independently (then the sum is as good an order as any).
    ///
    /// # Reference  [NasrEtAl23]; Neyman–Pearson: for Gaussian noise no other score tells the worlds apart better
    fn score(&self, seen: f64) -> f64 {
        let Some(q) = self.rate else { return seen };
        let (s2, k) = (self.sigma * self.sigma, self.copies);
        // Σ_b C(k, b) q^b (1 − q)^(k − b) exp((2bx − b²)/2σ²), b copies being in the batch.
        let mut weight = (1.0 - q).powi(k as i32);
        let mut ratio = weight;
        for b in 1..=k {
            weight *= q / (1.0 - q) * f64::from(k - b + 1) / f64::from(b);
            let b = f64::from(b);
            ratio += weight * ((2.0 * b * seen - b * b) / (2.0 * s2)).exp();
        }
        ratio.ln()
    }
}

/// All parameters, those first that the records move least in the first steps of a run. Attackers may know the records; what
/// they choose makes an audit stronger or weaker, never wrong.
fn least_moved(
    plan: &Plan,
    data: &Dataset,
    adjacency: Adjacency,
    entropy: &Entropy,
    planted: usize,
) -> Result<Vec<u32>, Refusal> {
    let draws = Draws { entropy, run: 1, trial: 0 };
    let blanks = vec![None; planted];
    let world = veracity_train::World::from(data).crafting(&blanks);
    let mut run = Run::new(plan, world, draws)?.recording(adjacency)?;
    for _ in 0..SCOUTED {
        run.step()?;
    }
    let mut moved = vec![0u128; plan.network.parameters()];
    for call in run.into_tape().map(|tape| tape.calls).unwrap_or_default() {
        if call.input.len() == moved.len() {
            moved.iter_mut().zip(&call.input).for_each(|(most, at)| *most = (*most).max(at.unsigned_abs()));
        }
    }
    let mut protocol: Vec<u32> = (0..moved.len() as u32).collect();
    protocol.sort_by_key(|at| moved[*at as usize]);
    Ok(protocol)
}
