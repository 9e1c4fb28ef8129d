//! Which records enter a batch, and what each way of drawing them costs.
//!
//! Batches are drawn from positions, not from what is there, so adjacent datasets get the same batches but for the record in
//! which they differ.

mod fixed;
mod poisson;
mod shuffled;

use fixed::Subset;
use poisson::Gaps;
use shuffled::Order;
use std::sync::Arc;
use veracity_core::{Adjacency, Count, Mechanism, Refusal, SamplingRate};
use veracity_noise::Family;

/// How batches are drawn. Each way has accounting of its own.
///
/// # Examples
///
/// ```
/// use veracity_core::Count;
/// use veracity_train::Sampling;
///
/// let sampling = Sampling::Poisson { batch: Count::new(256)?, population: Count::new(60_000)? };
/// assert_eq!(sampling.rate()?.get(), 256.0 / 60_000.0);
/// assert_eq!(sampling.steps_per_epoch(), 235);
/// let too_large = Sampling::FixedSize { batch: Count::new(10)?, population: Count::new(9)? };
/// assert!(too_large.rate().is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampling {
    /// Every record enters independently.
    Poisson {
        /// The planned batch size: what sums are divided by.
        batch: Count,
        /// How many records the rate is for; public.
        population: Count,
    },
    /// Every step draws a set of exactly `batch` records, each set as likely as any other.
    FixedSize {
        /// The batch size.
        batch: Count,
        /// How many records there are; public.
        population: Count,
    },
    /// Every epoch goes through all records once, in a new random order. When the batch size does not divide the number of
    /// records, the last batch of an epoch has what is left; it is divided by the planned size and gets the same noise.
    Shuffled {
        /// The planned batch size.
        batch: Count,
        /// How many records there are; public.
        population: Count,
    },
}

impl Sampling {
    /// The name used in plans.
    pub fn name(self) -> &'static str {
        match self {
            Sampling::Poisson { .. } => "poisson",
            Sampling::FixedSize { .. } => "fixed-size",
            Sampling::Shuffled { .. } => "shuffled",
        }
    }

    /// What sums are divided by: the planned batch size, since the realised one is private.
    pub fn planned(self) -> Count {
        match self {
            Sampling::Poisson { batch, .. }
            | Sampling::FixedSize { batch, .. }
            | Sampling::Shuffled { batch, .. } => batch,
        }
    }

    /// How many records it is planned for.
    pub fn population(self) -> Count {
        match self {
            Sampling::Poisson { population, .. }
            | Sampling::FixedSize { population, .. }
            | Sampling::Shuffled { population, .. } => population,
        }
    }

    /// Batch size over population; under Poisson sampling, the chance with which a record enters a batch.
    ///
    /// # Errors
    /// Refuses a batch that exceeds the population.
    pub fn rate(self) -> Result<SamplingRate, Refusal> {
        let (batch, population) = (self.planned(), self.population());
        if batch > population {
            return Err(Refusal::Invalid(format!(
                "batch is {}, expected at most {}, the number of records",
                batch.get(),
                population.get()
            )));
        }
        SamplingRate::new(batch.as_f64() / population.as_f64())
    }

    /// How many steps go through all records once.
    pub fn steps_per_epoch(self) -> u64 {
        self.population().get().div_ceil(self.planned().get())
    }

    /// `steps` of a mechanism on batches, under an adjacency for which there is a theorem.
    ///
    /// Under shuffling, a record is in one batch of each epoch, and whatever comes after depends on it only through what that
    /// step said. So an epoch costs one use of the mechanism, and nothing is gained by sampling. That holds where records keep
    /// their positions: a record more or less would change the permutation and with it every batch.
    ///
    /// # Reference  [Abadi16] (Poisson); [BalleBartheGaboardi18], [WangBalleKasiviswanathan19] (fixed size);
    /// [ChuaEtAl24] for why shuffling must not be accounted as Poisson sampling
    pub(crate) fn mechanism(
        self,
        step: Mechanism,
        steps: Count,
        adjacency: Adjacency,
    ) -> Result<Mechanism, Refusal> {
        let rate = self.rate()?;
        match (self, adjacency) {
            (Sampling::Poisson { .. }, Adjacency::ReplaceOne)
                if !matches!(step, Mechanism::Gaussian { .. }) =>
            {
                Err(Refusal::no_theorem(
                    format!("poisson-sampled {}", step.kind()),
                    adjacency,
                    "use add-remove or zero-out, or fixed-size sampling",
                ))
            }
            (Sampling::Poisson { .. }, _) => {
                Ok(Mechanism::PoissonSampled { rate, mechanism: Box::new(step) }.repeated(steps))
            }
            (Sampling::FixedSize { batch, population }, Adjacency::ReplaceOne) => {
                Ok(Mechanism::FixedSizeSampled { batch, population, mechanism: Box::new(step) }
                    .repeated(steps))
            }
            (Sampling::FixedSize { .. }, Adjacency::AddRemove | Adjacency::ZeroOut) => {
                Err(Refusal::no_theorem("fixed-size sampling", adjacency, "use replace-one"))
            }
            (Sampling::Shuffled { .. }, Adjacency::ZeroOut | Adjacency::ReplaceOne) => {
                Ok(step.repeated(Count::new(steps.get().div_ceil(self.steps_per_epoch()))?))
            }
            (Sampling::Shuffled { .. }, Adjacency::AddRemove) => Err(Refusal::no_theorem(
                "shuffled batches (all of them change with the number of records)",
                adjacency,
                "use zero-out or replace-one",
            )),
        }
    }

    /// For a device that draws Poisson batches itself: P(gap ≤ g) for each gap g between two records of a batch, in units of 2^-64. A
    /// word of 32 bits is held against the upper halves, and a further one decides a tie; a gap beyond the table is that long and then
    /// another gap. Nothing where every record enters every batch; refused for rates below 1/1024, whose gaps take logarithms.
    ///
    /// # Errors
    /// Refuses other samplings, and rates below 1/1024.
    pub fn gap_limits(self) -> Result<Option<Vec<u64>>, Refusal> {
        let rate = self.rate()?;
        match (self, Gaps::new(rate)) {
            (Sampling::Poisson { .. }, Gaps::None) => Ok(None),
            (Sampling::Poisson { .. }, gaps @ Gaps::Table(_)) => Ok(gaps.limits().map(<[u64]>::to_vec)),
            (Sampling::Poisson { .. }, Gaps::Logarithm { .. }) => {
                Err(Refusal::out_of_range("sampling rate", rate, "at least 1/1024 on this device"))
            }
            (Sampling::FixedSize { .. } | Sampling::Shuffled { .. }, _) => {
                Err(Refusal::Invalid(format!("batches are {}, but this needs poisson batches", self.name())))
            }
        }
    }

    /// Checks that batches can be drawn from so many positions.
    pub(crate) fn check(self, positions: usize) -> Result<(), Refusal> {
        self.rate()?;
        if positions > u32::MAX as usize {
            return Err(Refusal::out_of_range("records", positions, "fewer than 2^32"));
        }
        let population = self.population().get();
        match self {
            // The rate is public and stays what it is; a record more or less does not change it.
            Sampling::Poisson { .. } => Ok(()),
            Sampling::FixedSize { .. } | Sampling::Shuffled { .. } if population != positions as u64 => {
                Err(Refusal::Invalid(format!(
                    "the plan has records = {population}, but {} batches need the exact number of records in the data",
                    self.name()
                )))
            }
            Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => Ok(()),
        }
    }

    /// Refuses a plan for less than half of the records that an auditor has not planted: they are another dataset than the planned
    /// one. That refusal reveals something of their number, so it is only for the author of the plan, who knows the data.
    pub(crate) fn check_number(self, records: usize) -> Result<(), Refusal> {
        let population = self.population().get();
        match self {
            Sampling::Poisson { .. } if records as u64 > population.saturating_mul(2) => {
                Err(Refusal::out_of_range(
                    "records",
                    population,
                    "at least half of the number of records in the data",
                ))
            }
            Sampling::Poisson { .. } | Sampling::FixedSize { .. } | Sampling::Shuffled { .. } => Ok(()),
        }
    }
}

/// Draws the batches of one model. A clone shares what depends on the plan alone.
#[derive(Debug, Clone)]
pub(crate) enum Sampler {
    Poisson(Arc<Gaps>),
    FixedSize(Subset),
    Shuffled(Order),
}

impl Sampler {
    pub(crate) fn new(sampling: Sampling) -> Result<Sampler, Refusal> {
        Ok(match sampling {
            Sampling::Poisson { .. } => Sampler::Poisson(Arc::new(Gaps::new(sampling.rate()?))),
            Sampling::FixedSize { batch, .. } => Sampler::FixedSize(Subset::new(batch)),
            Sampling::Shuffled { batch, .. } => Sampler::Shuffled(Order::new(batch)),
        })
    }

    /// The positions of the batch of a step.
    ///
    /// # Promise  A function of the streams, the step and the number of positions; under Poisson sampling, whether a position
    /// is in does not depend on those after it
    pub(crate) fn draw(&mut self, step: u64, positions: usize, batch: &mut Vec<u32>, rng: &Family) {
        batch.clear();
        match self {
            Sampler::Poisson(gaps) => gaps.draw(positions, batch, &mut rng.stream(step)),
            Sampler::FixedSize(subset) => subset.draw(positions, batch, &mut rng.stream(step)),
            Sampler::Shuffled(order) => order.draw(step, positions, batch, rng),
        }
    }
}
