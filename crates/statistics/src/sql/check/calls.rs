//! Which noise calls give the statistics of a query: those of one column share the sums of one call.
//!
//! | of one column | noise call | one row moves its sums by |
//! |---|---|---|
//! | COUNT | number of values | 1 |
//! | SUM | sum | the bound that is farthest from 0 |
//! | AVG, or any two of COUNT, SUM, AVG | distances above the least and below the most | w, the width |
//! | VARIANCE, STDDEV, and any others | squares of both distances, and twice their product | w² |
//! | statistics of two columns | six products | 3/2 of the product of the widths |
//!
//! Each of these is a call at the same noise over what one row moves (`design.rs`), so a call is a price. In one call a mean has the bar
//! that it has alone. A sum has at most √2 times, because its weights on both sums are its bounds over w. A count has √2
//! times with two sums and √3 times with three. Two calls would cost each of them a factor of √2 with Gaussian noise and of 2 with
//! Laplace noise, three calls √3 and 3. So one call is never worse for all, and better for most.
//!
//! `COUNT(*)` shares the call of an expression that is never missing. `SUM(x)` is the sum of `COALESCE(x, 0)`, which is never
//! missing, so that both share a call. Beside a mean or a variance of what may be missing, one sum more holds the rows on which it is.
//! With one row of each unit in a group, rows are units, and counted once.

use crate::sql::{
    grid::Grid,
    plan::{Aggregate, Input, NoiseCall, Statistic, Summand, Value},
    scalar::{ColumnRef, Predicate, Range, Scalar},
};
use veracity_core::{Count, Refusal};

/// A range that is narrower has no grid of distances.
const NARROWEST: f64 = 1e-9;

/// A statistic that a query shows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Wanted {
    /// How many rows.
    Rows,
    /// How many units.
    Units,
    /// Of one number of each row.
    Of(Scalar, Statistic),
    /// Of two, on rows that have both.
    OfPair(Scalar, Scalar, Statistic),
    /// A quantile.
    Quantile(Scalar, f64),
}

/// Whether statistics of one column share a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Wherever that costs less.
    Shared,
    /// Each count and each sum has a call of its own.
    Alone,
}

/// All statistics of a query, each once. An aggregate of the plan has the same place.
#[derive(Debug, Clone, Default)]
pub(super) struct Statistics(Vec<Wanted>);

/// Calls, what an engine sums for them, and the aggregates that are read off them.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Calls {
    pub inputs: Vec<Input>,
    pub sums: Vec<Summand>,
    pub tallies: Vec<usize>,
    pub calls: Vec<NoiseCall>,
    pub aggregates: Vec<Aggregate>,
}

/// What is wanted of one column.
struct Column {
    scalar: Scalar,
    counts: bool,
    sums: bool,
    means: bool,
    varies: bool,
    /// Whether rows are counted with them, also those on which the number is missing.
    with_rows: bool,
}

impl Statistics {
    /// Shows a statistic.
    pub(super) fn add(&mut self, wanted: Wanted) -> Value {
        // How many rows have a number that is never missing is how many there are.
        let wanted = match wanted {
            Wanted::Of(scalar, Statistic::Count) if is_never_missing(&scalar) => Wanted::Rows,
            wanted => wanted,
        };
        let place = self.0.iter().position(|known| *known == wanted).unwrap_or_else(|| {
            self.0.push(wanted);
            self.0.len() - 1
        });
        Value::Aggregate(place)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether units are counted because the query asks for it.
    pub(super) fn counts_units(&self) -> bool {
        self.0.contains(&Wanted::Units)
    }

    pub(super) fn is_quantile(&self, place: usize) -> bool {
        matches!(self.0[place], Wanted::Quantile(..))
    }

    /// The calls for them. `rows` is how many rows of a unit count in a group; units are counted for a threshold too, where there is one.
    pub(super) fn calls(
        &self,
        (rows, sharing): (Count, Sharing),
        has_threshold: bool,
        range: &dyn Fn(ColumnRef) -> Range,
    ) -> Result<Calls, Refusal> {
        let counts_units = has_threshold || self.counts_units();
        let is_shared = sharing == Sharing::Shared;
        let rows_are_units = is_shared && counts_units && rows == Count::ONE;
        let mut columns: Vec<Column> = Vec::new();
        for wanted in &self.0 {
            if let Wanted::Of(scalar, statistic) = wanted {
                let at = place_of(&mut columns, scalar);
                match statistic {
                    Statistic::Count => columns[at].counts = true,
                    Statistic::Sum => columns[at].sums = true,
                    Statistic::Mean(_) => columns[at].means = true,
                    // A sample variance needs the number of rows, which the three sums give.
                    _ => columns[at].varies = true,
                }
            }
        }
        let width = |scalar: &Scalar| scalar.range(range).map(|range| range.high - range.low);
        // A column of a sum alone joins that of the same numbers with zeros for those that are missing.
        let rows_of = match is_shared && self.0.contains(&Wanted::Rows) && !rows_are_units {
            true => column_with_rows(&mut columns, &width)?,
            false => None,
        };
        if let Some(at) = rows_of {
            columns[at].with_rows = true;
        }
        let mut calls = Calls::default();
        for wanted in &self.0 {
            let (call, statistic) = match wanted {
                Wanted::Rows if rows_are_units => (calls.place(NoiseCall::Units), Statistic::Count),
                Wanted::Rows => {
                    let call = match rows_of {
                        Some(at) => calls.of_column(&columns[at], range)?.0,
                        None => calls.place(NoiseCall::Rows),
                    };
                    let is_with_missing = matches!(
                        calls.calls[call],
                        NoiseCall::Distances { with_missing: true, .. }
                            | NoiseCall::Squares { with_missing: true, .. }
                    );
                    (call, if is_with_missing { Statistic::Rows } else { Statistic::Count })
                }
                Wanted::Units => (calls.place(NoiseCall::Units), Statistic::Count),
                Wanted::Quantile(scalar, rank) => {
                    let input = calls.input(scalar, range, Grid::of_means)?;
                    (calls.place(NoiseCall::Quantile { input, rank: *rank }), Statistic::Quantile)
                }
                Wanted::OfPair(x, y, statistic) => {
                    let (first, second) = (with(x, y), with(y, x));
                    let first = calls.input(&first, range, Grid::of_squares)?;
                    let second = calls.input(&second, range, Grid::of_squares)?;
                    (calls.place(NoiseCall::Moments(first, second)), *statistic)
                }
                Wanted::Of(scalar, statistic @ (Statistic::Count | Statistic::Sum)) if !is_shared => {
                    let is_count = *statistic == Statistic::Count;
                    let mut alone = Vec::new();
                    let at = place_of(&mut alone, scalar);
                    (alone[at].counts, alone[at].sums) = (is_count, !is_count);
                    (calls.of_column(&alone[at], range)?.0, *statistic)
                }
                Wanted::Of(scalar, statistic) => {
                    let zeroed = zeroed(scalar);
                    let own = columns.iter().position(|column| column.scalar == *scalar);
                    let joined = columns.iter().position(|column| column.scalar == zeroed);
                    let alone = own
                        .is_some_and(|at| !columns[at].means && !columns[at].varies && !columns[at].counts);
                    let at = match (own, joined) {
                        // The sum of the same numbers.
                        (Some(_), Some(joined)) if alone && *statistic == Statistic::Sum => joined,
                        (Some(own), _) => own,
                        (None, Some(joined)) => joined,
                        (None, None) => return Err(internal()),
                    };
                    let (with_sum, of_count) = calls.of_column(&columns[at], range)?;
                    (if *statistic == Statistic::Count { of_count } else { with_sum }, *statistic)
                }
            };
            calls.aggregates.push(Aggregate { call, statistic });
        }
        if has_threshold {
            calls.place(NoiseCall::Units);
        }
        Ok(calls)
    }
}

/// The column whose call also counts rows, by as few sums as can be: one that is never missing, that of a sum, whose missing
/// numbers become 0, or one with a sum for the rows on which it is missing.
fn column_with_rows(
    columns: &mut Vec<Column>,
    width: &dyn Fn(&Scalar) -> Result<f64, Refusal>,
) -> Result<Option<usize>, Refusal> {
    let is_wide = |scalar: &Scalar| Ok::<bool, Refusal>(width(scalar)? >= NARROWEST);
    for (at, column) in columns.iter().enumerate() {
        if is_never_missing(&column.scalar) && !column.varies && is_wide(&column.scalar)? {
            return Ok(Some(at));
        }
    }
    for column in columns.iter() {
        let zeroed = zeroed(&column.scalar);
        if !column.counts && !column.means && !column.varies && is_wide(&zeroed)? {
            let at = place_of(columns, &zeroed);
            columns[at].sums = true;
            return Ok(Some(at));
        }
    }
    let mut found: Option<usize> = None;
    for (at, column) in columns.iter().enumerate() {
        let is_split =
            column.means || column.varies || (column.sums && column.counts && is_wide(&column.scalar)?);
        let sums = |column: &Column| (column.varies, !is_never_missing(&column.scalar));
        if is_split && found.is_none_or(|found| sums(column) < sums(&columns[found])) {
            found = Some(at);
        }
    }
    Ok(found)
}

impl Calls {
    /// The call for a column, and that of its count, which is another where its values are all the same.
    fn of_column(
        &mut self,
        column: &Column,
        range: &dyn Fn(ColumnRef) -> Range,
    ) -> Result<(usize, usize), Refusal> {
        let bounds = column.scalar.range(range)?;
        let counts = column.counts || column.with_rows;
        let with_missing = column.with_rows && !is_never_missing(&column.scalar);
        if column.varies {
            let input = self.input(&column.scalar, range, Grid::of_squares)?;
            let call = self.place(NoiseCall::Squares { input, with_missing });
            return Ok((call, call));
        }
        if column.means || (column.sums && counts && bounds.high - bounds.low >= NARROWEST) {
            let input = self.input(&column.scalar, range, Grid::of_means)?;
            let call = self.place(NoiseCall::Distances { input, with_missing });
            return Ok((call, call));
        }
        let sum = match column.sums {
            true => {
                let input = self.input(&column.scalar, range, Grid::of_sums)?;
                Some(self.place(NoiseCall::Sum(input)))
            }
            false => None,
        };
        let count = match counts {
            true => {
                let scalar = one_where_there(&column.scalar, bounds);
                let grid = Grid { offset: 0.0, exponent: 0, least: 0, most: 1 };
                let input = self.place_input(Input { scalar, grid });
                Some(self.place(NoiseCall::Present(input)))
            }
            false => None,
        };
        Ok((sum.or(count).ok_or_else(internal)?, count.or(sum).ok_or_else(internal)?))
    }

    /// The place of a call; what it needs is summed.
    fn place(&mut self, call: NoiseCall) -> usize {
        if let Some(place) = self.calls.iter().position(|known| *known == call) {
            return place;
        }
        let needed = match call {
            NoiseCall::Rows => vec![Summand::Rows],
            NoiseCall::Units => vec![Summand::Units],
            NoiseCall::Present(input) => vec![Summand::Present(input)],
            NoiseCall::Sum(input) => vec![Summand::Total(input)],
            NoiseCall::Distances { input, .. } => vec![Summand::Present(input), Summand::Total(input)],
            NoiseCall::Squares { input, .. } => {
                vec![Summand::Present(input), Summand::Total(input), Summand::Square(input)]
            }
            NoiseCall::Moments(x, y) => vec![
                Summand::Present(x),
                Summand::Total(x),
                Summand::Total(y),
                Summand::Square(x),
                Summand::Square(y),
                Summand::Product(x, y),
            ],
            NoiseCall::Quantile { input, .. } => {
                if !self.tallies.contains(&input) {
                    self.tallies.push(input);
                }
                Vec::new()
            }
        };
        let has_missing = matches!(
            call,
            NoiseCall::Distances { with_missing: true, .. } | NoiseCall::Squares { with_missing: true, .. }
        );
        for summand in needed.into_iter().chain(has_missing.then_some(Summand::Rows)) {
            if !self.sums.contains(&summand) {
                self.sums.push(summand);
            }
        }
        self.calls.push(call);
        self.calls.len() - 1
    }

    fn input(
        &mut self,
        scalar: &Scalar,
        range: &dyn Fn(ColumnRef) -> Range,
        grid: fn(Range) -> Result<Grid, Refusal>,
    ) -> Result<usize, Refusal> {
        let grid = grid(scalar.range(range)?)?;
        Ok(self.place_input(Input { scalar: scalar.clone(), grid }))
    }

    fn place_input(&mut self, input: Input) -> usize {
        self.inputs.iter().position(|known| *known == input).unwrap_or_else(|| {
            self.inputs.push(input);
            self.inputs.len() - 1
        })
    }
}

fn internal() -> Refusal {
    Refusal::invalid("internal error: a statistic has no sums; please report the query")
}

fn place_of(columns: &mut Vec<Column>, scalar: &Scalar) -> usize {
    columns.iter().position(|column| column.scalar == *scalar).unwrap_or_else(|| {
        let scalar = scalar.clone();
        columns.push(Column {
            scalar,
            counts: false,
            sums: false,
            means: false,
            varies: false,
            with_rows: false,
        });
        columns.len() - 1
    })
}

/// A number with 0 where it is missing: its sum is the same.
pub(super) fn zeroed(scalar: &Scalar) -> Scalar {
    match is_never_missing(scalar) {
        true => scalar.clone(),
        false => Scalar::Coalesce(vec![scalar.clone(), Scalar::Constant(0.0)]),
    }
}

/// 1 where a number is there, and missing where it is.
fn one_where_there(scalar: &Scalar, bounds: Range) -> Scalar {
    if (bounds.low, bounds.high) == (1.0, 1.0) {
        return scalar.clone();
    }
    let there = Predicate::NumberMissing(scalar.clone(), true);
    Scalar::Case(vec![(there, Scalar::Constant(1.0))], None)
}

/// A number where another is there too.
fn with(scalar: &Scalar, other: &Scalar) -> Scalar {
    match is_never_missing(other) || scalar == other {
        true => scalar.clone(),
        false => Scalar::Case(vec![(Predicate::NumberMissing(other.clone(), true), scalar.clone())], None),
    }
}

/// Whether a number is there on every row, whatever the data.
///
/// # Promise  False where that is not certain
fn is_never_missing(scalar: &Scalar) -> bool {
    match scalar {
        Scalar::Constant(_) => true,
        Scalar::Negated(inner) | Scalar::Absolute(inner) => is_never_missing(inner),
        Scalar::Arithmetic(_, left, right) => is_never_missing(left) && is_never_missing(right),
        Scalar::Coalesce(all) => all.iter().any(is_never_missing),
        Scalar::Case(branches, Some(otherwise)) => {
            is_never_missing(otherwise) && branches.iter().all(|(_, result)| is_never_missing(result))
        }
        _ => false,
    }
}
