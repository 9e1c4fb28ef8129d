//! Features whose norm is bounded by this code, not by a promise of the caller.
//!
//! Rows stay where they are; each gets a factor that brings it within the bound, and is multiplied by it whenever it is read.

use crate::Dataset;
use veracity_core::{ClipNorm, Refusal};

/// Unit round-off of `f64`.
pub(super) const UNIT: f64 = f64::EPSILON / 2.0;

/// A constant feature beside the others, so that a model need not pass through the origin.
///
/// Its weight is penalised like any other: without that, the minimiser would have no bounded sensitivity.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Intercept {
    /// There is none.
    Absent,
    /// This value in every row. It counts towards the row's norm, so it must be below the bound.
    Constant(ClipNorm),
}

/// What becomes of a row, whatever the other rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Manner {
    /// Rows beyond the bound are scaled down to it.
    Clip,
    /// Every row that is not zero is scaled to the bound.
    Normalise,
}

/// How rows are bounded: public, and part of the model, since new rows must be bounded in the same way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowBound {
    bound: ClipNorm,
    intercept: Intercept,
    manner: Manner,
    /// What is left for the features proper, rounded down.
    room: f64,
}

impl RowBound {
    /// Checks that the intercept leaves room for features.
    ///
    /// # Errors
    /// Refuses an intercept that is as large as the bound, and bounds outside of 1e-300 to 1e100.
    pub fn new(bound: ClipNorm, intercept: Intercept, manner: Manner) -> Result<RowBound, Refusal> {
        let b = bound.get();
        let room = match intercept {
            Intercept::Absent => b,
            Intercept::Constant(c) if c.get() < b => {
                // (b − c)(b + c) loses no digits where b² − c² would.
                ((b - c.get()) * (b + c.get())).sqrt() * (1.0 - 8.0 * UNIT)
            }
            Intercept::Constant(c) => {
                return Err(Refusal::out_of_range("intercept", c, "a number below the norm bound of a row"));
            }
        };
        if room.is_normal() && b < 1e100 {
            Ok(RowBound { bound, intercept, manner, room })
        } else {
            Err(Refusal::out_of_range("norm bound", b, "a number between 1e-300 and 1e100"))
        }
    }

    /// The norm that no row exceeds, its intercept included.
    pub fn bound(&self) -> ClipNorm {
        self.bound
    }

    /// The factor of one row.
    ///
    /// # Promise   factor × ‖row‖ ≤ room, in real numbers
    /// # Numerics  Squares of `f32` are exact in `f64`; their sum of d terms is within d units in the last place
    fn factor(&self, row: &[f32]) -> f64 {
        let squares: f64 = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
        let most = squares.sqrt() * (1.0 + (row.len() as f64 + 8.0) * UNIT);
        match self.manner {
            Manner::Clip if most <= self.room => 1.0,
            _ if most == 0.0 => 1.0,
            // A row of the tiniest numbers must not overflow.
            Manner::Clip | Manner::Normalise => (self.room / most * (1.0 - 4.0 * UNIT)).min(1e100),
        }
    }
}

/// Records whose rows, factors applied, have at most the norm of their [`RowBound`].
#[derive(Debug)]
pub struct BoundedFeatures<'a> {
    data: &'a Dataset,
    factors: Vec<f64>,
    rows: RowBound,
}

impl<'a> BoundedFeatures<'a> {
    /// Bounds every row by itself: no row's factor depends on another row, so this costs no privacy.
    pub fn new(data: &'a Dataset, rows: RowBound) -> BoundedFeatures<'a> {
        let factors = (0..data.len()).map(|record| rows.factor(data.row(record))).collect();
        BoundedFeatures { data, factors, rows }
    }

    /// The records.
    pub fn data(&self) -> &'a Dataset {
        self.data
    }

    /// How their rows are bounded.
    pub fn rows(&self) -> RowBound {
        self.rows
    }

    /// Numbers in a row, the intercept among them: as many as a weight vector has.
    pub fn dimension(&self) -> usize {
        match self.rows.intercept {
            Intercept::Absent => self.data.width(),
            Intercept::Constant(_) => self.data.width() + 1,
        }
    }

    /// One bounded row as numbers, for a reader or a slow twin.
    pub fn row(&self, record: usize) -> Vec<f64> {
        let mut row = vec![0.0; self.dimension()];
        self.add_row(record, 1.0, &mut row);
        row
    }

    /// The score of one record: ⟨weights, row⟩.
    ///
    /// # Numerics  Within 1.01 (d + 4) u ‖weights‖ ‖row‖ in any order of summation
    pub(super) fn score(&self, record: usize, weights: &[f64]) -> f64 {
        const LANES: usize = 8;
        let row = self.data.row(record);
        let (whole, rest) = row.as_chunks::<LANES>();
        let mut lanes = [0.0; LANES];
        for (x, w) in whole.iter().zip(weights.as_chunks::<LANES>().0) {
            for lane in 0..LANES {
                lanes[lane] += f64::from(x[lane]) * w[lane];
            }
        }
        let mut sum: f64 = lanes.iter().sum();
        for (x, w) in rest.iter().zip(&weights[whole.len() * LANES..]) {
            sum += f64::from(*x) * w;
        }
        sum *= self.factors[record];
        match self.rows.intercept {
            Intercept::Absent => sum,
            Intercept::Constant(c) => sum + c.get() * weights[row.len()],
        }
    }

    /// Adds `times` one row to `sum`.
    pub(super) fn add_row(&self, record: usize, times: f64, sum: &mut [f64]) {
        let row = self.data.row(record);
        let scaled = times * self.factors[record];
        for (s, x) in sum.iter_mut().zip(row) {
            *s += scaled * f64::from(*x);
        }
        match self.rows.intercept {
            Intercept::Absent => {}
            Intercept::Constant(c) => sum[row.len()] += times * c.get(),
        }
    }
}
