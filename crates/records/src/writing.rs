//! A small table as a file that other programs read: CSV or Parquet. Columns go in, the bytes of a file come out.
//!
//! ```
//! use veracity_records::writing::{Cells, Column, csv};
//!
//! let columns = [
//!     Column { name: "town".into(), cells: Cells::Texts(vec!["Ulm, old".into()]) },
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

/// A column of a table that is written.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// What stands in the header.
    pub name: String,
    /// Its cells, none of which is missing.
    pub cells: Cells,
}

/// The cells of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Texts.
    Texts(Vec<String>),
    /// Numbers; a file has all of their bits.
    Numbers(Vec<f64>),
}

impl Cells {
    fn len(&self) -> usize {
        match self {
            Cells::Texts(texts) => texts.len(),
            Cells::Numbers(numbers) => numbers.len(),
        }
    }
}

/// The table as CSV: a header, then a line for each row; numbers have as many digits as are needed to read the same number again.
pub fn csv(columns: &[Column]) -> Result<Vec<u8>, Refusal> {
    let rows = rows(columns)?;
    let unwritable = || Refusal::invalid("table cannot be written as CSV, please report it");
    let mut writer = ::csv::Writer::from_writer(Vec::new());
    writer.write_record(columns.iter().map(|column| &column.name)).map_err(|_| unwritable())?;
    for row in 0..rows {
        let cells = columns.iter().map(|column| match &column.cells {
            Cells::Texts(texts) => texts[row].clone(),
            Cells::Numbers(numbers) => format!("{:?}", numbers[row]),
        });
        writer.write_record(cells).map_err(|_| unwritable())?;
    }
    writer.into_inner().map_err(|_| unwritable())
}

/// The table as Parquet: one group of rows, texts in UTF-8, numbers as doubles.
pub fn parquet(columns: &[Column]) -> Result<Vec<u8>, Refusal> {
    rows(columns)?;
    stored(columns).map_err(|_| Refusal::invalid("table cannot be written as Parquet, please report it"))
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
                let texts: Vec<ByteArray> = texts.iter().map(|text| text.as_str().into()).collect();
                writer.write_batch(&texts, None, None)?;
            }
            (ColumnWriter::DoubleColumnWriter(writer), Cells::Numbers(numbers)) => {
                writer.write_batch(numbers, None, None)?;
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
        };
        let field =
            Type::primitive_type_builder(&column.name, physical).with_repetition(Repetition::REQUIRED);
        let field = match column.cells {
            Cells::Texts(_) => field.with_logical_type(Some(LogicalType::String)),
            Cells::Numbers(_) => field,
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
            return Err(Refusal::invalid(format!(
                "table has two columns called {name}, expected names that differ"
            )));
        }
    }
    let rows = columns.first().map_or(0, |column| column.cells.len());
    match columns.iter().all(|column| column.cells.len() == rows) {
        true => Ok(rows),
        false => Err(Refusal::invalid("table has columns of several lengths, please report it")),
    }
}
