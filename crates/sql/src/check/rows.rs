//! Expressions on rows, with their types: numbers, and what holds or does not.

use super::names::{Found, Names, about_units};
use crate::{
    Column,
    ast::{Comparison, Expr, From},
    catalog::RowsOf,
    scalar::{ColumnRef, Predicate, Scalar, TextRef},
};
use veracity_core::{Count, Refusal};

/// The most texts or numbers in a list.
const LONGEST_LIST: usize = 1000;
/// How many rows one unit can have after a join of private tables, where the catalog does not say how many it has in each and each row
/// meets as many of a public table.
const MOST_JOINED: u64 = 1_000_000;
/// The most parts of an expression that is written several times.
const LARGEST: usize = 10_000;

/// Checks how tables are joined: a public table on anything, one with people on the person.
pub(super) fn check_joins(from: &[From], names: &mut Names) -> Result<(), Refusal> {
    if names.sources[0].table.rows_of == RowsOf::Public {
        let private = names.sources.iter().find(|source| source.table.rows_of != RowsOf::Public);
        return Err(Refusal::invalid(match private {
            Some(private) => {
                format!("query begins with a public table, expected FROM {} first", private.table.name)
            }
            None => "query asks public tables alone, expected one with people: nothing needs protection"
                .to_owned(),
        }));
    }
    for (place, one) in from.iter().enumerate() {
        let Some((kind, on)) = &one.join else { continue };
        names.known = place + 1;
        let condition = predicate_of(on, names, Some(place))?;
        let joined = &names.sources[place];
        if let (RowsOf::Units { columns, unit, .. }, RowsOf::Units { columns: first, unit: of_first, .. }) =
            (&joined.table.rows_of, &names.sources[0].table.rows_of)
        {
            if columns.len() != first.len() || unit != of_first {
                return Err(Refusal::invalid(format!(
                    "table {} protects another unit than the first table, expected the same",
                    joined.table.name
                )));
            }
            let conjuncts: &[Predicate] = match &condition {
                Predicate::And(all) => all,
                one => std::slice::from_ref(one),
            };
            // Each of the columns, not one of them several times.
            let is_same = |at: usize| conjuncts.contains(&Predicate::SameUnit(place, at));
            if !(0..columns.len()).all(is_same) {
                return Err(Refusal::invalid(format!(
                    "table {} is joined on other columns than the person's, expected ON {} = {}",
                    joined.table.name, first[0], columns[0]
                )));
            }
        }
        names.sources[place].join = Some((*kind, condition));
    }
    names.known = from.len();
    cap_joined(names)
}

/// Says how many rows of a unit are joined, where there are several private tables. Without it one unit of n rows would have n² in a
/// join of a table to itself, and that an engine ran out of memory would tell of it.
fn cap_joined(names: &mut Names) -> Result<(), Refusal> {
    let private = names.sources.iter().filter(|source| !source.unit.is_empty()).count();
    if private < 2 {
        return Ok(());
    }
    // A public table multiplies rows, too.
    let tables = names.sources.len() as u32;
    let usual = (1..=MOST_JOINED).take_while(|rows| rows.pow(tables) <= MOST_JOINED).last().unwrap_or(1);
    for source in &mut names.sources {
        if let RowsOf::Units { joined, .. } = source.table.rows_of {
            source.most = Some(joined.map_or_else(|| Count::new(usual), Ok)?);
        }
    }
    Ok(())
}

/// What holds of a row.
pub(super) fn predicate(expr: &Expr, names: &mut Names) -> Result<Predicate, Refusal> {
    predicate_of(expr, names, None)
}

/// The same; in the condition of a join, whose rows are may be compared.
fn predicate_of(expr: &Expr, names: &mut Names, joining: Option<usize>) -> Result<Predicate, Refusal> {
    Ok(match expr {
        Expr::Boolean(always) => Predicate::Constant(*always),
        Expr::Not(inner) => Predicate::Not(Box::new(predicate_of(inner, names, None)?)),
        // Whose rows are is compared on top, or under one AND, alone.
        Expr::And(all) => {
            Predicate::And(all.iter().map(|one| predicate_of(one, names, joining)).collect::<Result<_, _>>()?)
        }
        Expr::Or(any) => {
            Predicate::Or(any.iter().map(|one| predicate_of(one, names, None)).collect::<Result<_, _>>()?)
        }
        Expr::Between { expr, low, high, negated } => {
            let x = number(expr, names)?;
            check_copies(&x, 2)?;
            let both = Predicate::And(vec![
                Predicate::Numbers(Comparison::AtLeast, x.clone(), number(low, names)?),
                Predicate::Numbers(Comparison::AtMost, x, number(high, names)?),
            ]);
            if *negated { Predicate::Not(Box::new(both)) } else { both }
        }
        Expr::IsNull { expr, negated } => match text_column(expr, names)? {
            Some(column) => Predicate::TextMissing(column, *negated),
            None => Predicate::NumberMissing(number(expr, names)?, *negated),
        },
        Expr::In { expr, list, negated } => in_list(expr, list, *negated, names)?,
        Expr::Compare(comparison, left, right) => {
            if let Some(same) = same_unit(*comparison, left, right, names, joining)? {
                return Ok(same);
            }
            compare(*comparison, left, right, names)?
        }
        _ => {
            return Err(Refusal::invalid(
                "query has a value where a condition is expected, such as hours > 40",
            ));
        }
    })
}

/// Whether two rows are of one unit, in the condition of a join.
fn same_unit(
    comparison: Comparison,
    left: &Expr,
    right: &Expr,
    names: &mut Names,
    joining: Option<usize>,
) -> Result<Option<Predicate>, Refusal> {
    let mut unit = |expr: &Expr| -> Result<Option<(usize, usize)>, Refusal> {
        let Expr::Column(table, name) = expr else { return Ok(None) };
        match names.find(table.as_ref(), name)? {
            Found::Unit(table, at) => Ok(Some((table, at))),
            Found::Declared(_) => Ok(None),
        }
    };
    match (unit(left)?, unit(right)?) {
        (None, None) => Ok(None),
        (Some((a, i)), Some((b, j))) if comparison == Comparison::Equal && i == j => {
            let (first, second) = (a.min(b), a.max(b));
            // Whose a row is, is what the first table says; others are compared with it.
            match joining {
                Some(joined) if first == 0 && second == joined => Ok(Some(Predicate::SameUnit(second, i))),
                _ => Err(Refusal::invalid(
                    "query compares whose rows are, expected that in JOIN … ON with the first table",
                )),
            }
        }
        _ => {
            let column = [left, right].into_iter().find_map(|expr| match expr {
                Expr::Column(_, name) => Some(name),
                _ => None,
            });
            Err(column.map_or_else(|| Refusal::invalid("query compares whose rows are"), about_units))
        }
    }
}

fn compare(
    comparison: Comparison,
    left: &Expr,
    right: &Expr,
    names: &mut Names,
) -> Result<Predicate, Refusal> {
    let differ = match comparison {
        Comparison::Equal => Some(false),
        Comparison::Unequal => Some(true),
        _ => None,
    };
    let no_order = || {
        Refusal::invalid(
            "query compares texts by their order, expected = or <>: engines sort texts differently",
        )
    };
    match (text_column(left, names)?, text_column(right, names)?) {
        (Some(left), Some(right)) => {
            let differ = differ.ok_or_else(no_order)?;
            Ok(Predicate::Texts { differ, left, right: TextRef::Column(right) })
        }
        (Some(column), None) => with_text(differ.ok_or_else(no_order)?, column, right, names),
        (None, Some(column)) => with_text(differ.ok_or_else(no_order)?, column, left, names),
        (None, None) => Ok(Predicate::Numbers(comparison, number(left, names)?, number(right, names)?)),
    }
}

fn with_text(differ: bool, left: ColumnRef, other: &Expr, names: &Names) -> Result<Predicate, Refusal> {
    match other {
        Expr::Text(text) => Ok(Predicate::Texts { differ, left, right: TextRef::Constant(text.clone()) }),
        _ => Err(Refusal::invalid(format!(
            "column {} has texts, expected a text in quotes to compare with",
            names.name_of(left)
        ))),
    }
}

fn in_list(expr: &Expr, list: &[Expr], negated: bool, names: &mut Names) -> Result<Predicate, Refusal> {
    if list.len() > LONGEST_LIST {
        return Err(Refusal::out_of_range("list", list.len(), "at most 1000 in IN"));
    }
    if let Some(column) = text_column(expr, names)? {
        let texts = list.iter().map(|one| match one {
            Expr::Text(text) => Ok(text.clone()),
            _ => Err(Refusal::invalid(
                "query has a list for texts with something else in it, expected texts in quotes",
            )),
        });
        return Ok(Predicate::In { column, texts: texts.collect::<Result<_, _>>()?, negated });
    }
    let x = number(expr, names)?;
    check_copies(&x, list.len())?;
    let any = list.iter().map(|one| match one {
        Expr::Number(number) => {
            Ok(Predicate::Numbers(Comparison::Equal, x.clone(), Scalar::Constant(*number)))
        }
        _ => {
            Err(Refusal::invalid("query has a list for numbers with something else in it, expected numbers"))
        }
    });
    let any = Predicate::Or(any.collect::<Result<_, _>>()?);
    Ok(if negated { Predicate::Not(Box::new(any)) } else { any })
}

/// Refuses what would grow too large when it is written several times: nested, that doubles at every level.
fn check_copies(x: &Scalar, copies: usize) -> Result<(), Refusal> {
    if x.size().saturating_mul(copies) <= LARGEST {
        return Ok(());
    }
    Err(Refusal::invalid(
        "query has a long expression before IN or BETWEEN, expected a column or a short one",
    ))
}

/// The column, where an expression is one of texts.
fn text_column(expr: &Expr, names: &mut Names) -> Result<Option<ColumnRef>, Refusal> {
    let Expr::Column(table, name) = expr else { return Ok(None) };
    match names.find(table.as_ref(), name)? {
        Found::Unit(..) => Err(about_units(name)),
        Found::Declared(column) => Ok(matches!(names.declared(column), Column::Text(_)).then_some(column)),
    }
}

/// A number of each row.
pub(super) fn number(expr: &Expr, names: &mut Names) -> Result<Scalar, Refusal> {
    let scalar = match expr {
        Expr::Number(x) => Scalar::Constant(*x),
        Expr::Null => Scalar::Null,
        Expr::Column(table, name) => match names.find(table.as_ref(), name)? {
            Found::Unit(..) => return Err(about_units(name)),
            Found::Declared(column) => match names.declared(column) {
                Column::Number(_) => Scalar::Column(column),
                Column::Text(_) => {
                    return Err(Refusal::invalid(format!(
                        "column {} has texts, expected numbers",
                        name.shown()
                    )));
                }
            },
        },
        Expr::Negated(inner) => Scalar::Negated(Box::new(number(inner, names)?)),
        Expr::Arithmetic(operator, left, right) => {
            Scalar::Arithmetic(*operator, Box::new(number(left, names)?), Box::new(number(right, names)?))
        }
        Expr::Case { branches, otherwise } => {
            let branches = branches
                .iter()
                .map(|(condition, result)| Ok((predicate(condition, names)?, number(result, names)?)))
                .collect::<Result<_, Refusal>>()?;
            let otherwise = otherwise.as_ref().map(|other| number(other, names)).transpose()?;
            Scalar::Case(branches, otherwise.map(Box::new))
        }
        Expr::Call { name, distinct: false, arguments } if name == "abs" && arguments.len() == 1 => {
            Scalar::Absolute(Box::new(number(&arguments[0], names)?))
        }
        Expr::Call { name, distinct: false, arguments } if name == "coalesce" && !arguments.is_empty() => {
            Scalar::Coalesce(arguments.iter().map(|one| number(one, names)).collect::<Result<_, _>>()?)
        }
        Expr::Call { name, .. } => {
            let name: String = name.chars().take(40).collect();
            return Err(Refusal::invalid(format!(
                "query has the function {name} on rows, expected + - *, CASE, ABS or COALESCE of columns and numbers"
            )));
        }
        Expr::CountAll => {
            return Err(Refusal::invalid(
                "query has an aggregate inside of an expression, expected it by itself",
            ));
        }
        Expr::Text(_) => return Err(Refusal::invalid("query has a text where a number is expected")),
        _ => {
            return Err(Refusal::invalid(
                "query has a condition where a number is expected; CASE WHEN … THEN 1 ELSE 0 END is one",
            ));
        }
    };
    // The ends of every part are looked at, so that no part can overflow.
    scalar.range(&|column| names.range(column))?;
    Ok(scalar)
}
