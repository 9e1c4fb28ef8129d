//! The population variance of clamped values: mean square distance from the middle, less the square of the mean distance; or,
//! where the number of rows is private, the shares of three noisy sums.

use super::{MISS, Method, rounding, split_squares::SplitSquares};
use crate::{Bounds, Cell, Column, Contribution, FixedPoint, NoiseKind, NoisySum, Part, Preview};
use veracity_core::{Adjacency, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;

/// Under add-remove the count is private, and comes out of the three sums. Where rows are public, all of them count and a
/// missing value stands in the middle; the middle is public, so no answer is needed to ask the next.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Variance {
    bounds: Bounds,
    fixed: FixedPoint,
    noisy: Noisy,
}

/// What has noise.
#[derive(Debug, Clone, PartialEq)]
enum Noisy {
    /// Three sums, for as many records as there are.
    Split(SplitSquares),
    /// Distances from the middle, and their squares, for a public number of rows.
    Moments {
        /// Of distances.
        sum: NoisySum,
        /// Of squares.
        squares: NoisySum,
    },
}

impl Variance {
    pub(crate) fn new(
        bounds: Bounds,
        noise: (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Variance, Refusal> {
        let fixed = FixedPoint::for_squares(bounds);
        let (half, square) = (fixed.half_width(), fixed.half_width() * fixed.half_width());
        let square = match adjacency {
            Adjacency::AddRemove => {
                let noisy = Noisy::Split(SplitSquares::new(bounds, fixed, noise)?);
                return Ok(Variance { bounds, fixed, noisy });
            }
            // A blank stands in the middle: its square is nothing.
            Adjacency::ZeroOut => square,
            // Squares are not negative, so replacing one moves their sum by one largest square, not by two.
            Adjacency::ReplaceOne => (square + 1) / 2,
        };
        let contribution =
            |amount, exponent| Contribution { exponent, adjacency, ..Contribution::new(amount) };
        let sum = NoisySum::new("sum", contribution(half, fixed.exponent()), noise)?;
        let squares = NoisySum::new("squares", contribution(square, 2 * fixed.exponent()), noise)?;
        Ok(Variance { bounds, fixed, noisy: Noisy::Moments { sum, squares } })
    }

    fn half(&self) -> f64 {
        self.bounds.width() / 2.0
    }

    /// The largest variance within the bounds: half of the values at each.
    fn most(&self) -> f64 {
        self.half() * self.half()
    }

    fn sums(&self) -> Vec<&NoisySum> {
        match &self.noisy {
            Noisy::Split(split) => vec![split.sums()],
            Noisy::Moments { sum, squares } => vec![sum, squares],
        }
    }

    /// The variance over a public number of rows.
    fn over_rows(
        &self,
        (sum, squares): (&NoisySum, &NoisySum),
        values: &[f64],
        rng: &mut NoiseStream,
    ) -> Cell {
        let (exact_sum, exact_squares, _) = self.fixed.moments(values, self.fixed.middle());
        let rows = values.len().max(1) as f64;
        let mean = sum.value(sum.release(exact_sum, rng)) / rows;
        let square = squares.value(squares.release(exact_squares, rng)) / rows;
        let inside = mean.clamp(-self.half(), self.half());
        let value = (square.min(self.most()) - inside * inside).max(0.0);
        let bar = self.error_bar((sum, squares), mean, rows) + rounding(self.most());
        Cell::plain(value, bar.min(value.max(self.most() - value)))
    }

    /// Each sum may miss with half of the chance. The mean square and the squared mean err by at most e_q and e_s (2|s| + e_s).
    fn error_bar(&self, (sum, squares): (&NoisySum, &NoisySum), mean: f64, rows: f64) -> f64 {
        let sum_error = sum.half_width(MISS / 2.0) / rows;
        let square_error = squares.half_width(MISS / 2.0) / rows;
        // Conversion to fixed point moves each distance by at most half a unit, so each moment by at most one times half.
        let conversion = 2.5 * self.half() * self.fixed.unit();
        square_error + sum_error * (2.0 * mean.abs().min(self.half()) + sum_error) + conversion
    }
}

impl Method for Variance {
    fn parts(&self) -> Vec<Part> {
        self.sums().into_iter().map(NoisySum::part).collect()
    }

    fn mechanism(&self) -> Mechanism {
        match &self.noisy {
            Noisy::Split(split) => split.sums().mechanism(),
            Noisy::Moments { sum, squares } => {
                Mechanism::Composed(vec![sum.mechanism(), squares.mechanism()])
            }
        }
    }

    fn preview(&self, rows: u64) -> Preview {
        // Evenly spread values have their mean in the middle.
        let bar = match &self.noisy {
            Noisy::Split(split) => split.expected(rows),
            Noisy::Moments { sum, squares } => self.error_bar((sum, squares), 0.0, rows.max(1) as f64),
        };
        Preview { cells: 1, error_bar: bar.min(self.most()), rank_error: None }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        let values = column.numbers()?;
        let cell = match &self.noisy {
            Noisy::Split(split) => split.variance(self.fixed.moments(values, self.fixed.lower()), rng),
            Noisy::Moments { sum, squares } => self.over_rows((sum, squares), values, rng),
        };
        Ok(vec![cell])
    }
}
