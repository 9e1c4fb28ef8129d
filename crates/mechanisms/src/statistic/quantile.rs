//! The value below which a given part of the data lies, chosen from a public decimal grid by the exponential mechanism.

use super::{Method, pick::Pick, rank_errors::RankErrors, spread::Spread};
use crate::grid::Grid;
use crate::{Bounds, Cell, Column, ErrorBar, NoiseKind, Part, Preview, Rank};
use veracity_core::{Adjacency, Count, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;

/// Every value goes to the nearest point of the grid. The score of a point is how far the rank is from the ranks that the
/// point has, [#(x < v), #(x ≤ v)], in whole numbers ([`RankErrors::error`]): a point that half the data tie with is a median.
/// At rank 0 every point below all data is as good as the least value, at rank 1 every point above. Of points with like
/// scores, round ones are the likelier ([`Grid::weight`]).
///
/// A third of the ε is spent on the error bar in the column's unit, unless it is left out ([`Spread`]).
///
/// # Promise    Adjacent datasets move every score by at most [`Rank::moved`], so the losses of any two points differ by at
/// most the ε of each choice; the second one knows the first only by what it said, so the two compose
/// # Reference  [Smith11] for the score, with an interval of ranks for ties; [McSherryTalwar07]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quantile {
    bounds: Bounds,
    rank: Rank,
    grid: Grid,
    answer: Pick,
    bar: Option<Spread>,
}

impl Quantile {
    /// The ε of the answer over that of its error bar: few half-widths are to choose from, so less is enough.
    const SHARE: f64 = 2.0;

    pub(crate) fn new(
        (bounds, steps): (Bounds, u32),
        rank: Rank,
        bar: ErrorBar,
        (kind, multiplier): (NoiseKind, NoiseMultiplier),
        adjacency: Adjacency,
    ) -> Result<Quantile, Refusal> {
        match kind {
            NoiseKind::Laplace => {}
            NoiseKind::Gaussian => {
                return Err(Refusal::no_theorem(
                    "gaussian noise",
                    "a quantile, which uses the exponential mechanism",
                    "use laplace",
                ));
            }
        }
        let grid = Grid::new(bounds, steps)?;
        let sensitivity = Count::new(u64::from(rank.moved(adjacency)))?;
        let answer = Pick::new("quantile", sensitivity, multiplier.get())?;
        let bar = match bar {
            ErrorBar::Charged => {
                Some(Spread::new(&grid, rank, sensitivity, Quantile::SHARE * multiplier.get())?)
            }
            ErrorBar::LeftOut => None,
        };
        Ok(Quantile { bounds, rank, grid, answer, bar })
    }

    /// By how many values the answer's rank misses at most, with chance 95 %. At some point the error is 0.
    fn rank_error(&self) -> f64 {
        self.answer.score_error(self.grid.candidates()) / f64::from(self.rank.whole())
    }
}

impl Method for Quantile {
    fn parts(&self) -> Vec<Part> {
        let bar = self.bar.iter().map(Spread::pick);
        [&self.answer].into_iter().chain(bar).map(|pick| pick.part(self.grid.step())).collect()
    }

    fn mechanism(&self) -> Mechanism {
        match &self.bar {
            Some(bar) => Mechanism::Composed(vec![self.answer.mechanism(), bar.mechanism()]),
            None => self.answer.mechanism(),
        }
    }

    fn preview(&self, rows: u64) -> Preview {
        let width = self.bounds.width();
        // Where values are spread evenly, a window holds as many as its part of the width.
        let error_bar = self.bar.as_ref().map_or(width, |bar| {
            (bar.values(self.rank) / rows as f64 * width + 0.5 * self.grid.step()).min(width)
        });
        Preview { cells: 1, error_bar, rank_error: Some(self.rank_error()) }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        let ranked = RankErrors::new(&self.grid, self.rank, column.numbers()?);
        let scores: Vec<i128> = (0..=ranked.last()).map(|place| -ranked.error(place)).collect();
        let place = self.answer.choose(&scores, |place| self.grid.weight(place as u32), rng);
        // At most 2^20, so the cast is exact.
        let value = self.grid.point(place as u32);
        let error_bar = match &self.bar {
            // Going to the grid moves values, and so their quantiles, by half a step at most.
            Some(bar) => self.grid.reach(bar.choose(&ranked, place, rng)).min(self.bounds.reach(value)),
            None => self.bounds.reach(value),
        };
        Ok(vec![Cell { label: None, value, error_bar, rank_error: Some(self.rank_error()) }])
    }
}
