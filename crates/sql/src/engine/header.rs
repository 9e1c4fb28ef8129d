//! The names of the columns of a file, which are public: read before any row is.

use std::path::Path;
use veracity_core::Error;
use veracity_records::{Limits, Source, parquet_names};

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
        Ok(Header::in_line(Source::at(path, &limits)?.first_line(&limits, LONGEST)?, delimiter))
    }

    fn in_line(line: Vec<u8>, delimiter: Option<u8>) -> Option<Header> {
        let is_text = |line: &String| {
            line.matches('"').count().is_multiple_of(2) && !line.contains('\0') && !line.starts_with("PAR1")
        };
        let line = String::from_utf8(line).ok().filter(is_text)?;
        let line = line.trim_start_matches('\u{feff}').trim_end_matches(['\r', '\n']);
        // Lines that end in carriage returns alone: what follows the header here are rows, which must decide nothing.
        if line.contains('\r') {
            return None;
        }
        // Quotes are even in number, so that every other part is outside of them.
        let outside: String = line.split('"').step_by(2).collect();
        let usual = ['\t', ',', ';'].into_iter().find(|one| outside.contains(*one)).unwrap_or(',');
        let delimiter = delimiter.map_or(usual, char::from);
        Some(Header { delimiter, names: names(line, delimiter) })
    }

    /// The one column of this name, as the file has it.
    pub(super) fn column(&self, path: &Path, name: &str) -> Result<&str, Error> {
        one_of(self.names.iter().map(String::as_str), path, name)
    }
}

/// Refuses a file of Parquet that does not have each of the columns once. Which kinds they have is not looked at: programs choose them by
/// what is in the rows.
pub(super) fn check_schema<'a>(path: &Path, mut wanted: impl Iterator<Item = &'a str>) -> Result<(), Error> {
    let limits = Limits { bytes: u64::MAX, ..Limits::default() };
    let Some(names) = parquet_names(&Source::at(path, &limits)?, &limits) else { return Ok(()) };
    wanted.try_for_each(|name| one_of(names.iter().map(String::as_str), path, name).map(drop))
}

/// The one of some names that is asked for.
fn one_of<'a>(names: impl Iterator<Item = &'a str>, path: &Path, name: &str) -> Result<&'a str, Error> {
    let mut same = names.filter(|known| known.trim() == name.trim());
    match (same.next(), same.next()) {
        (Some(found), None) => Ok(found),
        (Some(_), Some(_)) => Err(Error::file("table", path, format!("one column {name}, found several"))),
        (None, _) => Err(Error::file("table", path, format!("a header with the column {name}"))),
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

    #[test]
    fn a_header_tells_its_delimiter_outside_of_quotes_and_its_columns_once() {
        let header = |line: &str| Header::in_line(line.as_bytes().to_vec(), None);
        let odd = header("id;\"k\";\"x,y\"\n").unwrap();
        assert_eq!((odd.delimiter, odd.names.len()), (';', 3));
        let twice = header("id,k,id\n").unwrap();
        let column =
            |name: &str| twice.column(Path::new("people.csv"), name).map_err(|error| error.to_string());
        assert_eq!(column("k").unwrap(), "k");
        assert!(column("id").unwrap_err().contains("one column id, found several"));
        assert!(column("x").unwrap_err().contains("a header with the column x"));
        // Lines that end in carriage returns alone: what would follow the header are rows.
        assert!(header("id,k\r1,a\r2,b\r").is_none());
        assert!(header("id,\"k\n1,a\n").is_none());
    }
}
