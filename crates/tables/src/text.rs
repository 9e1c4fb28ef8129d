//! Tables of text: a header, then rows of cells between delimiters, strictly.
//!
//! What is wrong with the file as such is refused: it is empty, its header is none, its quotes do not close. What is in a
//! cell is left to the caller.

use crate::{
    Encoding, Notation,
    format::is_text,
    lines::Lines,
    source::{Opened, explain, refuse},
};
use csv::{ByteRecord, ReaderBuilder};
use std::io::{Cursor, Read};
use veracity_core::Error;

/// The bytes in which the end of the header is looked for, to tell the delimiter.
const LONGEST_LOOK: u64 = 1 << 20;

/// How a table is written as text.
///
/// # Examples
///
/// A table without a header, in which commas stand before the fraction:
///
/// ```
/// use veracity_tables::{Form, Header, Kind, Limits, Notation, Source, Values, Wanted, read_columns};
///
/// let notation = Notation::new(',', Some('.'))?;
/// let form = Form { delimiter: Some(b';'), header: Header::Counted, notation, ..Form::default() };
/// let source = Source::in_memory("umsatz.csv", "Ulm;1.234,5\nBonn;7,25\n".as_bytes());
/// let second = Wanted { name: "2", kind: Kind::Numbers };
/// let columns = read_columns(&source, form, &[second], &Limits::default())?;
/// assert_eq!(columns.values, [Values::Numbers(vec![Some(1234.5), Some(7.25)])]);
/// # Ok::<(), veracity_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Form {
    /// The byte between cells. By default the header tells: a tab if it has one, else a comma, else a semicolon.
    pub delimiter: Option<u8>,
    /// Whether the first line names the columns.
    pub header: Header,
    /// How numbers are written.
    pub notation: Notation,
    /// How characters are written.
    pub encoding: Encoding,
}

/// How columns are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Header {
    /// By the first line.
    #[default]
    Named,
    /// By their place, counted from 1; the first line is a record.
    Counted,
}

/// A table of text after its header.
pub(crate) struct TextTable {
    file: String,
    reader: csv::Reader<Lines<Box<dyn Read>>>,
    /// The header, or the first record where there is none.
    first: ByteRecord,
    record: ByteRecord,
    /// Whether the first record was not handed out yet.
    is_first: bool,
}

impl TextTable {
    pub(crate) fn open(opened: Opened, form: Form) -> Result<TextTable, Error> {
        let Opened { name: file, stream, .. } = opened;
        let mut stream = form.encoding.decoded(stream);
        let delimiter = match form.delimiter {
            Some(delimiter) => delimiter,
            None => {
                let mut head = Vec::new();
                stream
                    .as_mut()
                    .take(LONGEST_LOOK)
                    .read_to_end(&mut head)
                    .map_err(|error| explain(&file, error))?;
                let found = delimiter_of(&head);
                stream = Box::new(Cursor::new(head).chain(stream));
                found
            }
        };
        let reader = ReaderBuilder::new()
            .delimiter(delimiter)
            .has_headers(false)
            .flexible(true)
            .from_reader(Lines::new(stream, delimiter));
        let is_first = form.header == Header::Counted;
        let mut table =
            TextTable { file, reader, first: ByteRecord::new(), record: ByteRecord::new(), is_first };
        table.read_first(form.header)?;
        Ok(table)
    }

    fn read_first(&mut self, header: Header) -> Result<(), Error> {
        let mut first = ByteRecord::new();
        let more = self.read(&mut first)?;
        let is_empty =
            |cell: &[u8]| cell.strip_prefix(b"\xef\xbb\xbf").unwrap_or(cell).trim_ascii().is_empty();
        if !more || first.len() == 1 && is_empty(&first[0]) {
            return Err(refuse(&self.file, "a table with a header, but it is empty"));
        }
        let is_readable = |cell: &[u8]| is_text(cell) && std::str::from_utf8(cell).is_ok();
        if header == Header::Named && !first.iter().all(is_readable) {
            return Err(refuse(
                &self.file,
                "a header in UTF-8; save the file in UTF-8, or set its encoding, such as windows-1252",
            ));
        }
        self.first = first;
        Ok(())
    }

    /// The header, or the first record where there is none.
    pub(crate) fn first(&self) -> &ByteRecord {
        &self.first
    }

    /// Whether all lines so far end in the same way.
    pub(crate) fn lines_end_alike(&self) -> bool {
        self.reader.get_ref().end_alike()
    }

    /// The next record.
    pub(crate) fn next(&mut self) -> Result<Option<&ByteRecord>, Error> {
        if std::mem::take(&mut self.is_first) {
            return Ok(Some(&self.first));
        }
        let mut record = std::mem::take(&mut self.record);
        let more = self.read(&mut record)?;
        self.record = record;
        Ok(more.then_some(&self.record))
    }

    fn read(&mut self, record: &mut ByteRecord) -> Result<bool, Error> {
        let read = self.reader.read_byte_record(record);
        let lines = self.reader.get_ref();
        match read {
            Err(_) if lines.header_is_too_long() => {
                Err(refuse(&self.file, "a table with a header of at most 1 MiB"))
            }
            // An open quote makes the rest of the file one cell, and swallows rows.
            _ if lines.open_quote().is_some() => {
                let line = lines.open_quote().unwrap_or_default();
                Err(refuse(
                    &self.file,
                    format!(
                        "closed quotes, but the one in line {line} is not closed; the file may be truncated"
                    ),
                ))
            }
            Err(error) => Err(match error.into_kind() {
                csv::ErrorKind::Io(error) => explain(&self.file, error),
                _ => refuse(&self.file, "a readable table of text"),
            }),
            Ok(more) => Ok(more),
        }
    }
}

/// The delimiter by the header: outside of quotes, a tab, else a comma, else a semicolon. The header is public.
pub(crate) fn delimiter_of(head: &[u8]) -> u8 {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let (mut found, mut quoted, mut at_start, mut is_blank) = ([false; 3], false, true, true);
    for byte in head {
        match byte {
            b'"' if quoted => quoted = false,
            b'"' if at_start => quoted = true,
            _ if quoted => {}
            b'\n' | b'\r' if is_blank => continue,
            b'\n' | b'\r' => break,
            _ => {}
        }
        is_blank = false;
        let place = CANDIDATES.iter().position(|candidate| candidate == byte).filter(|_| !quoted);
        if let Some(place) = place {
            found[place] = true;
        }
        // A doubled quote inside of quotes closes and opens again.
        at_start = place.is_some() || *byte == b'"';
    }
    CANDIDATES.into_iter().zip(found).find(|(_, found)| *found).map_or(b',', |(candidate, _)| candidate)
}

const CANDIDATES: [u8; 3] = [b'\t', b',', b';'];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_tells_the_delimiter() {
        for (head, delimiter) in [
            (&b"a,b;c\n1,2\n"[..], b','),
            (b"\n\na\tb, c\n", b'\t'),
            (b"a;b\n1,2\t3\n", b';'),
            (b"a\n1,2\n", b','),
            (b"\"a,b\";c\n", b';'),
            (b"\xef\xbb\xbf\"a\"\",b\"\tc", b'\t'),
            (b"5\" pipe,b;c\n", b','),
            (b"", b','),
        ] {
            assert_eq!(delimiter_of(head), delimiter, "{:?}", String::from_utf8_lossy(head));
        }
    }
}
