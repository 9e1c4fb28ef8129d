//! The error bar of a quantile in the column's unit: a half-width around the answer, chosen and paid for like the answer.
//!
//! How far the answer is from the exact quantile depends on how dense the values are, and that is private. So a second
//! choice is made, of the least half-width around the (now public) answer that reaches well past the rank on both sides.
//! There are only some seventy half-widths to choose from, about ten for each power of ten, so the choice is cheap.

use super::{pick::Pick, rank_errors::RankErrors};
use crate::{Rank, grid::Grid};
use veracity_core::{Count, Mechanism, Refusal};
use veracity_noise::NoiseStream;

/// The choice of a half-width.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spread {
    /// In steps of the grid; the last one reaches every point from every point.
    widths: Vec<u32>,
    pick: Pick,
    /// How far past the rank the window should reach, in units of which one value is b.
    aim: i128,
}

impl Spread {
    /// About ten half-widths for each power of ten.
    const DIGITS: [u32; 10] = [10, 12, 15, 20, 25, 30, 40, 50, 60, 80];
    /// Farther than any number of values.
    const FAR: i128 = 1 << 70;

    /// A choice of ε = 1/`multiplier`.
    pub(crate) fn new(
        grid: &Grid,
        rank: Rank,
        sensitivity: Count,
        multiplier: f64,
    ) -> Result<Spread, Refusal> {
        let tens = (0..).map_while(|power| 10u32.checked_pow(power));
        let wide = tens.flat_map(|ten| Spread::DIGITS.map(|digit| digit.saturating_mul(ten)));
        let widths: Vec<u32> = (0..10)
            .filter(|x| ![7, 9].contains(x))
            .chain(wide)
            .take_while(|width| *width < grid.steps())
            .collect();
        let widths = [&widths[..], &[grid.steps()]].concat();
        let pick = Pick::new("error bar", sensitivity, multiplier)?;
        // One value past the rank at least, so that every way to interpolate between two values is within.
        let aim = pick.score_error(widths.len() as f64).ceil() as i128 + i128::from(rank.whole());
        Ok(Spread { widths, pick, aim })
    }

    /// How many values past the rank a window reaches if its choice is as good as can be.
    pub(crate) fn values(&self, rank: Rank) -> f64 {
        self.aim as f64 / f64::from(rank.whole())
    }

    /// How far past the rank a window around a place reaches, on the side where it is less. A side on which it reaches the
    /// bound has all that can be asked for, whatever the data.
    fn reach(&self, ranked: &RankErrors, around: usize, width: u32) -> i128 {
        let width = width as usize;
        let left = if width >= around { Spread::FAR } else { ranked.beyond(around - width) };
        let right = if around + width >= ranked.last() { Spread::FAR } else { ranked.within(around + width) };
        left.min(right)
    }

    /// A half-width, in steps, that holds every exact quantile of the values on the grid with chance at least 95 %.
    ///
    /// The error of a half-width is the distance of the aim from [reach of the next smaller one, its own reach]: reaches
    /// grow with the width, so these intervals leave no gap, and some half-width has error 0.
    ///
    /// # Promise    95 %: the chosen reach is at least the aim less the score error, so one value or more. Then fewer
    /// values than the target lie below the window and more than the target up to its end, so both ends of the exact
    /// quantile are within. Private: adjacent columns move `beyond` and `within` by at most [`Rank::moved`] (see
    /// [`RankErrors::error`]), and so their minima, and the distance of a public aim from an interval of such
    /// # Assumes    `around` is public
    pub(crate) fn choose(&self, ranked: &RankErrors, around: usize, rng: &mut NoiseStream) -> u32 {
        let mut smaller = -Spread::FAR;
        let score = |width: &u32| {
            let reach = self.reach(ranked, around, *width);
            let error = 0.max(smaller - self.aim).max(self.aim - reach);
            smaller = reach;
            -error
        };
        let scores: Vec<i128> = self.widths.iter().map(score).collect();
        self.widths[self.pick.choose(&scores, |_| 1, rng)]
    }

    /// The noise call.
    pub(crate) fn pick(&self) -> &Pick {
        &self.pick
    }

    /// What the accountant reads.
    pub(crate) fn mechanism(&self) -> Mechanism {
        self.pick.mechanism()
    }
}
