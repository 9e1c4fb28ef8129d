//! The names of the columns of a file, which are public: read before any row is.

use std::path::Path;
use veracity_core::Error;
use veracity_tables::{Form, Limits, Source, parquet_names};

/// How far the header of a file is read.
const LONGEST: u64 = 1 << 20;

/// The first line of a file of text.
pub(super) struct Header {
    /// What is between cells.
    pub(super) delimiter: char,
    pub(super) names: Vec<String>,
    /// Whether it stands below lines that are empty.
    pub(super) is_below_blanks: bool,
}

impl Header {
    /// The header of a file; nothing where its first line is no text, or does not end its quotes. What is between cells it tells by
    /// itself unless that is given: a tab if it has one, else a comma, else a semicolon.
    pub(super) fn of(path: &Path, form: Form) -> Result<Option<Header>, Error> {
        let limits = Limits::default();
        let (line, blanks) = Source::at(path, &limits)?.first_line(&limits, LONGEST)?;
        let header = Header::in_line(&line, form);
        Ok(header.map(|header| Header { is_below_blanks: blanks > 0, ..header }))
    }

    fn in_line(line: &[u8], form: Form) -> Option<Header> {
        let is_text = |line: &str| {
            line.matches('"').count().is_multiple_of(2) && !line.contains('\0') && !line.starts_with("PAR1")
        };
        let line = form.encoding.decode(line).filter(|line| is_text(line))?;
        let line = line.trim_start_matches('\u{feff}');
        let line = line.strip_suffix("\r\n").or_else(|| line.strip_suffix('\n')).unwrap_or(line);
        // Lines that end in carriage returns alone: what follows the header here are rows, which must decide nothing.
        if line.contains('\r') {
            return None;
        }
        // Quotes are even in number, so that every other part is outside of them.
        let outside: String = line.split('"').step_by(2).collect();
        let usual = ['\t', ',', ';'].into_iter().find(|one| outside.contains(*one)).unwrap_or(',');
        let delimiter = form.delimiter.map_or(usual, char::from);
        Some(Header { delimiter, names: names(line, delimiter), is_below_blanks: false })
    }

    /// The place of the one column of this name.
    pub(super) fn place(&self, path: &Path, name: &str) -> Result<usize, Error> {
        one_of(&self.names, path, name)
    }
}

/// The one column of this name of a Parquet file, as its schema has it; nothing where that cannot be read, or is another format's. Which
/// kind it has is not looked at: programs choose it by what is in the rows.
pub(super) fn column_in_schema(path: &Path, name: &str) -> Result<Option<String>, Error> {
    let limits = Limits { bytes: u64::MAX, ..Limits::default() };
    let Some(mut names) = parquet_names(&Source::at(path, &limits)?, &limits) else { return Ok(None) };
    let place = one_of(&names, path, name)?;
    Ok(Some(names.swap_remove(place)))
}

/// The place of the one of some names that is asked for.
fn one_of(names: &[String], path: &Path, name: &str) -> Result<usize, Error> {
    let mut same = (0..names.len()).filter(|at| names[*at].trim() == name.trim());
    match (same.next(), same.next()) {
        (Some(found), None) => Ok(found),
        (Some(_), Some(_)) => {
            Err(Error::file("table", path, format!("one column {name}, but there are several")))
        }
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
    use veracity_tables::Encoding;

    #[test]
    fn names_in_quotes_hold_delimiters_and_quotes() {
        assert_eq!(names(r#"id,"a""b, c",,x"#, ','), ["id", "a\"b, c", "", "x"]);
        assert_eq!(names("id;a", ';'), ["id", "a"]);
    }

    #[test]
    fn a_header_tells_its_delimiter_outside_of_quotes_and_its_columns_once() {
        let header = |line: &str| Header::in_line(line.as_bytes(), Form::default());
        let odd = header("id;\"k\";\"x,y\"\n").unwrap();
        assert_eq!((odd.delimiter, odd.names.len()), (';', 3));
        let twice = header("id,k,id\n").unwrap();
        let column =
            |name: &str| twice.place(Path::new("people.csv"), name).map_err(|error| error.to_string());
        assert_eq!(column("k").unwrap(), 1);
        assert!(column("id").unwrap_err().contains("one column id, but there are several"));
        assert!(column("x").unwrap_err().contains("a header with the column x"));
        // Lines that end in carriage returns alone: what would follow the header are rows.
        assert!(header("id,k\r1,a\r2,b\r").is_none() && header("id,k\r").is_none());
        assert_eq!(header("id,k\r\n").unwrap().names, ["id", "k"]);
        assert!(header("id,\"k\n1,a\n").is_none());
        // In another encoding the same bytes are other names, or none.
        let old = Form { encoding: Encoding::Windows1252, ..Form::default() };
        assert_eq!(Header::in_line(b"id;Gr\xf6\xdfe\n", old).unwrap().names, ["id", "Größe"]);
        assert!(Header::in_line(b"id;Gr\xf6\xdfe\n", Form::default()).is_none());
    }
}
