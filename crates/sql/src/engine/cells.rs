//! The values of one table, and those of expressions on its rows: as SQL has them, with what is missing and what is not known.

use crate::{Column, ColumnRef, Operator, Predicate, Scalar, TextRef, plan::Source};
use veracity_records::{Texts, Values};

/// A table: whose its rows are, and its declared columns.
#[derive(Debug)]
pub(crate) struct Cells {
    columns: Vec<Kept>,
    /// Where the columns of the unit are.
    units: Vec<usize>,
    /// Where the declared ones are, in the order of the plan.
    declared: Vec<usize>,
    pub(crate) rows: usize,
}

/// A column.
#[derive(Debug)]
enum Kept {
    /// Clamped; NaN where one is missing.
    Numbers(Vec<f64>),
    Texts(Texts),
}

impl Cells {
    /// From columns by their names; nothing where one is missing or of another kind.
    pub(crate) fn new(source: &Source, columns: Vec<(&str, Values)>) -> Option<Cells> {
        let rows = columns.first().map_or(0, |(_, values)| match values {
            Values::Numbers(numbers) => numbers.len(),
            Values::Texts(texts) => texts.len(),
        });
        let is_read = |name: &str| {
            source.unit.iter().chain(source.columns.iter().map(|(known, _)| known)).any(|known| known == name)
        };
        let columns: Vec<(&str, Values)> = columns.into_iter().filter(|(name, _)| is_read(name)).collect();
        let at = |name: &String| columns.iter().position(|(known, _)| known == name);
        let units = source.unit.iter().map(at).collect::<Option<Vec<_>>>()?;
        let declared = source.columns.iter().map(|(name, _)| at(name)).collect::<Option<Vec<_>>>()?;
        let bounds = |name: &str| {
            source.columns.iter().find_map(|(known, column)| match column {
                Column::Number(bounds) if known == name => Some((bounds.lower(), bounds.upper())),
                Column::Number(_) | Column::Text(_) => None,
            })
        };
        let read = |(name, values): (&str, Values)| match values {
            Values::Texts(texts) => Some(Kept::Texts(texts)),
            Values::Numbers(numbers) => {
                let (lower, upper) = bounds(name)?;
                let clamped = |x: f64| {
                    if x < lower {
                        lower
                    } else if x > upper {
                        upper
                    } else {
                        x
                    }
                };
                Some(Kept::Numbers(numbers.into_iter().map(|x| x.map_or(f64::NAN, clamped)).collect()))
            }
        };
        let columns = columns.into_iter().map(read).collect::<Option<Vec<_>>>()?;
        let cells = Cells { columns, units, declared, rows };
        let is_sound = cells.unit().count() == source.unit.len()
            && source.columns.iter().enumerate().all(|(at, (_, column))| match column {
                Column::Number(_) => matches!(cells.columns[cells.declared[at]], Kept::Numbers(_)),
                Column::Text(_) => cells.texts(at).is_some(),
            });
        is_sound.then_some(cells)
    }

    /// The columns that say whose a row is.
    pub(crate) fn unit(&self) -> impl Iterator<Item = &Texts> {
        self.units.iter().filter_map(|at| texts(&self.columns[*at]))
    }

    /// A declared column of texts.
    pub(crate) fn texts(&self, declared: usize) -> Option<&Texts> {
        texts(&self.columns[self.declared[declared]])
    }

    fn text(&self, at: ColumnRef, row: u32) -> Option<&str> {
        self.texts(at.column)?.get(row as usize)
    }

    /// A number of a row.
    pub(crate) fn number(&self, scalar: &Scalar, row: u32) -> Option<f64> {
        match scalar {
            Scalar::Column(at) => match &self.columns[self.declared[at.column]] {
                Kept::Numbers(numbers) => Some(numbers[row as usize]).filter(|x| !x.is_nan()),
                Kept::Texts(_) => None,
            },
            Scalar::Constant(x) => Some(*x),
            Scalar::Null => None,
            Scalar::Negated(inner) => self.number(inner, row).map(|x| -x),
            Scalar::Absolute(inner) => self.number(inner, row).map(f64::abs),
            Scalar::Coalesce(all) => all.iter().find_map(|one| self.number(one, row)),
            Scalar::Arithmetic(operator, left, right) => {
                let (a, b) = (self.number(left, row)?, self.number(right, row)?);
                Some(match operator {
                    Operator::Add => a + b,
                    Operator::Subtract => a - b,
                    Operator::Multiply => a * b,
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
                let left = self.text(*left, row)?;
                let right = match right {
                    TextRef::Column(at) => self.text(*at, row)?,
                    TextRef::Constant(text) => text,
                };
                Some((left == right) != *differ)
            }
            Predicate::In { column, texts, negated } => {
                let text = self.text(*column, row)?;
                Some(texts.iter().any(|one| one == text) != *negated)
            }
            Predicate::NumberMissing(scalar, negated) => Some(self.number(scalar, row).is_none() != *negated),
            Predicate::TextMissing(at, negated) => Some(self.text(*at, row).is_none() != *negated),
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

fn texts(column: &Kept) -> Option<&Texts> {
    match column {
        Kept::Texts(texts) => Some(texts),
        Kept::Numbers(_) => None,
    }
}
