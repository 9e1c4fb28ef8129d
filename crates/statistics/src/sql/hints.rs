//! Hints that a file may have been read in the wrong way. They follow from noisy answers and the plan alone: a hint about a cell would reveal it.

use crate::sql::{
    Aggregate, Cell, ColumnRef, NoiseCall, NoisyNumber, OutputValue, Place, Plan, Predicate, PreparedQuery,
    QueryDone, Scalar, Statistic, Value, quantile,
};
use veracity_mechanisms::MomentSide as Side;

/// How many error bars above zero a count of nothing may be: with one bar, one such count in forty would look like rows.
const BARS: f64 = 2.0;
/// The part of the distance between the bounds from which on an error bar says next to nothing.
const WIDE: f64 = 0.5;

/// What the noisy answers look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Hint {
    /// As if no cell of this column could be read as a number.
    NoCells(String),
    /// As if no row was counted.
    NoRows,
}

impl QueryDone {
    /// Hints about files: in every group, the noisy answers are those that there would be without cells or without rows. This is
    /// post-processing and costs nothing.
    pub fn hints(&self, prepared: &PreparedQuery) -> Vec<Hint> {
        let plan = &prepared.plan;
        if self.rows.is_empty()
            || plan.sources.iter().any(|source| !matches!(source.table.place, Place::File(_)))
        {
            return Vec::new();
        }
        // A period may have few rows. The last total so far has all of them.
        let (rows, base) = match plan.every {
            Some(_) => (&self.rows[self.rows.len() - 1..], plan.aggregates.len() / 2),
            None => (&self.rows[..], 0),
        };
        let mut hints = Vec::new();
        for (at, output) in self.outputs.iter().enumerate() {
            let OutputValue::Noisy(Value::Aggregate(aggregate)) = output.value else { continue };
            if aggregate < base {
                continue;
            }
            let Some(aggregate) = plan.aggregates.get(aggregate) else { continue };
            let says_nothing = |row: &Vec<Cell>| match &row[at] {
                Cell::Number(noisy) => says_nothing(plan, *aggregate, noisy),
                Cell::Key(_) | Cell::Absent => false,
            };
            if !rows.iter().all(says_nothing) {
                continue;
            }
            let inputs = inputs_of(plan, *aggregate);
            let mut columns = Vec::new();
            inputs.iter().for_each(|input| columns_in(&plan.inputs[*input].scalar, &mut columns));
            let name = |at: &ColumnRef| plan.sources[at.table].columns[at.column].0.clone();
            let found = match inputs.is_empty() {
                true => vec![Hint::NoRows],
                false => columns.iter().map(|at| Hint::NoCells(name(at))).collect(),
            };
            for hint in found {
                if !hints.contains(&hint) {
                    hints.push(hint);
                }
            }
        }
        // Without rows there are no cells either.
        if hints.contains(&Hint::NoRows) { vec![Hint::NoRows] } else { hints }
    }
}

/// The inputs whose missing cells would make an answer say nothing; none where rows are counted.
fn inputs_of(plan: &Plan, aggregate: Aggregate) -> Vec<usize> {
    match (plan.calls[aggregate.call], aggregate.statistic) {
        (NoiseCall::Rows | NoiseCall::Units, _) | (_, Statistic::Rows) => Vec::new(),
        (NoiseCall::Moments(first, _), Statistic::Mean(Side::First)) => vec![first],
        (NoiseCall::Moments(_, second), Statistic::Mean(Side::Second)) => vec![second],
        (NoiseCall::Moments(first, second), _) => vec![first, second],
        (
            NoiseCall::Present(input)
            | NoiseCall::Sum(input)
            | NoiseCall::Distances { input, .. }
            | NoiseCall::Squares { input, .. }
            | NoiseCall::Quantile { input, .. },
            _,
        ) => vec![input],
    }
}

/// Whether an answer is what it would be without cells: a count of about zero, or a number that may be nearly anything between its
/// bounds.
fn says_nothing(plan: &Plan, aggregate: Aggregate, noisy: &NoisyNumber) -> bool {
    match (aggregate.statistic, &inputs_of(plan, aggregate)[..]) {
        (Statistic::Count | Statistic::Rows, _) => noisy.answer <= BARS * noisy.error_bar,
        (Statistic::Mean(_) | Statistic::Quantile, [input]) => {
            let grid = plan.inputs[*input].grid;
            let [low, high] = [grid.least, grid.most].map(|whole| quantile::value(&grid, whole));
            noisy.error_bar >= WIDE * (high - low)
        }
        _ => false,
    }
}

/// The columns that a number is made of.
fn columns_in(scalar: &Scalar, found: &mut Vec<ColumnRef>) {
    match scalar {
        Scalar::Column(at) => found.push(*at),
        Scalar::Constant(_) | Scalar::Null => {}
        Scalar::Negated(inner) | Scalar::Absolute(inner) | Scalar::Floor(inner) => columns_in(inner, found),
        Scalar::Coalesce(all) => all.iter().for_each(|one| columns_in(one, found)),
        Scalar::Arithmetic(_, left, right) | Scalar::Extreme(_, left, right) => {
            columns_in(left, found);
            columns_in(right, found);
        }
        Scalar::Case(branches, otherwise) => {
            for (condition, result) in branches {
                // COUNT(x) counts the rows on which x is not missing.
                if let Predicate::NumberMissing(inner, true) = condition {
                    columns_in(inner, found);
                }
                columns_in(result, found);
            }
            otherwise.iter().for_each(|result| columns_in(result, found));
        }
    }
}
