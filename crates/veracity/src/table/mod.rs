//! One column of a CSV file, one row per person.
//!
//! What is wrong with the file as such (unreadable, empty, no such column, cut off inside a quoted cell) is refused.
//! What is in a cell never is: a refusal that depends on a value tells about the person it belongs to. A cell that is not
//! what was asked for counts as missing.
//!
//! Which lines are rows must not depend on values either, as the number of rows may be public: in a table of one column an
//! empty line is a row whose cell is missing. In a wider table a row has delimiters, so an empty line is none.

mod lines;

use crate::Refusal;
use csv::{ByteRecord, ReaderBuilder};
use lines::Lines;
use std::{fs::File, io::BufReader, path::Path};
use veracity_query::Column;

/// What the cells of a column are read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cells {
    /// Numbers; anything else is missing.
    Numbers,
    /// Texts as they are, without white space around them; empty is missing.
    Texts,
}

/// Reads a column by its name in the header. With no name, every row is a text that is present.
pub fn read(path: &Path, name: Option<&str>, delimiter: u8, cells: Cells) -> Result<Column, Refusal> {
    let mut table = Table::open(path, delimiter)?;
    let at = name.map(|name| table.find(name)).transpose()?;
    let mut numbers = Vec::new();
    let mut texts = Vec::new();
    while let Some(row) = table.next()? {
        let cell = match at {
            Some(at) => row.get(at).and_then(plain_text),
            None => Some(""),
        };
        match cells {
            Cells::Numbers => numbers.push(cell.and_then(number)),
            Cells::Texts => {
                texts.push(cell.filter(|text| at.is_none() || !text.is_empty()).map(str::to_owned));
            }
        }
    }
    Ok(match cells {
        Cells::Numbers => Column::Numbers(numbers),
        Cells::Texts => Column::Texts(texts),
    })
}

/// Checks that the file has the column, without a look at any row.
pub fn check(path: &Path, name: Option<&str>, delimiter: u8) -> Result<(), Refusal> {
    let mut table = Table::open(path, delimiter)?;
    name.map_or(Ok(()), |name| table.find(name).map(drop))
}

fn plain_text(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell).ok().map(str::trim)
}

/// A number, or nothing: also infinities are numbers, and are clamped later; not-a-number is missing.
fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| !value.is_nan())
}

/// A CSV file after its header.
struct Table {
    path: String,
    reader: csv::Reader<Lines<BufReader<File>>>,
    row: ByteRecord,
}

impl Table {
    fn open(path: &Path, delimiter: u8) -> Result<Table, Refusal> {
        let shown = path.display().to_string();
        let refuse = |why: &str| Refusal::NoAnswer(format!("file is {shown}, expected {why}"));
        let unreadable = |error: std::io::Error| refuse(&format!("a readable CSV file ({error})"));
        let file = File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.is_dir() {
            return Err(refuse("a CSV file, found a directory"));
        }
        let lines = Lines::new(BufReader::new(file), delimiter);
        let mut reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(lines);
        let is_empty = reader
            .byte_headers()
            .map(|header| header.is_empty() || (header.len() == 1 && header[0].trim_ascii().is_empty()));
        match is_empty {
            Ok(false) => {}
            Ok(true) => return Err(refuse("a CSV file with a header, found it empty")),
            Err(_) if reader.get_ref().header_is_too_long() => {
                return Err(refuse("a CSV file with a header of at most 1 MiB"));
            }
            Err(_) => return Err(refuse("a readable CSV file")),
        }
        Ok(Table { path: shown, reader, row: ByteRecord::new() })
    }

    /// The place of a column. The header's names are not listed: in a file without one, they are someone's data.
    fn find(&mut self, name: &str) -> Result<usize, Refusal> {
        let shown: String = name.chars().filter(|c| !c.is_control()).take(80).collect();
        let refuse = |path: &str, why: &str| {
            Err(Refusal::NoAnswer(format!("column is {shown}, expected {why} in the header of {path}")))
        };
        let Ok(header) = self.reader.byte_headers() else {
            return refuse(&self.path, "a readable header");
        };
        let mut places = header.iter().enumerate().filter(|(at, cell)| {
            let cell = if *at == 0 { cell.strip_prefix(b"\xef\xbb\xbf").unwrap_or(cell) } else { cell };
            cell.trim_ascii() == name.trim().as_bytes()
        });
        match (places.next(), places.next()) {
            (Some((at, _)), None) => Ok(at),
            (Some(_), Some(_)) => refuse(&self.path, "a name that is there once, found it twice"),
            (None, _) => refuse(&self.path, "a name that is"),
        }
    }

    fn next(&mut self) -> Result<Option<&ByteRecord>, Refusal> {
        let refuse = |why: &str| Refusal::NoAnswer(format!("file is {}, expected {why}", self.path));
        let more = self.reader.read_byte_record(&mut self.row).map_err(|_| refuse("a readable CSV file"))?;
        if !more && self.reader.get_ref().is_cut_off() {
            return Err(refuse("a whole CSV file, found it cut off inside a quoted cell"));
        }
        Ok(more.then_some(&self.row))
    }
}
