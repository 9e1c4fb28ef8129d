//! The whole numbers cut into cells as wide as a scale: cell k holds those from k·scale up to, not including, (k + 1)·scale.
//!
//! A law that falls off as a function of y/scale then splits into a law of the cell, free of the scale, and a coin for the
//! place within the cell. The idea is Karney's; it needs neither long numbers nor more than one division.

use super::uniform::uniform_below_word;
use crate::{Bits, Ratio};

/// Cells as wide as a ratio.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cells {
    numerator: u64,
    denominator: u64,
    /// The most whole numbers that a cell holds: the width, rounded up.
    most: u64,
}

/// A whole number, and by which part of its cell it lies past the cell's beginning.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The number y.
    pub(super) number: u128,
    /// y/scale − k, times the scale's numerator: at least 0 and below the numerator.
    pub(super) past: u64,
}

impl Cells {
    #[inline]
    pub(super) fn new(scale: Ratio) -> Cells {
        let (numerator, denominator) = (scale.numerator(), scale.denominator());
        Cells { numerator, denominator, most: numerator.div_ceil(denominator) }
    }

    /// What [`Place::past`] is a part of; at most 2^48.
    #[inline]
    pub(super) fn whole(self) -> u64 {
        self.numerator
    }

    /// A place in the cell `k`, or nothing: every number of every cell comes with the same probability 1/`most`.
    ///
    /// The cell's first number is k·scale rounded up, so with j uniform below `most` the j-th number after it is in the
    /// cell or past it.
    #[inline]
    pub(super) fn uniform(self, k: u64, bits: &mut impl Bits) -> Option<Place> {
        let (first, past_first) = self.first(k);
        let j = uniform_below_word(self.most, bits);
        // j·denominator < numerator ≤ 2^48 and `past_first` < denominator ≤ 2^48.
        let past = past_first + j * self.denominator;
        (past < self.numerator).then_some(Place { number: first + u128::from(j), past })
    }

    /// The least whole number ≥ k·scale, and how far it lies past that, times the denominator.
    #[inline]
    fn first(self, k: u64) -> (u128, u64) {
        let begin = u128::from(k) * u128::from(self.numerator);
        if self.denominator == 1 {
            return (begin, 0);
        }
        // Division of long numbers is slow and only for cells that nobody will see.
        match u64::try_from(begin) {
            Ok(begin) => {
                let first = begin.div_ceil(self.denominator);
                (u128::from(first), first * self.denominator - begin)
            }
            Err(_) => {
                let first = begin.div_ceil(u128::from(self.denominator));
                (first, (first * u128::from(self.denominator) - begin) as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_begins_with_the_least_whole_number_not_below_its_edge() {
        let most = Ratio::MOST;
        for (numerator, denominator) in
            [(1, 1), (7, 3), (1, 4), (2, 3), (most, 3), (most - 1, most), (1, most)]
        {
            let cells = Cells::new(Ratio::new(numerator, denominator).unwrap());
            // The last two are past one word, for long numerators.
            for k in [0, 1, 2, 3, 4, 1000, 1 << 20, u64::from(u32::MAX)] {
                let (first, past) = cells.first(k);
                let edge = u128::from(k) * u128::from(numerator);
                assert_eq!(first * u128::from(denominator), edge + u128::from(past));
                assert!(past < denominator, "{numerator}/{denominator}, cell {k}: a smaller one would do");
            }
        }
    }
}
