//! Correlated noise: a strategy matrix C, by whose rows answers are combined before noise is added, and how often one
//! record may take part in the steps.
//!
//! The mechanism releases Cx + σz for lower-triangular C and independent z; what is published (running sums, iterates) is
//! computed from that. One record's contribution to each step has norm at most 1.

use crate::{Count, Refusal, SamplingRate};

/// The most steps of a strategy whose matrix is written out.
const MOST_ROWS: usize = 2048;
/// The widest band of a Toeplitz strategy.
const MOST_BANDS: usize = 8192;
/// Entries are at most this large, and diagonal ones at least one over it, so that no square of theirs leaves the floats.
const LARGEST_ENTRY: f64 = 1e15;

/// A lower-triangular strategy matrix.
///
/// # Examples
///
/// ```
/// use veracity_core::{Coefficients, Count, Strategy, TriangularMatrix};
///
/// let coefficients = Coefficients::new(vec![1.0, 0.5, 0.375])?;
/// let banded = Strategy::Banded { steps: Count::new(1_000)?, coefficients };
/// assert_eq!(banded.steps().get(), 1_000);
///
/// let written = Strategy::Written(TriangularMatrix::new(vec![vec![1.0], vec![0.5, 1.0]])?);
/// assert_eq!(written.steps().get(), 2);
/// // A row of the wrong length is refused by its place.
/// assert!(TriangularMatrix::new(vec![vec![1.0], vec![1.0]]).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub enum Strategy {
    /// Binary tree aggregation: the sum of every block of 1, 2, 4, … steps that starts at a multiple of its length, and is
    /// complete, gets noise of its own. A tree that is filled up with empty steps at the end has more steps.
    Tree {
        /// The leaves.
        steps: Count,
    },
    /// A Toeplitz band: row t is Σ c_i x_{t−i}.
    Banded {
        /// Steps in all.
        steps: Count,
        /// c_0, c_1, …: as many as the band is wide.
        coefficients: Coefficients,
    },
    /// Any lower-triangular matrix, row by row.
    Written(TriangularMatrix),
}

impl Strategy {
    /// Steps in all.
    pub fn steps(&self) -> Count {
        match self {
            Strategy::Tree { steps } | Strategy::Banded { steps, .. } => *steps,
            Strategy::Written(matrix) => matrix.steps,
        }
    }
}

/// The band of a Toeplitz strategy; the first coefficient is positive.
#[derive(Debug, Clone, PartialEq)]
pub struct Coefficients(Vec<f64>);

impl Coefficients {
    /// Checks that there is one, that none is huge and that the first is positive.
    ///
    /// # Errors
    /// Refuses coefficients or rows that are none of this, and too many of them.
    pub fn new(coefficients: Vec<f64>) -> Result<Self, Refusal> {
        match coefficients.first() {
            Some(_) if coefficients.len() > MOST_BANDS => {
                Err(Refusal::out_of_range("coefficients", coefficients.len(), "at most 8192 numbers"))
            }
            Some(first) if is_diagonal(*first) && coefficients.iter().all(is_entry) => {
                Ok(Coefficients(coefficients))
            }
            Some(_) => Err(Refusal::out_of_range(
                "coefficients",
                "out of range",
                "numbers from -1e15 to 1e15, with a first one of at least 1e-15",
            )),
            None => Err(Refusal::out_of_range("coefficients", "empty", "at least one number")),
        }
    }

    /// The numbers.
    pub fn get(&self) -> &[f64] {
        &self.0
    }
}

fn is_entry(x: &f64) -> bool {
    x.abs() <= LARGEST_ENTRY
}

fn is_diagonal(x: f64) -> bool {
    (1.0 / LARGEST_ENTRY..=LARGEST_ENTRY).contains(&x)
}

/// A lower-triangular matrix with a positive diagonal.
#[derive(Debug, Clone, PartialEq)]
pub struct TriangularMatrix {
    steps: Count,
    rows: Vec<Vec<f64>>,
}

impl TriangularMatrix {
    /// Checks that row t has t + 1 numbers, none of them huge, the last of them positive.
    ///
    /// # Errors
    /// Refuses coefficients or rows that are none of this, and too many of them.
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self, Refusal> {
        if rows.len() > MOST_ROWS {
            return Err(Refusal::out_of_range("strategy rows", rows.len(), "at most 2048 rows"));
        }
        for (t, row) in rows.iter().enumerate() {
            let usable = row.len() == t + 1
                && row.iter().all(is_entry)
                && row.last().is_some_and(|diagonal| is_diagonal(*diagonal));
            if !usable {
                return Err(Refusal::out_of_range(
                    "strategy row",
                    t + 1,
                    "one number more than the row above, from -1e15 to 1e15, with a last one of at least 1e-15",
                ));
            }
        }
        Ok(TriangularMatrix { steps: Count::new(rows.len() as u64)?, rows })
    }

    /// How many rows.
    pub fn steps(&self) -> Count {
        self.steps
    }

    /// The rows; row t has t + 1 numbers.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }
}

/// In which steps one record may take part.
///
/// # Examples
///
/// ```
/// use veracity_core::{Count, Mechanism, NoiseMultiplier, Participation, Strategy};
///
/// // Each record in at most 4 of 1000 steps, one epoch of 250 steps apart.
/// let participation = Participation::Separated { times: Count::new(4)?, separation: Count::new(250)? };
/// let strategy = Strategy::Tree { steps: Count::new(1_000)? };
/// let noise_multiplier = NoiseMultiplier::new(8.0)?;
/// assert_eq!(Mechanism::Matrix { strategy, participation, noise_multiplier }.kind(), "matrix");
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Participation {
    /// In one step.
    Once,
    /// In at most `times` steps, any two of them at least `separation` apart.
    Separated {
        /// The most steps.
        times: Count,
        /// The least distance of two of them.
        separation: Count,
    },
    /// Records are divided into groups that take turns, and a record enters the batch of its group's turn with this
    /// chance. Which group a record is in does not depend on other records, and one that replaces it is in the same.
    CyclicPoisson {
        /// How many groups: at least as many as the band is wide.
        groups: Count,
        /// The chance.
        rate: SamplingRate,
    },
}
