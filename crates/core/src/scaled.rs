//! A mechanism with another amount of noise: what an audit asks after.

use crate::{GdpMu, Mechanism, NoiseMultiplier, Refusal, Rho};

impl Mechanism {
    /// The same mechanism with `part` times its noise, in all of its parts.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::{Count, Mechanism, NoiseMultiplier, SamplingRate};
    ///
    /// let plan = Mechanism::dp_sgd(SamplingRate::new(0.1)?, NoiseMultiplier::new(2.0)?, Count::new(50)?);
    /// let half = Mechanism::dp_sgd(SamplingRate::new(0.1)?, NoiseMultiplier::new(1.0)?, Count::new(50)?);
    /// assert_eq!(plan.with_noise(0.5)?, half);
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn with_noise(&self, part: f64) -> Result<Mechanism, Refusal> {
        let scaled = |noise: NoiseMultiplier| NoiseMultiplier::new(noise.get() * part);
        let inner = |mechanism: &Mechanism| mechanism.with_noise(part).map(Box::new);
        let all = |parts: &[Mechanism]| {
            parts.iter().map(|each| each.with_noise(part)).collect::<Result<Vec<_>, _>>()
        };
        Ok(match self {
            Mechanism::Gaussian { noise_multiplier } => {
                Mechanism::Gaussian { noise_multiplier: scaled(*noise_multiplier)? }
            }
            Mechanism::Laplace { noise_multiplier } => {
                Mechanism::Laplace { noise_multiplier: scaled(*noise_multiplier)? }
            }
            Mechanism::DiscreteGaussian { sigma, sensitivity } => {
                Mechanism::DiscreteGaussian { sigma: scaled(*sigma)?, sensitivity: *sensitivity }
            }
            Mechanism::DiscreteLaplace { scale, sensitivity } => {
                Mechanism::DiscreteLaplace { scale: scaled(*scale)?, sensitivity: *sensitivity }
            }
            // What they declare is the noise of a Gaussian, in other units.
            Mechanism::Gdp { mu } => Mechanism::Gdp { mu: GdpMu::new(mu.get() / part)? },
            Mechanism::Zcdp { rho } => Mechanism::Zcdp { rho: Rho::new(rho.get() / (part * part))? },
            Mechanism::Matrix { strategy, participation, noise_multiplier } => Mechanism::Matrix {
                strategy: strategy.clone(),
                participation: *participation,
                noise_multiplier: scaled(*noise_multiplier)?,
            },
            Mechanism::PoissonSampled { rate, mechanism } => {
                Mechanism::PoissonSampled { rate: *rate, mechanism: inner(mechanism)? }
            }
            Mechanism::FixedSizeSampled { batch, population, mechanism } => Mechanism::FixedSizeSampled {
                batch: *batch,
                population: *population,
                mechanism: inner(mechanism)?,
            },
            Mechanism::TruncatedPoissonSampled { rate, most, population, mechanism } => {
                Mechanism::TruncatedPoissonSampled {
                    rate: *rate,
                    most: *most,
                    population: *population,
                    mechanism: inner(mechanism)?,
                }
            }
            Mechanism::RandomAllocation { batches, mechanism } => {
                Mechanism::RandomAllocation { batches: *batches, mechanism: inner(mechanism)? }
            }
            Mechanism::Shuffled { batches, mechanism } => {
                Mechanism::Shuffled { batches: *batches, mechanism: inner(mechanism)? }
            }
            Mechanism::BestOf { runs, mechanism } => {
                Mechanism::BestOf { runs: *runs, mechanism: inner(mechanism)? }
            }
            Mechanism::Repeated { times, mechanism } => {
                Mechanism::Repeated { times: *times, mechanism: inner(mechanism)? }
            }
            Mechanism::Group { size, mechanism } => {
                Mechanism::Group { size: *size, mechanism: inner(mechanism)? }
            }
            Mechanism::Composed(parts) => Mechanism::Composed(all(parts)?),
            Mechanism::Parallel(parts) => Mechanism::Parallel(all(parts)?),
            Mechanism::RandomizedResponse { .. }
            | Mechanism::Exponential { .. }
            | Mechanism::Pure { .. }
            | Mechanism::Approximate { .. }
            | Mechanism::Rdp { .. }
            | Mechanism::Losses { .. } => {
                return Err(Refusal::no_theorem(
                    self.kind(),
                    "a part of its noise",
                    "give a mechanism whose noise has a scale",
                ));
            }
        })
    }
}
