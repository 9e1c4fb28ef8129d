//! Caps that a query must be given: without them most rows of a person might be left out, and nothing but the answer would show it.

use crate::sql::{CapOverrides, NoiseCall, PerUnit, Plan, Source, catalog::RowsOf, check::MOST_ROWS};
use veracity_core::Refusal;

/// The name of the privacy unit of a table in which each row has an owner of its own.
const ROW: &str = "row";

/// Which caps a query needs and has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Missing {
    pub rows: bool,
    pub groups: bool,
}

impl Missing {
    pub(crate) fn any(self) -> bool {
        self.rows || self.groups
    }
}

/// The caps that neither the catalog nor the query gives, where they decide what counts: the rows of a person in each group, unless
/// people alone are counted, and the groups of a person, where there are several. A table whose unit is a row needs none.
pub(crate) fn missing(plan: &Plan, given: CapOverrides) -> Missing {
    let none = Missing { rows: false, groups: false };
    let RowsOf::Units { declared, unit, .. } = &plan.sources[0].table.rows_of else { return none };
    if unit.name() == ROW {
        return none;
    }
    // A sub-query per person makes one row of so many rows at most. What decides whether a person is in a list has a cap of its own.
    let is_list = |per_unit: &PerUnit| per_unit.rows.most.is_some_and(|most| most.get() == MOST_ROWS);
    let inner = |source: &Source| source.per_unit.as_deref().filter(|per_unit| !is_list(per_unit)).cloned();
    let stored = plan.sources.iter().filter(|source| source.per_unit.is_none());
    let is_per_person = stored.count() == 0;
    let misses_inner = plan.sources.iter().filter_map(inner).any(
        |per_unit| matches!(&per_unit.rows.table.rows_of, RowsOf::Units { declared, .. } if !declared.rows),
    );
    let mut calls = plan.groupings().flat_map(|plan| &plan.calls);
    let counts_rows = !is_per_person && calls.any(|call| *call != NoiseCall::Units);
    let mut keys = plan.groupings().flat_map(|plan| &plan.keys);
    let has_groups =
        !is_per_person && keys.any(|key| key.public.as_ref().is_none_or(|public| public.len() > 1));
    Missing {
        rows: (misses_inner || (counts_rows && !declared.rows)) && given.rows.is_none(),
        groups: has_groups && !declared.groups && given.groups.is_none(),
    }
}

/// Refuses a plan with [`missing`] caps.
///
/// # Errors
/// Names the caps that are missing.
pub(crate) fn must_be_given(plan: &Plan, given: CapOverrides) -> Result<(), Refusal> {
    let RowsOf::Units { unit, .. } = &plan.sources[0].table.rows_of else { return Ok(()) };
    let Missing { rows: misses_rows, groups: misses_groups } = missing(plan, given);
    let unit = unit.name();
    let message = match (misses_rows, misses_groups) {
        (false, false) => return Ok(()),
        (true, true) => format!(
            "query counts rows, so it needs caps: how many rows of one {unit} count in each group, and in how many groups; set \
             rows_per_group and groups_per_person, in the catalog or for this query, or let suggest_caps choose them"
        ),
        (true, false) => format!(
            "query counts rows, so it needs a cap: how many rows of one {unit} count in each group; set rows_per_group, in the \
             catalog or for this query, or let suggest_caps choose it"
        ),
        (false, true) => format!(
            "query has groups, so it needs a cap: in how many groups one {unit} counts; set groups_per_person, in the catalog \
             or for this query, or let suggest_caps choose it"
        ),
    };
    Err(Refusal::invalid(message))
}
