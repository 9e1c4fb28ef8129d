//! Expressions that have a value on every row, whatever the row: what rows are filtered, grouped and summed by.
//!
//! Every number is a float that was clamped to the bounds of its column, so every sum and product is a finite float, the same on
//! every engine: all of them compute in IEEE 754 double precision, one operation at a time, in the order that is written. A value
//! that is missing makes an expression missing, and a comparison unknown, as SQL has it. A number is divided by a constant that is not
//! zero, and rounded down where all of its values are integers below 2^53.
//!
//! An expression of a row is a function of that row and of the query. So it moves no sum by more than its range, which follows from
//! the declared bounds, and it moves no row of one unit to a group of another: all bounds on what one unit changes hold of it as they
//! hold of a column. Of letters only A to Z have a case here, because engines disagree on the others.

use crate::sql::ast::{Comparison, Operator};
use veracity_core::Refusal;

/// The largest magnitude of a number inside of an expression.
const FARTHEST: f64 = 1e30;
/// Up to here all integers are floats.
const WHOLE: f64 = (1u64 << 53) as f64;
/// The farthest a divisor is from one, either way.
const DIVISOR: f64 = 1e30;

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
    /// The integer at or below it.
    Floor(Box<Scalar>),
    /// The smaller, or the larger, of two; missing where one of them is.
    Extreme(Extreme, Box<Scalar>, Box<Scalar>),
    /// The first that is not missing.
    Coalesce(Vec<Scalar>),
    /// That of the first condition that holds; missing where none does and there is no other.
    Case(Vec<(Predicate, Scalar)>, Option<Box<Scalar>>),
}

/// Which of two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // As SQL names them.
pub enum Extreme {
    Least,
    Greatest,
}

/// A string of each row.
#[derive(Debug, Clone, PartialEq)]
pub enum TextScalar {
    /// A column.
    Column(ColumnRef),
    /// The same for each row.
    Constant(String),
    /// Missing.
    Null,
    /// The digits of an integer.
    Digits(Box<Scalar>),
    /// Another with A to Z in lower case.
    Lower(Box<TextScalar>),
    /// Another with a to z in upper case.
    Upper(Box<TextScalar>),
    /// Another without spaces at its ends.
    Trimmed(Box<TextScalar>),
    /// That of the first condition that holds; missing where none does and there is no other.
    Case(Vec<(Predicate, TextScalar)>, Option<Box<TextScalar>>),
}

/// What holds of a row, does not, or is not known.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// Always, or never.
    Constant(bool),
    /// Of two numbers.
    Numbers(Comparison, Scalar, Scalar),
    /// Whether two strings are the same, or not.
    Texts {
        /// Whether they must differ.
        differ: bool,
        /// A string.
        left: TextScalar,
        /// Another.
        right: TextScalar,
    },
    /// Whether a string is one of these, or none of them.
    In {
        /// The string.
        text: TextScalar,
        /// The others.
        texts: Vec<String>,
        /// Whether it must be none of them.
        negated: bool,
    },
    /// Whether a string fits a pattern, in which `%` is any string and `_` any character.
    Like(TextScalar, String),
    /// Whether a number is missing, or not.
    NumberMissing(Scalar, bool),
    /// Whether a string is missing, or not.
    TextMissing(TextScalar, bool),
    /// A row of this table and one of the first are of one unit, as far as this one of the columns that say so tells.
    SameUnit(usize, usize),
    /// The opposite.
    Not(Box<Predicate>),
    /// All of them.
    And(Vec<Predicate>),
    /// Any of them.
    Or(Vec<Predicate>),
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
            Scalar::Negated(inner) | Scalar::Absolute(inner) | Scalar::Floor(inner) => inner.size(),
            // Each is written three times.
            Scalar::Extreme(_, left, right) => left.size().saturating_add(right.size()).saturating_mul(3),
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
                    Operator::Divide => {
                        if b.low != b.high {
                            return Err(Refusal::invalid(
                                "division by a column is not supported, because it can fail on one row; divide by a \
                                 number, or use AVG",
                            ));
                        }
                        if !(1.0 / DIVISOR..=DIVISOR).contains(&b.low.abs()) {
                            return Err(Refusal::out_of_range(
                                "divisor",
                                b.low,
                                "a number between 1e-30 and 1e30",
                            ));
                        }
                        vec![a.low / b.low, a.high / b.low]
                    }
                };
                ends.into_iter().fold(Range::nothing(), |range, end| range.hull(Range::point(end)))
            }
            Scalar::Floor(inner) => {
                let inner = inner.range(of)?;
                if !inner.is_nothing() && (inner.low < -WHOLE || inner.high > WHOLE) {
                    return Err(Refusal::invalid(
                        "query has FLOOR of numbers beyond 2^53, which are no exact integers; use smaller bounds",
                    ));
                }
                Range { low: inner.low.floor(), high: inner.high.floor() }
            }
            Scalar::Extreme(extreme, left, right) => {
                let (a, b) = (left.range(of)?, right.range(of)?);
                if a.is_nothing() || b.is_nothing() {
                    return Ok(Range::nothing());
                }
                match extreme {
                    Extreme::Least => Range { low: a.low.min(b.low), high: a.high.min(b.high) },
                    Extreme::Greatest => Range { low: a.low.max(b.low), high: a.high.max(b.high) },
                }
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
                "query has an expression that may exceed 1e30; use smaller bounds or factors",
            ))
        }
    }
}

impl TextScalar {
    /// How many parts it has.
    pub(crate) fn size(&self) -> usize {
        let inner = match self {
            TextScalar::Column(_) | TextScalar::Constant(_) | TextScalar::Null => 0,
            TextScalar::Digits(scalar) => scalar.size(),
            TextScalar::Lower(inner) | TextScalar::Upper(inner) | TextScalar::Trimmed(inner) => inner.size(),
            TextScalar::Case(branches, otherwise) => {
                let each = branches.iter().map(|(condition, result)| condition.size() + result.size());
                each.sum::<usize>() + otherwise.as_ref().map_or(0, |other| other.size())
            }
        };
        1 + inner
    }
}

impl Predicate {
    /// How many parts it has.
    fn size(&self) -> usize {
        let inner = match self {
            Predicate::Constant(_) | Predicate::SameUnit(..) => 0,
            Predicate::Texts { left, right, .. } => left.size() + right.size(),
            Predicate::Like(text, _) | Predicate::TextMissing(text, _) => text.size(),
            Predicate::In { text, texts, .. } => text.size() + texts.len(),
            Predicate::Numbers(_, left, right) => left.size() + right.size(),
            Predicate::NumberMissing(scalar, _) => scalar.size(),
            Predicate::Not(inner) => inner.size(),
            Predicate::And(parts) | Predicate::Or(parts) => parts.iter().map(Predicate::size).sum(),
        };
        1 + inner
    }
}
