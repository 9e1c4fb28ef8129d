//! The values of one table, and those of expressions on its rows: as SQL has them, with what is missing and what is not known.

use crate::sql::{
    Column, Extreme, Operator, Predicate, Scalar, TextScalar, calendar::day_of, pattern, plan::Source,
};
use std::borrow::Cow;
use veracity_tables::{Texts, Values};

/// Declared columns of some rows of a table, in the order of the plan.
#[derive(Debug)]
pub(crate) struct Cells {
    columns: Vec<CellColumn>,
    rows: usize,
}

/// A column.
#[derive(Debug)]
enum CellColumn {
    /// Clamped; NaN where one is missing.
    Numbers(Vec<f64>),
    Texts(Texts),
}

impl Cells {
    /// From the declared columns; nothing where one is missing, of another length or of another kind.
    pub(crate) fn new(source: &Source, values: Vec<Values>, rows: usize) -> Option<Cells> {
        if values.len() != source.columns.len() {
            return None;
        }
        let read = |((name, column), values): (&(String, Column), Values)| match (column, values) {
            (Column::Text(_), Values::Texts(texts)) if texts.len() == rows => Some(CellColumn::Texts(texts)),
            (Column::Date(..), Values::Texts(texts)) if texts.len() == rows => {
                let (first, last) = column.range()?;
                let is_strict = source.is_date_of_unit(name);
                let day = |text: &String| match day_of(text).map(|day| day as f64) {
                    Some(day) if is_strict && (day < first || day > last) => f64::NAN,
                    Some(day) => clamped(day, first, last),
                    None => f64::NAN,
                };
                let days: Vec<f64> = texts.distinct().iter().map(day).collect();
                let of_row = |row| texts.place(row).map_or(f64::NAN, |place| days[place as usize]);
                Some(CellColumn::Numbers((0..rows).map(of_row).collect()))
            }
            (Column::Number(_), Values::Numbers(numbers)) if numbers.len() == rows => {
                let (lower, upper) = column.range()?;
                let number = |x: Option<f64>| x.map_or(f64::NAN, |x| clamped(x, lower, upper));
                Some(CellColumn::Numbers(numbers.into_iter().map(number).collect()))
            }
            _ => None,
        };
        let columns = source.columns.iter().zip(values).map(read).collect::<Option<_>>()?;
        Some(Cells { columns, rows })
    }

    /// A declared column of texts.
    pub(crate) fn texts(&self, declared: usize) -> Option<&Texts> {
        match &self.columns[declared] {
            CellColumn::Texts(texts) => Some(texts),
            CellColumn::Numbers(_) => None,
        }
    }

    /// A string of a row.
    pub(crate) fn text<'a>(&'a self, text: &'a TextScalar, row: u32) -> Option<Cow<'a, str>> {
        match text {
            TextScalar::Column(at) => Some(Cow::Borrowed(self.texts(at.column)?.get(row as usize)?)),
            TextScalar::Constant(text) => Some(Cow::Borrowed(text)),
            TextScalar::Null => None,
            TextScalar::Digits(scalar) => Some(format!("{}", self.number(scalar, row)? as i64).into()),
            TextScalar::Lower(inner) => Some(self.text(inner, row)?.to_ascii_lowercase().into()),
            TextScalar::Upper(inner) => Some(self.text(inner, row)?.to_ascii_uppercase().into()),
            TextScalar::Trimmed(inner) => Some(self.text(inner, row)?.trim_matches(' ').to_owned().into()),
            TextScalar::Case(branches, otherwise) => {
                match branches.iter().find(|(condition, _)| self.holds(condition, row) == Some(true)) {
                    Some((_, result)) => self.text(result, row),
                    None => self.text(otherwise.as_deref()?, row),
                }
            }
        }
    }

    /// The strings of all rows, each once.
    pub(crate) fn all_texts(&self, text: &TextScalar) -> Cow<'_, Texts> {
        if let TextScalar::Column(at) = text
            && let Some(texts) = self.texts(at.column)
        {
            return Cow::Borrowed(texts);
        }
        let all = (0..self.rows as u32).map(|row| self.text(text, row).map(Cow::into_owned));
        Cow::Owned(all.collect::<Vec<_>>().into())
    }

    /// A number of a row.
    pub(crate) fn number(&self, scalar: &Scalar, row: u32) -> Option<f64> {
        match scalar {
            Scalar::Column(at) => match &self.columns[at.column] {
                CellColumn::Numbers(numbers) => Some(numbers[row as usize]).filter(|x| !x.is_nan()),
                CellColumn::Texts(_) => None,
            },
            Scalar::Constant(x) => Some(*x),
            Scalar::Null => None,
            Scalar::Negated(inner) => self.number(inner, row).map(|x| -x),
            Scalar::Absolute(inner) => self.number(inner, row).map(f64::abs),
            Scalar::Floor(inner) => self.number(inner, row).map(f64::floor),
            Scalar::Extreme(extreme, left, right) => {
                let (a, b) = (self.number(left, row)?, self.number(right, row)?);
                let is_left = match extreme {
                    Extreme::Least => a <= b,
                    Extreme::Greatest => a >= b,
                };
                Some(if is_left { a } else { b })
            }
            Scalar::Coalesce(all) => all.iter().find_map(|one| self.number(one, row)),
            Scalar::Arithmetic(operator, left, right) => {
                let (a, b) = (self.number(left, row)?, self.number(right, row)?);
                Some(match operator {
                    Operator::Add => a + b,
                    Operator::Subtract => a - b,
                    Operator::Multiply => a * b,
                    Operator::Divide => a / b,
                })
            }
            Scalar::Case(branches, otherwise) => {
                match branches.iter().find(|(condition, _)| self.holds(condition, row) == Some(true)) {
                    Some((_, result)) => self.number(result, row),
                    None => self.number(otherwise.as_deref()?, row),
                }
            }
        }
    }

    /// Whether something holds of a row, does not, or is not known.
    pub(crate) fn holds(&self, predicate: &Predicate, row: u32) -> Option<bool> {
        match predicate {
            Predicate::Constant(always) => Some(*always),
            Predicate::Numbers(comparison, left, right) => {
                Some(comparison.holds(&self.number(left, row)?, &self.number(right, row)?))
            }
            Predicate::Texts { differ, left, right } => {
                let (left, right) = (self.text(left, row)?, self.text(right, row)?);
                Some((left == right) != *differ)
            }
            Predicate::In { text, texts, negated } => {
                let text = self.text(text, row)?;
                Some(texts.iter().any(|one| *one == text) != *negated)
            }
            Predicate::Like(text, pattern) => Some(pattern::fits(&self.text(text, row)?, pattern)),
            Predicate::NumberMissing(scalar, negated) => Some(self.number(scalar, row).is_none() != *negated),
            Predicate::TextMissing(at, negated) => Some(self.text(at, row).is_none() != *negated),
            // A unit is compared with that of another table, and there is none.
            Predicate::SameUnit(..) => None,
            Predicate::Not(inner) => self.holds(inner, row).map(|held| !held),
            Predicate::And(all) => self.first(all, false, row),
            Predicate::Or(any) => self.first(any, true, row),
        }
    }

    /// What decides, where any of them is it; the opposite, where all are known.
    fn first(&self, all: &[Predicate], decides: bool, row: u32) -> Option<bool> {
        let mut is_known = true;
        for one in all {
            match self.holds(one, row) {
                Some(held) if held == decides => return Some(decides),
                Some(_) => {}
                None => is_known = false,
            }
        }
        is_known.then_some(!decides)
    }
}

fn clamped(x: f64, lower: f64, upper: f64) -> f64 {
    if x < lower {
        lower
    } else if x > upper {
        upper
    } else {
        x
    }
}
