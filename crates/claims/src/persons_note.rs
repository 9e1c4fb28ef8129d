//! How rows belong to people, as a claim notes it.

use crate::spec::Whole;
use serde::{Deserialize, Serialize};

/// Whose a row is, and how many rows of one person count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonsNote {
    /// The column that says whose row it is.
    pub column: String,
    /// The most rows of one person that count; nothing where all of them count together as one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows_per_person: Option<Whole>,
}

impl PersonsNote {
    /// What it adds to the definition of a claim.
    pub(crate) fn sentence(&self, unit: &str) -> String {
        let count = match &self.rows_per_person {
            Some(rows) => format!("at most {} of them count, drawn at random", rows.0),
            None => "their gradients are averaged and clipped together".to_owned(),
        };
        format!(
            " One {unit} is all rows with the same value in column {}; {count}, and rows without a value there do not count.",
            self.column
        )
    }
}
