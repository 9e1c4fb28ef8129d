//! How many values of a column lie below and up to each point of a grid, and how far that is from a rank.

use crate::{Rank, column::present, grid::Grid};

/// The values on their points, counted.
pub(crate) struct RankErrors {
    /// For each point, how many values are at or below it.
    upto: Vec<u64>,
    target: i128,
    /// In these units, one value.
    whole: i128,
}

impl RankErrors {
    /// Rank a/b of n values is a·n, in units of which one value is b.
    pub(crate) fn new(grid: &Grid, rank: Rank, values: &[f64]) -> RankErrors {
        RankErrors::counted(grid, values, (i128::from(rank.below()), 0), i128::from(rank.whole()))
    }

    /// Rank a/b of n values is where `PERCENTILE_CONT` and numpy have it: a(n − 1) + b/2 in units of b, where the i-th value is in the
    /// middle between the ranks i − 1 and i. In halves of these units, so that it is an integer.
    pub(crate) fn centered(grid: &Grid, rank: Rank, values: &[f64]) -> RankErrors {
        let (below, whole) = (i128::from(rank.below()), i128::from(rank.whole()));
        RankErrors::counted(grid, values, (2 * below, whole - 2 * below), 2 * whole)
    }

    /// The target is `each` for each value, and `constant`.
    fn counted(grid: &Grid, values: &[f64], (each, constant): (i128, i128), whole: i128) -> RankErrors {
        let mut upto = vec![0; grid.steps() as usize + 1];
        for x in present(values) {
            upto[grid.place(x) as usize] += 1;
        }
        let mut sum = 0;
        for count in &mut upto {
            sum += *count;
            *count = sum;
        }
        RankErrors { upto, target: each * i128::from(sum) + constant, whole }
    }

    /// The last place.
    pub(crate) fn last(&self) -> usize {
        self.upto.len() - 1
    }

    /// The target less the values below a place: how many more would have to be there.
    pub(crate) fn beyond(&self, place: usize) -> i128 {
        let below = if place == 0 { 0 } else { self.upto[place - 1] };
        self.target - self.whole * i128::from(below)
    }

    /// The values up to a place, less the target.
    pub(crate) fn within(&self, place: usize) -> i128 {
        self.whole * i128::from(self.upto[place]) - self.target
    }

    /// How far the target is from the ranks that a point has: from [#(x < v), #(x ≤ v)], which for a tied value is wide.
    ///
    /// The intervals of two points that are next to each other share an end, since every value is on a point; so all of
    /// them together leave no gap, and at some point the error is 0.
    ///
    /// # Promise  Adjacent columns move it by at most [`Rank::moved`]. It is max(0, −beyond, −within), and a maximum moves
    /// by no more than what it is of. A value that is added moves the target by a. It moves b·#(x < v) by b or by nothing,
    /// and so `beyond` by a − b or by a; likewise `within` by b − a or by −a. That is max(a, b − a) at most. A value that
    /// is replaced leaves the target and moves each by b at most; one that is made missing is removed.
    pub(crate) fn error(&self, place: usize) -> i128 {
        self.distance(place, 0)
    }

    /// How far the rank that is `off` from the target is from the ranks that a point has. Moved as [`RankErrors::error`].
    pub(crate) fn distance(&self, place: usize, off: i128) -> i128 {
        0.max(-self.beyond(place) - off).max(off - self.within(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounds;

    /// By hand: 1, 1, 3, 4 on the points 0 to 4, and every rank in quarters.
    #[test]
    fn errors_count_ties_as_a_range_of_ranks() {
        let grid = Grid::new(Bounds::new(0.0, 4.0).unwrap(), 4).unwrap();
        let values = [1.0, 1.0, f64::NAN, 2.5, 9.0];
        for (below, errors) in [
            (0, [0, 0, 8, 8, 12]),
            (1, [4, 0, 4, 4, 8]),
            (2, [8, 0, 0, 0, 4]),
            (3, [12, 4, 4, 0, 0]),
            (4, [16, 8, 8, 4, 0]),
        ] {
            // In quarters, so that one value is four units; 0/4 is 0/1 and 2/4 is 1/2.
            let rank = Rank::new(below, 4).unwrap();
            let units = 4 / i128::from(rank.whole());
            let ranked = RankErrors::new(&grid, rank, &values);
            let found: Vec<i128> = (0..=ranked.last()).map(|place| ranked.error(place) * units).collect();
            assert_eq!(found, errors, "{below}/4");
        }
    }
}
