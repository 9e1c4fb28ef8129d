//! The names of the columns of a file of text, which are public: read before any row is.

use std::path::Path;
use veracity_core::Error;
use veracity_records::{Limits, Source};

/// How far the header of a file is read.
const LONGEST: u64 = 1 << 20;

/// The first line of a file of text.
pub(super) struct Header {
    /// What is between cells.
    pub(super) delimiter: char,
    pub(super) names: Vec<String>,
}

impl Header {
    /// The header of a file; nothing where its first line is no text, or does not end its quotes. What is between cells it tells by
    /// itself unless that is given: a tab if it has one, else a comma, else a semicolon.
    pub(super) fn of(path: &Path, delimiter: Option<u8>) -> Result<Option<Header>, Error> {
        let limits = Limits::default();
        let line = Source::at(path, &limits)?.first_line(&limits, LONGEST)?;
        let is_text = |line: &String| {
            line.matches('"').count().is_multiple_of(2) && !line.contains('\0') && !line.starts_with("PAR1")
        };
        let Some(line) = String::from_utf8(line).ok().filter(is_text) else { return Ok(None) };
        let line = line.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
        // Lines that end in carriage returns alone: what follows the header here are rows, which must decide nothing.
        if line.contains('\r') {
            return Ok(None);
        }
        let usual = ['\t', ',', ';'].into_iter().find(|one| line.contains(*one)).unwrap_or(',');
        let delimiter = delimiter.map_or(usual, char::from);
        Ok(Some(Header { delimiter, names: names(line, delimiter) }))
    }
}

/// The cells of a line; between quotes a delimiter is none, and two quotes are one.
fn names(line: &str, delimiter: char) -> Vec<String> {
    let (mut names, mut is_quoted) = (vec![String::new()], false);
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        let name = names.len() - 1;
        match letter {
            '"' if is_quoted && letters.peek() == Some(&'"') => names[name].extend(letters.next()),
            '"' => is_quoted = !is_quoted,
            letter if letter == delimiter && !is_quoted => names.push(String::new()),
            letter => names[name].push(letter),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_quotes_hold_delimiters_and_quotes() {
        assert_eq!(names(r#"id,"a""b, c",,x"#, ','), ["id", "a\"b, c", "", "x"]);
        assert_eq!(names("id;a", ';'), ["id", "a"]);
    }
}
