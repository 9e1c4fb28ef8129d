//! What a file is and what its columns are called, from its header alone.

use crate::{
    Encoding, Form, Limits, Source, archive,
    columnar::ColumnarTable,
    format::Format,
    source::{Opened, explain},
    text::{TextTable, delimiter_of},
};
use std::io::{BufReader, Cursor, Read};
use veracity_core::Error;

/// The longest header of a text that is looked at.
const LONGEST_HEADER: usize = 1 << 20;

/// What a file is, and what is in it by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outline {
    /// Cells between delimiters, such as CSV or TSV; the names of the columns.
    Text(Vec<String>),
    /// Parquet; the names of the columns that can be read.
    Parquet(Vec<String>),
    /// One array, which has no names.
    Npy,
    /// Several arrays; their names.
    Npz(Vec<String>),
    /// One array of bytes, which has no names.
    Idx,
}

/// Looks at the header of a file: the first line of a text, the schema or the directory of other files. No row is read, so that
/// nothing in a row decides what is said or whether anything is.
///
/// ```
/// use veracity_tables::{Limits, Outline, Source, outline};
///
/// let source = Source::in_memory("visits.csv", "name;age\nEve;31\n".as_bytes());
/// assert_eq!(outline(&source, &Limits::default())?, Outline::Text(vec!["name".into(), "age".into()]));
/// # Ok::<(), veracity_core::Error>(())
/// ```
///
/// # Errors
/// Refuses a file that cannot be read or whose header is damaged.
pub fn outline(source: &Source, limits: &Limits) -> Result<Outline, Error> {
    let opened = source.open(limits)?;
    match opened.format {
        Format::Text => names_of(opened).map(Outline::Text),
        Format::Parquet => ColumnarTable::all_names(opened, limits).map(Outline::Parquet),
        Format::Npz => archive::names(opened).map(Outline::Npz),
        Format::Npy => Ok(Outline::Npy),
        Format::Idx => Ok(Outline::Idx),
    }
}

/// The names of all columns of a Parquet file, whether they can be read or not; nothing of another file, or of one whose schema is damaged.
pub fn parquet_names(source: &Source, limits: &Limits) -> Option<Vec<String>> {
    let opened = source.open(limits).ok()?;
    if opened.format == Format::Parquet { ColumnarTable::schema_names(opened) } else { None }
}

/// The header of a text, and what it says about how the file is written.
///
/// # Examples
///
/// ```
/// use veracity_tables::{Encoding, Limits, Source, header_line};
///
/// let source = Source::in_memory("visits.csv", b"Gr\xf6\xdfe;Ort\n1,80;Ulm\n".as_slice());
/// let header = header_line(&source, &Limits::default())?;
/// assert_eq!((header.names, header.delimiter), (vec!["Größe".to_owned(), "Ort".to_owned()], b';'));
/// assert_eq!(header.encoding, Some(Encoding::Windows1252));
/// # Ok::<(), veracity_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderLine {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The byte between them: a tab if there is one, else a comma, else a semicolon.
    pub delimiter: u8,
    /// UTF-8 or Windows-1252, by a byte order mark or by letters outside of ASCII. Nothing where the header has neither.
    pub encoding: Option<Encoding>,
}

/// Reads the header of a text, which need not be UTF-8. No row is read.
///
/// # Errors
/// Refuses a file that cannot be read, is no text, or has no header.
pub fn header_line(source: &Source, limits: &Limits) -> Result<HeaderLine, Error> {
    let mut opened = source.open(limits)?.expect(Format::Text)?;
    let line = first_line(&mut opened.stream).map_err(|error| explain(&opened.name, error))?;
    let encoding = match std::str::from_utf8(&line) {
        Ok(text) if text.is_ascii() => None,
        Ok(_) => Some(Encoding::Utf8),
        Err(_) => Some(Encoding::Windows1252),
    };
    let delimiter = delimiter_of(&line);
    opened.stream = Box::new(Cursor::new(line));
    let form = Form { encoding: encoding.unwrap_or_default(), ..Form::default() };
    Ok(HeaderLine { names: names_in(TextTable::open(opened, form)?), delimiter, encoding })
}

fn names_of(mut opened: Opened) -> Result<Vec<String>, Error> {
    // Readers read ahead, and tell of quotes that do not close wherever they are: what follows the header must not reach them.
    let header = first_line(&mut opened.stream).map_err(|error| explain(&opened.name, error))?;
    opened.stream = Box::new(Cursor::new(header));
    Ok(names_in(TextTable::open(opened, Form::default())?))
}

fn names_in(table: TextTable) -> Vec<String> {
    let names = table.first().iter().map(|name| name.strip_prefix(b"\xef\xbb\xbf").unwrap_or(name));
    // That they are UTF-8 was checked when they were read.
    names.map(|name| String::from_utf8_lossy(name).trim().to_owned()).collect()
}

/// The first line that is not empty; an end of line within quotes ends none.
fn first_line(stream: &mut dyn Read) -> std::io::Result<Vec<u8>> {
    let (mut line, mut quoted) = (Vec::new(), false);
    for byte in BufReader::new(stream).bytes() {
        let byte = byte?;
        quoted ^= byte == b'"';
        let is_end = matches!(byte, b'\n' | b'\r') && !quoted && !line.trim_ascii().is_empty();
        line.push(byte);
        if is_end || line.len() > LONGEST_HEADER {
            break;
        }
    }
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &[u8]) -> Result<Outline, Error> {
        outline(&Source::in_memory("a.csv", text), &Limits::default())
    }

    #[test]
    fn nothing_after_the_header_decides_anything() {
        let header = "\u{feff}name,\"the \"\"age\"\"\nin years\", city\n".as_bytes();
        let alone = of(header).unwrap();
        let names = ["name", "the \"age\"\nin years", "city"].map(str::to_owned);
        assert_eq!(alone, Outline::Text(names.to_vec()));
        for rows in ["\"open", "a;b\tc\n", "1,2,3,4,5,6\n", "\0\0\n", "a\rb\n", "\n\n\n"] {
            assert_eq!(of(&[header, rows.as_bytes()].concat()).unwrap(), alone, "{rows:?}");
        }
        assert_eq!(of(&[header, b"\xff\xfe\xff\n"].concat()).unwrap(), alone);
        assert!(of(b"").is_err() && of(b"\n\n").is_err());
    }
}
