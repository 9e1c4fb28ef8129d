//! One training run, drawn in different batches: what each way leaks, side by side.
//!
//! A [`Training`] goes in; for each way to draw batches a certified [`Row`] comes out, and from them how far a trainer that
//! shuffles but claims Poisson batches may be off.

use crate::claims::{
    Adjacency, Count, Delta, Epsilon, Lower, Mechanism, NoiseMultiplier, Question, Refusal, SamplingRate,
    Upper, files::Interval,
};
use crate::{Shuffled, best};
use serde::Serialize;

/// Noisy gradient descent over a dataset, in batches of about one size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Training {
    dataset_size: Count,
    batch_size: Count,
    noise_multiplier: NoiseMultiplier,
    epochs: Count,
    max_batch: Option<Count>,
}

/// A way to draw batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Batches {
    /// Each record enters each batch independently.
    Poisson,
    /// Poisson batches of at most so many records.
    TruncatedPoisson,
    /// Each record is dealt to one batch of the epoch, independently of the others.
    BallsAndBins,
    /// A batch of fixed size is drawn anew for each step.
    FixedSize,
    /// The dataset is shuffled before each epoch and cut into batches.
    Shuffled,
    /// The batches are the same in each epoch.
    Deterministic,
}

impl Batches {
    /// Its name, as in tables and files.
    pub fn name(self) -> &'static str {
        match self {
            Batches::Poisson => "poisson",
            Batches::TruncatedPoisson => "truncated-poisson",
            Batches::BallsAndBins => "balls-and-bins",
            Batches::FixedSize => "fixed-size",
            Batches::Shuffled => "shuffled",
            Batches::Deterministic => "deterministic",
        }
    }
}

/// What one way to draw batches leaks.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The way.
    pub batches: Batches,
    /// The adjacency it was accounted under.
    pub adjacency: Adjacency,
    /// ε is at least this, where a lower end is known.
    pub at_least: Option<Lower<Epsilon>>,
    /// ε is at most this.
    pub at_most: Upper<Epsilon>,
}

/// All ways, the one most often claimed first.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// One row for each way and adjacency.
    pub rows: Vec<Row>,
    /// Batches in an epoch.
    pub batches: Count,
}

/// How far a trainer that shuffles but claims Poisson batches may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gap {
    /// What is claimed: the ε of Poisson batches.
    pub claimed: f64,
    /// What shuffled batches leak at least.
    pub at_least: f64,
    /// What they leak at most.
    pub at_most: f64,
}

impl Training {
    /// Checks that a batch is a part of the data, and no larger than the largest one.
    ///
    /// # Errors
    /// Refuses a batch larger than the data, and a largest batch smaller than it.
    pub fn new(
        (dataset_size, batch_size): (Count, Count),
        noise_multiplier: NoiseMultiplier,
        epochs: Count,
        max_batch: Option<Count>,
    ) -> Result<Training, Refusal> {
        if batch_size > dataset_size {
            return Err(Refusal::out_of_range("batch size", batch_size.get(), "batch size ≤ dataset size"));
        }
        if let Some(most) = max_batch.filter(|most| *most < batch_size) {
            return Err(Refusal::out_of_range("max batch", most.get(), "max batch ≥ batch size"));
        }
        Ok(Training { dataset_size, batch_size, noise_multiplier, epochs, max_batch })
    }

    /// Batches in an epoch: a last one that is not full is dropped, as trainers do.
    fn batches(&self) -> Result<Count, Refusal> {
        Count::new(self.dataset_size.get() / self.batch_size.get())
    }

    fn step(&self) -> Box<Mechanism> {
        Box::new(Mechanism::Gaussian { noise_multiplier: self.noise_multiplier })
    }

    /// The mechanism of all epochs.
    ///
    /// # Reference  [ChuaEtAl24], [ChuaEtAl25], [Ganesh25]; shuffled batches leak at most what batches in a known order do
    fn mechanism(&self, batches: Batches) -> Result<Mechanism, Refusal> {
        let rate = || SamplingRate::new(self.batch_size.as_f64() / self.dataset_size.as_f64());
        let steps = self.batches()?.times(self.epochs)?;
        Ok(match batches {
            Batches::Poisson => {
                Mechanism::PoissonSampled { rate: rate()?, mechanism: self.step() }.repeated(steps)
            }
            Batches::TruncatedPoisson => Mechanism::TruncatedPoissonSampled {
                rate: rate()?,
                most: self.max_batch.unwrap_or(self.dataset_size),
                population: self.dataset_size,
                mechanism: self.step(),
            }
            .repeated(steps),
            Batches::BallsAndBins => {
                Mechanism::RandomAllocation { batches: self.batches()?, mechanism: self.step() }
                    .repeated(self.epochs)
            }
            Batches::FixedSize => Mechanism::FixedSizeSampled {
                batch: self.batch_size,
                population: self.dataset_size,
                mechanism: self.step(),
            }
            .repeated(steps),
            Batches::Shuffled | Batches::Deterministic => self.step().repeated(self.epochs),
        })
    }
}

/// Accounts a training run for each way to draw its batches.
///
/// # Promise  Each row is certified; a row without a lower end says so
///
/// # Errors
/// Refuses where one of the ways cannot be accounted.
pub fn compare_batches(training: &Training, delta: Delta) -> Result<Comparison, Refusal> {
    let mut ways = vec![
        (Batches::Poisson, Adjacency::ZeroOut),
        (Batches::BallsAndBins, Adjacency::ZeroOut),
        (Batches::FixedSize, Adjacency::AddRemove),
        (Batches::FixedSize, Adjacency::ReplaceOne),
        (Batches::Shuffled, Adjacency::ZeroOut),
        (Batches::Deterministic, Adjacency::ZeroOut),
    ];
    if training.batch_size == training.dataset_size {
        // With one record fewer there is no batch of everybody.
        ways.retain(|way| *way != (Batches::FixedSize, Adjacency::AddRemove));
    }
    if training.max_batch.is_some() {
        ways.insert(1, (Batches::TruncatedPoisson, Adjacency::ZeroOut));
    }
    let rows = ways.into_iter().map(|(batches, adjacency)| row(training, batches, adjacency, delta));
    Ok(Comparison { rows: rows.collect::<Result<_, _>>()?, batches: training.batches()? })
}

fn row(training: &Training, batches: Batches, adjacency: Adjacency, delta: Delta) -> Result<Row, Refusal> {
    let question = Question { mechanism: training.mechanism(batches)?, adjacency };
    let found = best::epsilon_at(&question, delta)?.finding;
    let upper = found.upper().ok_or_else(|| {
        Refusal::NotCertified(format!(
            "internal error: epsilon of {} batches has no upper bound; please report it",
            batches.name()
        ))
    })?;
    let at_least = match batches {
        Batches::Shuffled if training.batches()? == Count::ONE => found.lower(),
        Batches::Shuffled => {
            let noise_multiplier = training.noise_multiplier;
            let shuffled =
                Shuffled { batches: training.batches()?, noise_multiplier, epochs: training.epochs };
            Some(shuffled.least_epsilon(delta)?)
        }
        _ => found.lower(),
    };
    Ok(Row { batches, adjacency, at_least, at_most: upper })
}

impl Comparison {
    /// What a trainer that shuffles but claims Poisson batches says, and what it does.
    pub fn gap(&self) -> Option<Gap> {
        let of = |batches: Batches| self.rows.iter().find(|row| row.batches == batches);
        let (claimed, shuffled) = (of(Batches::Poisson)?, of(Batches::Shuffled)?);
        Some(Gap {
            claimed: claimed.at_most.0.get(),
            at_least: shuffled.at_least?.0.get(),
            at_most: shuffled.at_most.0.get(),
        })
    }
}

/// `veracity batching --json`.
#[derive(Debug, Clone, Serialize)]
pub struct BatchingFile {
    schema: &'static str,
    delta: f64,
    batches_per_epoch: u64,
    ways: Vec<WayFile>,
    claimed_poisson: Option<f64>,
    shuffled: Option<Interval>,
}

/// One way of a comparison.
#[derive(Debug, Clone, Serialize)]
struct WayFile {
    batches: &'static str,
    adjacency: &'static str,
    epsilon: Interval,
}

impl BatchingFile {
    /// A comparison as a file.
    pub fn new(comparison: &Comparison, delta: Delta) -> BatchingFile {
        let interval =
            |lower: Option<f64>, upper: f64| Interval { lower, upper: Some(upper), ..Interval::default() };
        let ways = comparison.rows.iter().map(|row| WayFile {
            batches: row.batches.name(),
            adjacency: row.adjacency.name(),
            epsilon: interval(row.at_least.map(|lower| lower.0.get()), row.at_most.0.get()),
        });
        let gap = comparison.gap();
        BatchingFile {
            schema: "veracity.batching/1",
            delta: delta.get(),
            batches_per_epoch: comparison.batches.get(),
            ways: ways.collect(),
            claimed_poisson: gap.map(|gap| gap.claimed),
            shuffled: gap.map(|gap| interval(Some(gap.at_least), gap.at_most)),
        }
    }
}
