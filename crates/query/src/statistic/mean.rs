//! The mean of clamped values: a noisy sum of distances from the middle, over a noisy or a public count.

use super::{MISS, Method, ratio_error, rounding};
use crate::{Bounds, Cell, Column, FixedPoint, NoiseKind, Part, Preview, column::present, lane::Lane};
use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;

/// Under add-remove the count is private and gets noise of its own; where rows are public, all of them count and a missing
/// value stands in the middle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mean {
    bounds: Bounds,
    fixed: FixedPoint,
    /// The noisy count, where the number of rows is private.
    count: Option<Lane>,
    sum: Lane,
}

impl Mean {
    pub(crate) fn new(
        bounds: Bounds,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Mean, Refusal> {
        let fixed = FixedPoint::for_means(bounds);
        let count = match adjacency {
            Adjacency::AddRemove => Some(Lane::count("count", noise, adjacency)?),
            Adjacency::ReplaceOne | Adjacency::ZeroOut => None,
        };
        let sum = Lane::new("sum", fixed.half_width(), fixed.exponent(), noise, adjacency)?;
        Ok(Mean { bounds, fixed, count, sum })
    }

    /// How far the sum and the count can be off, together with chance at most [`MISS`].
    fn errors(&self) -> (f64, f64) {
        match self.count {
            Some(count) => (self.sum.half_width(MISS / 2.0), count.half_width(MISS / 2.0)),
            None => (self.sum.half_width(MISS), 0.0),
        }
    }

    fn error_bar(&self, distance: f64, count: f64) -> f64 {
        let (sum_error, count_error) = self.errors();
        ratio_error(distance, sum_error, count, count_error) + self.fixed.unit()
    }
}

impl Method for Mean {
    fn parts(&self) -> Vec<Part> {
        self.count.iter().chain([&self.sum]).map(Lane::part).collect()
    }

    fn mechanism(&self) -> Mechanism {
        match self.count {
            Some(count) => Mechanism::Composed(vec![count.mechanism(), self.sum.mechanism()]),
            None => self.sum.mechanism(),
        }
    }

    fn preview(&self, rows: u64) -> Preview {
        // Evenly spread values have no mean distance.
        let bar = self.error_bar(0.0, rows as f64);
        Preview { cells: 1, error_bar: bar.min(self.bounds.width() / 2.0), rank_error: None }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        let values = column.numbers()?;
        let count = match self.count {
            Some(lane) => lane.value(lane.release(present(values).count() as i128, rng)),
            None => values.len() as f64,
        };
        let middle = self.fixed.middle();
        let exact = present(values).map(|x| self.fixed.encode(x) - middle).sum();
        let distance = self.sum.value(self.sum.release(exact, rng)) / count.max(1.0);
        let value = self.bounds.clamp(middle as f64 * self.fixed.unit() + distance);
        let bar = self.error_bar(distance, count) + rounding(self.bounds.magnitude());
        Ok(vec![Cell::plain(value, bar.min(self.bounds.reach(value)))])
    }
}
