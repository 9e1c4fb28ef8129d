//! Places of a catalog that its writer is still to fill in: lines whose value is `"FILL IN"`.
//!
//! Such a line is taken out before the catalog is read, and an empty one stays in its place, so that the numbers of lines are those of the file.
//! A place of a table is refused at once. One of a column is refused when a query names the column.

use veracity_core::{Refusal, printable};

/// What stands in such a place.
pub(crate) const FILL_IN: &str = "FILL IN";

/// A place that is not filled in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Unfilled {
    /// Its line, counted from 1.
    pub line: usize,
    /// The table whose column it is; nothing for a setting of a table.
    pub table: Option<String>,
    /// The name of the setting or of the column.
    pub name: String,
}

/// The text of a catalog without such lines, and what they were.
pub(crate) fn split(text: &str) -> (String, Vec<Unfilled>) {
    let (mut filled, mut places, mut section) = (String::with_capacity(text.len()), Vec::new(), None);
    for (at, line) in text.split_inclusive('\n').enumerate() {
        if line.trim_start().starts_with('[') {
            section = table_of_columns(line);
        }
        match name_of(line) {
            Some(name) => {
                places.push(Unfilled { line: at + 1, table: section.clone(), name });
                filled.push('\n');
            }
            None => filled.push_str(line),
        }
    }
    (filled, places)
}

/// Refuses settings of tables that are not filled in. Columns may wait until a query names them.
pub(crate) fn columns(places: Vec<Unfilled>) -> Result<Vec<Unfilled>, Refusal> {
    match places.iter().find(|place| place.table.is_none()) {
        None => Ok(places),
        Some(place) => {
            let what = match place.name.as_str() {
                "person" => "write the name of the column that says whose a row is",
                "rows_per_group" => "write how many rows of one person count in each group, such as 5",
                "groups_per_person" => "write in how many groups of a query one person counts, such as 2",
                "encoding" => "write utf-8, windows-1252 or latin-1 in quotes",
                _ => "write its value",
            };
            let name = printable(&place.name, 60);
            Err(Refusal::invalid(format!("line {} is not filled in: {name}; {what}", place.line)))
        }
    }
}

/// The name of a line whose value is to be filled in.
fn name_of(line: &str) -> Option<String> {
    let entries: toml::Table = if line.contains(FILL_IN) { toml::from_str(line).ok()? } else { return None };
    let mut entries = entries.into_iter();
    match (entries.next(), entries.next()) {
        (Some((name, toml::Value::String(value))), None) if value == FILL_IN => Some(name),
        _ => None,
    }
}

/// The table of a line such as `[tables.visits.columns]`.
fn table_of_columns(line: &str) -> Option<String> {
    let whole: toml::Table = toml::from_str(line).ok()?;
    let (table, inner) = whole.get("tables")?.as_table()?.iter().next()?;
    inner.as_table()?.contains_key("columns").then(|| table.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_to_fill_in_are_found_and_the_others_stay_where_they_are() {
        let text = "# person = \"FILL IN\"\r\n[tables.\"v 1\"]\nperson = \"FILL IN\" # who\n\n[tables.\"v 1\".columns] # all\n\
                    'a = \"b\"#' = 'FILL IN'\nx = { keys = [\"FILL IN\"] }\n\"FILL IN\" = { type = \"text\" }\n";
        let (filled, places) = split(text);
        let place = |line, table: Option<&str>, name: &str| Unfilled {
            line,
            table: table.map(str::to_owned),
            name: name.to_owned(),
        };
        assert_eq!(places, [place(3, None, "person"), place(6, Some("v 1"), "a = \"b\"#")]);
        assert_eq!(filled.lines().count(), text.lines().count());
        assert_eq!(filled.lines().nth(6), text.lines().nth(6));
        let refusal = columns(places).unwrap_err().to_string();
        assert!(refusal.starts_with("line 3 is not filled in: person"), "{refusal}");
        assert!(toml::from_str::<toml::Table>(&filled).is_ok());
    }
}
