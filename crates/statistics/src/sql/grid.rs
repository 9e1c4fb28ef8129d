//! Numbers of rows as integers, rounded in the same way by every engine (`tests/sql_engines.rs`).
//!
//! A number x becomes ⌊(x − offset) 2^k + ½⌋. The difference is one float operation, the scaling is exact, so the rounding is a
//! monotone function of x: integers stay between those of the ends of its range. They are small enough that no sum of them
//! over 2^30 rows, nor of their squares where those are summed, leaves 64 bits.

use crate::sql::scalar::Range;
use veracity_core::Refusal;

/// How a number of a row becomes an integer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// What is taken away first.
    pub offset: f64,
    /// The power of two that is multiplied with.
    pub exponent: i32,
    /// The least integer.
    pub least: i64,
    /// The largest.
    pub most: i64,
}

impl Grid {
    /// For plain sums: the number farthest from zero has 31 bits.
    pub(crate) fn of_sums(range: Range) -> Result<Grid, Refusal> {
        Grid::new(0.0, range, range.low.abs().max(range.high.abs()), 30)
    }

    /// For means and quantiles: numbers are counted from the lower end, and the whole range has 31 bits.
    pub(crate) fn of_means(range: Range) -> Result<Grid, Refusal> {
        Grid::new(range.low, range, range.high - range.low, 30)
    }

    /// For squares: as for means, with 16 bits.
    pub(crate) fn of_squares(range: Range) -> Result<Grid, Refusal> {
        Grid::new(range.low, range, range.high - range.low, 15)
    }

    fn new(offset: f64, range: Range, span: f64, bits: i32) -> Result<Grid, Refusal> {
        if range.is_nothing() || !(1e-9..=1e31).contains(&span) {
            return Err(Refusal::invalid(
                "query sums an expression that is constant or always missing; use one that differs by row, \
                 or COUNT to count rows",
            ));
        }
        let exponent = bits - span.log2().floor() as i32;
        let grid = Grid { offset, exponent, least: 0, most: 0 };
        Ok(Grid { least: grid.whole(range.low), most: grid.whole(range.high), ..grid })
    }

    /// The integer of a number.
    ///
    /// # Assumes  A finite number within the range
    pub fn whole(&self, x: f64) -> i64 {
        ((x - self.offset) * self.scale() + 0.5).floor() as i64
    }

    /// 2^k.
    pub fn scale(&self) -> f64 {
        2f64.powi(self.exponent)
    }

    /// What one step is worth.
    pub fn unit(&self) -> f64 {
        2f64.powi(-self.exponent)
    }

    /// How many steps the range has.
    pub fn width(&self) -> i64 {
        self.most - self.least
    }

    /// The farthest from zero.
    pub(crate) fn farthest(&self) -> i64 {
        self.least.abs().max(self.most.abs())
    }
}
