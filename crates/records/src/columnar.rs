//! Parquet files, behind the feature `parquet`: named columns become features as those of a CSV file do.
//!
//! The format is read by the `parquet` crate, row by row; pages packed by Snappy or gzip. What its footer says is held against the
//! limits before a page is read. A damaged page is that crate's to notice: should it panic, that is caught and the file refused.

use crate::{
    Header, Layout, Limits, Table,
    comma::Rows,
    source::{named, open, refuse},
};
use csv::ByteRecord;
use parquet::{
    file::reader::{FileReader, SerializedFileReader},
    record::{Field, Row},
};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};
use veracity_core::Refusal;

/// Reads a Parquet file. Of the layout, columns and label count; columns are called by their names in the schema.
pub fn read_parquet(path: &Path, layout: &Layout, limits: &Limits) -> Result<Table, Refusal> {
    let layout = Layout { header: Header::Named, ..layout.clone() };
    layout.check()?;
    let file = named(path);
    // A reader that panicked is dropped with all that it holds.
    catch_unwind(AssertUnwindSafe(|| read(path, &file, &layout, limits)))
        .unwrap_or_else(|_| Err(refuse(&file, "an intact Parquet file, found it damaged")))
}

fn read(path: &Path, file: &str, layout: &Layout, limits: &Limits) -> Result<Table, Refusal> {
    let (source, length) = open(path)?;
    let reader = SerializedFileReader::new(source)
        .map_err(|_| refuse(file, "a Parquet file, found it damaged or of another kind"))?;
    let about = reader.metadata();
    let unpacked = about.row_groups().iter().fold(0i64, |sum, group| {
        sum.saturating_add(group.columns().iter().map(|column| column.uncompressed_size().max(0)).sum())
    });
    if unpacked as u64 > limits.unpacked(length) {
        let (bytes, ratio) = (limits.bytes, limits.ratio);
        return Err(refuse(
            file,
            format!("at most {bytes} bytes, and {ratio} unpacked ones for each packed one"),
        ));
    }
    let names: ByteRecord =
        about.file_metadata().schema().get_fields().iter().map(|field| field.name()).collect();
    let mut rows = Rows::new(file, layout, &names)?;
    let damaged =
        || refuse(file, "an intact Parquet file whose pages are plain, or packed by snappy or gzip");
    for row in reader.get_row_iter(None).map_err(|_| damaged())? {
        rows.make_room(limits)?;
        rows.add(&record(&row.map_err(|_| damaged())?).ok_or_else(|| {
            refuse(file, "numbers, truth values and texts in its columns, found another kind")
        })?)?;
    }
    Ok(rows.table())
}

/// A row as the cells of a CSV file: numbers as text that reads back to the same number, nothing as an empty cell.
fn record(row: &Row) -> Option<ByteRecord> {
    row.get_column_iter()
        .map(|(_, field)| {
            Some(match field {
                Field::Null => String::new(),
                Field::Bool(truth) => u8::from(*truth).to_string(),
                Field::Byte(x) => x.to_string(),
                Field::Short(x) => x.to_string(),
                Field::Int(x) => x.to_string(),
                Field::Long(x) => x.to_string(),
                Field::UByte(x) => x.to_string(),
                Field::UShort(x) => x.to_string(),
                Field::UInt(x) => x.to_string(),
                Field::ULong(x) => x.to_string(),
                Field::Float16(x) => x.to_f32().to_string(),
                Field::Float(x) => x.to_string(),
                Field::Double(x) => x.to_string(),
                Field::Str(text) => text.clone(),
                _ => return None,
            })
        })
        .collect()
}
