//! Correlated noise: a strategy matrix C, by whose rows answers are combined before noise is added, and how often one
//! record may take part in the steps.
//!
//! The mechanism releases Cx + σz for lower-triangular C and independent z; what is published (running sums, iterates) is
//! computed from that. One record's contribution to each step has norm at most 1.

use crate::{Count, Refusal, SamplingRate};

/// The most steps of a strategy whose matrix is written out.
const MOST_ROWS: usize = 4096;

/// A lower-triangular strategy matrix.
#[derive(Debug, Clone, PartialEq)]
pub enum Strategy {
    /// Binary tree aggregation: every node of the complete tree over the steps gets noise of its own.
    Tree {
        /// The leaves that are used.
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
    /// Checks that there is one, that all are finite and that the first is positive.
    pub fn new(coefficients: Vec<f64>) -> Result<Self, Refusal> {
        match coefficients.first() {
            Some(first) if *first > 0.0 && coefficients.iter().all(|c| c.is_finite()) => {
                Ok(Coefficients(coefficients))
            }
            Some(_) => Err(Refusal::out_of_range(
                "coefficients",
                "not usable",
                "finite numbers, the first of them positive",
            )),
            None => Err(Refusal::out_of_range("coefficients", "empty", "at least one number")),
        }
    }

    /// The numbers.
    pub fn get(&self) -> &[f64] {
        &self.0
    }
}

/// A lower-triangular matrix with a positive diagonal.
#[derive(Debug, Clone, PartialEq)]
pub struct TriangularMatrix {
    steps: Count,
    rows: Vec<Vec<f64>>,
}

impl TriangularMatrix {
    /// Checks that row t has t + 1 finite numbers, the last of them positive.
    pub fn new(rows: Vec<Vec<f64>>) -> Result<Self, Refusal> {
        if rows.len() > MOST_ROWS {
            return Err(Refusal::out_of_range("strategy rows", rows.len(), "at most 4096 rows"));
        }
        for (t, row) in rows.iter().enumerate() {
            let usable = row.len() == t + 1
                && row.iter().all(|x| x.is_finite())
                && row.last().is_some_and(|diagonal| *diagonal > 0.0);
            if !usable {
                return Err(Refusal::out_of_range(
                    "strategy row",
                    t + 1,
                    "as many finite numbers as its place, the last of them positive",
                ));
            }
        }
        Ok(TriangularMatrix { steps: Count::new(rows.len() as u64)?, rows })
    }

    /// The rows; row t has t + 1 numbers.
    pub fn rows(&self) -> &[Vec<f64>] {
        &self.rows
    }
}

/// In which steps one record may take part.
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
    /// Records are divided into as many groups as the band is wide; the groups take turns, and a record enters the batch
    /// of its group's turn with this chance.
    CyclicPoisson {
        /// The chance.
        rate: SamplingRate,
    },
}
