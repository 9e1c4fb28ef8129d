//! A bounded plan: what an engine is asked, and how far one unit can move each integer that it gives.
//!
//! A relation is one of four things, and each step leads from one to the next:
//!
//! | is | made by | may be |
//! |---|---|---|
//! | public | a table that the catalog calls public | joined |
//! | private | a table with a person, filtered, joined to public tables, or, with so many rows of each person, to others on the person | bounded |
//! | bounded | caps on the groups of a unit and on its rows in each group, then sums of integers | given noise |
//! | noisy | noise on every sum | sorted, filtered, limited, shown |
//!
//! A [`Plan`] describes the first three; it is compiled to the dialect of an engine. Only what is noisy leaves this crate.

use crate::sql::{
    Caps,
    ast::{Comparison, Direction, JoinKind, Operator},
    catalog::{Column, RowsOf, Table},
    grid::Grid,
    scalar::{Extreme, Predicate, Scalar, TextScalar},
};
use std::collections::BTreeMap;
use veracity_core::{Count, PrivacyUnit};
use veracity_mechanisms::{MomentSide, Priority};

/// A query that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The query, as it was asked.
    pub query: String,
    /// The SHA-256 of the catalog that it was checked against, with the form of files where the query gives it.
    pub catalog: String,
    /// The tables, the first of which is private.
    pub sources: Vec<Source>,
    /// Where one unit is a person's rows of one period: the period of a row, beside the columns of the unit. A row without one does not
    /// count.
    pub period: Option<TextScalar>,
    /// Which rows count; those without a unit never do.
    pub filter: Option<Predicate>,
    /// What rows are grouped by.
    pub keys: Vec<Key>,
    /// Whole numbers of each row.
    pub inputs: Vec<Input>,
    /// What the engine counts and sums in each group.
    pub sums: Vec<Summand>,
    /// Inputs whose values are counted, each by itself.
    pub tallies: Vec<usize>,
    /// How much of one unit counts.
    pub caps: Caps,
    /// What is protected.
    pub unit: PrivacyUnit,
    /// The columns of the answer.
    pub outputs: Vec<Output>,
    /// What gets noise: each call is paid once.
    pub calls: Vec<NoiseCall>,
    /// The statistics that are read off the calls; several outputs may show the same.
    pub aggregates: Vec<Aggregate>,
    /// Where the groups are all periods of a horizon, in order, with totals so far: whose error is smallest.
    pub every: Option<Priority>,
    /// What is done with the noisy answers.
    pub shown: Presentation,
    /// Whether rows that the caps leave out are counted: how many of one unit at most.
    pub cut: Option<Count>,
    /// The other groupings of `ROLLUP`, `CUBE` and `GROUPING SETS`: each has keys, caps and noise calls of its own, and the same rows.
    pub others: Vec<Plan>,
}

/// A table, and how it is joined to those before it.
#[derive(Debug, Clone, PartialEq)]
pub struct Source {
    /// As the catalog has it.
    pub table: Table,
    /// The columns that say whose a row is; none of a public table.
    pub unit: Vec<String>,
    /// The columns that are read, with what is declared of them.
    pub columns: Vec<(String, Column)>,
    /// None for the first.
    pub join: Option<(JoinKind, Predicate)>,
    /// How many rows of one unit are joined, where there is another private table: a join multiplies them.
    pub most: Option<Count>,
    /// What of each unit is computed of its rows, where the source has one row for each unit.
    pub per_unit: Option<Box<PerUnit>>,
}

impl Source {
    /// Whether a column is the date of the unit's period. There a date outside of the declared range is missing, where another number is
    /// moved to a bound: a unit would have rows of several periods.
    pub(crate) fn is_date_of_unit(&self, column: &str) -> bool {
        matches!(&self.table.rows_of, RowsOf::Units { period: Some((_, date)), .. } if date == column)
    }

    /// The source as its table is stored.
    pub(crate) fn stored(&self) -> &Source {
        self.per_unit.as_ref().map_or(self, |per_unit| &per_unit.rows)
    }
}

/// What is computed of the rows of each unit, so many of them at most.
#[derive(Debug, Clone, PartialEq)]
pub struct PerUnit {
    /// The rows, in which this is the first table of predicates and numbers.
    pub rows: Source,
    /// Which of them.
    pub filter: Option<Predicate>,
    /// The numbers; a column of the source is one of these, by its name.
    pub measures: BTreeMap<String, Measure>,
}

/// A number of each unit.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// How many rows.
    Rows,
    /// On how many of them an input is there.
    Present(Input),
    /// The sum of an input, as a number.
    Sum(Input),
    /// Its mean.
    Mean(Input),
    /// The smallest, or the largest, number.
    Extreme(Extreme, Scalar),
}

/// What rows are grouped by.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The key of a row; a row on which it is missing is in no group.
    pub text: TextScalar,
    /// All that it can be, where that is public.
    pub public: Option<Vec<String>>,
    /// Whether it is an integer, which is sorted as such.
    pub is_number: bool,
}

/// An integer of each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The number.
    pub scalar: Scalar,
    /// How it is rounded.
    pub grid: Grid,
}

/// What an engine counts or sums in a group, over the rows that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Summand {
    /// Rows.
    Rows,
    /// Units.
    Units,
    /// Rows on which an input is not missing.
    Present(usize),
    /// An input.
    Total(usize),
    /// The square of (twice an input less its least and most).
    Square(usize),
    /// The product of two such numbers, of inputs that are missing together.
    Product(usize, usize),
}

impl Summand {
    /// Whether numbers of rows are summed, so that it matters which rows of a person count.
    pub(crate) fn is_of_rows(self) -> bool {
        !matches!(self, Summand::Rows | Summand::Units)
    }
}

/// Sums of each group that get noise in one call. What is read off them costs nothing more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NoiseCall {
    /// How many rows.
    Rows,
    /// How many units.
    Units,
    /// On how many rows an input is there.
    Present(usize),
    /// The sum of an input.
    Sum(usize),
    /// How far the values of an input are above the least, and how far below the most.
    Distances {
        /// Of which input.
        input: usize,
        /// Whether rows on which it is missing are summed too, each as the width.
        with_missing: bool,
    },
    /// Squares of the distances above the least and below the most, and twice their products.
    Squares {
        /// Of which input.
        input: usize,
        /// Whether rows on which it is missing are summed too, each as the squared width.
        with_missing: bool,
    },
    /// The six sums of `veracity_mechanisms::JointMoments`.
    Moments(usize, usize),
    /// A value below which a part of the rows lies.
    Quantile {
        /// Of which input.
        input: usize,
        /// The part.
        rank: f64,
    },
}

/// A statistic that is read off the noisy sums of one call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aggregate {
    /// The call, by its place.
    pub call: usize,
    /// What is read.
    pub statistic: Statistic,
}

/// What can be read off noisy sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Statistic {
    /// How many rows or units; of an input, on how many rows it is there.
    Count,
    /// How many rows, whether an input is there or not.
    Rows,
    /// The sum.
    Sum,
    /// The mean; of two inputs that of this one.
    Mean(MomentSide),
    /// The variance.
    Variance {
        /// Of two inputs, which one.
        side: MomentSide,
        /// Over one row less than there are.
        is_sample: bool,
        /// Whether the root is taken.
        root: bool,
    },
    /// The covariance of two inputs.
    Covariance {
        /// Over one row less than there are.
        is_sample: bool,
    },
    /// The quantile.
    Quantile,
}

/// A column of the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Its name: what the query calls it, or how it is written there.
    pub name: String,
    /// What it shows.
    pub value: OutputValue,
}

/// What a column of the answer shows.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputValue {
    /// A key, by its place.
    Key(usize),
    /// A key that this grouping has not.
    Absent,
    /// Which of some keys this grouping has not, as `GROUPING` says it.
    Grouping(u64),
    /// A noisy number, or what is calculated from some.
    Noisy(Value),
}

/// What is done with the noisy answers: nothing of it costs anything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Presentation {
    /// Which groups are shown.
    pub having: Option<Condition>,
    /// In which order.
    pub order_by: Vec<(Value, Direction)>,
    /// How many at most.
    pub limit: Option<u64>,
}

/// A number or a text of a noisy answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A key of the group.
    Key(usize),
    /// A key of the group that is an integer.
    NumberKey(usize),
    /// A key that this grouping has not.
    Absent,
    /// Which of some keys this grouping has not, by their places.
    Grouping(Vec<usize>),
    /// A noisy number.
    Aggregate(usize),
    /// A number of the query.
    Number(f64),
    /// A text of the query.
    Text(String),
    /// Of two numbers.
    Arithmetic(Operator, Box<Value>, Box<Value>),
    /// A function of numbers.
    Function(Function, Vec<Value>),
}

/// A function of noisy answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Function {
    /// Without the sign.
    Absolute,
    /// Rounded to so many decimals, halves away from zero.
    Round(i32),
    /// The next integer below.
    Floor,
    /// The next integer above.
    Ceiling,
    /// Without what is behind the point.
    Truncate,
    /// Times itself.
    Square,
    /// The square root; of a number below zero it is undefined.
    Root,
    /// The natural logarithm; of zero and below it is undefined.
    Logarithm,
    /// e to that power.
    Exponential,
    /// The smallest.
    Least,
    /// The largest.
    Greatest,
    /// Undefined at zero.
    NullIfZero,
}

impl Value {
    /// The aggregates it is calculated from, each once.
    pub(crate) fn aggregates(&self) -> Vec<usize> {
        let mut found = match self {
            Value::Aggregate(at) => vec![*at],
            Value::Key(_)
            | Value::NumberKey(_)
            | Value::Absent
            | Value::Grouping(_)
            | Value::Number(_)
            | Value::Text(_) => Vec::new(),
            Value::Arithmetic(_, left, right) => [left.aggregates(), right.aggregates()].concat(),
            Value::Function(_, all) => all.iter().flat_map(Value::aggregates).collect(),
        };
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// What holds of a noisy answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// Of two values.
    Compare(Comparison, Value, Value),
    /// The opposite.
    Not(Box<Condition>),
    /// All of them.
    And(Vec<Condition>),
    /// Any of them.
    Or(Vec<Condition>),
}

impl Plan {
    /// Each grouping of the query, this one first.
    pub fn groupings(&self) -> impl Iterator<Item = &Plan> {
        std::iter::once(self).chain(&self.others)
    }

    /// The part of ε at which the catalog has caps chosen.
    pub(crate) fn suggested_part(&self) -> Option<f64> {
        match &self.sources[0].table.rows_of {
            RowsOf::Units { suggest, .. } => *suggest,
            RowsOf::Public => None,
        }
    }

    /// In how many groups of one grouping a unit counts, at most.
    pub fn most_groups(&self) -> Count {
        self.groupings().map(|plan| plan.caps.groups).max().unwrap_or(Count::ONE)
    }

    /// What its groups are by, in words.
    pub fn grouping_name(&self) -> String {
        let is_key = |output: &&Output| matches!(output.value, OutputValue::Key(_));
        let names: Vec<&str> =
            self.outputs.iter().filter(is_key).map(|output| output.name.as_str()).collect();
        match (self.keys.len(), names.len()) {
            (0, _) => "in total".to_owned(),
            (keys, shown) if keys == shown => format!("by {}", names.join(", ")),
            (keys, _) => format!("by {keys} keys"),
        }
    }

    /// Whether a key is not public, so that a threshold decides which groups are shown.
    pub(crate) fn has_unknown_keys(&self) -> bool {
        self.keys.iter().any(|key| key.public.is_none())
    }

    /// The call that counts units, where there is one.
    pub(crate) fn units_call(&self) -> Option<usize> {
        self.calls.iter().position(|call| *call == NoiseCall::Units)
    }

    /// Whether a quantile is among the answers. Its error bar is not for all data ([`veracity_mechanisms::ErrorBar::Pair`]).
    pub fn has_quantile(&self) -> bool {
        self.calls.iter().any(|call| matches!(call, NoiseCall::Quantile { .. }))
    }

    /// All groups, where every key is public: the first key changes slowest.
    pub fn public_groups(&self) -> Option<Vec<Vec<String>>> {
        // All of them first: with one that is not public the product of the others may be as large as it likes.
        let public: Vec<&Vec<String>> =
            self.keys.iter().map(|key| key.public.as_ref()).collect::<Option<_>>()?;
        let mut groups = vec![Vec::new()];
        for names in public {
            groups = groups
                .into_iter()
                .flat_map(|group: Vec<String>| {
                    names.iter().map(move |name| group.iter().cloned().chain([name.clone()]).collect())
                })
                .collect();
        }
        Some(groups)
    }
}
