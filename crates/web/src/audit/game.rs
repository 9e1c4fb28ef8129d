//! What is audited: noise by the exact samplers on a sum that one canary moves, and planted bugs beside it.

use std::str::FromStr;
use veracity_audit::{AuditSubject, Failure, World};
use veracity_core::{Count, Mechanism, NoiseMultiplier, Refusal, SamplingRate};
use veracity_noise::{Bits, Distance, Entropy, Key, Noise, NoiseStream, Purpose, Ratio};

/// The grid of the sum: so many steps are the most that one record is declared to move it.
const RECORD: u32 = 64;
/// How often the training takes a step.
const STEPS: u64 = 20;
/// In 2^−8: the probability with which a record enters a batch of the training.
const RATE: u64 = 64;

/// What is wrong with what is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// Nothing.
    Honest,
    /// Half of the declared noise is added.
    HalfNoise,
    /// The clip was forgotten: a record moves the sum three times as far as declared.
    NoClip,
    /// It is answered twice and charged once.
    Twice,
    /// Every run adds the same noise.
    SameNoise,
}

impl Bug {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Bug::Honest => "nothing: it does what it declares",
            Bug::HalfNoise => "it adds half the declared noise",
            Bug::NoClip => {
                "it forgets to clip: one record changes the sum by up to three times the declared amount"
            }
            Bug::Twice => "it answers twice but is charged once",
            Bug::SameNoise => "it uses a fixed seed: every run adds the same noise",
        }
    }
}

impl FromStr for Bug {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Bug, Refusal> {
        match name {
            "honest" => Ok(Bug::Honest),
            "half-noise" => Ok(Bug::HalfNoise),
            "no-clip" => Ok(Bug::NoClip),
            "twice" => Ok(Bug::Twice),
            "same-noise" => Ok(Bug::SameNoise),
            _ => {
                let known = "honest, half-noise, no-clip, twice or same-noise";
                Err(Refusal::Invalid(format!("unknown bug, expected {known}")))
            }
        }
    }
}

/// The distribution of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NoiseShape {
    Gaussian,
    Laplace,
}

/// Noisy sums, seen by an attacker who knows all other records: what they declare, and what they really do.
#[derive(Debug)]
pub struct Game {
    law: NoiseShape,
    is_training: bool,
    /// The scale of the noise on the grid.
    scale: Ratio,
    /// What is wrong.
    pub bug: Bug,
    entropy: Entropy,
}

impl Game {
    /// A game of one of three mechanisms.
    pub fn new(mechanism: &str, noise_multiplier: f64, bug: Bug, seed: u64) -> Result<Game, Refusal> {
        let (law, is_training) = match mechanism {
            "gaussian" => (NoiseShape::Gaussian, false),
            "laplace" => (NoiseShape::Laplace, false),
            "dp-sgd" => (NoiseShape::Gaussian, true),
            _ => {
                return Err(Refusal::Invalid(
                    "unknown mechanism, expected gaussian, laplace or dp-sgd".into(),
                ));
            }
        };
        if !(0.1..=100.0).contains(&noise_multiplier) {
            return Err(Refusal::out_of_range(
                "noise multiplier",
                noise_multiplier,
                "a number from 0.1 to 100",
            ));
        }
        let scale = Ratio::at_least(noise_multiplier * f64::from(RECORD))?;
        Ok(Game { law, is_training, scale, bug, entropy: Entropy::seeded(seed) })
    }

    /// What it declares, for the accountant: the noise that is drawn, on the grid where it is drawn.
    pub fn declared(&self) -> Result<Mechanism, Refusal> {
        let (noise, sensitivity) =
            (NoiseMultiplier::new(self.scale.as_f64())?, Count::new(u64::from(RECORD))?);
        Ok(match (self.law, self.is_training) {
            (NoiseShape::Laplace, _) => Mechanism::DiscreteLaplace { scale: noise, sensitivity },
            (NoiseShape::Gaussian, false) => Mechanism::DiscreteGaussian { sigma: noise, sensitivity },
            (NoiseShape::Gaussian, true) => Mechanism::PoissonSampled {
                rate: SamplingRate::new(RATE as f64 / 256.0)?,
                mechanism: Box::new(Mechanism::DiscreteGaussian { sigma: noise, sensitivity }),
            }
            .repeated(Count::new(STEPS)?),
        })
    }

    /// The noise that is really drawn.
    fn noise(&self) -> Result<Noise, Refusal> {
        let scale = match self.bug {
            Bug::HalfNoise => Ratio::at_least(0.5 * self.scale.as_f64())?,
            Bug::Honest | Bug::NoClip | Bug::Twice | Bug::SameNoise => self.scale,
        };
        Ok(match self.law {
            NoiseShape::Gaussian => Noise::Gaussian { sigma: scale },
            NoiseShape::Laplace => Noise::Laplace { scale },
        })
    }

    /// How much one noisy sum speaks for the canary. Of a single sum that is the sum itself; of a step of training, the logarithm of
    /// the ratio of its chances, were all as declared: then steps add up.
    fn evidence(&self, seen: i128) -> f64 {
        let (x, record, scale) = (seen as f64, f64::from(RECORD), self.scale.as_f64());
        if !self.is_training {
            return x;
        }
        let ratio = record * (2.0 * x - record) / (2.0 * scale * scale);
        (RATE as f64 / 256.0 * ratio.exp_m1()).ln_1p()
    }

    fn score(&self, trial: u64, world: World) -> Result<f64, Refusal> {
        let stream = |purpose, trial| self.entropy.stream(purpose, Key { trial, ..Key::default() });
        let mut batches = self.is_training.then(|| stream(Purpose::Batch, trial));
        let drawn = if self.bug == Bug::SameNoise { 0 } else { trial };
        let mut rng = NoiseStream::new(stream(Purpose::Noise, drawn));
        let noise = self.noise()?;
        let moves = if self.bug == Bug::NoClip { 3 * RECORD } else { RECORD };
        let declared = match self.law {
            NoiseShape::Gaussian => Distance::L2Squared(u128::from(moves).pow(2)),
            NoiseShape::Laplace => Distance::L1(u128::from(moves)),
        };
        let (steps, looks) =
            (if self.is_training { STEPS } else { 1 }, if self.bug == Bug::Twice { 2 } else { 1 });
        let mut score = 0.0;
        for _ in 0..steps {
            let is_drawn = batches.as_mut().is_none_or(|batches| batches.bits(8) < RATE);
            let is_there = is_drawn && world == World::In;
            let sum = if is_there { i128::from(moves) } else { 0 };
            for _ in 0..looks {
                let seen = noise.add("sum", &[sum], declared, &mut rng);
                score += self.evidence(seen[0]);
            }
        }
        Ok(score)
    }
}

impl AuditSubject for Game {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        worlds.iter().map(|world| Ok(self.score(trial, *world)?)).collect()
    }
}
