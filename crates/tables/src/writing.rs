//! A small table as a file that other programs read: CSV or Parquet. Columns go in, the bytes of a file come out.
//!
//! ```
//! use veracity_tables::writing::{Cells, Column, csv};
//!
//! let columns = [
//!     Column { name: "town".into(), cells: Cells::Texts(vec![Some("Ulm, old".into())]) },
//!     Column { name: "people".into(), cells: Cells::Numbers(vec![917.5]) },
//! ];
//! assert_eq!(csv(&columns)?, b"town,people\n\"Ulm, old\",917.5\n");
//! # Ok::<(), veracity_core::Refusal>(())
//! ```

use parquet::{
    basic::{LogicalType, Repetition, Type as Physical},
    column::writer::ColumnWriter,
    data_type::ByteArray,
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::{Type, TypePtr},
};
use std::sync::Arc;
use veracity_core::Refusal;

/// Cells as one line of CSV, without its end: a cell is in quotes where it must be.
///
/// ```
/// use veracity_tables::writing::csv_line;
///
/// assert_eq!(csv_line(["a", "b, c", "the \"d\""]), r#"a,"b, c","the ""d""""#);
/// ```
pub fn csv_line(cells: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let quoted = |cell: String| match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    };
    let cells: Vec<String> = cells.into_iter().map(|cell| quoted(cell.as_ref().to_owned())).collect();
    // An empty line is not a row.
    if cells == [""] { "\"\"".to_owned() } else { cells.join(",") }
}

/// A column of a table that is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What stands in the header.
    pub name: String,
    /// Its cells.
    pub cells: Cells,
}

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Texts; one that is missing is empty in CSV and null in Parquet.
    Texts(Vec<Option<String>>),
    /// Numbers; a file has all of their bits.
    Numbers(Vec<f64>),
    /// Integers.
    Integers(Vec<i64>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Cells::Texts(texts) => texts.len(),
            Cells::Numbers(numbers) => numbers.len(),
            Cells::Integers(integers) => integers.len(),
        }
    }
}

/// The table as CSV: a header, then a line for each row; numbers have as many digits as are needed to read the same number again.
///
/// # Errors
/// Refuses columns of one name, and columns of several lengths.
pub fn csv(columns: &[Column]) -> Result<Vec<u8>, Refusal> {
    let rows = rows(columns)?;
    let mut text = csv_line(columns.iter().map(|column| &column.name)) + "\n";
    for row in 0..rows {
        let cells = columns.iter().map(|column| match &column.cells {
            Cells::Texts(texts) => texts[row].clone().unwrap_or_default(),
            Cells::Numbers(numbers) => format!("{:?}", numbers[row]),
            Cells::Integers(integers) => integers[row].to_string(),
        });
        text += &(csv_line(cells) + "\n");
    }
    Ok(text.into_bytes())
}

/// The table as Parquet: one group of rows, texts in UTF-8, numbers as doubles, integers in 64 bits.
///
/// # Errors
/// Refuses columns of one name, and columns of several lengths.
pub fn parquet(columns: &[Column]) -> Result<Vec<u8>, Refusal> {
    rows(columns)?;
    stored(columns).map_err(|_| {
        Refusal::invalid("internal error: the table cannot be written as Parquet; please report it")
    })
}

fn stored(columns: &[Column]) -> Result<Vec<u8>, ParquetError> {
    let mut bytes = Vec::new();
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(&mut bytes, schema(columns)?, properties)?;
    let mut group = file.next_row_group()?;
    for column in columns {
        let Some(mut place) = group.next_column()? else { continue };
        match (place.untyped(), &column.cells) {
            (ColumnWriter::ByteArrayColumnWriter(writer), Cells::Texts(texts)) => {
                let depths: Vec<i16> = texts.iter().map(|text| i16::from(text.is_some())).collect();
                let texts: Vec<ByteArray> = texts.iter().flatten().map(|text| text.as_str().into()).collect();
                writer.write_batch(&texts, Some(&depths), None)?;
            }
            (ColumnWriter::DoubleColumnWriter(writer), Cells::Numbers(numbers)) => {
                writer.write_batch(numbers, None, None)?;
            }
            (ColumnWriter::Int64ColumnWriter(writer), Cells::Integers(integers)) => {
                writer.write_batch(integers, None, None)?;
            }
            _ => return Err(ParquetError::General("column of another type".to_owned())),
        }
        place.close()?;
    }
    group.close()?;
    file.close()?;
    Ok(bytes)
}

fn schema(columns: &[Column]) -> Result<TypePtr, ParquetError> {
    let mut fields = Vec::new();
    for column in columns {
        let physical = match column.cells {
            Cells::Texts(_) => Physical::BYTE_ARRAY,
            Cells::Numbers(_) => Physical::DOUBLE,
            Cells::Integers(_) => Physical::INT64,
        };
        let repetition = match column.cells {
            Cells::Texts(_) => Repetition::OPTIONAL,
            Cells::Numbers(_) | Cells::Integers(_) => Repetition::REQUIRED,
        };
        let field = Type::primitive_type_builder(&column.name, physical).with_repetition(repetition);
        let field = match column.cells {
            Cells::Texts(_) => field.with_logical_type(Some(LogicalType::String)),
            Cells::Numbers(_) | Cells::Integers(_) => field,
        };
        fields.push(Arc::new(field.build()?));
    }
    Ok(Arc::new(Type::group_type_builder("table").with_fields(fields).build()?))
}

/// How many rows there are; names that are the same, and columns of other lengths, make no table.
fn rows(columns: &[Column]) -> Result<usize, Refusal> {
    for (at, column) in columns.iter().enumerate() {
        if columns[..at].iter().any(|other| other.name == column.name) {
            let name = &column.name;
            return Err(Refusal::invalid(format!("table has two columns called {name}; rename one")));
        }
    }
    let rows = columns.first().map_or(0, |column| column.cells.len());
    match columns.iter().all(|column| column.cells.len() == rows) {
        true => Ok(rows),
        false => Err(Refusal::invalid(
            "internal error: the columns of the table differ in length; please report it",
        )),
    }
}
