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
        format!(
            " One {unit} is all rows with the same value in column {}. {count}. Rows without a value in this column are not used.",
            self.column
        )
    }
}
