//! The mean of clamped values: the share of two noisy sums, or where rows are public a noisy sum of distances from the middle.

use super::{MISS, Method, rounding, split::Split};
use crate::{Bounds, Cell, Column, Contribution, FixedPoint, NoiseKind, NoisySum, Part, Preview};
use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;

/// Under add-remove the count is private, and comes out of the two sums; where rows are public, all of them count and a
/// missing value stands in the middle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mean {
    bounds: Bounds,
    fixed: FixedPoint,
    noisy: Noisy,
}

/// What has noise.
#[derive(Debug, Clone, PartialEq)]
enum Noisy {
    /// Distances from both bounds, for as many records as there are.
    Split(Split),
    /// Distances from the middle, for a public number of rows.
    Sum(NoisySum),
}

impl Mean {
    pub(crate) fn new(
        bounds: Bounds,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Mean, Refusal> {
        let fixed = FixedPoint::for_means(bounds);
        let noisy = match adjacency {
            Adjacency::AddRemove => Noisy::Split(Split::new(bounds, fixed, noise)?),
            Adjacency::ReplaceOne | Adjacency::ZeroOut => {
                let contribution = Contribution {
                    exponent: fixed.exponent(),
                    adjacency,
                    ..Contribution::new(fixed.half_width())
                };
                Noisy::Sum(NoisySum::new("sum", contribution, noise)?)
            }
        };
        Ok(Mean { bounds, fixed, noisy })
    }

    fn sums(&self) -> &NoisySum {
        match &self.noisy {
            Noisy::Split(split) => split.sums(),
            Noisy::Sum(sum) => sum,
        }
    }

    /// The mean over a public number of rows.
    fn over_rows(&self, sum: &NoisySum, distance: i128, rows: usize, rng: &mut NoiseStream) -> Cell {
        let distance = sum.value(sum.release(distance, rng)) / rows.max(1) as f64;
        let value = self.bounds.clamp(self.fixed.middle() as f64 * self.fixed.unit() + distance);
        let bar = self.error_bar(sum, rows as f64) + rounding(self.bounds.magnitude());
        Cell::plain(value, bar.min(self.bounds.reach(value)))
    }

    fn error_bar(&self, sum: &NoisySum, rows: f64) -> f64 {
        sum.half_width(MISS) / rows.max(1.0) + self.fixed.unit()
    }
}

impl Method for Mean {
    fn parts(&self) -> Vec<Part> {
        vec![self.sums().part()]
    }

    fn mechanism(&self) -> Mechanism {
        self.sums().mechanism()
    }

    fn preview(&self, rows: u64) -> Preview {
        // Evenly spread values have their mean in the middle.
        let bar = match &self.noisy {
            Noisy::Split(split) => split.expected(rows),
            Noisy::Sum(sum) => self.error_bar(sum, rows as f64),
        };
        Preview { cells: 1, error_bar: bar.min(self.bounds.width() / 2.0), rank_error: None }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        let values = column.numbers()?;
        let cell = match &self.noisy {
            Noisy::Split(split) => {
                let (above, count) = self.fixed.total(values, self.fixed.lower());
                split.mean(above, count, rng)
            }
            Noisy::Sum(sum) => {
                let (distance, _) = self.fixed.total(values, self.fixed.middle());
                self.over_rows(sum, distance, values.len(), rng)
            }
        };
        Ok(vec![cell])
    }
}
