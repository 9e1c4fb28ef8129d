//! The population variance of clamped values: mean square distance from the middle, less the square of the mean distance.

use super::{MISS, Method, ratio_error, rounding};
use crate::{Bounds, Cell, Column, FixedPoint, NoiseKind, Part, Preview, lane::Lane};
use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;

/// A count (where rows are private), a sum of distances from the middle and a sum of their squares. The middle is public,
/// so no answer is needed to ask the next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variance {
    bounds: Bounds,
    fixed: FixedPoint,
    /// The noisy count, where the number of rows is private.
    count: Option<Lane>,
    sum: Lane,
    squares: Lane,
}

/// Noisy numbers, and the count that they are over.
struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Variance {
    pub(crate) fn new(
        bounds: Bounds,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Variance, Refusal> {
        let fixed = FixedPoint::for_squares(bounds);
        let (half, square) = (fixed.half_width(), fixed.half_width() * fixed.half_width());
        let (count, square) = match adjacency {
            Adjacency::AddRemove => (Some(Lane::count("count", noise, adjacency)?), square),
            // A blank stands in the middle: its square is nothing.
            Adjacency::ZeroOut => (None, square),
            // Squares are not negative, so replacing one moves their sum by one largest square, not by two.
            Adjacency::ReplaceOne => (None, (square + 1) / 2),
        };
        let sum = Lane::new("sum", half, fixed.exponent(), noise, adjacency)?;
        let squares = Lane::new("squares", square, 2 * fixed.exponent(), noise, adjacency)?;
        Ok(Variance { bounds, fixed, count, sum, squares })
    }

    fn half(&self) -> f64 {
        self.bounds.width() / 2.0
    }

    /// The largest variance within the bounds: half of the values at each.
    fn most(&self) -> f64 {
        self.half() * self.half()
    }

    fn lanes(&self) -> impl Iterator<Item = &Lane> {
        self.count.iter().chain([&self.sum, &self.squares])
    }

    /// Each lane may miss with an equal part of the chance. The mean square and the squared mean err by at most
    /// e_q and e_s (2|s| + e_s).
    fn error_bar(&self, moments: &Moments) -> f64 {
        let miss = MISS / self.lanes().count() as f64;
        let count_error = self.count.map_or(0.0, |lane| lane.half_width(miss));
        let over = moments.count.max(1.0);
        let (s, q) = (moments.sum / over, moments.squares / over);
        let s_error = ratio_error(s, self.sum.half_width(miss), moments.count, count_error);
        let q_error = ratio_error(q, self.squares.half_width(miss), moments.count, count_error);
        // Conversion to fixed point moves each distance by at most half a unit, so each moment by at most one times half.
        let conversion = 2.5 * self.half() * self.fixed.unit();
        q_error + s_error * (2.0 * s.abs().min(self.half()) + s_error) + conversion
    }
}

impl Method for Variance {
    fn parts(&self) -> Vec<Part> {
        self.lanes().map(Lane::part).collect()
    }

    fn mechanism(&self) -> Mechanism {
        Mechanism::Composed(self.lanes().map(Lane::mechanism).collect())
    }

    fn preview(&self, rows: u64) -> Preview {
        // Evenly spread values have no mean distance, and a third of the largest mean square.
        let count = rows as f64;
        let even = Moments { count, sum: 0.0, squares: count * self.most() / 3.0 };
        Preview { cells: 1, error_bar: self.error_bar(&even).min(self.most()), rank_error: None }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        let values = column.numbers()?;
        let (sum, squares, count) = self.fixed.moments(values, self.fixed.middle());
        let count = match self.count {
            Some(lane) => lane.value(lane.release(count as i128, rng)),
            None => values.len() as f64,
        };
        let sum = self.sum.value(self.sum.release(sum, rng));
        let squares = self.squares.value(self.squares.release(squares, rng));
        let moments = Moments { count, sum, squares };

        let over = count.max(1.0);
        let mean = (sum / over).clamp(-self.half(), self.half());
        let value = ((squares / over).min(self.most()) - mean * mean).max(0.0);
        let bar = self.error_bar(&moments) + rounding(self.most());
        Ok(vec![Cell::plain(value, bar.min(value.max(self.most() - value)))])
    }
}
