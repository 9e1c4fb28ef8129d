//! The value below which a given part of the data lies, chosen from a public decimal grid by the exponential mechanism.

use super::{Method, ends::Ends, pick::Pick, rank_errors::RankErrors, rounding, spread::Spread};
use crate::grid::Grid;
use crate::{Bounds, Cell, Column, ErrorBar, NoiseKind, Part, Preview, Rank};
use veracity_core::{Adjacency, Count, Mechanism, NoiseMultiplier, Refusal};
use veracity_noise::NoiseStream;

/// Every value goes to the nearest point of the grid. The error of a point is how far the rank is from the ranks that the
/// point has, [#(x < v), #(x ≤ v)], in whole numbers ([`RankErrors::error`]): a point that half the data tie with is a median.
///
/// # Promise    Adjacent datasets move every error by at most [`Rank::moved`], so the losses of any two choices differ by at
/// most the ε of each; a second choice knows the first only by what it said, so the two compose
/// # Reference  [Smith11] for the score, with an interval of ranks for ties; [McSherryTalwar07]
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Quantile {
    bounds: Bounds,
    rank: Rank,
    grid: Grid,
    choices: Choices,
}

/// What is chosen.
#[derive(Debug, Clone, PartialEq)]
enum Choices {
    /// Both ends of the error bar at once.
    Pair(Ends),
    /// The answer, then its error bar unless that is left out. At rank 0 every point below all data is as good as the least value, at rank 1 every point above. Of
    /// points with like scores, round ones are the likelier ([`Grid::weight`]).
    Point(Pick, Option<Spread>),
}

impl Quantile {
    /// The ε of the answer over that of a charged error bar: few half-widths are to choose from, so less is enough.
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
        let choices = match bar {
            ErrorBar::Pair => Choices::Pair(Ends::new(rank, adjacency, multiplier.get())?),
            ErrorBar::Charged | ErrorBar::LeftOut => {
                let sensitivity = Count::new(u64::from(rank.moved(adjacency)))?;
                let spread = || Spread::new(&grid, rank, sensitivity, Quantile::SHARE * multiplier.get());
                let bar = (bar == ErrorBar::Charged).then(spread).transpose()?;
                Choices::Point(Pick::new("quantile", sensitivity, multiplier.get())?, bar)
            }
        };
        Ok(Quantile { bounds, rank, grid, choices })
    }

    /// By how many values the answer's rank misses at most, with chance 95 %, whatever the data.
    fn rank_error(&self) -> f64 {
        match &self.choices {
            Choices::Pair(ends) => ends.rank_error(&self.grid),
            // At some point the error is 0.
            Choices::Point(answer, _) => {
                answer.score_error(self.grid.candidates()) / f64::from(self.rank.whole())
            }
        }
    }
}

impl Method for Quantile {
    fn parts(&self) -> Vec<Part> {
        match &self.choices {
            Choices::Pair(ends) => vec![ends.part(&self.grid)],
            Choices::Point(answer, bar) => {
                let picks = [answer].into_iter().chain(bar.iter().map(Spread::pick));
                picks.map(|pick| pick.part(self.grid.step())).collect()
            }
        }
    }

    fn mechanism(&self) -> Mechanism {
        match &self.choices {
            Choices::Pair(ends) => ends.mechanism(),
            Choices::Point(answer, Some(bar)) => {
                Mechanism::Composed(vec![answer.mechanism(), bar.mechanism()])
            }
            Choices::Point(answer, None) => answer.mechanism(),
        }
    }

    fn preview(&self, rows: u64) -> Preview {
        let width = self.bounds.width();
        let (values, widest) = match &self.choices {
            Choices::Pair(ends) => (ends.values(), 0.5 * width),
            Choices::Point(_, Some(bar)) => (bar.values(self.rank), width),
            Choices::Point(_, None) => (f64::INFINITY, width),
        };
        // Where values are spread evenly, a window holds as many as its part of the width.
        let error_bar = (values / rows as f64 * width).min(widest) + 0.5 * self.grid.step();
        Preview { cells: 1, error_bar, rank_error: Some(self.rank_error()) }
    }

    fn release(&self, column: &Column, rng: &mut NoiseStream) -> Result<Vec<Cell>, Refusal> {
        let values = column.numbers()?;
        // Going to the grid moves values, and so their quantiles, by half a step at most: `reach` has it.
        let (value, error_bar) = match &self.choices {
            Choices::Pair(ends) => {
                let ranked = RankErrors::centered(&self.grid, self.rank, values);
                let (l, u) = ends.choose(&self.grid, &ranked, rng);
                let (low, high) = (self.grid.point(l), self.grid.point(u));
                let value = low + 0.5 * (high - low);
                // A point of the grid is itself.
                let rounded = if l == u { 0.0 } else { rounding(self.bounds.magnitude()) };
                (value, 0.5 * (high - low) + self.grid.reach(0) + rounded)
            }
            Choices::Point(answer, bar) => {
                let ranked = RankErrors::new(&self.grid, self.rank, values);
                let scores: Vec<i128> = (0..=ranked.last()).map(|place| -ranked.error(place)).collect();
                let place = answer.choose(&scores, |place| self.grid.weight(place as u32), rng);
                // At most 2^20, so the cast is exact.
                let value = self.grid.point(place as u32);
                let spread = bar.as_ref().map(|bar| self.grid.reach(bar.choose(&ranked, place, rng)));
                (value, spread.unwrap_or(f64::INFINITY))
            }
        };
        let error_bar = error_bar.min(self.bounds.reach(value));
        Ok(vec![Cell { label: None, value, error_bar, rank_error: Some(self.rank_error()) }])
    }
}
