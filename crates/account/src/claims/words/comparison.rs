//! Formats the result of one method as cells of a table.

use super::answer::{Numbers, numbers};
use crate::claims::{Answer, Refusal, Target};
use veracity_core::decimal;

/// Shown instead of a missing number.
const NONE: &str = "–";

/// The bounds that a method found, and their type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowWords {
    /// The lower bound.
    pub lower: String,
    /// The upper bound, or an approximation with its sign before it.
    pub upper: String,
    /// Type of bound, or why there is none.
    pub standing: String,
}

/// The cells of one method.
pub fn row(outcome: Result<&Answer, &Refusal>) -> RowWords {
    let none = || NONE.to_owned();
    let answer = match outcome {
        Ok(answer) => answer,
        Err(refusal) => {
            return RowWords { lower: none(), upper: none(), standing: format!("–: {refusal}") };
        }
    };
    let (found, standing) = match answer.target {
        Target::Delta(_) => (numbers(&answer.epsilon, |x| x.get()), answer.epsilon.standing()),
        Target::Epsilon(_) => (numbers(&answer.delta, |x| x.get()), answer.delta.standing()),
    };
    let (lower, upper) = match found {
        Numbers::Both(lower, upper) => (decimal::down(lower, 7), decimal::up(upper, 7)),
        Numbers::Above(upper) => (none(), decimal::up(upper, 7)),
        // Not in the column of bounds as a bare number: it is none.
        Numbers::Near(value) => (none(), format!("≈ {}", decimal::nearest(value, 5))),
    };
    RowWords { lower, upper, standing: standing.describe().to_owned() }
}
