//! What to do about a query that was refused because of how it names a column: one that is not filled in, or one that needs quotes.

use crate::sql::Catalog;
use veracity_core::{Refusal, printable};

/// The refusal of a query, or a more helpful one where the query names a column that explains it. Only the query and the catalog are read.
pub(crate) fn with_advice(refusal: Refusal, query: &str, catalog: &Catalog) -> Refusal {
    let (outside, quoted) = parts(query);
    let place = catalog.unfilled().iter().find(|place| {
        let of_table = |table: &&super::Table| Some(&table.name) == place.table.as_ref();
        let is_person =
            catalog.tables().find(of_table).is_some_and(|table| table.persons().contains(&place.name));
        !is_person && (quoted.contains(&place.name) || names(&outside, &place.name))
    });
    if let Some(place) = place {
        return Refusal::invalid(format!(
            "column {} is not filled in: line {} of the catalog; write {{ lower = …, upper = … }}, {{ keys = […] }} or {{ type = \
             \"text\" }}",
            printable(&place.name, 60),
            place.line
        ));
    }
    let declared = catalog.tables().flat_map(|table| table.columns.keys().chain(table.persons()));
    let filled = declared.filter(|name| is_misread(&outside, name));
    match filled.max_by_key(|name| name.len()) {
        Some(name) => Refusal::invalid(format!(
            "column {} has a name that SQL does not read as one word; put the name in double quotes: \"{}\"",
            printable(name, 60),
            printable(&name.replace('"', "\"\""), 60)
        )),
        None => refusal,
    }
}

/// Whether a text has a name that SQL does not read there: one with a space or a sign, one that begins with a digit, or one whose letters
/// outside of ASCII have another case.
fn is_misread(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if !name.chars().all(is_word) || name.starts_with(|c: char| c.is_numeric()) {
        return names(text, name);
    }
    let mut words = text.split(|c| !is_word(c));
    words.any(|word| word.to_lowercase() == name.to_lowercase() && !word.eq_ignore_ascii_case(name))
}

/// Whether a text has a name as words of its own, in any case.
fn names(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(&name)
        .any(|(at, found)| !text[..at].ends_with(is_word) && !text[at + found.len()..].starts_with(is_word))
}

/// What of a query stands outside of quotes, and its names in double quotes.
fn parts(query: &str) -> (String, Vec<String>) {
    let (mut outside, mut quoted, mut open) = (String::new(), Vec::new(), None);
    let mut inside = String::new();
    for c in query.chars() {
        match open {
            None if c == '"' || c == '\'' => open = Some(c),
            None => outside.push(c),
            Some(quote) if c == quote => {
                open = None;
                // What quotes hold is no word of the rest.
                outside.push(',');
                let text = std::mem::take(&mut inside);
                if quote == '"' {
                    quoted.push(text);
                }
            }
            Some(_) => inside.push(c),
        }
    }
    (outside, quoted)
}
