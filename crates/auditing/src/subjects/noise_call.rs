//! One kind of noise call on two adjacent answers: what is drawn in each world, and what it tells an attacker who knows the law.
//!
//! The samplers are those of releases: integer noise through its door, Gaussians on the grid of a vector, reports of local
//! privacy. The score is the log-likelihood ratio of "in" over "out" under the noise that is *declared*; by Neyman and
//! Pearson no other score tells the worlds apart better.

use veracity_audit::World;
use veracity_core::Refusal;
use veracity_core::{Adjacency, Buckets, Count, Epsilon, NoiseMultiplier, Probability, SamplingRate};
use veracity_mechanisms::local::{Coin, RandomizedResponse, Report};
use veracity_noise::{Distance, Noise, NoiseStream, Ratio, Stream, exact::uniform_below, vector::Grid};

/// How many numbers are drawn at once.
const BLOCK: u64 = 1024;
/// Beyond this, the grid of Gaussian noise is too coarse to tell one record.
const MOST_NOISE: f64 = 1e5;
/// A scale of continuous Laplace noise is about 2 to this many steps.
const LAPLACE_BITS: i32 = 30;

/// A noise call, made `times` times over.
#[derive(Debug)]
pub(super) struct NoiseCall {
    pub law: Law,
    /// The coin that lets the record into each batch.
    pub batch: Option<Batch>,
    pub times: u64,
}

/// Poisson sampling of the one record that the worlds differ by.
#[derive(Debug, Clone, Copy)]
pub(super) struct Batch {
    rate: f64,
    coin: Coin,
}

impl Batch {
    pub fn new(rate: SamplingRate) -> Result<Batch, Refusal> {
        Ok(Batch { rate: rate.get(), coin: Coin::nearest(Probability::new(rate.get())?) })
    }
}

/// What is drawn, what is declared, and the answer in both worlds.
#[derive(Debug)]
pub(super) enum Law {
    /// A coordinate of a vector with Gaussian noise; one record's contribution is 1.
    Vector { added: Grid, declared: f64, ends: Ends<f32> },
    /// An integer answer.
    Integer { added: Noise, declared: Integers, ends: Ends<i128> },
    /// A report on the value 0, or else on the value 1 or on nothing.
    Response { added: RandomizedResponse, declared: RandomizedResponse, blank: bool },
}

/// The clean answers of both worlds; a record that is not in the batch leaves 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ends<T> {
    inside: T,
    outside: T,
}

impl<T: Copy + Default + std::ops::Neg<Output = T>> Ends<T> {
    /// With the record and without, or with it and with its opposite.
    fn of(contribution: T, adjacency: Adjacency) -> Ends<T> {
        let outside = match adjacency {
            Adjacency::AddRemove | Adjacency::ZeroOut => T::default(),
            Adjacency::ReplaceOne => -contribution,
        };
        Ends { inside: contribution, outside }
    }

    fn in_world(self, world: World) -> T {
        match world {
            World::In => self.inside,
            World::Out => self.outside,
        }
    }
}

/// The declared law of integer noise.
#[derive(Debug, Clone, Copy)]
pub(super) enum Integers {
    /// P(x) ∝ exp(−|x|/scale).
    Laplace { scale: f64 },
    /// P(x) ∝ exp(−x²/2σ²).
    Gaussian { sigma: f64 },
}

impl Integers {
    /// ln P(seen | answer) − ln P(seen | 0).
    ///
    /// # Numerics  The difference is taken in whole numbers; then two roundings
    fn gain(self, seen: i128, answer: i128) -> f64 {
        match self {
            Integers::Laplace { scale } => {
                let nearer = seen.unsigned_abs() as i128 - (seen - answer).unsigned_abs() as i128;
                nearer as f64 / scale
            }
            Integers::Gaussian { sigma } => {
                answer as f64 * (2 * seen - answer) as f64 / (2.0 * sigma * sigma)
            }
        }
    }
}

impl Law {
    /// Gaussian noise on a coordinate to which the record adds up to `records` contributions.
    pub fn gaussian(
        declared: NoiseMultiplier,
        added: NoiseMultiplier,
        records: Count,
        adjacency: Adjacency,
    ) -> Result<Law, Refusal> {
        if declared.get().max(added.get()) > MOST_NOISE {
            return Err(Refusal::out_of_range(
                "noise multiplier",
                declared.get().max(added.get()),
                "at most 1e5 in an audit: no attack detects a record with more noise",
            ));
        }
        // As in training, room is left for the rounding to the grid, so that the declared noise is enough.
        let room = records.as_f64() * (1.0 - Grid::new(declared.get())?.extra_l2(1));
        let ends = Ends::of((room * (1.0 - f64::from(f32::EPSILON))) as f32, adjacency);
        Ok(Law::Vector { added: Grid::new(added.get())?, declared: declared.get(), ends })
    }

    /// Continuous Laplace noise by the integer one on a fine grid, which keeps its ε to the bit.
    pub fn laplace(
        declared: NoiseMultiplier,
        added: NoiseMultiplier,
        records: Count,
        adjacency: Adjacency,
    ) -> Result<Law, Refusal> {
        let steps = (LAPLACE_BITS - declared.get().log2().floor() as i32).max(0);
        // Products with powers of two are exact.
        let fine = |scale: NoiseMultiplier| scale.get() * f64::from(steps).exp2();
        let contribution = i128::from(records.get()) << steps;
        let declared = Integers::Laplace { scale: fine(declared) };
        let added = Noise::Laplace { scale: Ratio::at_least(fine(added))? };
        Ok(Law::Integer { added, declared, ends: Ends::of(contribution, adjacency) })
    }

    /// Integer noise on an integer answer that a record moves by `contribution`.
    pub fn integer(
        declared: Integers,
        factor: f64,
        contribution: Count,
        adjacency: Adjacency,
    ) -> Result<Law, Refusal> {
        let added = match declared {
            Integers::Laplace { scale } => Noise::Laplace { scale: Ratio::at_least(scale * factor)? },
            Integers::Gaussian { sigma } => Noise::Gaussian { sigma: Ratio::at_least(sigma * factor)? },
        };
        Ok(Law::Integer { added, declared, ends: Ends::of(i128::from(contribution.get()), adjacency) })
    }

    /// Randomized response; the chance to ignore the truth is `noise` as declared and `added` in truth.
    pub fn response(
        buckets: Buckets,
        noise: Probability,
        added: Probability,
        adjacency: Adjacency,
    ) -> Result<Law, Refusal> {
        let of = |noise: Probability| {
            let (k, lie) = (f64::from(buckets.get()), noise.get());
            // The truth has weight 1 − lie + lie/k, any other bucket lie/k.
            RandomizedResponse::new(buckets.get(), Epsilon::new((k * (1.0 - lie) / lie).ln_1p())?)
        };
        let blank = adjacency == Adjacency::ZeroOut;
        Ok(Law::Response { added: of(added)?, declared: of(noise)?, blank })
    }
}

impl NoiseCall {
    /// Draws in one world, and returns the attacker's score. `batch` is read where the record is sampled.
    pub fn score(&self, world: World, noise: Stream, batch: &mut Stream) -> Result<f64, Refusal> {
        match &self.law {
            Law::Vector { added, declared, ends } => {
                Ok(self.vector(world, *added, *declared, *ends, noise, batch))
            }
            Law::Integer { added, declared, ends } => {
                Ok(self.integers(world, *added, *declared, *ends, &mut NoiseStream::new(noise), batch))
            }
            Law::Response { added, declared, blank } => self.reports(world, added, declared, *blank, noise),
        }
    }

    /// Fills a block with the clean answers of one world.
    fn answer<T: Copy + Default>(&self, block: &mut [T], end: T, batch: &mut Stream) {
        for answer in block {
            let is_in = self.batch.is_none_or(|sampled| sampled.coin.toss(batch));
            *answer = if is_in { end } else { T::default() };
        }
    }

    /// What the record's two ends gain over an answer of 0, as one log-likelihood ratio.
    fn ratio(&self, inside: f64, outside: f64) -> f64 {
        match self.batch {
            None => inside - outside,
            Some(Batch { rate, .. }) => mixed(rate, inside) - mixed(rate, outside),
        }
    }

    fn blocks(&self) -> impl Iterator<Item = usize> {
        let (whole, rest) = (self.times / BLOCK, self.times % BLOCK);
        (0..whole).map(|_| BLOCK as usize).chain((rest > 0).then_some(rest as usize))
    }

    fn vector(
        &self,
        world: World,
        added: Grid,
        declared: f64,
        ends: Ends<f32>,
        mut noise: Stream,
        batch: &mut Stream,
    ) -> f64 {
        let mut values = vec![0f32; self.times.min(BLOCK) as usize];
        // ln p(x − a)/p(x) of a Gaussian.
        let gain = |seen: f64, answer: f64| answer * (2.0 * seen - answer) / (2.0 * declared * declared);
        let mut score = 0.0;
        for length in self.blocks() {
            let block = &mut values[..length];
            self.answer(block, ends.in_world(world), batch);
            added.add_noise(block, &mut noise);
            for seen in block.iter().map(|seen| f64::from(*seen)) {
                score += self.ratio(gain(seen, f64::from(ends.inside)), gain(seen, f64::from(ends.outside)));
            }
        }
        score
    }

    fn integers(
        &self,
        world: World,
        added: Noise,
        declared: Integers,
        ends: Ends<i128>,
        noise: &mut NoiseStream,
        batch: &mut Stream,
    ) -> f64 {
        let moved = Distance::LInf(ends.inside.abs_diff(ends.outside));
        let mut values = vec![0i128; self.times.min(BLOCK) as usize];
        let mut score = 0.0;
        for length in self.blocks() {
            let block = &mut values[..length];
            self.answer(block, ends.in_world(world), batch);
            for seen in added.add("audit", block, moved, noise) {
                score += self.ratio(declared.gain(seen, ends.inside), declared.gain(seen, ends.outside));
            }
        }
        score
    }

    fn reports(
        &self,
        world: World,
        added: &RandomizedResponse,
        declared: &RandomizedResponse,
        blank: bool,
        mut rng: Stream,
    ) -> Result<f64, Refusal> {
        let mut score = 0.0;
        for _ in 0..self.times {
            let report = match (world, blank) {
                (World::In, _) => added.encode(0, &mut rng)?,
                (World::Out, false) => added.encode(1, &mut rng)?,
                (World::Out, true) => Report::Value(uniform_below(u128::from(added.size()), &mut rng) as u32),
            };
            let other =
                if blank { 1.0 / f64::from(declared.size()) } else { declared.likelihood(1, &report) };
            score += (declared.likelihood(0, &report) / other).ln();
        }
        Ok(score)
    }
}

/// ln(1 − q + q e^gain), without overflow or the logarithm of nothing.
fn mixed(q: f64, gain: f64) -> f64 {
    if q == 1.0 {
        gain
    } else if gain < 30.0 {
        (q * gain.exp_m1()).ln_1p()
    } else {
        gain + (q + (1.0 - q) * (-gain).exp()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mixture_is_its_formula_and_does_not_overflow() {
        for q in [0.01, 0.3, 1.0] {
            for gain in [-50.0f64, -1.0, 0.0, 0.5, 29.0, 31.0, 300.0] {
                let plain = (1.0 - q + q * gain.exp()).ln();
                let apart = (mixed(q, gain) - plain).abs();
                assert!(apart <= 1e-12 * plain.abs().max(1.0), "{q} {gain}: {apart}");
            }
            assert!((mixed(q, 1e6) - (1e6 + q.ln())).abs() < 1e-6);
            assert!(mixed(q, -1e6).is_finite());
        }
    }

    /// The gains are the logarithms of the laws themselves, written out.
    #[test]
    fn gains_are_ratios_of_the_declared_masses() {
        let (scale, sigma) = (2.5, 3.0);
        let mass = |law: Integers, x: i128| match law {
            Integers::Laplace { .. } => (-(x as f64).abs() / scale).exp(),
            Integers::Gaussian { .. } => (-(x as f64).powi(2) / (2.0 * sigma * sigma)).exp(),
        };
        for law in [Integers::Laplace { scale }, Integers::Gaussian { sigma }] {
            for seen in -12..=12 {
                for answer in [-3, -1, 0, 2] {
                    let plain = (mass(law, seen - answer) / mass(law, seen)).ln();
                    assert!((law.gain(seen, answer) - plain).abs() < 1e-12, "{law:?} {seen} {answer}");
                }
            }
        }
    }
}
