//! Dates in expressions: columns, `DATE_TRUNC` of them, their parts, and the dates that they are compared with.
//!
//! A date is a number of days between those that the catalog declares. What month it is in is found by comparing it with the first days
//! of the months in between, which follow from the catalog alone. So every engine agrees, and all results are public beforehand.

use super::names::{Meaning, Names};
use crate::sql::{
    Column,
    ast::{Comparison, Expr, Operator},
    calendar::{Unit, civil, day_written, iso},
    catalog::RowsOf,
    plan::{Key, Source},
    scalar::{ColumnRef, Predicate, Scalar, TextScalar},
};
use veracity_core::Refusal;

/// The most steps of a function of days: four years of days, or a hundred of months.
const MOST_STEPS: usize = 1500;

/// A column of dates, truncated to a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dated {
    column: ColumnRef,
    unit: Unit,
    first: i64,
    last: i64,
}

/// The date that an expression is, if it is one.
pub(super) fn dated(expr: &Expr, names: &mut Names) -> Result<Option<Dated>, Refusal> {
    match expr {
        Expr::Column(table, name) => {
            let Some(Meaning::Declared(column)) = names.known(table.as_ref(), name)? else { return Ok(None) };
            Ok(match names.declared(column) {
                Column::Date(first, last) => {
                    Some(Dated { column, unit: Unit::Day, first: *first, last: *last })
                }
                Column::Number(_) | Column::Text(_) => None,
            })
        }
        Expr::Call { name, distinct: false, arguments } => match (name.as_str(), arguments.as_slice()) {
            ("date_trunc", [Expr::Text(unit), inner]) => {
                let unit = Unit::of(unit).ok_or_else(|| {
                    Refusal::invalid(
                        "DATE_TRUNC has an unknown unit, expected 'year', 'quarter', 'month', 'week' or 'day'",
                    )
                })?;
                let Some(date) = dated(inner, names)?.filter(|date| date.unit == Unit::Day) else {
                    return Err(no_date("DATE_TRUNC"));
                };
                Ok(Some(Dated { unit, ..date }))
            }
            ("date_trunc", _) => Err(Refusal::invalid(
                "DATE_TRUNC has invalid arguments, expected DATE_TRUNC('month', column)",
            )),
            ("date", [inner @ Expr::Column(..)]) => dated(inner, names),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// The period of a row of the first table, where that is part of its unit.
///
/// A unit is then a person's rows of one period. A date outside of the declared range is missing there, so that a row of it never
/// counts: moved to the first or the last day it would share a unit with rows of another period, of which another query may see less.
/// Rows of other periods are of other units. So one unit is in no more groups and has no more rows in each
/// than the caps say, as one with several columns, and all bounds hold of it as they are. Two private tables are not joined, and no
/// inner query has a row for each person: rows of other periods would move what is counted of this one.
pub(super) fn period_of_unit(names: &mut Names) -> Result<Option<TextScalar>, Refusal> {
    let of = |source: &Source| match &source.table.rows_of {
        RowsOf::Units { period, .. } => Some(period.clone()),
        RowsOf::Public => None,
    };
    let mut units: Vec<_> = names.sources.iter().filter_map(of).collect();
    let is_alone = units.len() == 1 && names.sources.iter().all(|source| source.per_unit.is_none());
    if !is_alone && units.iter().any(Option::is_some) {
        return Err(Refusal::invalid(
            "query combines several private tables, or has a row for each person, where the unit is a person in a period; \
             query one table by itself, or declare the person as the unit",
        ));
    }
    let Some((unit, date)) = units.pop().flatten() else { return Ok(None) };
    let column = names.read(0, &date);
    let Column::Date(first, last) = *names.declared(column) else { return Err(no_date("period")) };
    Ok(Some(Dated { column, unit, first, last }.key()?.0))
}

/// Refuses to count units that are persons in a period where that is not the number of persons: only in groups of one period each.
pub(super) fn check_count_of_units(keys: &[Key], names: &Names) -> Result<(), Refusal> {
    let source = &names.sources[0];
    let RowsOf::Units { period: Some((unit, date)), .. } = &source.table.rows_of else { return Ok(()) };
    let place = source.columns.iter().position(|(name, _)| name == date);
    let Some((at, Column::Date(first, last))) = place.map(|at| (at, &source.columns[at].1)) else {
        return Err(no_date("period"));
    };
    let column = ColumnRef { table: 0, column: at };
    let within: &[Unit] = match unit {
        Unit::Year => &[Unit::Year, Unit::Quarter, Unit::Month, Unit::Day],
        Unit::Quarter => &[Unit::Quarter, Unit::Month, Unit::Day],
        Unit::Month => &[Unit::Month, Unit::Day],
        Unit::Week => &[Unit::Week, Unit::Day],
        Unit::Day => &[Unit::Day],
    };
    for unit in within {
        let key = Dated { column, unit: *unit, first: *first, last: *last }.key();
        if key.is_ok_and(|(text, _)| keys.iter().any(|key| key.text == text)) {
            return Ok(());
        }
    }
    let person = source.unit.join(", ");
    Err(Refusal::invalid(format!(
        "COUNT(DISTINCT {person}) would count a person once for each {0}, which the catalog declares as the unit; add GROUP BY \
         DATE_TRUNC('{0}', {date}), or use COUNT(*)",
        unit.name()
    )))
}

impl Dated {
    /// As days.
    pub(super) fn days(self) -> Result<Scalar, Refusal> {
        let day = Scalar::Column(self.column);
        Ok(match self.unit {
            Unit::Day => day,
            // A Monday and a multiple of seven days: 1969-12-29 was one.
            Unit::Week => plus(times(weeks(day, 3.0), 7.0), -3.0),
            unit => self.numbers(|day| unit.start(day))?,
        })
    }

    /// As a string, with all that it can be.
    pub(super) fn key(self) -> Result<(TextScalar, Vec<String>), Refusal> {
        let steps = self.steps(|day| self.unit.start(day))?;
        let keys: Vec<String> = steps.iter().map(|(_, day)| iso(*day)).collect();
        let leaves: Vec<(i64, TextScalar)> = steps
            .iter()
            .zip(&keys)
            .map(|((start, _), key)| (*start, TextScalar::Constant(key.clone())))
            .collect();
        let found = found(&Scalar::Column(self.column), &leaves, &|condition, before, after| {
            TextScalar::Case(vec![(condition, before)], Some(Box::new(after)))
        });
        Ok((TextScalar::Case(vec![(self.is_there(), found)], None), keys))
    }

    /// A part of it, by the name that `EXTRACT` has for it.
    fn part(self, name: &str) -> Result<Scalar, Refusal> {
        match name {
            "year" => self.numbers(|day| civil(day).0),
            "quarter" => self.numbers(|day| (civil(day).1 + 2) / 3),
            "month" => self.numbers(|day| civil(day).1),
            // ISO 8601: a week belongs to the year of its Thursday.
            "week" => self.numbers(|day| {
                let thursday = Unit::Week.start(day) + 3;
                (thursday - Unit::Year.start(thursday)) / 7 + 1
            }),
            "day" => self.numbers(|day| civil(day).2),
            "doy" => self.numbers(|day| day - Unit::Year.start(day) + 1),
            // From Sunday, which is 0, and from Monday, which is 1.
            "dow" => Ok(self.day_of_week(4.0, 0)),
            _ => Ok(self.day_of_week(3.0, 1)),
        }
    }

    fn numbers(self, of: impl Fn(i64) -> i64) -> Result<Scalar, Refusal> {
        let leaves: Vec<(i64, Scalar)> =
            self.steps(of)?.into_iter().map(|(start, x)| (start, Scalar::Constant(x as f64))).collect();
        Ok(self.one_of(&Scalar::Column(self.column), &leaves))
    }

    /// The number of a leaf, where the date is there.
    fn one_of(self, subject: &Scalar, leaves: &[(i64, Scalar)]) -> Scalar {
        let found = found(subject, leaves, &|condition, before, after| {
            Scalar::Case(vec![(condition, before)], Some(Box::new(after)))
        });
        Scalar::Case(vec![(self.is_there(), found)], None)
    }

    /// How many days a day is after the first of its week, plus a number. Its values are written out, so that seven are known.
    fn day_of_week(self, before: f64, first: i64) -> Scalar {
        let day = Scalar::Column(self.column);
        let start = times(weeks(day.clone(), before), 7.0);
        let after = Scalar::Arithmetic(Operator::Subtract, Box::new(plus(day, before)), Box::new(start));
        let leaves: Vec<(i64, Scalar)> =
            (0..7).map(|day| (day, Scalar::Constant((day + first) as f64))).collect();
        self.one_of(&after, &leaves)
    }

    /// The values of a function of the declared days, each with the day from which it has that value.
    fn steps(self, of: impl Fn(i64) -> i64) -> Result<Vec<(i64, i64)>, Refusal> {
        let mut steps: Vec<(i64, i64)> = Vec::new();
        for day in self.first..=self.last {
            let value = of(day);
            if steps.last().is_none_or(|(_, last)| *last != value) {
                steps.push((day, value));
            }
            if steps.len() > MOST_STEPS {
                return Err(Refusal::invalid(format!(
                    "the dates of a column have more than {MOST_STEPS} values here; use a longer unit, such as \
                     DATE_TRUNC('month', column), or declare fewer years in the catalog"
                )));
            }
        }
        Ok(steps)
    }

    /// A date that is missing is before no day and after none.
    fn is_there(self) -> Predicate {
        Predicate::NumberMissing(Scalar::Column(self.column), true)
    }
}

/// The leaf of the last start that is not above a number, by halves.
fn found<T: Clone>(subject: &Scalar, leaves: &[(i64, T)], either: &dyn Fn(Predicate, T, T) -> T) -> T {
    if let [(_, only)] = leaves {
        return only.clone();
    }
    let (before, after) = leaves.split_at(leaves.len() / 2);
    let start = Scalar::Constant(after[0].0 as f64);
    let is_before = Predicate::Numbers(Comparison::Less, subject.clone(), start);
    either(is_before, found(subject, before, either), found(subject, after, either))
}

/// A part of a date, where a function is one.
pub(super) fn part(name: &str, arguments: &[Expr], names: &mut Names) -> Result<Option<Scalar>, Refusal> {
    let (name, of) = match (name, arguments) {
        ("date_part", [Expr::Text(part), of]) => (part.to_lowercase(), of),
        (name, [of]) => (name.to_owned(), of),
        _ => return Ok(None),
    };
    match name.as_str() {
        "year" | "quarter" | "month" | "week" | "day" | "doy" | "dow" | "isodow" => match dated(of, names)? {
            Some(date) if date.unit == Unit::Day => date.part(&name).map(Some),
            _ => Err(no_date(&name.to_uppercase())),
        },
        "hour" | "minute" | "second" => Err(Refusal::invalid(
            "columns of dates have no time of day; declare a column of numbers for it, or use DAY",
        )),
        "dayofweek" | "weekday" => Err(Refusal::invalid(
            "engines number the days of a week differently here; use EXTRACT(ISODOW FROM column), which is 1 on Monday",
        )),
        _ => Ok(None),
    }
}

/// A comparison of dates, where one side is a date.
pub(super) fn compare(
    comparison: Comparison,
    left: &Expr,
    right: &Expr,
    names: &mut Names,
) -> Result<Option<Predicate>, Refusal> {
    let (a, b) = (dated(left, names)?, dated(right, names)?);
    if a.is_none() && b.is_none() {
        return Ok(None);
    }
    let side = |date: Option<Dated>, expr: &Expr| match date {
        Some(date) => date.days(),
        None => constant(expr),
    };
    Ok(Some(Predicate::Numbers(comparison, side(a, left)?, side(b, right)?)))
}

/// The days between two dates, where both sides are dates.
pub(super) fn difference(left: &Expr, right: &Expr, names: &mut Names) -> Result<Option<Scalar>, Refusal> {
    let (a, b) = (dated(left, names)?, dated(right, names)?);
    if a.is_none() && b.is_none() {
        return Ok(None);
    }
    let side = |date: Option<Dated>, expr: &Expr| match date {
        Some(date) => date.days(),
        None => constant(expr),
    };
    let (a, b) = (Box::new(side(a, left)?), Box::new(side(b, right)?));
    Ok(Some(Scalar::Arithmetic(Operator::Subtract, a, b)))
}

/// A date that is written in the query.
fn constant(expr: &Expr) -> Result<Scalar, Refusal> {
    let text = match expr {
        Expr::Text(text) => text,
        Expr::Call { name, arguments, .. } if name == "date" => match arguments.as_slice() {
            [Expr::Text(text)] => text,
            _ => return Err(not_a_date()),
        },
        _ => return Err(not_a_date()),
    };
    Ok(Scalar::Constant(day_written(text)? as f64))
}

fn not_a_date() -> Refusal {
    Refusal::invalid("query compares a date with something else; write a date such as '2025-03-31'")
}

fn no_date(what: &str) -> Refusal {
    Refusal::invalid(format!("{what} needs a column that the catalog declares with first and last dates"))
}

/// Which of the weeks that begin so many days before 1970-01-01 a day is in.
fn weeks(day: Scalar, before: f64) -> Scalar {
    let shifted = Box::new(plus(day, before));
    let seven = Box::new(Scalar::Constant(7.0));
    Scalar::Floor(Box::new(Scalar::Arithmetic(Operator::Divide, shifted, seven)))
}

fn plus(x: Scalar, y: f64) -> Scalar {
    Scalar::Arithmetic(Operator::Add, Box::new(x), Box::new(Scalar::Constant(y)))
}

fn times(x: Scalar, y: f64) -> Scalar {
    Scalar::Arithmetic(Operator::Multiply, Box::new(x), Box::new(Scalar::Constant(y)))
}
