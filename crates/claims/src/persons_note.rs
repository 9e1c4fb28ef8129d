//! How rows belong to people, as a claim notes it.

use crate::spec::Whole;
use serde::{Deserialize, Serialize};
use veracity_core::Count;

/// Whose a row is, and how many rows of one person count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonsNote {
    /// The column that says whose row it is.
    pub column: String,
    /// The most rows of one person that count; nothing where all of them count together as one, or where groups are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_person: Option<Whole>,
    /// Of a query: the most rows of one person that count in each group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_group: Option<Whole>,
    /// Of a query: the most groups in which one person counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups_per_person: Option<Whole>,
}

impl PersonsNote {
    /// At most so many rows of one person count.
    pub fn rows(column: &str, rows: Count) -> PersonsNote {
        PersonsNote { rows_per_person: Some(rows.into()), ..PersonsNote::together(column) }
    }

    /// All rows of one person count together as one.
    pub fn together(column: &str) -> PersonsNote {
        PersonsNote {
            column: column.to_owned(),
            rows_per_person: None,
            rows_per_group: None,
            groups_per_person: None,
        }
    }

    /// At most so many rows of one person count in each of at most so many groups.
    pub fn in_groups(column: &str, rows: Count, groups: Count) -> PersonsNote {
        PersonsNote {
            rows_per_group: Some(rows.into()),
            groups_per_person: Some(groups.into()),
            ..PersonsNote::together(column)
        }
    }

    /// What it adds to the definition of a claim.
    pub(crate) fn sentence(&self, unit: &str) -> String {
        let count = match (&self.rows_per_person, &self.rows_per_group, &self.groups_per_person) {
            (Some(rows), _, _) => format!("at most {} of them count, drawn at random", rows.0),
            (None, Some(rows), Some(groups)) if groups.0 == 1.0 => {
                format!("at most {} of them count, in one group of an answer, drawn at random", rows.0)
            }
            (None, Some(rows), Some(groups)) => format!(
                "at most {} of them count in each of at most {} groups of an answer, drawn at random",
                rows.0, groups.0
            ),
            (None, _, _) => "their gradients are averaged and clipped together".to_owned(),
        };
        format!(
            " One {unit} is all rows with the same value in column {}; {count}, and rows without a value there do not count.",
            self.column
        )
    }
}
