//! Expressions that have a value on every row, whatever the row: what rows are filtered, grouped and summed by.
//!
//! Every number is a float that was clamped to the bounds of its column, so every sum and product is a finite float, the same on
//! every engine: all of them compute in IEEE 754 double precision, one operation at a time, in the order that is written. A value
//! that is missing makes an expression missing, and a comparison unknown, as SQL has it.

use crate::ast::{Comparison, Operator};
use veracity_core::Refusal;

/// The largest magnitude of a number inside of an expression.
const FARTHEST: f64 = 1e30;

/// A column of one of the tables of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnRef {
    /// Which table, in the order of the query.
    pub table: usize,
    /// Which of the columns that the query reads of it.
    pub column: usize,
}

/// A number of each row.
#[derive(Debug, Clone, PartialEq)]
pub enum Scalar {
    /// A column, clamped.
    Column(ColumnRef),
    /// The same for each row.
    Constant(f64),
    /// Missing.
    Null,
    /// Of two.
    Arithmetic(Operator, Box<Scalar>, Box<Scalar>),
    /// With the other sign.
    Negated(Box<Scalar>),
    /// Without its sign.
    Absolute(Box<Scalar>),
    /// The first that is not missing.
    Coalesce(Vec<Scalar>),
    /// That of the first condition that holds; missing where none does and there is no other.
    Case(Vec<(Predicate, Scalar)>, Option<Box<Scalar>>),
}

/// What holds of a row, does not, or is not known.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// Always, or never.
    Constant(bool),
    /// Of two numbers.
    Numbers(Comparison, Scalar, Scalar),
    /// Whether two texts are the same, or not.
    Texts {
        /// Whether they must differ.
        differ: bool,
        /// A text column.
        left: ColumnRef,
        /// Another.
        right: TextRef,
    },
    /// Whether a text is one of these, or none of them.
    In {
        /// A text column.
        column: ColumnRef,
        /// The texts.
        texts: Vec<String>,
        /// Whether it must be none of them.
        negated: bool,
    },
    /// Whether a number is missing, or not.
    NumberMissing(Scalar, bool),
    /// Whether a text is missing, or not.
    TextMissing(ColumnRef, bool),
    /// A row of this table and one of the first are of one unit, as far as this one of the columns that say so tells.
    SameUnit(usize, usize),
    /// The opposite.
    Not(Box<Predicate>),
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them.
    Or(Vec<Predicate>),
}

/// A text to compare with.
#[derive(Debug, Clone, PartialEq)]
pub enum TextRef {
    /// A column's.
    Column(ColumnRef),
    /// One that is written in the query.
    Constant(String),
}

/// Between which numbers a number is; a range that only covers one that is missing is empty.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    pub(crate) fn point(x: f64) -> Range {
        Range { low: x, high: x }
    }

    /// A range that covers both; what covers nothing adds nothing.
    fn hull(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    fn nothing() -> Range {
        Range { low: f64::INFINITY, high: f64::NEG_INFINITY }
    }

    pub(crate) fn is_nothing(self) -> bool {
        self.low > self.high
    }
}

impl Scalar {
    /// How many parts it has.
    pub(crate) fn size(&self) -> usize {
        let inner = match self {
            Scalar::Column(_) | Scalar::Constant(_) | Scalar::Null => 0,
            Scalar::Negated(inner) | Scalar::Absolute(inner) => inner.size(),
            Scalar::Arithmetic(_, left, right) => left.size() + right.size(),
            Scalar::Coalesce(all) => all.iter().map(Scalar::size).sum(),
            Scalar::Case(branches, otherwise) => {
                let each = branches.iter().map(|(condition, result)| condition.size() + result.size());
                each.sum::<usize>() + otherwise.as_ref().map_or(0, |other| other.size())
            }
        };
        1 + inner
    }

    /// Between which numbers it is on every row, given those of the columns.
    ///
    /// # Promise   Holds of the floats: every operation is rounded to nearest, which is monotone in each argument
    /// # Numerics  The ends of a sum, difference or product are among those of the ends of its arguments, rounded alike
    pub(crate) fn range(&self, of: &dyn Fn(ColumnRef) -> Range) -> Result<Range, Refusal> {
        let range = match self {
            Scalar::Column(column) => of(*column),
            Scalar::Constant(x) => Range::point(*x),
            Scalar::Null => Range::nothing(),
            Scalar::Negated(inner) => {
                let inner = inner.range(of)?;
                Range { low: -inner.high, high: -inner.low }
            }
            Scalar::Absolute(inner) => {
                let inner = inner.range(of)?;
                if inner.is_nothing() {
                    return Ok(inner);
                }
                let (a, b) = (inner.low.abs(), inner.high.abs());
                let straddles = inner.low <= 0.0 && inner.high >= 0.0;
                Range { low: if straddles { 0.0 } else { a.min(b) }, high: a.max(b) }
            }
            Scalar::Arithmetic(operator, left, right) => {
                let (a, b) = (left.range(of)?, right.range(of)?);
                if a.is_nothing() || b.is_nothing() {
                    return Ok(Range::nothing());
                }
                let ends = match operator {
                    Operator::Add => vec![a.low + b.low, a.high + b.high],
                    Operator::Subtract => vec![a.low - b.high, a.high - b.low],
                    Operator::Multiply => {
                        vec![a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
                    }
                };
                ends.into_iter().fold(Range::nothing(), |range, end| range.hull(Range::point(end)))
            }
            Scalar::Coalesce(all) => all
                .iter()
                .try_fold(Range::nothing(), |range, one| Ok::<_, Refusal>(range.hull(one.range(of)?)))?,
            Scalar::Case(branches, otherwise) => {
                let results = branches.iter().map(|(_, result)| result).chain(otherwise.as_deref());
                results
                    .into_iter()
                    .try_fold(Range::nothing(), |range, one| Ok::<_, Refusal>(range.hull(one.range(of)?)))?
            }
        };
        if range.is_nothing() || (range.low >= -FARTHEST && range.high <= FARTHEST) {
            Ok(range)
        } else {
            Err(Refusal::invalid(
                "query has an expression that may pass 1e30, expected smaller bounds or factors",
            ))
        }
    }
}

impl Predicate {
    /// How many parts it has.
    fn size(&self) -> usize {
        let inner = match self {
            Predicate::Constant(_)
            | Predicate::Texts { .. }
            | Predicate::TextMissing(..)
            | Predicate::SameUnit(..) => 0,
            Predicate::In { texts, .. } => texts.len(),
            Predicate::Numbers(_, left, right) => left.size() + right.size(),
            Predicate::NumberMissing(scalar, _) => scalar.size(),
            Predicate::Not(inner) => inner.size(),
            Predicate::And(parts) | Predicate::Or(parts) => parts.iter().map(Predicate::size).sum(),
        };
        1 + inner
    }
}
