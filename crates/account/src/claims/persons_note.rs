//! The note of a claim on the privacy ID column and its limits.

use crate::claims::spec::Whole;
use serde::{Deserialize, Serialize};
use veracity_core::Count;

/// The privacy ID column, and how many rows of one person are used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonsNote {
    /// The privacy ID column.
    pub column: String,
    /// Maximum number of rows used per person; absent if all rows of a person are used together, or if groups are limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_person: Option<Whole>,
    /// For a query: maximum number of rows used per person in each group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_group: Option<Whole>,
    /// For a query: maximum number of groups per person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_per_person: Option<Whole>,
    /// For a query with subqueries: maximum number of rows per person that each of them reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows_per_subquery: Vec<Whole>,
    /// For a query with several groupings: maximum number of groups per person in each noise call, if they differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups_per_call: Vec<Whole>,
}

impl PersonsNote {
    /// At most `rows` rows of one person are used.
    pub fn rows(column: &str, rows: Count) -> PersonsNote {
        PersonsNote { rows_per_person: Some(rows.into()), ..PersonsNote::together(column) }
    }

    /// All rows of one person are used together, as one.
    pub fn together(column: &str) -> PersonsNote {
        PersonsNote {
            column: column.to_owned(),
            rows_per_person: None,
            rows_per_group: None,
            groups_per_person: None,
            rows_per_subquery: Vec::new(),
            groups_per_call: Vec::new(),
        }
    }

    /// At most `rows` rows of one person are used in each of at most `groups` groups.
    pub fn in_groups(column: &str, rows: Count, groups: Count) -> PersonsNote {
        PersonsNote {
            rows_per_group: Some(rows.into()),
            groups_per_person: Some(groups.into()),
            ..PersonsNote::together(column)
        }
    }

    /// The same of a query whose subqueries read at most so many rows of one person each.
    #[must_use]
    pub fn with_subqueries(self, rows: impl IntoIterator<Item = Count>) -> PersonsNote {
        PersonsNote { rows_per_subquery: rows.into_iter().map(Whole::from).collect(), ..self }
    }

    /// The same of a query in whose noise calls one person counts in at most so many groups each, in the order of the mechanism.
    #[must_use]
    pub fn with_groups_of_calls(self, groups: impl IntoIterator<Item = Count>) -> PersonsNote {
        let groups: Vec<Whole> = groups.into_iter().map(Whole::from).collect();
        let is_same = groups.iter().all(|one| Some(one) == self.groups_per_person.as_ref());
        PersonsNote { groups_per_call: if is_same { Vec::new() } else { groups }, ..self }
    }

    /// What subqueries read, and what the query makes of it.
    fn of_subqueries(&self) -> String {
        let read: Vec<String> = self.rows_per_subquery.iter().map(|rows| rows.0.to_string()).collect();
        let (what, read) = match read.as_slice() {
            [one] => ("A subquery reads", one.clone()),
            all => ("Subqueries read", all.join(" and ")),
        };
        let number = |whole: &Option<Whole>| whole.as_ref().map_or(1.0, |whole| whole.0);
        let (rows, groups) = (number(&self.rows_per_group), number(&self.groups_per_person));
        let groups =
            if groups == 1.0 { "one group".to_owned() } else { format!("each of at most {groups} groups") };
        format!(
            "{what} at most {read} of these rows, chosen at random. At most {rows} of the rows that the query makes of them are used \
             in {groups} of an answer"
        )
    }

    /// Its part of the definition of a claim.
    pub(crate) fn sentence(&self, unit: &str) -> String {
        let count = match (&self.rows_per_person, &self.rows_per_group, &self.groups_per_person) {
            (Some(rows), _, _) => format!("At most {} of these rows are used, chosen at random", rows.0),
            (None, Some(rows), Some(groups)) if groups.0 == 1.0 => {
                format!(
                    "At most {} of these rows are used, in one group of an answer, chosen at random",
                    rows.0
                )
            }
            (None, Some(rows), Some(groups)) => format!(
                "At most {} of these rows are used in each of at most {} groups of an answer, chosen at random",
                rows.0, groups.0
            ),
            (None, _, _) => "Their gradients are averaged and clipped together".to_owned(),
        };
        let count = if self.rows_per_subquery.is_empty() { count } else { self.of_subqueries() };
        let of_calls: Vec<String> = self.groups_per_call.iter().map(|groups| groups.0.to_string()).collect();
        let calls = match of_calls.as_slice() {
            [] => String::new(),
            all => format!(
                " The noise calls have at most {} of these groups, one number for each call.",
                all.join(", ")
            ),
        };
        format!(
            " One {unit} is all rows with the same value in column {}. {count}.{calls} Rows without a value in this column are not used.",
            self.column
        )
    }
}
