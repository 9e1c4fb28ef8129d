//! Tables with named columns, row by row, whether they are text or Parquet.

use crate::{
    Form, Header, Kind, Limits, Notation,
    columnar::{self, ColumnarTable, Stored},
    dates,
    format::Format,
    source::{Opened, refuse},
    text::TextTable,
};
use csv::ByteRecord;
use std::borrow::Cow;
use veracity_core::Error;
use veracity_core::printable;

/// A table at work.
pub(crate) enum Tabular {
    Text(Box<TextTable>, Form),
    Columnar(Box<ColumnarTable>),
}

/// What is in a cell.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell<'a> {
    Missing,
    /// Text, as it is in the file.
    Text(&'a [u8]),
    /// A number that was stored as one.
    Number(f64),
    /// An integer that was stored as one.
    Whole(i128),
    /// So many units of 10^−scale.
    Decimal {
        number: i128,
        scale: i32,
    },
    /// Days since 1970-01-01.
    Date(i32),
}

/// One row.
pub(crate) enum Row<'a> {
    /// Of a table of text.
    Text(&'a ByteRecord),
    /// The row at a place of columns that are at hand.
    Stored(&'a [Vec<Stored>], usize),
}

impl Tabular {
    /// A table of which these columns are wanted.
    pub(crate) fn open(
        opened: Opened,
        form: Form,
        names: &[&str],
        limits: &Limits,
    ) -> Result<Tabular, Error> {
        match opened.format {
            Format::Text => Ok(Tabular::Text(Box::new(TextTable::open(opened, form)?), form)),
            Format::Parquet => Ok(Tabular::Columnar(Box::new(ColumnarTable::open(opened, names, limits)?))),
            Format::Npy | Format::Npz | Format::Idx => Err(refuse(
                &opened.name,
                format!("a table with named columns, but it is {}", opened.format.name()),
            )),
        }
    }

    /// The place of a column in its rows. One of dates is refused: they are neither numbers nor categories.
    pub(crate) fn place(&self, file: &str, name: &str) -> Result<usize, Error> {
        self.place_as(file, name, Kind::Numbers)
    }

    /// The place of a column that is read as numbers, or as texts, which dates can be.
    pub(crate) fn place_as(&self, file: &str, name: &str, kind: Kind) -> Result<usize, Error> {
        match self {
            Tabular::Text(table, form) => place(file, form.header, table.first(), name),
            Tabular::Columnar(table) => {
                let at = place(file, Header::Named, table.names(), name)?;
                if kind == Kind::Numbers && table.has_dates(at) {
                    return Err(columnar::other_type(file, name));
                }
                Ok(at)
            }
        }
    }

    /// How many cells a row should have.
    pub(crate) fn width(&self) -> usize {
        match self {
            Tabular::Text(table, _) => table.first().len(),
            Tabular::Columnar(table) => table.names().len(),
        }
    }

    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        match self {
            Tabular::Text(table, _) => Ok(table.next()?.map(Row::Text)),
            Tabular::Columnar(table) => table.next(),
        }
    }
}

impl Row<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Row::Text(record) => record.len(),
            Row::Stored(columns, _) => columns.len(),
        }
    }

    /// The cell at a place below [`Row::len`], without white space around it; missing where it is empty.
    pub(crate) fn cell(&self, at: usize) -> Cell<'_> {
        let cell = match self {
            Row::Text(record) => record.get(at).map_or(Cell::Missing, Cell::Text),
            Row::Stored(columns, row) => columns[at][*row].cell(),
        };
        cell.trimmed()
    }
}

impl<'a> Cell<'a> {
    /// Without white space around it; missing where it is empty.
    pub(crate) fn trimmed(self) -> Cell<'a> {
        match self {
            Cell::Text(bytes) => match bytes.trim_ascii() {
                [] => Cell::Missing,
                text => Cell::Text(text),
            },
            other => other,
        }
    }

    /// As a number; what is written is read by the notation.
    pub(crate) fn number(&self, notation: Notation) -> Option<f64> {
        match self {
            Cell::Missing | Cell::Date(_) => None,
            Cell::Text(bytes) => notation.number(std::str::from_utf8(bytes).ok()?.trim()),
            Cell::Number(number) => Some(*number),
            Cell::Whole(number) => Some(*number as f64),
            // The nearest float: what the parser of floats makes of digits is exact.
            Cell::Decimal { number, scale } => format!("{number}e{}", -i64::from(*scale)).parse().ok(),
        }
    }

    /// As text; a number as it is usually written.
    pub(crate) fn text(&self) -> Option<Cow<'a, [u8]>> {
        match self {
            Cell::Missing => None,
            Cell::Text(bytes) => Some(Cow::Borrowed(*bytes)),
            Cell::Number(number) if number.is_nan() => None,
            // The two zeros are one.
            Cell::Number(number) => Some(Cow::Owned((number + 0.0).to_string().into_bytes())),
            Cell::Whole(number) => Some(Cow::Owned(number.to_string().into_bytes())),
            Cell::Decimal { number, scale } => Some(Cow::Owned(digits(*number, *scale).into_bytes())),
            Cell::Date(days) => Some(Cow::Owned(dates::iso(*days)?.into_bytes())),
        }
    }
}

/// A decimal with all of its digits: two that differ are two texts, however long they are.
fn digits(number: i128, scale: i32) -> String {
    let Some(scale) = usize::try_from(scale).ok().filter(|scale| (1..=1000).contains(scale)) else {
        return if scale == 0 { number.to_string() } else { format!("{number}e{}", -i64::from(scale)) };
    };
    let sign = if number < 0 { "-" } else { "" };
    let all = format!("{:0>width$}", number.unsigned_abs(), width = scale + 1);
    let (whole, fraction) = all.split_at(all.len() - scale);
    format!("{sign}{whole}.{fraction}")
}

/// A name as it is shown.
pub(crate) fn short(name: &str) -> String {
    printable(name, 80)
}

/// The place of a column. The header's names are not listed: in a file without one, they are someone's data.
fn place(file: &str, header: Header, first: &ByteRecord, name: &str) -> Result<usize, Error> {
    let wrong = |why: &str| Error::invalid(format!("column is {}, expected {why} {file}", short(name)));
    if header == Header::Counted {
        let at = name.trim().parse::<usize>().ok().filter(|at| (1..=first.len()).contains(at));
        return at.map(|at| at - 1).ok_or_else(|| wrong("the position of a column, counted from 1, in"));
    }
    let mut places = first.iter().enumerate().filter(|(at, cell)| {
        let cell = if *at == 0 { cell.strip_prefix(b"\xef\xbb\xbf").unwrap_or(cell) } else { cell };
        cell.trim_ascii() == name.trim().as_bytes()
    });
    match (places.next(), places.next()) {
        (Some((at, _)), None) => Ok(at),
        (Some(_), Some(_)) => Err(wrong("a unique name, but it occurs twice in the header of")),
        (None, _) => Err(wrong("a name in the header of")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As floats the first two would be one person.
    #[test]
    fn decimals_that_differ_are_texts_that_differ() {
        for (number, scale, text) in [
            (12_345_678_901_234_567_890, 0, "12345678901234567890"),
            (12_345_678_901_234_567_891, 0, "12345678901234567891"),
            (150, 2, "1.50"),
            (-5, 3, "-0.005"),
            (-12_345, 2, "-123.45"),
            (0, 1, "0.0"),
            (7, -3, "7e3"),
            (i128::MIN, 38, "-1.70141183460469231731687303715884105728"),
        ] {
            assert_eq!(digits(number, scale), text);
            let cell = Cell::Decimal { number, scale };
            assert_eq!(cell.number(Notation::default()), text.parse().ok(), "{text}");
        }
    }
}
