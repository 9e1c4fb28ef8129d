//! What rows are grouped by: expressions that are strings, dates or integers, and all that they can be where that is public.
//!
//! A key is a function of one row, so that one unit is in no more groups than it has rows, and in no more than its cap. The list of
//! public keys follows from the query and the catalog alone: from the strings of a `CASE`, from the declared keys of a column, from the
//! declared range of numbers or dates. A row whose key is not on the list is in no group.

use super::{
    dates::dated,
    names::{Meaning, Names, about_units},
    rows,
    texts::{is_text, text},
};
use crate::sql::{
    Column,
    ast::{Expr, Name, Operator, Select},
    plan::Key,
    scalar::{Scalar, TextScalar},
};
use std::collections::BTreeSet;
use veracity_core::Refusal;

/// The most integers that a key can be.
const MOST_INTEGERS: usize = 10_000;
/// The most sums or products of integers that are looked at to find all that a key can be.
const MOST_PAIRS: usize = 1_000_000;
/// Up to here all integers are floats.
const WHOLE: f64 = (1u64 << 53) as f64;

/// What an expression of `GROUP BY` stands for: an item by its place or by its alias, or itself.
pub(super) fn meant<'a>(expr: &'a Expr, select: &'a Select, names: &mut Names) -> Result<&'a Expr, Refusal> {
    match expr {
        Expr::Number(place) => {
            let place = *place;
            let is_place = place.fract() == 0.0 && place >= 1.0 && place <= select.items.len() as f64;
            if !is_place {
                return Err(Refusal::invalid(format!(
                    "query groups by place {place} of SELECT, expected 1 to {}",
                    select.items.len()
                )));
            }
            Ok(&select.items[place as usize - 1].expr)
        }
        Expr::Column(None, name) if names.known(None, name)?.is_none() => {
            let mut items = select.items.iter();
            let named = items.find(|item| item.alias.as_deref().is_some_and(|alias| name.is(alias)));
            Ok(named.map_or(expr, |item| &item.expr))
        }
        _ => Ok(expr),
    }
}

/// The key of an expression.
pub(super) fn key(expr: &Expr, names: &mut Names) -> Result<Key, Refusal> {
    if let Some(date) = dated(expr, names)? {
        let (text, keys) = date.key()?;
        return Ok(Key { text, public: Some(keys), is_number: false });
    }
    if is_text(expr, names)? {
        let text = text(expr, names)?;
        let public = possible_texts(&text, names)?.map(without_repeats);
        return Ok(Key { text, public, is_number: false });
    }
    if let Expr::Column(table, name) = expr {
        match names.find(table.as_ref(), name)? {
            Meaning::Unit(..) => return Err(about_units(name)),
            Meaning::Declared(column) if names.is_count(column) => {}
            Meaning::Declared(_) => {
                return Err(Refusal::invalid(format!(
                    "query groups by column {}, which holds numbers; group by ranges, such as FLOOR({0} / 10) * 10, \
                     or declare its keys in the catalog",
                    name.shown()
                )));
            }
        }
    }
    let scalar = rows::number(expr, names)?;
    let public = integers(&scalar, names)?.into_iter().map(|whole| whole.to_string()).collect();
    Ok(Key { text: TextScalar::Digits(Box::new(scalar)), public: Some(public), is_number: true })
}

/// The key that an expression is, if it is one of them.
pub(super) fn place(expr: &Expr, keys: &[Key], names: &mut Names) -> Option<usize> {
    if matches!(expr, Expr::Number(_) | Expr::Text(_) | Expr::CountAll) {
        return None;
    }
    let key = key(expr, names).ok()?;
    keys.iter().position(|known| *known == key)
}

/// Why a column that is selected is no key.
pub(super) fn not_a_key(table: Option<&Name>, name: &Name, names: &mut Names) -> Result<Refusal, Refusal> {
    Ok(match names.find(table, name)? {
        Meaning::Unit(..) => about_units(name),
        Meaning::Declared(column) => Refusal::invalid(match names.declared(column) {
            Column::Text(_) => {
                format!("query selects {} without grouping by it; add GROUP BY {0}", name.shown())
            }
            Column::Number(_) => format!(
                "query selects the values of column {}; select an aggregate of it, such as AVG({0})",
                name.shown()
            ),
            Column::Date(..) => format!(
                "query selects the dates of column {0} without grouping by them; add GROUP BY {0}",
                name.shown()
            ),
        }),
    })
}

/// All strings that an expression can be; nothing where that is not public.
fn possible_texts(text: &TextScalar, names: &Names) -> Result<Option<Vec<String>>, Refusal> {
    let changed = |inner: &TextScalar, change: fn(&str) -> String| {
        let inner = possible_texts(inner, names)?;
        Ok(inner.map(|all| all.iter().map(|one| change(one)).collect()))
    };
    match text {
        TextScalar::Column(column) => Ok(match names.declared(*column) {
            Column::Text(keys) => keys.clone(),
            Column::Number(_) | Column::Date(..) => None,
        }),
        TextScalar::Constant(text) => Ok(Some(vec![text.clone()])),
        TextScalar::Null => Ok(Some(Vec::new())),
        TextScalar::Digits(scalar) => {
            Ok(Some(integers(scalar, names)?.into_iter().map(|whole| whole.to_string()).collect()))
        }
        TextScalar::Lower(inner) => changed(inner, str::to_ascii_lowercase),
        TextScalar::Upper(inner) => changed(inner, str::to_ascii_uppercase),
        TextScalar::Trimmed(inner) => changed(inner, |one| one.trim_matches(' ').to_owned()),
        TextScalar::Case(branches, otherwise) => {
            let mut all = Vec::new();
            for result in branches.iter().map(|(_, result)| result).chain(otherwise.as_deref()) {
                let Some(more) = possible_texts(result, names)? else { return Ok(None) };
                all.extend(more);
            }
            Ok(Some(all))
        }
    }
}

fn without_repeats(texts: Vec<String>) -> Vec<String> {
    let mut known = BTreeSet::new();
    texts.into_iter().filter(|text| known.insert(text.clone())).collect()
}

/// All integers that a number can be, and perhaps more.
fn integers(scalar: &Scalar, names: &Names) -> Result<BTreeSet<i64>, Refusal> {
    let found = match scalar {
        Scalar::Constant(x) if x.fract() == 0.0 && x.abs() <= WHOLE => BTreeSet::from([*x as i64]),
        Scalar::Null => BTreeSet::new(),
        Scalar::Floor(inner) => {
            let range = inner.range(&|column| names.range(column))?;
            if range.is_nothing() {
                BTreeSet::new()
            } else if range.high.floor() - range.low.floor() >= MOST_INTEGERS as f64 {
                return Err(too_many());
            } else {
                (range.low.floor() as i64..=range.high.floor() as i64).collect()
            }
        }
        Scalar::Negated(inner) => integers(inner, names)?.into_iter().map(|x| -x).collect(),
        Scalar::Absolute(inner) => integers(inner, names)?.into_iter().map(i64::abs).collect(),
        Scalar::Arithmetic(operator, left, right) if *operator != Operator::Divide => {
            let (left, right) = (integers(left, names)?, integers(right, names)?);
            if left.len() * right.len() > MOST_PAIRS {
                return Err(too_many());
            }
            let of = |a: i64, b: i64| match operator {
                Operator::Add => a.checked_add(b),
                Operator::Subtract => a.checked_sub(b),
                Operator::Multiply | Operator::Divide => a.checked_mul(b),
            };
            let pairs = left.iter().flat_map(|a| right.iter().map(move |b| of(*a, *b)));
            let is_exact = |x: &i64| x.unsigned_abs() <= WHOLE as u64;
            pairs.map(|x| x.filter(is_exact).ok_or_else(too_many)).collect::<Result<_, _>>()?
        }
        Scalar::Extreme(_, left, right) => {
            integers(left, names)?.into_iter().chain(integers(right, names)?).collect()
        }
        Scalar::Coalesce(all) => union(all.iter(), names)?,
        Scalar::Case(branches, otherwise) => {
            union(branches.iter().map(|(_, result)| result).chain(otherwise.as_deref()), names)?
        }
        Scalar::Column(column) if names.is_count(*column) => {
            let range = names.range(*column);
            if range.high - range.low >= MOST_INTEGERS as f64 {
                return Err(too_many());
            }
            (range.low as i64..=range.high as i64).collect()
        }
        Scalar::Column(_) | Scalar::Constant(_) | Scalar::Arithmetic(..) => {
            return Err(Refusal::invalid(
                "query groups by a number that may be no integer; group by ranges, such as FLOOR(x / 10) * 10",
            ));
        }
    };
    if found.len() > MOST_INTEGERS { Err(too_many()) } else { Ok(found) }
}

fn union<'a>(all: impl Iterator<Item = &'a Scalar>, names: &Names) -> Result<BTreeSet<i64>, Refusal> {
    let mut found = BTreeSet::new();
    for one in all {
        found.extend(integers(one, names)?);
    }
    Ok(found)
}

fn too_many() -> Refusal {
    Refusal::invalid(format!(
        "query groups by a number that can be more than {MOST_INTEGERS} integers; use wider ranges, such as FLOOR(x / 100) * 100"
    ))
}
