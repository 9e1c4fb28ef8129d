//! A bounded plan: what an engine is asked, and how far one unit can move each whole number that it gives.
//!
//! A relation is one of four things, and each step leads from one to the next:
//!
//! | is | made by | may be |
//! |---|---|---|
//! | public | a table that the catalog calls public | joined |
//! | private | a table with a person, filtered, joined to public tables, or, with so many rows of each person, to others on the person | bounded |
//! | bounded | caps on the groups of a unit and on its rows in each group, then sums of whole numbers | given noise |
//! | noisy | noise on every sum | sorted, filtered, cut off, shown |
//!
//! A [`Plan`] describes the first three; it is compiled to the dialect of an engine. Only what is noisy leaves this crate.

use crate::{
    Caps,
    ast::{Comparison, Direction, JoinKind, Operator},
    catalog::{Column, Table},
    grid::Grid,
    scalar::{ColumnRef, Predicate, Scalar},
};
use veracity_core::{Count, PrivacyUnit};

/// A query that was checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The tables, the first of which is private.
    pub sources: Vec<Source>,
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
    /// The aggregates that are released; several outputs may show the same.
    pub aggregates: Vec<Aggregate>,
    /// What is done with the noisy answers.
    pub shown: Shown,
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
}

/// What rows are grouped by.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// The column.
    pub column: ColumnRef,
    /// Its name.
    pub name: String,
    /// All that it can be, where that is public.
    pub public: Option<Vec<String>>,
}

/// A whole number of each row.
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
}

impl Summand {
    /// The input whose values are summed.
    pub(crate) fn input(self) -> Option<usize> {
        match self {
            Summand::Rows | Summand::Units => None,
            Summand::Present(input) | Summand::Total(input) | Summand::Square(input) => Some(input),
        }
    }
}

/// What is released of each group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Aggregate {
    /// How many rows.
    Rows,
    /// How many units.
    Units,
    /// On how many rows an input is there.
    Present(usize),
    /// The sum of an input.
    Sum(usize),
    /// The mean.
    Mean(usize),
    /// The population variance, or its square root.
    Variance {
        /// Of which input.
        input: usize,
        /// Whether the root is taken.
        root: bool,
    },
    /// A value below which a part of the rows lies.
    Quantile {
        /// Of which input.
        input: usize,
        /// The part.
        rank: f64,
    },
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
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OutputValue {
    /// A key, by its place.
    Key(usize),
    /// An aggregate, by its place.
    Aggregate(usize),
}

/// What is done with the noisy answers: nothing of it costs anything.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Shown {
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
    /// A noisy number.
    Aggregate(usize),
    /// A number of the query.
    Number(f64),
    /// A text of the query.
    Text(String),
    /// Of two numbers.
    Arithmetic(Operator, Box<Value>, Box<Value>),
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
