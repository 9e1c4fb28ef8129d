//! Quantiles of groups from tallies: how often each integer of an input occurs.

use crate::sql::Grid;
use veracity_core::{Adjacency, NoiseMultiplier, Refusal};
use veracity_mechanisms::{Bounds, Cell, Column, Design, ErrorBar, NoiseKind, Question, Rank, Statistic};
use veracity_noise::NoiseStream;

/// The choice of a quantile among the values of a grid.
pub(crate) fn design(grid: &Grid, rank: f64, multiplier: NoiseMultiplier) -> Result<Design, Refusal> {
    let statistic = Statistic::Quantile {
        bounds: Bounds::new(value(grid, grid.least), value(grid, grid.most))?,
        rank: Rank::from_fraction(rank)?,
        steps: Rank::STEPS,
        bar: ErrorBar::Pair,
    };
    Question { statistic, adjacency: Adjacency::AddRemove }.design(NoiseKind::Laplace, multiplier)
}

/// The number that an integer stands for.
pub(crate) fn value(grid: &Grid, whole: i64) -> f64 {
    grid.offset + whole as f64 * grid.unit()
}

/// The quantile of a group, with noise: `tally` has its integers and how often each occurs.
pub(crate) fn release(
    design: &Design,
    grid: &Grid,
    tally: &[(i64, i64)],
    rng: &mut NoiseStream,
) -> Result<Cell, Refusal> {
    let mut numbers = Vec::new();
    for (whole, count) in tally {
        numbers.extend(std::iter::repeat_n(Some(value(grid, *whole)), usize::try_from(*count).unwrap_or(0)));
    }
    let mut cells = design.release(&Column::from(numbers), rng)?.cells;
    match cells.pop() {
        Some(cell) if cells.is_empty() => Ok(cell),
        _ => Err(Refusal::invalid("internal error: a quantile has several answers; please report the query")),
    }
}
