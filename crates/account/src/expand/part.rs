//! What a mechanism becomes once adjacency, groups and sampling have been worked in: parts, and compositions of them.

use crate::integer::IntegerNoise;
use veracity_core::{Count, LossDistribution, RdpCurve, Refusal, Runs};

/// One mechanism as an accountant sees it: shifts are in units of the noise, adjacency and groups are already in them.
///
/// Matches that end in `_` refuse a part or know nothing of it, so that a new kind is refused until it is given a theorem.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// N(0, 1) against N(μ, 1).
    Gaussian {
        /// The shift in standard deviations.
        mu: f64,
    },
    /// Laplace noise whose centre moves by ε scales.
    Laplace {
        /// The shift in scales, which is also the pure ε of one use.
        epsilon: f64,
    },
    /// Integer noise, moved by a whole number.
    Integer {
        /// The noise.
        noise: IntegerNoise,
        /// The shift.
        shift: u64,
    },
    /// Randomized response: the true bucket becomes another one, or a blank that reports at random.
    RandomizedResponse {
        /// The number of buckets.
        buckets: u32,
        /// The chance that the report ignores the truth.
        noise: f64,
        /// Another bucket or a blank.
        neighbours: Neighbours,
    },
    /// Any mechanism whose losses span a range of at most ε (the exponential mechanism).
    BoundedRange {
        /// The range.
        epsilon: f64,
    },
    /// Declared (ε, δ); pure ε when δ is zero.
    Approximate {
        /// The ε.
        epsilon: f64,
        /// The δ.
        delta: f64,
    },
    /// Declared ρ-zCDP.
    Zcdp {
        /// The ρ.
        rho: f64,
    },
    /// A declared Rényi curve.
    Rdp {
        /// The curve.
        curve: RdpCurve,
    },
    /// Another part on a Poisson batch. The inner part is for one contribution; `neighbours` says what happens to it.
    PoissonSampled {
        /// The sampling rate, below 1.
        rate: f64,
        /// What happens to the batch when the record is in it.
        part: Box<Part>,
        /// Whether the record is there or not, or is one of two.
        neighbours: Neighbours,
    },
    /// Another part on a batch drawn without replacement, where one record is replaced. The inner part is for a
    /// replaced record (two contributions).
    FixedSizeSampled {
        /// Batch size over population.
        rate: f64,
        /// What happens to the batch when the record is in it.
        part: Box<Part>,
    },
    /// Σ p_i N(μ_i, 1) against N(0, 1), or the reverse: how many of a group's records enter a batch is random.
    Mixture {
        /// Each chance p_i with its shift μ_i ≥ 0 in standard deviations; the chances add up to 1.
        shifts: Vec<(f64, f64)>,
    },
    /// N(0, I) with one coordinate, uniformly chosen, moved by μ, against N(0, I): a record dealt to one of the batches.
    Allocated {
        /// The number of coordinates.
        batches: Count,
        /// The shift in standard deviations.
        mu: f64,
    },
    /// A privacy loss distribution as declared.
    Listed {
        /// The distribution.
        losses: LossDistribution,
    },
    /// The best of a random number of runs.
    BestOf {
        /// How many.
        runs: Runs,
        /// One run.
        run: Composition,
    },
    /// One of two parts, by a coin that everybody sees.
    Either {
        /// The chance of the rare part.
        chance: f64,
        /// What happens rarely.
        rare: Box<Part>,
        /// What happens else.
        usual: Box<Part>,
    },
    /// Something that leaks at most as much as this part: it has no lower end.
    AtMost(Box<Part>),
}

/// What two adjacent inputs of a part differ in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Neighbours {
    /// A contribution that is there in one and absent (or blank) in the other.
    Present,
    /// Two opposite contributions.
    Replaced,
}

/// Parts and how often each is used.
#[derive(Debug, Clone, PartialEq)]
pub struct Composition {
    /// The parts, equal ones gathered.
    pub parts: Vec<(Part, Count)>,
}

impl Composition {
    /// Adds uses of a part, gathering equal ones.
    pub(super) fn add(&mut self, part: &Part, times: Count) -> Result<(), Refusal> {
        match self.parts.iter_mut().find(|(known, _)| known == part) {
            Some((_, uses)) => {
                *uses = Count::new(uses.get().saturating_add(times.get()))?;
            }
            None => self.parts.push((part.clone(), times)),
        }
        Ok(())
    }

    /// Both compositions, one after the other.
    pub(super) fn then(&self, other: &Composition) -> Result<Composition, Refusal> {
        let mut both = self.clone();
        both.append(other)?;
        Ok(both)
    }

    /// Adds another composition after this one.
    pub(super) fn append(&mut self, other: &Composition) -> Result<(), Refusal> {
        other.parts.iter().try_for_each(|(part, times)| self.add(part, *times))
    }
}

impl Part {
    /// The shift, where this is a Gaussian and nothing else.
    pub(crate) fn gaussian_shift(&self) -> Option<f64> {
        if let Part::Gaussian { mu } = self { Some(*mu) } else { None }
    }
}
