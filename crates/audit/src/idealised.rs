//! The ideal game: steps of the Poisson-sampled Gaussian alone, seen through a canary that owns one coordinate of the gradient.
//!
//! The attacker sees every noisy sum (the white-box setting). Along the canary's coordinate it is B + σN with the canary
//! in the data and σN without, B being whether the canary was in the batch; nothing else in the sum helps.

use crate::{AuditSubject, Failure, World};
use veracity_core::{Count, Mechanism, NoiseMultiplier, Refusal, SamplingRate};
use veracity_noise::{Entropy, Key, Purpose, Stream};

/// Noisy gradient descent without its gradients: what it declares, and what it really does.
///
/// # Examples
///
/// ```
/// use veracity_audit::{IdealAttacker, AuditSubject, World};
/// use veracity_core::{Count, NoiseMultiplier, SamplingRate};
///
/// let steps = Count::new(100)?;
/// let subject = IdealAttacker::honest(SamplingRate::new(0.5)?, NoiseMultiplier::new(1.0)?, steps);
/// let score = |trial, world| subject.run(trial, &[world]).unwrap_or_default();
/// let mean = |world| (0..50).flat_map(|trial| score(trial, world)).sum::<f64>() / 50.0;
/// // With the canary in, the likelihood ratio speaks for it, and without it against it.
/// assert!(mean(World::In) > 0.0 && mean(World::Out) < 0.0);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IdealAttacker {
    /// The sampling rate.
    pub rate: SamplingRate,
    /// The noise multiplier that is declared; the attacker scores by it.
    pub noise_multiplier: NoiseMultiplier,
    /// The number of steps.
    pub steps: Count,
    /// The noise multiplier that is really added: another one is a planted bug.
    pub noise_added: NoiseMultiplier,
    /// What its draws come from.
    pub seed: u64,
}

impl AuditSubject for IdealAttacker {
    fn run(&self, trial: u64, worlds: &[World]) -> Result<Vec<f64>, Failure> {
        Ok(worlds.iter().map(|world| self.score(*world, &mut AttackStream::of(self.seed, trial))).collect())
    }
}

impl IdealAttacker {
    /// A subject that does what it declares.
    pub fn honest(rate: SamplingRate, noise_multiplier: NoiseMultiplier, steps: Count) -> IdealAttacker {
        IdealAttacker { rate, noise_multiplier, steps, noise_added: noise_multiplier, seed: 0 }
    }

    /// The embedded default: small enough for seconds, leaky enough that its audit comes near its proof.
    ///
    /// # Errors
    /// None in practice: its numbers are within their ranges.
    pub fn demonstration() -> Result<IdealAttacker, Refusal> {
        let (rate, noise) = (SamplingRate::new(0.3)?, NoiseMultiplier::new(1.5)?);
        Ok(IdealAttacker::honest(rate, noise, Count::new(30)?))
    }

    /// How often the embedded default is run.
    pub const DEMONSTRATION_TRIALS: u64 = 1_000_000;

    /// The same declaration over other noise: a planted bug.
    pub fn adding(self, noise_added: NoiseMultiplier) -> IdealAttacker {
        IdealAttacker { noise_added, ..self }
    }

    /// What it declares to be, for the accountant.
    pub fn mechanism(&self) -> Mechanism {
        Mechanism::sampled_gaussian(self.rate, self.noise_multiplier, self.steps)
    }

    /// Runs once in a world and returns the attacker's score: the log-likelihood ratio of "in" over "out".
    ///
    /// # Reference  [NasrEtAl23] Dirac canary, white box; Neyman–Pearson: no other score tells the worlds apart better
    pub(crate) fn score(&self, world: World, rng: &mut AttackStream) -> f64 {
        let q = self.rate.get();
        let s2 = self.noise_multiplier.get().powi(2); // declared variance
        let added = self.noise_added.get();
        let mut score = 0.0;
        let mut spare = None;
        for _ in 0..self.steps.get() {
            let sampled = match world {
                World::In if rng.uniform() < q => 1.0,
                World::In | World::Out => 0.0,
            };
            let normal = spare.take().unwrap_or_else(|| {
                let (first, second) = rng.normals();
                spare = Some(second);
                first
            });
            let seen = sampled + added * normal;
            score += (q * ((2.0 * seen - 1.0) / (2.0 * s2)).exp_m1()).ln_1p();
        }
        score
    }
}

/// Randomness of simulated attacks, a function of (seed, trial) alone. Seeded: not for release, and never noise that
/// protects anyone.
pub(crate) struct AttackStream(Stream);

impl AttackStream {
    /// The stream of one trial: any shard of the trials, on any machine, draws the same.
    pub(crate) fn of(seed: u64, trial: u64) -> AttackStream {
        AttackStream(Entropy::seeded(seed).stream(Purpose::Attack, Key { trial, ..Key::default() }))
    }

    /// Uniform on [0, 1), in steps of 2^-53.
    fn uniform(&mut self) -> f64 {
        (self.0.word() >> 11) as f64 * (f64::EPSILON / 2.0)
    }

    /// Two independent standard normals (Box–Muller). Good for an attack; release noise needs an exact sampler.
    fn normals(&mut self) -> (f64, f64) {
        // 1 − u lies in (0, 1], so the logarithm is finite.
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        (radius * cosine, radius * sine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_trial_alone() {
        let draw = |seed, trial| AttackStream::of(seed, trial).0.word();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert!(draw(1, 2) != draw(1, 3) && draw(1, 2) != draw(2, 2));
    }

    /// Seed 1, 200 000 draws: the mean of squares is χ² and outside 1 ± 0.018 with chance below 1e-8.
    #[test]
    fn normals_have_unit_variance() {
        let mut rng = AttackStream::of(1, 0);
        let squares = (0..100_000).map(|_| {
            let (a, b) = rng.normals();
            a * a + b * b
        });
        let mean = squares.sum::<f64>() / 200_000.0;
        assert!((mean - 1.0).abs() < 0.018, "{mean}");
    }
}
