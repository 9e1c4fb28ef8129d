//! Aggregates, what an engine must sum for them, and on which grids.

use super::{
    names::{Found, Names},
    rows,
};
use crate::{
    ast::{Expr, JoinKind},
    grid::Grid,
    plan::{Aggregate, Input, Summand},
    scalar::Scalar,
};
use veracity_core::Refusal;

/// What is released, and what an engine sums for it.
#[derive(Default)]
pub(super) struct Aggregates {
    pub inputs: Vec<Input>,
    pub sums: Vec<Summand>,
    pub tallies: Vec<usize>,
    pub released: Vec<Aggregate>,
}

const KNOWN: &str = "COUNT, SUM, AVG, VARIANCE, STDDEV, QUANTILE or MEDIAN";

impl Aggregates {
    /// The place of an aggregate among those that are released; the same one is released once.
    pub(super) fn add(&mut self, expr: &Expr, names: &mut Names) -> Result<usize, Refusal> {
        let aggregate = self.read(expr, names)?;
        Ok(self.place(aggregate))
    }

    /// Counts units, where the query does not already: by how many there are, a group of an unknown key is shown or not.
    pub(super) fn add_units(&mut self) {
        self.place(Aggregate::Units);
    }

    fn place(&mut self, aggregate: Aggregate) -> usize {
        if let Some(place) = self.released.iter().position(|known| *known == aggregate) {
            return place;
        }
        let needed: &[Summand] = match aggregate {
            Aggregate::Rows => &[Summand::Rows],
            Aggregate::Units => &[Summand::Units],
            Aggregate::Present(input) => &[Summand::Present(input)],
            Aggregate::Sum(input) => &[Summand::Total(input)],
            Aggregate::Mean(input) => &[Summand::Present(input), Summand::Total(input)],
            Aggregate::Variance { input, .. } => {
                &[Summand::Present(input), Summand::Total(input), Summand::Square(input)]
            }
            Aggregate::Quantile { input, .. } => {
                if !self.tallies.contains(&input) {
                    self.tallies.push(input);
                }
                &[]
            }
        };
        for summand in needed {
            if !self.sums.contains(summand) {
                self.sums.push(*summand);
            }
        }
        self.released.push(aggregate);
        self.released.len() - 1
    }

    fn read(&mut self, expr: &Expr, names: &mut Names) -> Result<Aggregate, Refusal> {
        let (name, distinct, arguments) = match expr {
            Expr::CountAll => return Ok(Aggregate::Rows),
            Expr::Call { name, distinct, arguments } => (name.as_str(), *distinct, arguments.as_slice()),
            _ => {
                return Err(Refusal::invalid(format!(
                    "query selects something else than keys and aggregates, expected {KNOWN} by itself"
                )));
            }
        };
        if distinct && name != "count" {
            return Err(Refusal::invalid("query has DISTINCT, expected it in COUNT(DISTINCT person) alone"));
        }
        match (name, arguments) {
            ("count", all) if distinct => units(all, names),
            ("count", [of]) => self.present(of, names),
            ("sum", [of]) => Ok(Aggregate::Sum(self.input(of, names, Grid::of_sums)?)),
            ("avg" | "mean", [of]) => Ok(Aggregate::Mean(self.input(of, names, Grid::of_means)?)),
            ("variance" | "var_pop", [of]) => {
                Ok(Aggregate::Variance { input: self.input(of, names, Grid::of_squares)?, root: false })
            }
            ("stddev" | "stddev_pop", [of]) => {
                Ok(Aggregate::Variance { input: self.input(of, names, Grid::of_squares)?, root: true })
            }
            ("median", [of]) => {
                Ok(Aggregate::Quantile { input: self.input(of, names, Grid::of_means)?, rank: 0.5 })
            }
            ("quantile", [of, Expr::Number(rank)]) if (0.0..=1.0).contains(rank) => {
                Ok(Aggregate::Quantile { input: self.input(of, names, Grid::of_means)?, rank: *rank })
            }
            ("quantile", _) => Err(Refusal::invalid(
                "QUANTILE has odd arguments, expected QUANTILE(column, rank) with 0 ≤ rank ≤ 1",
            )),
            (
                "count" | "sum" | "avg" | "mean" | "variance" | "var_pop" | "stddev" | "stddev_pop"
                | "median",
                _,
            ) => Err(Refusal::invalid(format!(
                "{} has {} arguments, expected one",
                name.to_uppercase(),
                arguments.len()
            ))),
            (other, _) => {
                let other: String = other.chars().take(40).collect();
                Err(Refusal::invalid(format!("query has the aggregate {other}, expected {KNOWN}")))
            }
        }
    }

    /// How many values are there: of a column of texts, or of any expression.
    fn present(&mut self, of: &Expr, names: &mut Names) -> Result<Aggregate, Refusal> {
        // A text becomes 1, and a missing one stays missing.
        if let Expr::Column(table, name) = of
            && let Ok((column, _)) = names.text_column(table.as_ref(), name)
        {
            let there = crate::Predicate::TextMissing(column, true);
            let scalar = Scalar::Case(vec![(there, Scalar::Constant(1.0))], None);
            return Ok(Aggregate::Present(self.place_input(Input { scalar, grid: one() })));
        }
        let scalar = rows::number(of, names)?;
        let zeroed =
            Scalar::Case(vec![(crate::Predicate::NumberMissing(scalar, true), Scalar::Constant(1.0))], None);
        Ok(Aggregate::Present(self.place_input(Input { scalar: zeroed, grid: one() })))
    }

    fn input(
        &mut self,
        of: &Expr,
        names: &mut Names,
        grid: fn(crate::scalar::Range) -> Result<Grid, Refusal>,
    ) -> Result<usize, Refusal> {
        let scalar = rows::number(of, names)?;
        let grid = grid(scalar.range(&|column| names.range(column))?)?;
        Ok(self.place_input(Input { scalar, grid }))
    }

    fn place_input(&mut self, input: Input) -> usize {
        self.inputs.iter().position(|known| *known == input).unwrap_or_else(|| {
            self.inputs.push(input);
            self.inputs.len() - 1
        })
    }
}

/// The grid of a 1 that is there or not.
fn one() -> Grid {
    Grid { offset: 0.0, exponent: 0, least: 0, most: 1 }
}

/// Persons: all of the columns that tell them apart, of one table.
fn units(all: &[Expr], names: &mut Names) -> Result<Aggregate, Refusal> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for one in all {
        if let Expr::Column(table, name) = one
            && let Found::Unit(place, at) = names.find(table.as_ref(), name)?
        {
            found.push((place, at));
        }
    }
    found.sort_unstable();
    let is_unit = |place: usize| {
        let columns = (0..names.sources[place].unit.len()).map(|at| (place, at));
        all.len() == found.len() && found.iter().copied().eq(columns)
    };
    if let Some((place, _)) = found.first().copied().filter(|(place, _)| is_unit(*place)) {
        if matches!(names.sources[place].join, Some((JoinKind::Left, _))) {
            return Err(Refusal::invalid(format!(
                "COUNT(DISTINCT …) is of the person of a left join, which may be missing, expected that of the first table: {}",
                names.sources[0].unit.join(", ")
            )));
        }
        return Ok(Aggregate::Units);
    }
    let unit = names.sources[0].unit.join(", ");
    Err(Refusal::invalid(format!(
        "COUNT(DISTINCT …) is of something else than the person, expected COUNT(DISTINCT {unit}); other values have no bound"
    )))
}
