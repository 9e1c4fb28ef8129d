//! Strings in expressions: columns, constants, `CASE`, and what changes the case or the ends of a string.

use super::{
    names::{Meaning, Names, about_units},
    rows,
};
use crate::sql::{
    Column,
    ast::Expr,
    scalar::{Predicate, TextScalar},
};
use veracity_core::Refusal;

/// Whether an expression is a string.
pub(super) fn is_text(expr: &Expr, names: &mut Names) -> Result<bool, Refusal> {
    Ok(match expr {
        Expr::Text(_) => true,
        Expr::Column(table, name) => match names.known(table.as_ref(), name)? {
            Some(Meaning::Declared(column)) => matches!(names.declared(column), Column::Text(_)),
            Some(Meaning::Unit(..)) | None => false,
        },
        Expr::Call { name, arguments, .. } => match name.as_str() {
            "lower" | "upper" | "lcase" | "ucase" | "trim" => true,
            "coalesce" => any_text(arguments.iter(), names)?,
            _ => false,
        },
        Expr::Case { branches, otherwise } => {
            any_text(branches.iter().map(|(_, result)| result).chain(otherwise.as_deref()), names)?
        }
        _ => false,
    })
}

fn any_text<'a>(all: impl Iterator<Item = &'a Expr>, names: &mut Names) -> Result<bool, Refusal> {
    for one in all {
        if is_text(one, names)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A string of each row.
pub(super) fn text(expr: &Expr, names: &mut Names) -> Result<TextScalar, Refusal> {
    match expr {
        Expr::Text(text) => Ok(TextScalar::Constant(text.clone())),
        Expr::Null => Ok(TextScalar::Null),
        Expr::Column(table, name) => match names.find(table.as_ref(), name)? {
            Meaning::Unit(..) => Err(about_units(name)),
            Meaning::Declared(column) if matches!(names.declared(column), Column::Text(_)) => {
                Ok(TextScalar::Column(column))
            }
            Meaning::Declared(_) => Err(Refusal::invalid(format!(
                "column {} holds no strings; use a string column",
                name.shown()
            ))),
        },
        Expr::Case { branches, otherwise } => {
            let branches = branches
                .iter()
                .map(|(condition, result)| Ok((rows::predicate(condition, names)?, text(result, names)?)))
                .collect::<Result<_, Refusal>>()?;
            let otherwise = otherwise.as_ref().map(|other| text(other, names)).transpose()?;
            Ok(TextScalar::Case(branches, otherwise.map(Box::new)))
        }
        Expr::Call { name, distinct: false, arguments } => {
            let inner = |names: &mut Names| match arguments.as_slice() {
                [of] => Ok(Box::new(text(of, names)?)),
                _ => Err(Refusal::invalid(format!("{} needs one string column", name.to_uppercase()))),
            };
            match name.as_str() {
                "lower" | "lcase" => Ok(TextScalar::Lower(inner(names)?)),
                "upper" | "ucase" => Ok(TextScalar::Upper(inner(names)?)),
                "trim" => Ok(TextScalar::Trimmed(inner(names)?)),
                "coalesce" if !arguments.is_empty() => {
                    let all = arguments.iter().map(|one| text(one, names)).collect::<Result<Vec<_>, _>>()?;
                    let there = |one: TextScalar| {
                        rows::check_copies(one.size(), 2)?;
                        Ok((Predicate::TextMissing(one.clone(), true), one))
                    };
                    Ok(TextScalar::Case(all.into_iter().map(there).collect::<Result<_, Refusal>>()?, None))
                }
                _ => Err(no_text()),
            }
        }
        _ => Err(no_text()),
    }
}

fn no_text() -> Refusal {
    Refusal::invalid(
        "query has a number or a condition in place of a string; write a string in single quotes",
    )
}
