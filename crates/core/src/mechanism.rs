//! What was done to the data, as one closed value that drives accounting, claims and reports.
//!
//! Noise multipliers are relative to the largest contribution of *one* record (the clip norm of DP-SGD), so that the
//! same value is meaningful under every adjacency: replacing a record moves the answer by two contributions.

use crate::{
    Buckets, Count, Delta, Epsilon, GdpMu, LossDistribution, NoiseMultiplier, Participation, Probability,
    Refusal, Rho, Runs, SamplingRate, Strategy,
};

/// A mechanism or a composition of mechanisms. Matched without a wildcard everywhere, so a new kind is a compile error
/// in each place that must learn it.
///
/// # Examples
///
/// Two releases about the same people, one after the other, of which the first is on two disjoint regions:
///
/// ```
/// use veracity_core::{Epsilon, Mechanism, NoiseMultiplier};
///
/// let sum = Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(4.0)? };
/// let regions = Mechanism::Parallel(vec![sum.clone(), sum]);
/// let choice = Mechanism::Exponential { epsilon: Epsilon::new(0.5)? };
/// let both = Mechanism::Composed(vec![regions, choice]);
/// let Mechanism::Composed(parts) = &both else { unreachable!() };
/// assert_eq!(parts.iter().map(Mechanism::kind).collect::<Vec<_>>(), ["parallel", "exponential"]);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Mechanism {
    /// Gaussian noise of standard deviation `noise_multiplier` × one record's ℓ2 contribution.
    Gaussian {
        /// σ/C.
        noise_multiplier: NoiseMultiplier,
    },
    /// Laplace noise of scale `noise_multiplier` × one record's ℓ1 contribution.
    Laplace {
        /// b/C.
        noise_multiplier: NoiseMultiplier,
    },
    /// Integer Gaussian noise, P(x) ∝ exp(−x²/2σ²), on integer answers.
    DiscreteGaussian {
        /// σ, on the integer scale.
        sigma: NoiseMultiplier,
        /// How far one record moves the answer, a whole number.
        sensitivity: Count,
    },
    /// Integer Laplace noise, P(x) ∝ exp(−|x|/b), on integer answers.
    DiscreteLaplace {
        /// b, on the integer scale.
        scale: NoiseMultiplier,
        /// How far one record moves the answer, a whole number.
        sensitivity: Count,
    },
    /// Integer Skellam noise, the difference of two independent Poisson variables of mean `variance`/2, on integer answers.
    Skellam {
        /// Its variance, on the integer scale.
        variance: NoiseMultiplier,
        /// How far one record moves the answer, a whole number.
        sensitivity: Count,
    },
    /// Each person reports a uniformly random bucket with probability `noise`, the true one otherwise.
    RandomizedResponse {
        /// The number of buckets.
        buckets: Buckets,
        /// The chance that the report ignores the truth.
        noise: Probability,
    },
    /// The exponential mechanism, by its range: the losses of any two outputs differ by at most ε.
    Exponential {
        /// The bounded range.
        epsilon: Epsilon,
    },
    /// Declared: pure ε-differential privacy.
    Pure {
        /// The ε declared.
        epsilon: Epsilon,
    },
    /// Declared: (ε, δ)-differential privacy.
    Approximate {
        /// The ε declared.
        epsilon: Epsilon,
        /// The δ declared.
        delta: Delta,
    },
    /// Declared: ρ-zero-concentrated differential privacy.
    Zcdp {
        /// The ρ declared.
        rho: Rho,
    },
    /// Declared: a Rényi curve.
    Rdp {
        /// The curve declared.
        curve: RdpCurve,
    },
    /// Declared: μ-Gaussian differential privacy.
    Gdp {
        /// The μ declared.
        mu: GdpMu,
    },
    /// The mechanism on a batch that each record enters independently.
    PoissonSampled {
        /// The chance to enter.
        rate: SamplingRate,
        /// What is done to the batch.
        mechanism: Box<Mechanism>,
    },
    /// The mechanism on a batch of fixed size drawn without replacement.
    ///
    /// With γ = batch ÷ population and N(0), N(2C) the noise around two answers that differ by a replaced record: for a record
    /// that is added or removed the pair is (1−γ)N(0) + γN(2C) against N(0), or its reverse, and some dataset attains it. For
    /// one that is replaced the two are dominated together, and the lower end is what known datasets show. Use it for batches
    /// drawn anew in each step; under zero-out there is no theorem. Under add-remove the batch must be smaller than the
    /// population: with one record fewer, a batch of everybody has another size.
    FixedSizeSampled {
        /// Records in a batch.
        batch: Count,
        /// Records in all.
        population: Count,
        /// What is done to the batch.
        mechanism: Box<Mechanism>,
    },
    /// The mechanism on a Poisson batch that holds at most `most` records: surplus records, chosen at random, are dropped.
    ///
    /// With the chance that the other records fill the batch, which everybody may be told, the record takes the place of
    /// another one and counts twice; else it is a plain Poisson batch. Every adjacency, Gaussian noise (a declared μ-GDP
    /// mechanism under add-remove), an upper bound. Use it
    /// for trainers with a largest physical batch; a largest batch some deviations above the mean costs almost nothing.
    TruncatedPoissonSampled {
        /// The chance to be drawn.
        rate: SamplingRate,
        /// The largest batch.
        most: Count,
        /// Records in all.
        population: Count,
        /// What is done to the batch.
        mechanism: Box<Mechanism>,
    },
    /// One epoch over batches to which each record is dealt independently and uniformly: it enters exactly one of them
    /// (balls and bins, random allocation).
    ///
    /// The pair is N(0, σ²I) with one of t coordinates, uniformly chosen, moved by C, against N(0, σ²I): its likelihood ratio is
    /// a mean of t lognormals. Add-remove and zero-out, Gaussian noise, certified from both sides by method pld; epochs are
    /// repeated. It leaks about as much as Poisson batches or less, and every record is seen once an epoch.
    RandomAllocation {
        /// Batches in the epoch.
        batches: Count,
        /// What is done to each batch.
        mechanism: Box<Mechanism>,
    },
    /// One epoch over the batches of a shuffled dataset, all of one size.
    ///
    /// No tight bound is known: whatever the order, a record is in one batch, so an epoch leaks at most one use of the
    /// mechanism. Zero-out and replace-one. It can leak many times what Poisson batches do: `veracity batching` shows the gap.
    Shuffled {
        /// Batches in the epoch.
        batches: Count,
        /// What is done to each batch.
        mechanism: Box<Mechanism>,
    },
    /// Answers combined by a strategy matrix, with Gaussian noise on each combination (DP-FTRL, banded factorisation).
    Matrix {
        /// The matrix.
        strategy: Strategy,
        /// In which steps a record takes part.
        participation: Participation,
        /// σ/C, for a contribution of norm C to each step.
        noise_multiplier: NoiseMultiplier,
    },
    /// The best of a random number of runs, where which one is best is read off the runs' own outputs.
    BestOf {
        /// How many runs.
        runs: Runs,
        /// One run.
        mechanism: Box<Mechanism>,
    },
    /// Declared: a privacy loss distribution.
    ///
    /// Losses log dP/dQ with their probabilities under P, and the probability of an infinite one. The other direction may be
    /// listed apart; else it is the reverse, with mass P e^{−l} at −l and infinite where those lack something to 1. Whatever
    /// adjacency the list was made for is the one it holds under.
    Losses {
        /// The distribution declared.
        losses: LossDistribution,
    },
    /// The same mechanism again and again, each use may depend on the answers before it.
    Repeated {
        /// How often.
        times: Count,
        /// What is repeated.
        mechanism: Box<Mechanism>,
    },
    /// One mechanism after another, each may depend on the answers before it.
    Composed(Vec<Mechanism>),
    /// Mechanisms on disjoint parts of the data; which part a record is in does not depend on other records.
    Parallel(Vec<Mechanism>),
    /// The mechanism as seen by a group of records that change together.
    ///
    /// A sum moves by as many contributions. In a Poisson batch a binomial number of them enters, which makes the pair a
    /// mixture Σ p_i N(iC, σ²) against N(0, σ²): user-level and group DP-SGD, under add-remove and zero-out, by method pld.
    Group {
        /// Records in the group.
        size: Count,
        /// What is done.
        mechanism: Box<Mechanism>,
    },
}

impl Mechanism {
    /// Gaussian noise of standard deviation `noise_multiplier` × one record's ℓ2 contribution.
    ///
    /// # Errors
    /// Refuses a noise multiplier outside 1e-6 to 1e9.
    pub fn gaussian(noise_multiplier: f64) -> Result<Mechanism, Refusal> {
        Ok(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(noise_multiplier)? })
    }

    /// Laplace noise of scale `noise_multiplier` × one record's ℓ1 contribution.
    ///
    /// # Errors
    /// Refuses a noise multiplier outside 1e-6 to 1e9.
    pub fn laplace(noise_multiplier: f64) -> Result<Mechanism, Refusal> {
        Ok(Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(noise_multiplier)? })
    }

    /// DP-SGD: Gaussian noise on `steps` Poisson batches that each record enters with probability `sampling_rate`.
    ///
    /// # Errors
    /// Refuses a rate outside (0, 1], a noise multiplier outside 1e-6 to 1e9, and less than one step.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::Mechanism;
    ///
    /// let plan = Mechanism::dp_sgd(256.0 / 60_000.0, 1.1, 14_062)?;
    /// let Mechanism::Repeated { times, mechanism: step } = plan else { unreachable!() };
    /// assert_eq!((times.get(), step.kind()), (14_062, "poisson-sampled"));
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn dp_sgd(sampling_rate: f64, noise_multiplier: f64, steps: u64) -> Result<Mechanism, Refusal> {
        let (rate, noise) = (SamplingRate::new(sampling_rate)?, NoiseMultiplier::new(noise_multiplier)?);
        Ok(Mechanism::sampled_gaussian(rate, noise, Count::new(steps)?))
    }

    /// The mechanism of [`dp_sgd`](Mechanism::dp_sgd) from checked values.
    pub fn sampled_gaussian(
        rate: SamplingRate,
        noise_multiplier: NoiseMultiplier,
        steps: Count,
    ) -> Mechanism {
        let step = Mechanism::Gaussian { noise_multiplier };
        Mechanism::PoissonSampled { rate, mechanism: Box::new(step) }.repeated(steps)
    }

    /// This mechanism, `times` over.
    pub fn repeated(self, times: Count) -> Mechanism {
        if times == Count::ONE { self } else { Mechanism::Repeated { times, mechanism: Box::new(self) } }
    }

    /// Whether nothing is known of it but a guarantee that somebody declared.
    pub fn is_declared(&self) -> bool {
        match self {
            Mechanism::Exponential { .. }
            | Mechanism::Pure { .. }
            | Mechanism::Approximate { .. }
            | Mechanism::Zcdp { .. }
            | Mechanism::Rdp { .. }
            | Mechanism::Gdp { .. }
            | Mechanism::Losses { .. } => true,
            Mechanism::Gaussian { .. }
            | Mechanism::Laplace { .. }
            | Mechanism::DiscreteGaussian { .. }
            | Mechanism::DiscreteLaplace { .. }
            | Mechanism::Skellam { .. }
            | Mechanism::RandomizedResponse { .. }
            | Mechanism::Matrix { .. }
            | Mechanism::PoissonSampled { .. }
            | Mechanism::FixedSizeSampled { .. }
            | Mechanism::TruncatedPoissonSampled { .. }
            | Mechanism::RandomAllocation { .. }
            | Mechanism::Shuffled { .. }
            | Mechanism::BestOf { .. }
            | Mechanism::Repeated { .. }
            | Mechanism::Group { .. }
            | Mechanism::Composed(_)
            | Mechanism::Parallel(_) => false,
        }
    }

    /// The mechanisms that this one is made of, one level down.
    pub fn inside(&self) -> &[Mechanism] {
        match self {
            Mechanism::Gaussian { .. }
            | Mechanism::Laplace { .. }
            | Mechanism::DiscreteGaussian { .. }
            | Mechanism::DiscreteLaplace { .. }
            | Mechanism::Skellam { .. }
            | Mechanism::RandomizedResponse { .. }
            | Mechanism::Exponential { .. }
            | Mechanism::Pure { .. }
            | Mechanism::Approximate { .. }
            | Mechanism::Zcdp { .. }
            | Mechanism::Rdp { .. }
            | Mechanism::Gdp { .. }
            | Mechanism::Matrix { .. }
            | Mechanism::Losses { .. } => &[],
            Mechanism::PoissonSampled { mechanism, .. }
            | Mechanism::FixedSizeSampled { mechanism, .. }
            | Mechanism::TruncatedPoissonSampled { mechanism, .. }
            | Mechanism::RandomAllocation { mechanism, .. }
            | Mechanism::Shuffled { mechanism, .. }
            | Mechanism::BestOf { mechanism, .. }
            | Mechanism::Repeated { mechanism, .. }
            | Mechanism::Group { mechanism, .. } => std::slice::from_ref(mechanism),
            Mechanism::Composed(parts) | Mechanism::Parallel(parts) => parts,
        }
    }

    /// The mechanisms that this one is made of, to be changed; nothing for those that are not made of others.
    pub(crate) fn inside_mut(&mut self) -> Option<&mut [Mechanism]> {
        match self {
            Mechanism::PoissonSampled { mechanism, .. }
            | Mechanism::FixedSizeSampled { mechanism, .. }
            | Mechanism::TruncatedPoissonSampled { mechanism, .. }
            | Mechanism::RandomAllocation { mechanism, .. }
            | Mechanism::Shuffled { mechanism, .. }
            | Mechanism::BestOf { mechanism, .. }
            | Mechanism::Repeated { mechanism, .. }
            | Mechanism::Group { mechanism, .. } => Some(std::slice::from_mut(mechanism)),
            Mechanism::Composed(parts) | Mechanism::Parallel(parts) => Some(parts),
            // Those that `inside` says have none.
            _ => None,
        }
    }

    /// This mechanism around another inside, which `change` makes of the one that it has; nothing for those that have none or
    /// several, and where there is no such change.
    pub fn with_inside(&self, change: impl FnOnce(&Mechanism) -> Option<Mechanism>) -> Option<Mechanism> {
        let mut changed = self.clone();
        match &mut changed {
            Mechanism::Composed(_) | Mechanism::Parallel(_) => return None,
            around => {
                let inside = around.inside_mut()?.first_mut()?;
                *inside = change(inside)?;
            }
        }
        Some(changed)
    }

    /// The number that says how much noise there is, for mechanisms that add noise of one scale; and the power of the noise's
    /// standard deviation that it grows with.
    pub(crate) fn noise_mut(&mut self) -> Option<(&mut NoiseMultiplier, i32)> {
        match self {
            Mechanism::Gaussian { noise_multiplier: noise }
            | Mechanism::Laplace { noise_multiplier: noise }
            | Mechanism::DiscreteGaussian { sigma: noise, .. }
            | Mechanism::DiscreteLaplace { scale: noise, .. }
            | Mechanism::Matrix { noise_multiplier: noise, .. } => Some((noise, 1)),
            Mechanism::Skellam { variance, .. } => Some((variance, 2)),
            // The others add none, or have it inside.
            _ => None,
        }
    }

    /// The mechanism with this much noise, in the units of its own number; nothing for those that add noise of no one scale.
    pub fn at_noise(&self, noise: NoiseMultiplier) -> Option<Mechanism> {
        let mut changed = self.clone();
        if let Some((own, _)) = changed.noise_mut() {
            *own = noise;
            return Some(changed);
        }
        self.with_inside(|inside| inside.at_noise(noise))
    }

    /// The name of its kind, as on the command line and in files.
    pub fn kind(&self) -> &'static str {
        match self {
            Mechanism::Gaussian { .. } => "gaussian",
            Mechanism::Laplace { .. } => "laplace",
            Mechanism::DiscreteGaussian { .. } => "discrete-gaussian",
            Mechanism::DiscreteLaplace { .. } => "discrete-laplace",
            Mechanism::Skellam { .. } => "skellam",
            Mechanism::RandomizedResponse { .. } => "randomized-response",
            Mechanism::Exponential { .. } => "exponential",
            Mechanism::Pure { .. } => "pure",
            Mechanism::Approximate { .. } => "approximate",
            Mechanism::Zcdp { .. } => "zcdp",
            Mechanism::Rdp { .. } => "rdp",
            Mechanism::Gdp { .. } => "gdp",
            Mechanism::PoissonSampled { .. } => "poisson-sampled",
            Mechanism::FixedSizeSampled { .. } => "fixed-size-sampled",
            Mechanism::TruncatedPoissonSampled { .. } => "truncated-poisson-sampled",
            Mechanism::RandomAllocation { .. } => "random-allocation",
            Mechanism::Shuffled { .. } => "shuffled",
            Mechanism::Matrix { .. } => "matrix",
            Mechanism::BestOf { .. } => "best-of",
            Mechanism::Losses { .. } => "losses",
            Mechanism::Repeated { .. } => "repeated",
            Mechanism::Composed(_) => "composed",
            Mechanism::Parallel(_) => "parallel",
            Mechanism::Group { .. } => "group",
        }
    }
}

/// A declared Rényi curve: for each order α > 1, the divergence never exceeds the value beside it.
///
/// # Examples
///
/// ```
/// use veracity_core::RdpCurve;
///
/// let curve = RdpCurve::new(vec![(2.0, 0.1), (8.0, 0.4)])?;
/// // Divergences rise with the order, so the value at 8 bounds all orders from 2 to 8.
/// assert_eq!(curve.at(3.0), 0.4);
/// // Beyond the last point nothing is declared.
/// assert_eq!(curve.at(9.0), f64::INFINITY);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RdpCurve(Vec<(f64, f64)>);

impl RdpCurve {
    /// Checks that there is a point, that orders exceed 1 and rise, and that values are not negative.
    ///
    /// # Errors
    /// Refuses a curve that is none of this.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, Refusal> {
        if points.is_empty() {
            return Err(Refusal::out_of_range("rdp curve", "empty", "at least one (order, value) pair"));
        }
        for &(order, value) in &points {
            if !(order > 1.0 && order.is_finite()) {
                return Err(Refusal::out_of_range("rdp order", order, "a finite order > 1"));
            }
            if value.is_nan() || value < 0.0 {
                return Err(Refusal::out_of_range("rdp value", value, "value ≥ 0"));
            }
        }
        if points.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(Refusal::out_of_range("rdp orders", "not increasing", "orders in increasing order"));
        }
        Ok(RdpCurve(points))
    }

    /// The declared points, by rising order.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.0
    }

    /// The least declared value at an order ≥ `order`: Rényi divergences rise with the order, so it is a bound there.
    pub fn at(&self, order: f64) -> f64 {
        self.0.iter().filter(|point| point.0 >= order).map(|point| point.1).fold(f64::INFINITY, f64::min)
    }
}
