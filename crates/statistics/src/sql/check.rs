//! From a query as it was written to a bounded plan, or a refusal with the reason and the nearest allowed form.

mod aggregates;
mod calls;
mod dates;
mod groupings;
mod keys;
mod names;
mod per_unit;
mod rows;
mod shown;
mod texts;

use crate::sql::{
    Caps, Catalog,
    ast::{Expr, Select},
    catalog::RowsOf,
    parse::parse,
    plan::{Key, Output, OutputValue, Plan},
    spread,
};
pub(crate) use calls::Sharing;
use calls::{Calls, Statistics};
use groupings::{Groupings, Shown};
use names::Names;
pub(super) use per_unit::MOST_ROWS;
use veracity_core::{Count, Refusal};

/// The most groups that are answered where all keys are public.
const MOST_GROUPS: u64 = 100_000;
/// The most columns of an answer, and keys of a group.
const MOST_OUTPUTS: usize = 64;

/// How much of one unit counts in a query, where it is not as the catalog says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CapOverrides {
    /// In how many groups.
    pub groups: Option<Count>,
    /// How many rows in each.
    pub rows: Option<Count>,
}

/// Checks a query against a catalog. No data are touched.
///
/// # Errors
/// Refuses a query that is not supported or has no bound, with the nearest allowed form.
pub fn check(query: &str, catalog: &Catalog, wanted: CapOverrides) -> Result<Plan, Refusal> {
    check_parsed(parsed(query)?, query, catalog, (wanted, Sharing::Shared))
}

/// A query as it is written, with conditions in place of inner queries that only filter.
pub(crate) fn parsed(query: &str) -> Result<Select, Refusal> {
    per_unit::without_filters(parse(query)?)
}

/// Checks a query that was parsed.
pub(crate) fn check_parsed(
    mut select: Select,
    query: &str,
    catalog: &Catalog,
    (wanted, sharing): (CapOverrides, Sharing),
) -> Result<Plan, Refusal> {
    if select.items.len() > MOST_OUTPUTS || select.group_by.len() > MOST_OUTPUTS {
        return Err(Refusal::invalid(format!(
            "query has more than {MOST_OUTPUTS} columns or keys; select fewer"
        )));
    }
    // Inside of other queries such a name would still mean the table.
    if let Some(name) = select.named.iter().find(|name| catalog.tables().any(|table| name.is(&table.name))) {
        return Err(Refusal::invalid(format!(
            "WITH {} is the name of a table of the catalog; use another name",
            name.shown()
        )));
    }
    select.from = rows::in_order(select.from, catalog);
    let mut names = Names::new(&select.from, catalog, wanted.rows)?;
    rows::check_joins(&select.from, &mut names)?;
    let filter = rows::filters(&select, &mut names, catalog)?;
    let groupings = Groupings::new(&select, &mut names)?;
    let keys = &groupings.keys;
    let mut statistics = Statistics::default();
    let outputs = outputs(&select, keys, &mut names, &mut statistics)?;
    let selected = statistics.clone();
    let shown = shown::shown(&select, &outputs, keys, &mut names, &mut statistics)?;
    // All tables are known here, also those of inner queries.
    let period = dates::period_of_unit(&mut names)?;
    // Without an aggregate, keys that are not public are an answer: those with enough persons.
    let has_unknown = |set: &Vec<usize>| set.iter().any(|at| keys[*at].public.is_none());
    if statistics.is_empty() && !groupings.sets.iter().all(has_unknown) {
        return Err(Refusal::invalid("query has no aggregate; add one, such as COUNT(*), SUM(x) or AVG(x)"));
    }
    // Engines have no table without a column.
    if let Some(unread) =
        names.sources.iter().find(|source| source.unit.is_empty() && source.columns.is_empty())
    {
        return Err(Refusal::invalid(format!(
            "table {} is joined, but no column of it is used; use one in ON",
            unread.table.name
        )));
    }
    let RowsOf::Units { unit, caps, .. } = &names.sources[0].table.rows_of else {
        return Err(Refusal::invalid("query begins with a public table; put the private table first"));
    };
    let (unit, usual) = (unit.clone(), *caps);
    if period.is_some() && statistics.counts_units() {
        for set in &groupings.sets {
            dates::check_count_of_units(&groupings.keys_of(set), &names)?;
        }
    }
    let cap = |what, number: Count| spread::cap(what, number.get());
    let caps = Caps {
        groups: cap("groups_per_person", wanted.groups.unwrap_or(usual.groups))?,
        rows: cap("rows_per_group", wanted.rows.unwrap_or(usual.rows))?,
    };
    let caps =
        if has_one_row_per_unit(&names) { Caps { groups: Count::ONE, rows: Count::ONE } } else { caps };
    let range = |column| names.range(column);
    let mut plans = Vec::new();
    for set in &groupings.sets {
        let keys = groupings.keys_of(set);
        let needs_units = keys.iter().any(|key| key.public.is_none());
        let calls = |statistics: &Statistics| statistics.calls((caps.rows, sharing), needs_units, &range);
        let found = calls(&statistics)?;
        if calls(&selected)?.calls != found.calls {
            return Err(Refusal::invalid(
                "query sorts or filters by an aggregate that it does not select; add it to SELECT, because it \
                 is released and costs budget",
            ));
        }
        let Calls { inputs, sums, tallies, calls, aggregates } = found;
        let mut plan = Plan {
            query: query.to_owned(),
            catalog: catalog.digest().to_owned(),
            sources: names.sources.clone(),
            period: period.clone(),
            filter: filter.clone(),
            keys,
            inputs,
            sums,
            tallies,
            caps,
            unit: unit.clone(),
            outputs: Shown(set).outputs(&outputs),
            calls,
            aggregates,
            every: None,
            shown: Shown(set).presentation(&shown),
            cut: None,
            others: Vec::new(),
        };
        plan.caps.groups = groups_at_most(&plan)?;
        plans.push(plan);
    }
    let others = plans.split_off(1);
    plans
        .pop()
        .map(|plan| Plan { others, ..plan })
        .ok_or_else(|| Refusal::invalid("internal error: a query has no grouping; please report the query"))
}

/// Whether every table has one row for each unit: then the join has, and that row is in one group.
fn has_one_row_per_unit(names: &Names) -> bool {
    names.sources.iter().all(|source| source.per_unit.is_some())
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
        return Err(Refusal::out_of_range("groups", all, "at most 100,000 groups; use fewer keys"));
    }
    Ok(plan.caps.groups.min(Count::new(all)?))
}

fn outputs(
    select: &Select,
    keys: &[Key],
    names: &mut Names,
    statistics: &mut Statistics,
) -> Result<Vec<Output>, Refusal> {
    let mut outputs: Vec<Output> = Vec::new();
    for item in &select.items {
        let value = match keys::place(&item.expr, keys, names) {
            Some(place) => OutputValue::Key(place),
            None => match &item.expr {
                Expr::Column(table, name) => {
                    return Err(keys::not_a_key(table.as_ref(), name, names)?);
                }
                expr => OutputValue::Noisy(shown::selected(expr, keys, names, statistics)?),
            },
        };
        let name = item.alias.clone().unwrap_or_else(|| item.text.clone());
        if name.is_empty() || name.len() > 200 || name.contains(char::is_control) {
            return Err(Refusal::invalid("query has an output column without a short name; add AS name"));
        }
        if outputs.iter().any(|output| output.name == name) {
            return Err(Refusal::invalid(format!("query has two columns called {name}; rename one with AS")));
        }
        outputs.push(Output { name, value });
    }
    Ok(outputs)
}
