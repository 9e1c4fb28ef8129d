//! Queries inside of others: those that only filter rows, and those that compute one row for each person.
//!
//! A person has one row of `SELECT person, SUM(x) FROM t GROUP BY person`. No more of its rows are summed than its cap allows, so that
//! the sum is between bounds that follow from the cap and the declared bounds, and the outer query sees one bounded row for each
//! person. Whether a person is among those of a query is a function of the rows of that person alone.

use super::{
    names::{Meaning, Names, stored},
    rows,
};
use crate::sql::{
    Catalog, Column,
    ast::{Comparison, Expr, From, Item, JoinKind, Name, Select, Side},
    catalog::RowsOf,
    grid::Grid,
    plan::{Input, Measure, PerUnit, Source},
    scalar::{Extreme, Predicate, Range, Scalar},
};
use std::collections::BTreeMap;
use veracity_core::{Count, Refusal};
use veracity_mechanisms::Bounds;

/// The most rows of a person that are looked at to find whether it is among those of a query.
pub(in crate::sql) const MOST_ROWS: u64 = 1_000_000;
/// What a query counts that says who is among its persons.
const ROWS: &str = "rows";

/// A query whose inner queries that only filter are tables with a filter.
pub(super) fn without_filters(mut select: Select) -> Result<Select, Refusal> {
    for from in &mut select.from {
        let Some(inner) = from.query.take_if(|inner| is_filter(inner)) else { continue };
        let [table] = inner.from.as_slice() else { return Err(nearest()) };
        if table.query.is_some() {
            return Err(nearest());
        }
        let known = table.alias.clone().map_or(table.table.clone(), |text| Name { text, quoted: true });
        let alias = from.alias.clone().map_or(known.clone(), |text| Name { text, quoted: true });
        from.table = table.table.clone();
        from.alias = Some(alias.text.clone());
        from.selected = selected(&inner, &known)?;
        from.filter = inner.filter;
        if let Some(filter) = &mut from.filter {
            rename(filter, &known, &alias)?;
        }
    }
    // Which rows of the other tables stay would depend on the filter.
    let is_right = |from: &From| from.join.as_ref().is_some_and(|join| join.side == Side::Right);
    let has_filter = select.from.iter().any(|from| from.filter.is_some());
    if has_filter && select.from.iter().any(is_right) { Err(nearest()) } else { Ok(select) }
}

/// The columns that a query that only filters selects; none for all.
fn selected(inner: &Select, known: &Name) -> Result<Option<Vec<Name>>, Refusal> {
    let mut names = Vec::new();
    for item in &inner.items {
        match &item.expr {
            Expr::Column(table, name) if table.as_ref().is_none_or(|table| table.is(&known.text)) => {
                names.push(name.clone());
            }
            Expr::Star if inner.items.len() == 1 => return Ok(None),
            _ => return Err(nearest()),
        }
    }
    Ok(Some(names))
}

/// Whether a query shows rows as they are.
fn is_filter(select: &Select) -> bool {
    let is_plain = |expr: &Expr| matches!(expr, Expr::Star | Expr::Column(..));
    select.group_by.is_empty()
        && select.grouping_sets.is_empty()
        && select.having.is_none()
        && select.order_by.is_empty()
        && select.limit.is_none()
        && select.items.iter().all(|item| is_plain(&item.expr) && item.alias.is_none())
}

/// Names the columns of a condition by the table of the outer query.
fn rename(expr: &mut Expr, known: &Name, alias: &Name) -> Result<(), Refusal> {
    let all = |parts: &mut dyn Iterator<Item = &mut Expr>| {
        for part in parts {
            rename(part, known, alias)?;
        }
        Ok(())
    };
    match expr {
        Expr::Column(table, _) => {
            if table.as_ref().is_some_and(|table| !table.is(&known.text)) {
                return Err(nearest());
            }
            *table = Some(alias.clone());
            Ok(())
        }
        Expr::Number(_) | Expr::Text(_) | Expr::Null | Expr::Boolean(_) | Expr::CountAll | Expr::Star => {
            Ok(())
        }
        Expr::Negated(inner) | Expr::Not(inner) => rename(inner, known, alias),
        Expr::IsNull { expr, .. } | Expr::Like { expr, .. } => rename(expr, known, alias),
        Expr::Arithmetic(_, left, right) | Expr::Compare(_, left, right) => {
            all(&mut [left.as_mut(), right.as_mut()].into_iter())
        }
        Expr::In { expr, list, .. } => all(&mut std::iter::once(expr.as_mut()).chain(list.iter_mut())),
        Expr::Between { expr, low, high, .. } => {
            all(&mut [expr.as_mut(), low.as_mut(), high.as_mut()].into_iter())
        }
        Expr::And(parts) | Expr::Or(parts) => all(&mut parts.iter_mut()),
        Expr::Case { branches, otherwise } => {
            for (condition, result) in branches {
                rename(condition, known, alias)?;
                rename(result, known, alias)?;
            }
            otherwise.as_mut().map_or(Ok(()), |other| rename(other, known, alias))
        }
        Expr::Call { arguments, .. } => all(&mut arguments.iter_mut()),
        Expr::InQuery { .. } | Expr::Exists(_) => Err(nearest()),
    }
}

/// The rows of a query that has one for each person; `most` is how many rows of one person count, where the catalog does not say.
pub(super) fn source(select: &Select, catalog: &Catalog, most: Option<Count>) -> Result<Source, Refusal> {
    let (mut names, filter) = inner(select, catalog)?;
    let RowsOf::Units { columns: unit, caps, .. } = names.sources[0].table.rows_of.clone() else {
        return Err(nearest());
    };
    let most = most.unwrap_or(caps.rows);
    if select.having.is_some() || select.limit.is_some() || !select.order_by.is_empty() {
        return Err(Refusal::invalid(
            "a subquery has HAVING, ORDER BY or LIMIT; put the condition into the WHERE of the outer query",
        ));
    }
    check_groups(select, unit.len(), &mut names)?;
    let (mut measures, mut columns) = (BTreeMap::new(), BTreeMap::new());
    for item in &select.items {
        if let Expr::Column(table, name) = &item.expr
            && let Meaning::Unit(_, at) = names.find(table.as_ref(), name)?
            && item.alias.as_ref().is_none_or(|alias| *alias == unit[at])
        {
            continue;
        }
        let name = item.alias.clone().ok_or_else(|| {
            Refusal::invalid("a subquery has a number without a name; write SUM(x) AS name")
        })?;
        let (measure, (low, high)) = measure(&item.expr, most, &mut names)?;
        let bounds = Bounds::new(low, if high > low { high } else { low + 1.0 })?;
        let is_known = unit.contains(&name) || columns.insert(name.clone(), Column::Number(bounds)).is_some();
        if is_known {
            return Err(Refusal::invalid("a subquery has two columns with one name; rename one with AS"));
        }
        measures.insert(name, measure);
    }
    Ok(computed(names, filter, most, (measures, columns)))
}

/// A condition that a person is among those of a query, or is not: so many rows of it at least.
pub(super) fn is_among(
    expr: &Expr,
    select: &Select,
    negated: bool,
    names: &mut Names,
    catalog: &Catalog,
) -> Result<Predicate, Refusal> {
    let (mut inside, filter) = inner(select, catalog)?;
    let (of, first) = (&inside.sources[0].table, &names.sources[0].table);
    let (
        RowsOf::Units { unit, columns, .. },
        RowsOf::Units { unit: of_first, columns: of_first_columns, .. },
    ) = (&of.rows_of, &first.rows_of)
    else {
        return Err(only_persons());
    };
    let is_unit = |expr: &Expr, names: &mut Names| match expr {
        // The ID of a left-joined table may be missing where that of the first is there.
        Expr::Column(table, name) => Ok(match names.find(table.as_ref(), name)? {
            Meaning::Unit(place, _) => !matches!(names.sources[place].join, Some((JoinKind::Left, _))),
            Meaning::Declared(_) => false,
        }),
        _ => Ok::<bool, Refusal>(false),
    };
    let is_same = unit == of_first && columns.len() == 1 && of_first_columns.len() == 1;
    let [item] = select.items.as_slice() else { return Err(only_persons()) };
    if !is_same || !is_unit(expr, names)? || !is_unit(&item.expr, &mut inside)? {
        return Err(only_persons());
    }
    if select.limit.is_some() || !select.order_by.is_empty() {
        return Err(Refusal::invalid("a subquery in IN has ORDER BY or LIMIT; remove it"));
    }
    if !select.group_by.is_empty() || !select.grouping_sets.is_empty() {
        check_groups(select, 1, &mut inside)?;
    }
    let least = match &select.having {
        None => 1.0,
        Some(Expr::Compare(sign, left, right)) => match (sign, left.as_ref(), right.as_ref()) {
            (Comparison::AtLeast, Expr::CountAll, Expr::Number(n)) if *n >= 1.0 => *n,
            (Comparison::More, Expr::CountAll, Expr::Number(n)) if *n >= 0.0 => n.floor() + 1.0,
            _ => return Err(only_counts()),
        },
        Some(_) => return Err(only_counts()),
    };
    let bounds = Bounds::new(0.0, MOST_ROWS as f64)?;
    let measures = BTreeMap::from([(ROWS.to_owned(), Measure::Rows)]);
    let columns = BTreeMap::from([(ROWS.to_owned(), Column::Number(bounds))]);
    let source = computed(inside, filter, Count::new(MOST_ROWS)?, (measures, columns));
    let rows = Scalar::Column(names.add_unnamed(source, ROWS)?);
    let rows = Scalar::Coalesce(vec![rows, Scalar::Constant(0.0)]);
    let among = Predicate::Numbers(Comparison::AtLeast, rows, Scalar::Constant(least));
    Ok(if negated { Predicate::Not(Box::new(among)) } else { among })
}

/// The same as a query after `EXISTS`, whose `WHERE` compares its privacy ID with that of the outer query: `person IN (SELECT person …)`.
///
/// A row of the outer query has a person, and one of the inner query that has none is equal to none. So both hold of the same rows, and
/// so do their opposites.
pub(super) fn exists(select: &Select, names: &mut Names, catalog: &Catalog) -> Result<Predicate, Refusal> {
    let [From { query: None, table, alias, .. }] = select.from.as_slice() else {
        return Err(only_existing());
    };
    let is_plain = select.group_by.is_empty()
        && select.grouping_sets.is_empty()
        && select.having.is_none()
        && select.order_by.is_empty()
        && select.limit.is_none();
    if !is_plain || select.items.iter().any(|item| is_aggregate(&item.expr)) {
        return Err(only_existing());
    }
    let source = stored(table, catalog)?;
    let own = |name: &Name| source.unit.iter().any(|unit| name.is(unit));
    let is_inner = |of: &Option<Name>, name: &Name| {
        own(name) && of.as_ref().is_none_or(|of| of.is(alias.as_deref().unwrap_or(&table.text)))
    };
    let mut conditions = match &select.filter {
        Some(Expr::And(all)) => all.clone(),
        Some(one) => vec![one.clone()],
        None => return Err(only_existing()),
    };
    // One side is a column of the inner table, the other names a table of the outer query.
    let compared = |one: &Expr| -> Option<(Expr, Expr)> {
        let Expr::Compare(Comparison::Equal, left, right) = one else { return None };
        let sides = [(left, right), (right, left)];
        sides.into_iter().find_map(|(inner, outer)| match (inner.as_ref(), outer.as_ref()) {
            (Expr::Column(of, name), Expr::Column(Some(other), unit))
                if is_inner(of, name) && !is_inner(&Some(other.clone()), unit) =>
            {
                Some((inner.as_ref().clone(), outer.as_ref().clone()))
            }
            _ => None,
        })
    };
    let Some((at, (inner, outer))) =
        conditions.iter().enumerate().find_map(|(at, one)| Some((at, compared(one)?)))
    else {
        return Err(only_existing());
    };
    conditions.remove(at);
    let filter = if conditions.is_empty() { None } else { Some(Expr::And(conditions)) };
    let items = vec![Item { expr: inner, alias: None, text: String::new() }];
    is_among(&outer, &Select { items, filter, ..select.clone() }, false, names, catalog)
}

/// Whether an item of a query makes one row of all.
fn is_aggregate(expr: &Expr) -> bool {
    matches!(expr, Expr::CountAll | Expr::Call { .. })
}

/// The names and the filter of an inner query, of one private table.
fn inner(select: &Select, catalog: &Catalog) -> Result<(Names, Option<Predicate>), Refusal> {
    let [From { query: None, table, .. }] = select.from.as_slice() else { return Err(nearest()) };
    if stored(table, catalog)?.unit.is_empty() {
        return Err(nearest());
    }
    let mut names = Names::new(&select.from, catalog, None)?;
    let filter = select.filter.as_ref().map(|filter| rows::predicate(filter, &mut names)).transpose()?;
    Ok((names, filter))
}

/// Refuses groups other than persons.
fn check_groups(select: &Select, units: usize, names: &mut Names) -> Result<(), Refusal> {
    if !select.grouping_sets.is_empty() {
        return Err(nearest());
    }
    let mut found = Vec::new();
    for expr in &select.group_by {
        let expr = super::keys::meant(expr, select, names)?;
        let Expr::Column(table, name) = expr else { return Err(nearest()) };
        let Meaning::Unit(_, at) = names.find(table.as_ref(), name)? else { return Err(nearest()) };
        found.push(at);
    }
    found.sort_unstable();
    if found.iter().copied().eq(0..units) { Ok(()) } else { Err(nearest()) }
}

fn computed(
    names: Names,
    filter: Option<Predicate>,
    most: Count,
    (measures, columns): (BTreeMap<String, Measure>, BTreeMap<String, Column>),
) -> Source {
    let mut sources = names.sources;
    let rows = Source { most: Some(most), ..sources.remove(0) };
    let mut table = rows.table.clone();
    table.columns = columns;
    let unit = rows.unit.clone();
    let per_unit = Some(Box::new(PerUnit { rows, filter, measures }));
    Source { table, unit, columns: Vec::new(), join: None, most: None, per_unit }
}

/// A number of each person, and between which numbers it is.
///
/// # Promise   A sum of n integers from a to b, 1 ≤ n ≤ most, is between min(a, most a) and max(b, most b), and a mean between a and b
fn measure(expr: &Expr, most: Count, names: &mut Names) -> Result<(Measure, (f64, f64)), Refusal> {
    let rows = most.as_f64();
    let (name, of) = match expr {
        Expr::CountAll => return Ok((Measure::Rows, (0.0, rows))),
        Expr::Call { name, distinct: false, arguments } => match arguments.as_slice() {
            [of] => (name.as_str(), of),
            _ => return Err(only_aggregates()),
        },
        _ => return Err(only_aggregates()),
    };
    let scalar = rows::number(of, names)?;
    let range: Range = scalar.range(&|column| names.range(column))?;
    let input = |scalar: Scalar| Ok::<Input, Refusal>(Input { scalar, grid: Grid::of_sums(range)? });
    let ends = |input: &Input| {
        let unit = input.grid.unit();
        (input.grid.least as f64 * unit, input.grid.most as f64 * unit)
    };
    Ok(match name {
        "count" => (Measure::Present(input(scalar)?), (0.0, rows)),
        "sum" => {
            let input = input(scalar)?;
            let (least, most) = ends(&input);
            (Measure::Sum(input), (least.min(rows * least), most.max(rows * most)))
        }
        "avg" | "mean" => {
            let input = input(scalar)?;
            let ends = ends(&input);
            (Measure::Mean(input), ends)
        }
        "min" => (Measure::Extreme(Extreme::Least, scalar), (range.low, range.high)),
        "max" => (Measure::Extreme(Extreme::Greatest, scalar), (range.low, range.high)),
        _ => return Err(only_aggregates()),
    })
}

fn nearest() -> Refusal {
    Refusal::invalid(
        "query has a subquery that has no bound per person; use one that only filters rows (SELECT * FROM table WHERE …), or has \
         one row for each person (SELECT person, SUM(x) AS total FROM table GROUP BY person)",
    )
}

fn only_persons() -> Refusal {
    Refusal::invalid(
        "query has a subquery in IN that does not compare privacy IDs; write person IN (SELECT person FROM table WHERE …), or JOIN \
         a public table",
    )
}

fn only_existing() -> Refusal {
    Refusal::invalid(
        "query has a subquery in EXISTS that does not compare the privacy IDs of one table and of the outer query; write EXISTS \
         (SELECT 1 FROM table WHERE table.person = outer.person AND …)",
    )
}

fn only_counts() -> Refusal {
    Refusal::invalid("HAVING in a subquery supports only COUNT(*) >= number and COUNT(*) > number")
}

fn only_aggregates() -> Refusal {
    Refusal::invalid(
        "a subquery per person supports only COUNT(*), COUNT, SUM, AVG, MIN and MAX of one number; calculate with them in the outer query",
    )
}
