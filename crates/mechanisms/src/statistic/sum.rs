//! The sum of clamped values.

use super::{MISS, Method, rounding};
use crate::fixed::exponent_of;
use crate::{Bounds, Cell, Column, Contribution, FixedPoint, NoiseKind, NoisySum, Part, Preview};
use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;

/// Under add-remove one record contributes up to the larger bound. Where rows are public it is a distance from the middle
/// that counts, at most half the width: a blank, and so a missing value, stands in the middle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sum {
    bounds: Bounds,
    fixed: FixedPoint,
    adjacency: Adjacency,
    sum: NoisySum,
}

impl Sum {
    /// Error bars cover the conversion of this many rows, far more than any machine holds.
    const ROWS: f64 = (1u64 << 40) as f64;

    pub(crate) fn new(
        bounds: Bounds,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Sum, Refusal> {
        let fixed = FixedPoint::for_sums(bounds);
        let contribution = match adjacency {
            Adjacency::AddRemove => fixed.farthest(),
            Adjacency::ReplaceOne | Adjacency::ZeroOut => fixed.half_width(),
        };
        let contribution =
            Contribution { exponent: fixed.exponent(), adjacency, ..Contribution::new(contribution) };
        let sum = NoisySum::new("sum", contribution, noise)?;
        Ok(Sum { bounds, fixed, adjacency, sum })
    }

    fn exact(&self, values: &[f64]) -> i128 {
        match self.adjacency {
            Adjacency::AddRemove => self.fixed.total(values, 0).0,
            Adjacency::ReplaceOne | Adjacency::ZeroOut => {
                let middle = self.fixed.middle();
                self.fixed.total(values, middle).0 + values.len() as i128 * middle
            }
        }
    }

    /// What all conversions to fixed point together can amount to: nothing, when every float within the bounds is a whole
    /// number of units.
    fn conversion(&self) -> f64 {
        let smallest = self.bounds.lower().abs().min(self.bounds.upper().abs());
        let one_sign = self.bounds.lower() > 0.0 || self.bounds.upper() < 0.0;
        if one_sign && smallest.is_normal() && exponent_of(smallest) - 52 >= self.fixed.exponent() {
            0.0
        } else {
            0.5 * Sum::ROWS * self.fixed.unit()
        }
    }
}

impl Method for Sum {
    fn parts(&self) -> Vec<Part> {
        vec![self.sum.part()]
    }

    fn mechanism(&self) -> Mechanism {
        self.sum.mechanism()
    }

    fn preview(&self, _rows: u64) -> Preview {
        Preview { cells: 1, error_bar: self.sum.half_width(MISS) + self.conversion(), rank_error: None }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        let value = self.sum.value(self.sum.release(self.exact(column.numbers()?), rng));
        Ok(vec![Cell::plain(value, self.sum.half_width(MISS) + self.conversion() + rounding(value))])
    }
}
