//! Columns of a file as they are asked for: numbers or texts, one value for each row.
//!
//! What is wrong with the file as such is refused. No cell is refused (`tests/columns.rs`), because a refusal that depends on a
//! value reveals something about the person it belongs to. A cell that is not what was asked for is missing, and so are all cells
//! of a row that has more or fewer of them than the header, because it is not clear which is which.

use crate::{
    Array, Form, Limits, Notation, Numbers, Source, archive,
    format::Format,
    idx, npy,
    source::{Opened, refuse},
    tabular::{Cell, Row, Tabular, short},
    text::TextTable,
    texts::{Coding, Texts, text_of},
};
use std::{num::NonZero, panic::resume_unwind, thread};
use veracity_core::Error;

/// A column that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// Its name in the header; the name of an array in an NPZ file; its place from 1 in an NPY or IDX file.
    pub name: &'a str,
    /// What its cells are read as.
    pub kind: Kind,
}

/// What the cells of a column are read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// Numbers; anything else is missing. Infinities are numbers.
    Numbers,
    /// Texts as they are, without white space around them; empty is missing, and so is what is not UTF-8.
    Texts,
}

/// The values of a column, one for each row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Numbers.
    Numbers(Vec<Option<f64>>),
    /// Texts.
    Texts(Texts),
}

/// Columns as they were asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Columns {
    /// How many rows the file has.
    pub rows: usize,
    /// The columns, in the order in which they were asked for.
    pub values: Vec<Values>,
}

/// Reads columns of a file. With none of them, its rows are counted.
///
/// # Examples
///
/// What is in a cell never decides whether there is an answer: what is not a number is missing.
///
/// ```
/// use veracity_tables::{Form, Kind, Limits, Source, Values, Wanted, check_columns, read_columns};
///
/// let source = Source::in_memory("visits.csv", "name;age\nEve;31\nBob;unknown\n".as_bytes());
/// let age = Wanted { name: "age", kind: Kind::Numbers };
/// let columns = read_columns(&source, Form::default(), &[age], &Limits::default())?;
/// assert_eq!(columns.values, [Values::Numbers(vec![Some(31.0), None])]);
///
/// // A missing column is a property of the file, so it is an error.
/// let height = Wanted { name: "height", kind: Kind::Numbers };
/// assert!(check_columns(&source, Form::default(), &[height], &Limits::default()).is_err());
/// # Ok::<(), veracity_core::Error>(())
/// ```
///
/// # Errors
/// Refuses a file that cannot be read, is damaged, lacks a column, or exceeds the limits.
pub fn read_columns(
    source: &Source,
    form: Form,
    wanted: &[Wanted<'_>],
    limits: &Limits,
) -> Result<Columns, Error> {
    let opened = source.open(limits)?;
    let file = opened.name.clone();
    match opened.format {
        Format::Parquet if opened.can_be_opened_again() => side_by_side(source, form, wanted, limits),
        Format::Text | Format::Parquet => from_table(opened, form, wanted, wanted.len(), limits),
        Format::Npy => from_array(&file, &npy::read(opened, limits)?, wanted, limits),
        Format::Idx => from_array(&file, &idx::read(opened, limits)?, wanted, limits),
        Format::Npz => from_archive(&file, source, wanted, limits),
    }
}

/// Checks that the file has the columns, without a look at any row.
///
/// # Errors
/// Refuses a file that cannot be read or lacks a column.
pub fn check_columns(
    source: &Source,
    form: Form,
    wanted: &[Wanted<'_>],
    limits: &Limits,
) -> Result<(), Error> {
    let opened = source.open(limits)?;
    let names: Vec<&str> = wanted.iter().map(|wanted| wanted.name).collect();
    match opened.format {
        Format::Text | Format::Parquet => {
            let name = opened.name.clone();
            let table = Tabular::open(opened, form, &names, limits)?;
            wanted.iter().try_for_each(|wanted| table.place_as(&name, wanted.name, wanted.kind).map(drop))
        }
        // Arrays have no header of names, so there is nothing to look up before their numbers are read.
        Format::Npy | Format::Idx | Format::Npz => Ok(()),
    }
}

/// Checks a file of text to its end, for another program that is to read it: what [`read_columns`] refuses is refused, such as a quote
/// that does not close, and so are lines that end in different ways. Otherwise one row could decide what becomes of others.
///
/// # Errors
/// Refuses a file that cannot be read, a quote that does not close, and lines that end in different ways.
pub fn check_lines(source: &Source, form: Form, limits: &Limits) -> Result<(), Error> {
    let opened = source.open(limits)?;
    let file = opened.name.clone();
    let mut table = TextTable::open(opened, form)?;
    while table.next()?.is_some() {}
    if table.lines_end_alike() {
        return Ok(());
    }
    Err(refuse(&file, "lines that all end in the same way, but line feeds and carriage returns are mixed"))
}

/// Columns of a Parquet file, which lie apart from one another: each CPU reads some of them.
fn side_by_side(
    source: &Source,
    form: Form,
    wanted: &[Wanted<'_>],
    limits: &Limits,
) -> Result<Columns, Error> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get).clamp(1, wanted.len().max(1));
    let some = |core: usize| {
        let mine: Vec<Wanted<'_>> = wanted.iter().skip(core).step_by(cores).copied().collect();
        from_table(source.open(limits)?, form, &mine, wanted.len(), limits)
    };
    let before = source.mark();
    // A file that cannot be distinguished from another is read at once.
    if cores == 1 || (matches!(source, Source::File(_)) && before.is_none()) {
        return from_table(source.open(limits)?, form, wanted, wanted.len(), limits);
    }
    let all = thread::scope(|scope| {
        let cores: Vec<_> = (0..cores).map(|core| scope.spawn(move || some(core))).collect();
        cores.into_iter().map(|core| core.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let all: Result<Vec<Columns>, Error> = all;
    let all = all?;
    let rows = all[0].rows;
    // Columns of two versions of a file would give a person's rows to another.
    if source.mark() != before || all.iter().any(|some| some.rows != rows) {
        return Err(refuse(&source.name(), "a file that does not change while it is read"));
    }
    let mut all: Vec<_> = all.into_iter().map(|some| some.values.into_iter()).collect();
    let values = (0..wanted.len()).filter_map(|at| all[at % cores].next()).collect();
    Ok(Columns { rows, values })
}

/// Some columns of a table, of so many that are read in all.
fn from_table(
    opened: Opened,
    form: Form,
    wanted: &[Wanted<'_>],
    all: usize,
    limits: &Limits,
) -> Result<Columns, Error> {
    let file = opened.name.clone();
    let names: Vec<&str> = wanted.iter().map(|wanted| wanted.name).collect();
    let mut table = Tabular::open(opened, form, &names, limits)?;
    let width = table.width();
    let mut columns = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        columns.push((table.place_as(&file, wanted.name, wanted.kind)?, Reading::new(wanted.kind)));
    }
    let mut rows = 0;
    match &mut table {
        Tabular::Text(table, _) => {
            while let Some(row) = table.next()?.map(Row::Text) {
                rows += 1;
                check_room(&file, rows, all, limits)?;
                let is_whole = row.len() == width;
                for (at, reading) in &mut columns {
                    reading.add(if is_whole { row.cell(*at) } else { Cell::Missing }, form.notation);
                }
            }
        }
        Tabular::Columnar(table) => {
            while let Some(batch) = table.next_batch()? {
                rows += batch.first().map_or(0, Vec::len);
                check_room(&file, rows, all, limits)?;
                for (at, reading) in &mut columns {
                    batch[*at].iter().for_each(|stored| reading.add(stored.cell().trimmed(), form.notation));
                }
            }
        }
    }
    Ok(Columns { rows, values: columns.into_iter().map(|(_, reading)| reading.finish()).collect() })
}

/// Refuses more rows than the limits allow.
pub(crate) fn check_room(file: &str, rows: usize, columns: usize, limits: &Limits) -> Result<(), Error> {
    // Rows are counted in 32 bits where their texts are.
    if rows <= limits.rows.min(u32::MAX as usize - 1)
        && rows.checked_mul(columns).is_some_and(|values| values <= limits.values)
    {
        return Ok(());
    }
    Err(refuse(file, format!("at most {} records and {} values", limits.rows, limits.values)))
}

impl Values {
    /// The texts, where these are texts: what queries take for a column.
    pub fn into_texts(self) -> Option<Vec<Option<String>>> {
        match self {
            Values::Texts(texts) => Some(texts.to_vec()),
            Values::Numbers(_) => None,
        }
    }
}

/// A column that is being read.
pub(crate) enum Reading {
    Numbers(Vec<Option<f64>>),
    Texts(Coding),
}

impl Reading {
    pub(crate) fn new(kind: Kind) -> Reading {
        match kind {
            Kind::Numbers => Reading::Numbers(Vec::new()),
            Kind::Texts => Reading::Texts(Coding::default()),
        }
    }

    pub(crate) fn add(&mut self, cell: Cell<'_>, notation: Notation) {
        match self {
            Reading::Numbers(all) => all.push(cell.number(notation).filter(|number| !number.is_nan())),
            Reading::Texts(coding) => match cell {
                Cell::Whole(number) => coding.add_whole(number),
                other => coding.add(text_of(&other).as_deref()),
            },
        }
    }

    pub(crate) fn finish(self) -> Values {
        match self {
            Reading::Numbers(numbers) => Values::Numbers(numbers),
            Reading::Texts(coding) => Values::Texts(coding.finish()),
        }
    }
}

/// Columns of an array of one side, or of rows and columns, by their places from 1.
fn from_array(file: &str, array: &Array, wanted: &[Wanted<'_>], limits: &Limits) -> Result<Columns, Error> {
    let (rows, width) = match array.shape() {
        [rows] => (*rows, 1),
        [rows, width] => (*rows, *width),
        _ => return Err(refuse(file, "an array with one or two dimensions")),
    };
    check_room(file, rows, wanted.len(), limits)?;
    let mut values = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        let place = wanted.name.trim().parse().ok().filter(|place| (1..=width).contains(place));
        let Some(place) = place else {
            let name = short(wanted.name);
            return Err(Error::invalid(format!(
                "column is {name}, expected the position of a column in {file}, from 1 to {width}"
            )));
        };
        let mut column = Reading::new(wanted.kind);
        (0..rows)
            .for_each(|row| column.add(array.numbers().cell(row * width + place - 1), Notation::default()));
        values.push(column.finish());
    }
    Ok(Columns { rows, values })
}

/// Columns that are arrays of one side, by their names.
fn from_archive(
    file: &str,
    source: &Source,
    wanted: &[Wanted<'_>],
    limits: &Limits,
) -> Result<Columns, Error> {
    let (mut rows, mut values) = (None, Vec::with_capacity(wanted.len()));
    for wanted in wanted {
        let array = archive::read_npz(source, wanted.name, limits)?;
        let one = Wanted { name: "1", ..*wanted };
        if !matches!(array.shape(), [_] | [_, 1]) {
            return Err(refuse(file, format!("array {} with one dimension", short(wanted.name))));
        }
        let read = from_array(file, &array, &[one], limits)?;
        if rows.replace(read.rows).is_some_and(|before| before != read.rows) {
            return Err(refuse(file, "arrays of the same length, but the lengths differ"));
        }
        values.extend(read.values);
    }
    let rows = rows.ok_or_else(|| refuse(file, "the name of an array as the column, to count its rows"))?;
    Ok(Columns { rows, values })
}

impl Numbers {
    /// One of them as a cell.
    fn cell(&self, at: usize) -> Cell<'static> {
        match self {
            Numbers::U8(all) => Cell::Whole(all[at].into()),
            Numbers::I32(all) => Cell::Whole(all[at].into()),
            Numbers::I64(all) => Cell::Whole(all[at].into()),
            Numbers::F32(all) => Cell::Number(all[at].into()),
            Numbers::F64(all) => Cell::Number(all[at]),
        }
    }
}
