//! Expressions on rows, with their types: numbers, and what holds or does not.

use super::{
    dates,
    names::{Meaning, Names, about_units},
    per_unit,
    texts::{is_text, text},
};
use crate::sql::{
    Catalog, Column,
    ast::{Comparison, Expr, From, Join, JoinKind, On, Operator, Select, Side},
    catalog::RowsOf,
    pattern,
    scalar::{Extreme, Predicate, Scalar, TextScalar},
};
use veracity_core::{Count, Refusal};

/// The most texts or numbers in a list.
const LONGEST_LIST: usize = 1000;
/// How many rows one unit can have after a join of private tables, where the catalog does not say how many it has in each and each row
/// meets as many of a public table.
const MOST_JOINED: u64 = 1_000_000;
/// The most parts of an expression that is written several times.
const LARGEST: usize = 10_000;

/// The tables of a query, a private one first, where the second is the first that is, or is right-joined.
///
/// A row without a person never counts. So of a public table only rows with a partner do, and `public LEFT JOIN private` keeps the rows
/// of an inner join, as `private RIGHT JOIN public` does. Other right joins are left joins from the other side.
pub(super) fn in_order(mut from: Vec<From>, catalog: &Catalog) -> Vec<From> {
    let is_public = |one: &From| {
        one.query.is_none()
            && catalog.tables().any(|table| one.table.is(&table.name) && table.rows_of == RowsOf::Public)
    };
    let [first, second, ..] = from.as_mut_slice() else { return from };
    let Some(join) = second.join.clone() else { return from };
    let side = match (is_public(first), is_public(second), join.side) {
        (true, false, Side::Neither | Side::Left) => Side::Neither,
        (true, false, Side::Right) | (false, false, Side::Right) => Side::Left,
        _ => return from,
    };
    second.join = None;
    first.join = Some(Join { side, on: join.on });
    from.swap(0, 1);
    from
}

/// Checks how tables are joined: a public table on anything, one with people on the person.
pub(super) fn check_joins(from: &[From], names: &mut Names) -> Result<(), Refusal> {
    if names.sources[0].table.rows_of == RowsOf::Public {
        let private = names.sources.iter().find(|source| source.table.rows_of != RowsOf::Public);
        return Err(Refusal::invalid(match private {
            Some(private) => {
                format!("query begins with a public table; write FROM {} first", private.table.name)
            }
            None => "query reads only public tables, which need no protection; query a table with a privacy \
                     ID"
            .to_owned(),
        }));
    }
    for (place, one) in from.iter().enumerate() {
        let Some(join) = &one.join else { continue };
        names.known = place + 1;
        let mut condition = match &join.on {
            On::Condition(on) => predicate_of(on, names, Some(place))?,
            On::Using(columns) => predicate_of(&names.using(place, columns)?, names, Some(place))?,
        };
        // Rows of the left table stay: the filter of the other one is a part of the condition.
        if let (Side::Left, Some(filter)) = (join.side, &one.filter) {
            let filter = names.inside(|names| predicate(filter, names))?;
            let mut all = if let Predicate::And(all) = condition { all } else { vec![condition] };
            all.push(filter);
            condition = Predicate::And(all);
        }
        let joined = &names.sources[place];
        if let (RowsOf::Units { columns, unit, .. }, RowsOf::Units { columns: first, unit: of_first, .. }) =
            (&joined.table.rows_of, &names.sources[0].table.rows_of)
        {
            if columns.len() != first.len() || unit != of_first {
                return Err(Refusal::invalid(format!(
                    "table {} protects another unit than the first table; declare the same unit in the \
                     catalog",
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
                    "table {} is not joined on the privacy ID; write ON {} = {}",
                    joined.table.name, first[0], columns[0]
                )));
            }
        }
        let kind = match join.side {
            Side::Neither => JoinKind::Inner,
            Side::Left => JoinKind::Left,
            Side::Right if joined.table.rows_of == RowsOf::Public => JoinKind::Inner,
            Side::Right => {
                return Err(Refusal::invalid(format!(
                    "table {} is right-joined to several tables; write it first, and LEFT JOIN the others",
                    joined.table.name
                )));
            }
        };
        names.sources[place].join = Some((kind, condition));
    }
    names.known = from.len();
    cap_joined(names)
}

/// Says how many rows of a unit are joined, where there are several private tables. Without it one unit of n rows would have n² in a
/// join of a table to itself, and that an engine ran out of memory would tell of it.
fn cap_joined(names: &mut Names) -> Result<(), Refusal> {
    let is_multiplied = |source: &&crate::sql::Source| !source.unit.is_empty() && source.per_unit.is_none();
    let private = names.sources.iter().filter(is_multiplied).count();
    if private < 2 {
        return Ok(());
    }
    // A public table multiplies rows, too.
    let tables = names.sources.len() as u32;
    let usual = (1..=MOST_JOINED).take_while(|rows| rows.pow(tables) <= MOST_JOINED).last().unwrap_or(1);
    for source in names.sources.iter_mut().filter(|source| source.per_unit.is_none()) {
        if let RowsOf::Units { joined, .. } = source.table.rows_of {
            source.most = Some(joined.map_or_else(|| Count::new(usual), Ok)?);
        }
    }
    Ok(())
}

/// What holds of the rows that count: `WHERE`, and what subqueries keep of their tables.
pub(super) fn filters(
    select: &Select,
    names: &mut Names,
    catalog: &Catalog,
) -> Result<Option<Predicate>, Refusal> {
    let mut all = Vec::new();
    for from in &select.from {
        let is_left = from.join.as_ref().is_some_and(|join| join.side == Side::Left);
        if let Some(inner) = from.filter.as_ref().filter(|_| !is_left) {
            all.push(names.inside(|names| predicate(inner, names))?);
        }
    }
    match select.filter.as_ref().map(|where_| filter(where_, names, catalog)).transpose()? {
        Some(Predicate::And(more)) if !all.is_empty() => all.extend(more),
        more => all.extend(more),
    }
    Ok(if all.len() > 1 { Some(Predicate::And(all)) } else { all.pop() })
}

/// What `WHERE` says; persons may be compared with those of a query in it, on top or under one AND.
fn filter(expr: &Expr, names: &mut Names, catalog: &Catalog) -> Result<Predicate, Refusal> {
    match expr {
        Expr::And(all) => {
            Ok(Predicate::And(all.iter().map(|one| filter(one, names, catalog)).collect::<Result<_, _>>()?))
        }
        Expr::Not(inner) if matches!(**inner, Expr::InQuery { .. } | Expr::Exists(_)) => {
            Ok(Predicate::Not(Box::new(filter(inner, names, catalog)?)))
        }
        Expr::Exists(query) => per_unit::exists(query, names, catalog),
        Expr::InQuery { expr, query, negated } => per_unit::is_among(expr, query, *negated, names, catalog),
        _ => predicate(expr, names),
    }
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
            let both = match dates::compare(Comparison::AtLeast, expr, low, names)? {
                Some(least) => {
                    let most = dates::compare(Comparison::AtMost, expr, high, names)?;
                    Predicate::And([Some(least), most].into_iter().flatten().collect())
                }
                None => {
                    let x = number(expr, names)?;
                    check_copies(x.size(), 2)?;
                    Predicate::And(vec![
                        Predicate::Numbers(Comparison::AtLeast, x.clone(), number(low, names)?),
                        Predicate::Numbers(Comparison::AtMost, x, number(high, names)?),
                    ])
                }
            };
            if *negated { Predicate::Not(Box::new(both)) } else { both }
        }
        Expr::IsNull { expr, negated } => {
            if let Some(date) = dates::dated(expr, names)? {
                Predicate::NumberMissing(date.days()?, *negated)
            } else if is_text(expr, names)? {
                Predicate::TextMissing(text(expr, names)?, *negated)
            } else {
                Predicate::NumberMissing(number(expr, names)?, *negated)
            }
        }
        Expr::Like { expr, pattern, any_case } => {
            if !is_text(expr, names)? {
                return Err(Refusal::invalid("LIKE needs a string column on its left"));
            }
            pattern::checked(pattern)?;
            let text = text(expr, names)?;
            match any_case {
                false => Predicate::Like(text, pattern.clone()),
                true => Predicate::Like(TextScalar::Lower(Box::new(text)), pattern.to_ascii_lowercase()),
            }
        }
        Expr::InQuery { .. } | Expr::Exists(_) => {
            return Err(Refusal::invalid(
                "query has a subquery in a part of a condition; put person IN (SELECT …) or EXISTS (SELECT …) into WHERE, alone or \
                 with AND",
            ));
        }
        Expr::In { expr, list, negated } => in_list(expr, list, *negated, names)?,
        Expr::Compare(comparison, left, right) => {
            if let Some(same) = same_unit(*comparison, left, right, names, joining)? {
                return Ok(same);
            }
            compare(*comparison, left, right, names)?
        }
        _ => {
            return Err(Refusal::invalid(
                "query has a value in place of a condition; write a condition, such as hours > 40",
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
            Meaning::Unit(table, at) => Ok(Some((table, at))),
            Meaning::Declared(_) => Ok(None),
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
                    "query compares privacy IDs; they can be compared only in JOIN … ON with the first table",
                )),
            }
        }
        _ => {
            let column = [left, right].into_iter().find_map(|expr| match expr {
                Expr::Column(_, name) => Some(name),
                _ => None,
            });
            Err(column.map_or_else(
                || Refusal::invalid("query compares privacy IDs; they can be compared only in JOIN … ON"),
                about_units,
            ))
        }
    }
}

fn compare(
    comparison: Comparison,
    left: &Expr,
    right: &Expr,
    names: &mut Names,
) -> Result<Predicate, Refusal> {
    if let Some(dates) = dates::compare(comparison, left, right, names)? {
        return Ok(dates);
    }
    match (is_text(left, names)?, is_text(right, names)?) {
        (false, false) => Ok(Predicate::Numbers(comparison, number(left, names)?, number(right, names)?)),
        (true, true) => {
            let differ = match comparison {
                Comparison::Equal => false,
                Comparison::Unequal => true,
                _ => {
                    return Err(Refusal::invalid(
                        "query compares strings by order; use = or <>, because engines sort strings differently",
                    ));
                }
            };
            Ok(Predicate::Texts { differ, left: text(left, names)?, right: text(right, names)? })
        }
        (is_left, _) => {
            // The other side may have a reason of its own.
            number(if is_left { right } else { left }, names)?;
            Err(Refusal::invalid(match if is_left { left } else { right } {
                Expr::Text(_) => "query has a string in place of a number".to_owned(),
                Expr::Column(_, name) => {
                    format!(
                        "column {} holds strings; compare it with a string in single quotes",
                        name.shown()
                    )
                }
                _ => "query compares a string with a number; compare it with a string in single quotes"
                    .to_owned(),
            }))
        }
    }
}

fn in_list(expr: &Expr, list: &[Expr], negated: bool, names: &mut Names) -> Result<Predicate, Refusal> {
    if list.len() > LONGEST_LIST {
        return Err(Refusal::out_of_range("list", list.len(), "at most 1000 values in IN"));
    }
    if dates::dated(expr, names)?.is_some() {
        let any = list.iter().map(|one| compare(Comparison::Equal, expr, one, names));
        let any = Predicate::Or(any.collect::<Result<_, _>>()?);
        return Ok(if negated { Predicate::Not(Box::new(any)) } else { any });
    }
    if is_text(expr, names)? {
        let text = text(expr, names)?;
        let texts = list.iter().map(|one| match one {
            Expr::Text(text) => Ok(text.clone()),
            _ => Err(Refusal::invalid(
                "the list after IN must hold only strings in single quotes, because the column holds strings",
            )),
        });
        return Ok(Predicate::In { text, texts: texts.collect::<Result<_, _>>()?, negated });
    }
    let x = number(expr, names)?;
    check_copies(x.size(), list.len())?;
    let any = list.iter().map(|one| match one {
        Expr::Number(number) => {
            Ok(Predicate::Numbers(Comparison::Equal, x.clone(), Scalar::Constant(*number)))
        }
        _ => Err(Refusal::invalid(
            "the list after IN must hold only numbers, because the column holds numbers",
        )),
    });
    let any = Predicate::Or(any.collect::<Result<_, _>>()?);
    Ok(if negated { Predicate::Not(Box::new(any)) } else { any })
}

/// Refuses what would grow too large when it is written several times: nested, that doubles at every level.
pub(super) fn check_copies(size: usize, copies: usize) -> Result<(), Refusal> {
    if size.saturating_mul(copies) <= LARGEST {
        return Ok(());
    }
    Err(Refusal::invalid(
        "an expression in IN, BETWEEN, LEAST, GREATEST or COALESCE is too long; use a column or a short expression",
    ))
}

/// A number of each row.
pub(super) fn number(expr: &Expr, names: &mut Names) -> Result<Scalar, Refusal> {
    let scalar = match expr {
        Expr::Number(x) => Scalar::Constant(*x),
        Expr::Null => Scalar::Null,
        Expr::Column(table, name) => match names.find(table.as_ref(), name)? {
            Meaning::Unit(..) => return Err(about_units(name)),
            Meaning::Declared(column) => match names.declared(column) {
                Column::Number(_) => Scalar::Column(column),
                Column::Date(..) => {
                    return Err(Refusal::invalid(format!(
                        "column {} holds dates, expected numbers; use YEAR({0}), or {0} - DATE '2025-01-01' for days",
                        name.shown()
                    )));
                }
                Column::Text(_) => {
                    return Err(Refusal::invalid(format!(
                        "column {} holds strings, expected numbers",
                        name.shown()
                    )));
                }
            },
        },
        Expr::Negated(inner) => Scalar::Negated(Box::new(number(inner, names)?)),
        Expr::Arithmetic(Operator::Divide, left, right) => {
            let by = match constant(right) {
                Some(0.0) => return Err(Refusal::invalid("query divides by zero; divide by another number")),
                Some(by) => Scalar::Constant(by),
                None => number(right, names)?,
            };
            Scalar::Arithmetic(Operator::Divide, Box::new(number(left, names)?), Box::new(by))
        }
        Expr::Arithmetic(operator, left, right) => {
            if *operator == Operator::Subtract
                && let Some(days) = dates::difference(left, right, names)?
            {
                return Ok(days);
            }
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
        Expr::Call { name, distinct: false, arguments } => call(name, arguments, names)?,
        Expr::Call { .. } => return Err(Refusal::invalid("query has DISTINCT in an expression; remove it")),
        Expr::CountAll => {
            return Err(Refusal::invalid(
                "query has an aggregate inside an aggregate or a condition on rows; use it in SELECT, HAVING or ORDER BY",
            ));
        }
        Expr::Text(_) => return Err(Refusal::invalid("query has a string in place of a number")),
        _ => {
            return Err(Refusal::invalid(
                "query has a condition in place of a number; write CASE WHEN … THEN 1 ELSE 0 END",
            ));
        }
    };
    // The ends of every part are looked at, so that no part can overflow.
    scalar.range(&|column| names.range(column))?;
    Ok(scalar)
}

/// A function of numbers or of a date.
fn call(name: &str, arguments: &[Expr], names: &mut Names) -> Result<Scalar, Refusal> {
    if let Some(part) = dates::part(name, arguments, names)? {
        return Ok(part);
    }
    Ok(match (name, arguments) {
        ("double", [of]) => number(of, names)?,
        ("trunc" | "truncate", [of]) => without_fraction(number(of, names)?, names)?,
        ("floor", [of]) => Scalar::Floor(Box::new(number(of, names)?)),
        ("ceil" | "ceiling", [of]) => {
            let floor = Scalar::Floor(Box::new(Scalar::Negated(Box::new(number(of, names)?))));
            Scalar::Negated(Box::new(floor))
        }
        ("round", _) => {
            return Err(Refusal::invalid(
                "ROUND is not supported on rows, because engines round halves differently; write FLOOR(x + 0.5)",
            ));
        }
        ("least" | "greatest", [first, others @ ..]) if !others.is_empty() => {
            let extreme = if name == "least" { Extreme::Least } else { Extreme::Greatest };
            let mut all = number(first, names)?;
            for other in others {
                all = Scalar::Extreme(extreme, Box::new(all), Box::new(number(other, names)?));
                check_copies(all.size(), 1)?;
            }
            all
        }
        _ => {
            let name: String = name.chars().take(40).collect();
            return Err(Refusal::invalid(format!(
                "the function {name} is not supported on rows; use + - * /, CASE, ABS, FLOOR, LEAST, GREATEST or \
                 COALESCE of columns and numbers"
            )));
        }
    })
}

/// A number without what is behind its point, which is dropped: engines that cast to an integer round halves in different ways.
fn without_fraction(x: Scalar, names: &Names) -> Result<Scalar, Refusal> {
    let range = x.range(&|column| names.range(column))?;
    let floor = |x: Scalar| Scalar::Floor(Box::new(x));
    let negated = |x: Scalar| Scalar::Negated(Box::new(x));
    if range.low >= 0.0 {
        return Ok(floor(x));
    }
    let up = negated(floor(negated(x.clone())));
    if range.high <= 0.0 {
        return Ok(up);
    }
    check_copies(x.size(), 3)?;
    let is_below = Predicate::Numbers(Comparison::Less, x.clone(), Scalar::Constant(0.0));
    Ok(Scalar::Case(vec![(is_below, up)], Some(Box::new(floor(x)))))
}

/// A number that a query writes out, perhaps as a product.
fn constant(expr: &Expr) -> Option<f64> {
    match expr {
        Expr::Number(x) => Some(*x),
        Expr::Negated(inner) => constant(inner).map(|x| -x),
        Expr::Arithmetic(Operator::Multiply, left, right) => Some(constant(left)? * constant(right)?),
        _ => None,
    }
}
