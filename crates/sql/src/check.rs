//! From a query as it was written to a bounded plan, or a refusal with the reason and the nearest allowed form.

mod aggregates;
mod names;
mod rows;
mod shown;

use crate::{
    Caps, Catalog,
    ast::{Expr, Select},
    catalog::RowsOf,
    parse::parse,
    plan::{Key, Output, OutputValue, Plan},
    spread,
};
use aggregates::Aggregates;
use names::Names;
use veracity_core::{Count, Refusal};

/// The most groups that are answered where all keys are public.
const MOST_GROUPS: u64 = 100_000;
/// The most columns of an answer, and keys of a group.
const MOST_OUTPUTS: usize = 64;

/// How much of one unit counts, where the query is to have it otherwise than the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CapsWanted {
    /// In how many groups.
    pub groups: Option<Count>,
    /// How many rows in each.
    pub rows: Option<Count>,
}

/// Checks a query against a catalog. No data are touched.
pub fn check(query: &str, catalog: &Catalog, wanted: CapsWanted) -> Result<Plan, Refusal> {
    let select = parse(query)?;
    if select.items.len() > MOST_OUTPUTS || select.group_by.len() > MOST_OUTPUTS {
        return Err(Refusal::invalid(format!(
            "query has more than {MOST_OUTPUTS} columns or keys, expected fewer"
        )));
    }
    let mut names = Names::new(&select.from, catalog)?;
    rows::check_joins(&select.from, &mut names)?;
    let filter = select.filter.as_ref().map(|filter| rows::predicate(filter, &mut names)).transpose()?;
    let keys = keys(&select, &mut names)?;
    let mut aggregates = Aggregates::default();
    let outputs = outputs(&select, &keys, &mut names, &mut aggregates)?;
    let shown = shown::shown(&select, &outputs, &keys, &mut names, &mut aggregates)?;
    if aggregates.released.is_empty() {
        return Err(Refusal::invalid(
            "query has no aggregate, expected one such as COUNT(*), SUM(x) or AVG(x)",
        ));
    }
    // Engines have no table without a column.
    if let Some(unread) =
        names.sources.iter().find(|source| source.unit.is_empty() && source.columns.is_empty())
    {
        return Err(Refusal::invalid(format!(
            "table {} is joined and no column of it is used, expected one in ON",
            unread.table.name
        )));
    }
    let RowsOf::Units { unit, caps, .. } = &names.sources[0].table.rows_of else {
        return Err(Refusal::invalid("query begins with a public table, expected the private one first"));
    };
    let (unit, usual) = (unit.clone(), *caps);
    let needs_units = keys.iter().any(|key| key.public.is_none());
    if needs_units {
        aggregates.add_units();
    }
    let Aggregates { inputs, sums, tallies, released, .. } = aggregates;
    let cap = |what, number: Count| spread::cap(what, number.get());
    let caps = Caps {
        groups: cap("groups_per_person", wanted.groups.unwrap_or(usual.groups))?,
        rows: cap("rows_per_group", wanted.rows.unwrap_or(usual.rows))?,
    };
    let mut plan = Plan {
        sources: names.sources,
        filter,
        keys,
        inputs,
        sums,
        tallies,
        caps,
        unit,
        outputs,
        aggregates: released,
        shown,
    };
    plan.caps.groups = groups_at_most(&plan)?;
    Ok(plan)
}

/// A unit is in no more groups than there are.
fn groups_at_most(plan: &Plan) -> Result<Count, Refusal> {
    if plan.keys.is_empty() {
        return Ok(Count::ONE);
    }
    let mut all: u64 = 1;
    for key in &plan.keys {
        let Some(public) = &key.public else { return Ok(plan.caps.groups) };
        all = all.saturating_mul(public.len() as u64);
    }
    if all > MOST_GROUPS {
        return Err(Refusal::out_of_range("groups", all, "at most 10^5 of them; take fewer keys"));
    }
    Ok(plan.caps.groups.min(Count::new(all)?))
}

fn keys(select: &Select, names: &mut Names) -> Result<Vec<Key>, Refusal> {
    let mut keys: Vec<Key> = Vec::new();
    for expr in &select.group_by {
        let Expr::Column(table, name) = expr else {
            return Err(Refusal::invalid("query groups by an expression, expected columns of texts"));
        };
        let (column, public) = names.text_column(table.as_ref(), name)?;
        if keys.iter().any(|key| key.column == column) {
            return Err(Refusal::invalid(format!(
                "query groups by {} twice, expected it once",
                name.shown()
            )));
        }
        keys.push(Key { column, name: names.name_of(column), public });
    }
    Ok(keys)
}

fn outputs(
    select: &Select,
    keys: &[Key],
    names: &mut Names,
    aggregates: &mut Aggregates,
) -> Result<Vec<Output>, Refusal> {
    let mut outputs: Vec<Output> = Vec::new();
    for item in &select.items {
        let value = match &item.expr {
            Expr::Column(table, name) => {
                let (column, _) = names.text_column(table.as_ref(), name).map_err(|refusal| match names.is_number(table.as_ref(), name) {
                    true => Refusal::invalid(format!(
                        "query selects the column {} as it is, expected an aggregate of it, such as AVG({0})",
                        name.shown()
                    )),
                    false => refusal,
                })?;
                let place = keys.iter().position(|key| key.column == column).ok_or_else(|| {
                    Refusal::invalid(format!(
                        "query selects {} without grouping by it, expected GROUP BY {0}",
                        name.shown()
                    ))
                })?;
                OutputValue::Key(place)
            }
            expr => OutputValue::Aggregate(aggregates.add(expr, names)?),
        };
        let name = item.alias.clone().unwrap_or_else(|| item.text.clone());
        if name.is_empty() || name.len() > 200 || name.contains(char::is_control) {
            return Err(Refusal::invalid(
                "query has a column of the answer without a short name, expected AS name",
            ));
        }
        if outputs.iter().any(|output| output.name == name) {
            return Err(Refusal::invalid(format!(
                "query has two columns called {name}, expected AS with another name"
            )));
        }
        outputs.push(Output { name, value });
    }
    Ok(outputs)
}
