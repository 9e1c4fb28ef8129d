//! Parquet files, by the columns that are asked for.
//!
//! The format is read by the `parquet` crate; pages are plain, or compressed by Snappy or gzip. What the footer says is held against
//! the limits before a page is read, and against the rows that came once they are. A column's kind is judged by the schema, never
//! by a value. A damaged page is that crate's to notice: should it panic, that is caught and the file refused.

use crate::{
    Limits,
    guard::guarded,
    source::{Bytes, Opened, refuse},
    tabular::{Cell, Row, short},
};
use csv::ByteRecord;
use parquet::{
    basic::{ConvertedType, LogicalType, Type as Physical},
    column::reader::{ColumnReader, ColumnReaderImpl},
    data_type::{ByteArray, DataType, FixedLenByteArray},
    file::{
        metadata::ParquetMetaData,
        reader::{FileReader, SerializedFileReader},
    },
    schema::types::ColumnDescriptor,
};
use veracity_core::Error;

/// Rows that are read at once.
const BATCH: usize = 1024;

/// A Parquet file at work.
pub(crate) struct ColumnarTable {
    file: String,
    reader: Box<dyn FileReader>,
    names: ByteRecord,
    leaves: Vec<Leaf>,
    /// The group of rows that comes next, the rows left of the one at work, and its columns.
    group: usize,
    left: usize,
    columns: Vec<ColumnReader>,
    /// The rows at hand, column by column, and how many of them were handed out.
    batch: Vec<Vec<Stored>>,
    used: usize,
}

/// A value as it was stored.
#[derive(Debug, Clone)]
pub(crate) enum Stored {
    Missing,
    Text(ByteArray),
    Number(f64),
    Whole(i128),
    /// So many units of 10^−scale.
    Decimal {
        number: i128,
        scale: i32,
    },
    /// Days since 1970-01-01.
    Date(i32),
}

impl Stored {
    pub(crate) fn cell(&self) -> Cell<'_> {
        match self {
            Stored::Missing => Cell::Missing,
            Stored::Text(bytes) => Cell::Text(bytes.data()),
            Stored::Number(number) => Cell::Number(*number),
            Stored::Whole(number) => Cell::Whole(*number),
            Stored::Decimal { number, scale } => Cell::Decimal { number: *number, scale: *scale },
            Stored::Date(days) => Cell::Date(*days),
        }
    }
}

/// A value as a page has it.
pub(crate) enum Raw<'a> {
    /// A text; those of a dictionary are the same bytes in memory.
    Text(&'a ByteArray),
    Cell(Cell<'a>),
}

impl<'a> Raw<'a> {
    const MISSING: Raw<'static> = Raw::Cell(Cell::Missing);

    fn whole(kind: Kind, signed: i64, unsigned: u64) -> Raw<'static> {
        Raw::Cell(match kind {
            Kind::Decimal { scale } => Cell::Decimal { number: signed.into(), scale },
            Kind::Unsigned => Cell::Whole(unsigned.into()),
            Kind::Date => i32::try_from(signed).map_or(Cell::Missing, Cell::Date),
            Kind::Plain | Kind::Half => Cell::Whole(signed.into()),
        })
    }

    pub(crate) fn cell(&self) -> Cell<'a> {
        match self {
            Raw::Text(bytes) => Cell::Text(bytes.data()),
            Raw::Cell(cell) => cell.clone(),
        }
    }

    fn stored(&self) -> Stored {
        match self {
            Raw::Text(bytes) => Stored::Text((*bytes).clone()),
            Raw::Cell(Cell::Missing | Cell::Text(_)) => Stored::Missing,
            Raw::Cell(Cell::Number(number)) => Stored::Number(*number),
            Raw::Cell(Cell::Whole(number)) => Stored::Whole(*number),
            Raw::Cell(Cell::Decimal { number, scale }) => Stored::Decimal { number: *number, scale: *scale },
            Raw::Cell(Cell::Date(days)) => Stored::Date(*days),
        }
    }
}

/// A column of the file: its place, whether it may be missing, and what its values are.
#[derive(Debug, Clone, Copy)]
struct Leaf {
    at: usize,
    is_optional: bool,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Numbers, truth values and texts as they are.
    Plain,
    /// Whole numbers without a sign, in the bits of signed ones.
    Unsigned,
    /// Whole numbers that count units of 10^−scale.
    Decimal { scale: i32 },
    /// Half precision in two bytes.
    Half,
    /// Days since 1970-01-01.
    Date,
}

impl Kind {
    /// By the schema; nothing for times, lists and what else is neither a number, a text nor a date.
    fn of(column: &ColumnDescriptor) -> Option<Kind> {
        let is_fixed = column.physical_type() == Physical::FIXED_LEN_BYTE_ARRAY;
        if column.max_rep_level() > 0 || column.path().parts().len() != 1 {
            return None;
        }
        match (column.logical_type_ref(), column.converted_type()) {
            (Some(LogicalType::Decimal { .. }), _) | (None, ConvertedType::DECIMAL) => {
                Some(Kind::Decimal { scale: column.type_scale() })
            }
            (Some(LogicalType::Float16), _) => is_fixed.then_some(Kind::Half),
            (Some(LogicalType::Date), _) | (None, ConvertedType::DATE) => {
                (column.physical_type() == Physical::INT32).then_some(Kind::Date)
            }
            // Writers give this type to a column without any value, and no cell may decide what is read.
            (Some(LogicalType::Unknown), _) => Some(Kind::Plain),
            (_, ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32)
            | (_, ConvertedType::UINT_64) => Some(Kind::Unsigned),
            (_, ConvertedType::INT_8 | ConvertedType::INT_16 | ConvertedType::INT_32)
            | (_, ConvertedType::INT_64 | ConvertedType::UTF8 | ConvertedType::ENUM) => Some(Kind::Plain),
            (None, ConvertedType::NONE) => {
                let is_known = !is_fixed && column.physical_type() != Physical::INT96;
                is_known.then_some(Kind::Plain)
            }
            _ => None,
        }
    }
}

impl ColumnarTable {
    /// Opens the columns of these names, or one of any name where there are none: its rows are to be counted.
    pub(crate) fn open(opened: Opened, wanted: &[&str], limits: &Limits) -> Result<ColumnarTable, Error> {
        let (file, bytes) = opened.whole()?;
        let length = bytes.length();
        let reader = guarded(|| open(bytes)).flatten();
        let Some(reader) = reader else {
            return Err(refuse(&file, "an intact Parquet file, but it is damaged or truncated"));
        };
        let sized = guarded(|| check_size(&file, reader.metadata(), length, limits));
        sized.unwrap_or_else(|| Err(refuse(&file, "an intact Parquet file, but it is damaged")))?;
        let (names, leaves) = find(&file, reader.metadata(), wanted)?;
        Ok(ColumnarTable {
            file,
            reader,
            batch: vec![Vec::new(); names.len()],
            names,
            leaves,
            group: 0,
            left: 0,
            columns: Vec::new(),
            used: 0,
        })
    }

    /// The names of all columns of whatever kind, from the schema alone; nothing where that cannot be read.
    pub(crate) fn schema_names(opened: Opened) -> Option<Vec<String>> {
        let (_, bytes) = opened.whole().ok()?;
        let reader = guarded(|| open(bytes)).flatten()?;
        let columns = reader.metadata().file_metadata().schema_descr().root_schema().get_fields();
        Some(columns.iter().map(|column| column.name().to_owned()).collect())
    }

    /// The names of all columns that can be read, from the schema alone.
    pub(crate) fn all_names(opened: Opened, limits: &Limits) -> Result<Vec<String>, Error> {
        let table = ColumnarTable::open(opened, &[], limits)?;
        let columns = table.reader.metadata().file_metadata().schema_descr().columns().iter();
        let readable = columns.filter(|column| Kind::of(column).is_some_and(|kind| kind != Kind::Date));
        Ok(readable.filter_map(|column| column.path().parts().first().cloned()).collect())
    }

    /// Whether the column at a place has dates.
    pub(crate) fn has_dates(&self, at: usize) -> bool {
        self.leaves[at].kind == Kind::Date
    }

    /// The names of its columns.
    pub(crate) fn names(&self) -> &ByteRecord {
        &self.names
    }

    pub(crate) fn next(&mut self) -> Result<Option<Row<'_>>, Error> {
        let is_used = self.batch.first().is_none_or(|rows| self.used == rows.len());
        if is_used && self.next_batch()?.is_none() {
            return Ok(None);
        }
        self.used += 1;
        Ok(Some(Row::Stored(&self.batch, self.used - 1)))
    }

    /// The next rows, column by column; none where there are no more.
    pub(crate) fn next_batch(&mut self) -> Result<Option<&[Vec<Stored>]>, Error> {
        let read = guarded(|| self.read_batch()).flatten();
        match read {
            Some(more) => Ok(more.then_some(&self.batch[..])),
            None => Err(self.damaged()),
        }
    }

    /// Reads some rows. Whether there were any; nothing when the file is damaged.
    fn read_batch(&mut self) -> Option<bool> {
        self.used = 0;
        while self.left == 0 {
            self.end_group()?;
            if self.group == self.reader.num_row_groups() {
                return Some(false);
            }
            self.start_group(self.group)?;
            self.group += 1;
        }
        let count = self.left.min(BATCH);
        for (at, (leaf, column)) in self.leaves.iter().zip(&mut self.columns).enumerate() {
            self.batch[at] = read(column, *leaf, count)?;
            (self.batch[at].len() == count).then_some(())?;
        }
        self.left -= count;
        Some(true)
    }

    fn start_group(&mut self, group: usize) -> Option<()> {
        let group = self.reader.get_row_group(group).ok()?;
        self.left = usize::try_from(group.metadata().num_rows()).ok()?;
        for leaf in &self.leaves {
            self.columns.push(group.get_column_reader(leaf.at).ok()?);
        }
        Some(())
    }

    /// A group that holds more than it says is damaged as well.
    fn end_group(&mut self) -> Option<()> {
        for (leaf, column) in self.leaves.iter().zip(&mut self.columns) {
            read(column, *leaf, 1)?.is_empty().then_some(())?;
        }
        self.columns.clear();
        Some(())
    }

    /// How many groups of rows there are.
    pub(crate) fn groups(&self) -> usize {
        self.reader.num_row_groups()
    }

    /// How many rows the footer says there are. What is read of a group is held against it.
    pub(crate) fn rows(&self) -> usize {
        usize::try_from(self.reader.metadata().file_metadata().num_rows()).unwrap_or(usize::MAX)
    }

    /// Goes to a group of rows, whichever was read before.
    pub(crate) fn start(&mut self, group: usize) -> Result<(), Error> {
        guarded(|| self.start_group(group)).flatten().ok_or_else(|| self.damaged())
    }

    /// Hands on the next rows of a group, at most so many; none where there are no more. `read` returns nothing when they are damaged.
    pub(crate) fn pass<T>(
        &mut self,
        most: usize,
        read: impl FnOnce(Pass<'_>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        let passed = guarded(|| {
            if self.left == 0 {
                return self.end_group().map(|()| None);
            }
            let count = self.left.min(most);
            self.left -= count;
            read(Pass { leaves: &self.leaves, columns: &mut self.columns, count }).map(Some)
        });
        passed.flatten().ok_or_else(|| self.damaged())
    }

    fn damaged(&self) -> Error {
        refuse(
            &self.file,
            "an intact Parquet file with pages that are uncompressed or compressed with Snappy or gzip",
        )
    }
}

/// Some rows of a group, whose columns are read one after another.
pub(crate) struct Pass<'a> {
    leaves: &'a [Leaf],
    columns: &'a mut [ColumnReader],
    /// How many rows.
    pub(crate) count: usize,
}

impl Pass<'_> {
    /// Hands on the values of a column; nothing when it is damaged or has too few of them. It is read once.
    pub(crate) fn column(&mut self, at: usize, each: impl FnMut(Raw<'_>)) -> Option<()> {
        let read = pass(&mut self.columns[at], self.leaves[at], self.count, each)?;
        (read == self.count).then_some(())
    }
}

fn open(bytes: Bytes) -> Option<Box<dyn FileReader>> {
    Some(match bytes {
        Bytes::File(file, _) | Bytes::Pipe(file) => Box::new(SerializedFileReader::new(file).ok()?),
        Bytes::Memory(bytes) => {
            Box::new(SerializedFileReader::new(bytes::Bytes::copy_from_slice(&bytes)).ok()?)
        }
    })
}

/// Holds what the footer says against the limits, and against itself.
fn check_size(file: &str, about: &ParquetMetaData, length: u64, limits: &Limits) -> Result<(), Error> {
    let damaged = || refuse(file, "an intact Parquet file, but its footer is damaged");
    let (mut rows, mut unpacked) = (0u64, 0u64);
    for group in about.row_groups() {
        rows = rows.saturating_add(u64::try_from(group.num_rows()).map_err(|_| damaged())?);
        for column in group.columns() {
            let size = u64::try_from(column.uncompressed_size()).map_err(|_| damaged())?;
            let (start, packed) = column.byte_range();
            if start.checked_add(packed).is_none_or(|end| end > length) {
                return Err(damaged());
            }
            unpacked = unpacked.saturating_add(size);
        }
    }
    if u64::try_from(about.file_metadata().num_rows()).ok() != Some(rows) {
        return Err(damaged());
    }
    if rows > limits.rows as u64 {
        return Err(refuse(file, format!("at most {} records", limits.rows)));
    }
    if unpacked > limits.unpacked(length) {
        let (bytes, ratio) = (limits.bytes, limits.ratio);
        return Err(refuse(
            file,
            format!("at most {bytes} bytes, and at most {ratio} bytes per compressed byte"),
        ));
    }
    Ok(())
}

/// The columns of the given names, by their names at the top of the schema.
fn find(file: &str, about: &ParquetMetaData, wanted: &[&str]) -> Result<(ByteRecord, Vec<Leaf>), Error> {
    let schema = about.file_metadata().schema_descr();
    let (mut names, mut leaves) = (ByteRecord::new(), Vec::new());
    for (at, column) in schema.columns().iter().enumerate() {
        let name = column.path().parts().first().map_or("", String::as_str);
        let is_wanted = match wanted {
            [] => leaves.is_empty() && Kind::of(column).is_some(),
            wanted => wanted.iter().any(|wanted| wanted.trim() == name.trim()),
        };
        if !is_wanted {
            continue;
        }
        let Some(kind) = Kind::of(column) else { return Err(other_type(file, name)) };
        names.push_field(name.as_bytes());
        leaves.push(Leaf { at, is_optional: column.max_def_level() > 0, kind });
    }
    if leaves.is_empty() && wanted.is_empty() {
        return Err(refuse(file, "a column of numbers, booleans or strings, but there is none"));
    }
    Ok((names, leaves))
}

/// The refusal of a column by its type in the schema.
pub(crate) fn other_type(file: &str, name: &str) -> Error {
    refuse(file, format!("numbers, booleans or strings in column {}, but it has another type", short(name)))
}

/// Up to so many rows of a column; nothing when it is damaged.
fn read(column: &mut ColumnReader, leaf: Leaf, count: usize) -> Option<Vec<Stored>> {
    let mut all = Vec::with_capacity(count);
    pass(column, leaf, count, |raw| all.push(raw.stored()))?;
    Some(all)
}

/// Hands on up to so many rows of a column, and says how many they are; nothing when it is damaged.
fn pass(column: &mut ColumnReader, leaf: Leaf, count: usize, mut each: impl FnMut(Raw<'_>)) -> Option<usize> {
    let kind = leaf.kind;
    match column {
        ColumnReader::BoolColumnReader(reader) => values(reader, leaf, count, |truth| {
            each(truth.map_or(Raw::MISSING, |truth| Raw::whole(Kind::Plain, i64::from(*truth), 0)));
        }),
        ColumnReader::Int32ColumnReader(reader) => values(reader, leaf, count, |x| {
            each(x.map_or(Raw::MISSING, |x| Raw::whole(kind, i64::from(*x), u64::from(*x as u32))));
        }),
        ColumnReader::Int64ColumnReader(reader) => values(reader, leaf, count, |x| {
            each(x.map_or(Raw::MISSING, |x| Raw::whole(kind, *x, *x as u64)));
        }),
        ColumnReader::FloatColumnReader(reader) => values(reader, leaf, count, |x| {
            each(x.map_or(Raw::MISSING, |x| Raw::Cell(Cell::Number(f64::from(*x)))));
        }),
        ColumnReader::DoubleColumnReader(reader) => values(reader, leaf, count, |x| {
            each(x.map_or(Raw::MISSING, |x| Raw::Cell(Cell::Number(*x))));
        }),
        ColumnReader::ByteArrayColumnReader(reader) => values(reader, leaf, count, |bytes| {
            each(match (bytes, kind) {
                (None, _) => Raw::MISSING,
                (Some(bytes), Kind::Decimal { scale }) => Raw::Cell(decimal(bytes.data(), scale)),
                (Some(bytes), _) => Raw::Text(bytes),
            });
        }),
        ColumnReader::FixedLenByteArrayColumnReader(reader) => {
            values(reader, leaf, count, |bytes: Option<&FixedLenByteArray>| {
                each(match (bytes, kind) {
                    (None, _) => Raw::MISSING,
                    (Some(bytes), Kind::Decimal { scale }) => Raw::Cell(decimal(bytes.data(), scale)),
                    (Some(bytes), _) => Raw::Cell(half(bytes.data())),
                });
            })
        }
        ColumnReader::Int96ColumnReader(_) => None,
    }
}

/// Hands on the values of up to so many rows, and says of how many.
fn values<T: DataType>(
    reader: &mut ColumnReaderImpl<T>,
    leaf: Leaf,
    count: usize,
    mut each: impl FnMut(Option<&T::T>),
) -> Option<usize> {
    let (mut levels, mut present) = (Vec::new(), Vec::new());
    let mut rows = 0;
    while rows < count {
        levels.clear();
        present.clear();
        let depths = leaf.is_optional.then_some(&mut levels);
        let (read, _, _) = reader.read_records(count - rows, depths, None, &mut present).ok()?;
        if read == 0 {
            break;
        }
        if present.len() == read {
            present.iter().for_each(|value| each(Some(value)));
        } else {
            let mut present = present.iter();
            for at in 0..read {
                let is_present = !leaf.is_optional || *levels.get(at)? > 0;
                each(if is_present { Some(present.next()?) } else { None });
            }
        }
        rows += read;
    }
    Some(rows)
}

/// A decimal from the bytes of its integer, the highest first. One that is too long for any number of 38 digits is missing:
/// how long it is may be a secret, so it is no reason to refuse.
fn decimal(bytes: &[u8], scale: i32) -> Cell<'static> {
    let Some(first) = bytes.first() else { return Cell::Missing };
    let (sign, filler) = if first & 0x80 == 0 { (0, 0) } else { (-1, 0xff) };
    // Wide decimals widen the sign of small numbers: bytes that only repeat it say nothing.
    let (wide, bytes) = bytes.split_at(bytes.len().saturating_sub(16));
    let keeps_sign = wide.is_empty() || (bytes[0] ^ filler) & 0x80 == 0;
    if !keeps_sign || wide.iter().any(|byte| *byte != filler) {
        return Cell::Missing;
    }
    let number = bytes.iter().fold(sign, |number: i128, byte| number << 8 | i128::from(*byte));
    Cell::Decimal { number, scale }
}

/// Half precision: a sign, five bits of exponent, ten of fraction.
fn half(bytes: &[u8]) -> Cell<'static> {
    let [low, high] = *bytes else { return Cell::Missing };
    let bits = u16::from_le_bytes([low, high]);
    let sign = if bits >> 15 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    };
    Cell::Number(sign * size)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(cell: Cell<'_>) -> Option<f64> {
        cell.number(crate::Notation::default())
    }

    #[test]
    fn decimals_and_halves_are_the_numbers_that_they_stand_for() {
        for (bytes, scale, expected) in [
            (&[0x30, 0x39][..], 2, Some(123.45)),
            (&[0xcf, 0xc7], 2, Some(-123.45)),
            (&[0xff; 16], 0, Some(-1.0)),
            (&[1], -3, Some(1000.0)),
            (&[], 2, None),
            (&[0; 17], 2, Some(0.0)),
            (&[&[0xff; 30][..], &[0xcf, 0xc7]].concat(), 2, Some(-123.45)),
            (&[&[0; 30][..], &[0x30, 0x39]].concat(), 2, Some(123.45)),
            (&[&[0; 16][..], &[0xff; 16]].concat(), 2, None),
            (&[&[0xff; 16][..], &[0; 16]].concat(), 2, None),
            (&[&[1][..], &[0; 16]].concat(), 2, None),
        ] {
            assert_eq!(number(decimal(bytes, scale)), expected, "{bytes:?}");
        }
        for (bits, expected) in [
            (0x3c00u16, 1.0),
            (0xc000, -2.0),
            (0x0001, 2f64.powi(-24)),
            (0x7bff, 65504.0),
            (0x7c00, f64::INFINITY),
        ] {
            assert_eq!(number(half(&bits.to_le_bytes())), Some(expected), "{bits:x}");
        }
        assert!(number(half(&0x7e00u16.to_le_bytes())).is_some_and(f64::is_nan));
        assert_eq!(number(half(&[1])), None);
    }
}
