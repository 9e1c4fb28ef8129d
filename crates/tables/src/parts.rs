//! A table in parts: some rows at once, so that memory does not grow with the file.
//!
//! Each group of rows of a Parquet file is read by one CPU, cut into parts. Text is read from its first line to its last. What becomes
//! of a part must not depend on where the file is cut, since programs choose that.

use crate::{
    Columns, Form, Keys, Kind, Limits, Notation, Source, Values, Wanted,
    columnar::{ColumnarTable, Pass, Raw},
    columns::{Reading, check_room, read_columns},
    format::Format,
    keys::KeyCoding,
    source::{Opened, refuse},
    tabular::{Cell, Row, Tabular},
    text::TextTable,
    texts::{self, Coding},
};
use parquet::data_type::ByteArray;
use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    thread,
};
use veracity_core::Error;

/// The most rows of a part.
const ROWS: usize = 1 << 16;

/// Some rows of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Part {
    /// How many they are.
    pub rows: usize,
    /// The columns that were asked for.
    pub values: Vec<Values>,
    /// The columns of names.
    pub keys: Vec<Keys>,
}

/// Reads columns of a file in parts, on all CPUs where the format allows it. `take` is called once for each part. The answers are in
/// the order of the parts in the file.
///
/// Where the file turns out to be damaged, `take` was called for some parts before.
///
/// # Errors
/// Refuses what [`read_columns`] refuses.
pub fn read_parts<R: Send>(
    source: &Source,
    form: Form,
    wanted: &[Wanted<'_>],
    names: &[&str],
    limits: &Limits,
    take: impl Fn(Part) -> R + Sync,
) -> Result<Vec<R>, Error> {
    let opened = source.open(limits)?;
    match opened.format {
        Format::Parquet => {
            let is_marked = !matches!(source, Source::File(_)) || source.mark().is_some();
            let cores = match opened.can_be_opened_again() && is_marked {
                true => thread::available_parallelism().map_or(1, NonZero::get),
                // A file that cannot be distinguished from another is read at once.
                false => 1,
            };
            let asked = Asked { form, wanted, names, limits };
            asked.of_groups(source, opened, cores, &take)
        }
        Format::Text => Asked { form, wanted, names, limits }.of_lines(opened, take),
        Format::Npy | Format::Idx | Format::Npz => {
            let also = names.iter().map(|name| Wanted { name, kind: Kind::Texts });
            let all: Vec<Wanted<'_>> = wanted.iter().copied().chain(also).collect();
            let Columns { rows, mut values } = read_columns(source, form, &all, limits)?;
            let keys = values.split_off(wanted.len()).into_iter().filter_map(|values| match values {
                Values::Texts(texts) => Some(Keys::from(&texts)),
                Values::Numbers(_) => None,
            });
            let keys = keys.collect();
            Ok(vec![take(Part { rows, values, keys })])
        }
    }
}

/// What is asked of a table.
#[derive(Clone, Copy)]
struct Asked<'a> {
    form: Form,
    wanted: &'a [Wanted<'a>],
    names: &'a [&'a str],
    limits: &'a Limits,
}

impl Asked<'_> {
    fn columns(&self) -> Vec<&str> {
        self.all().map(|wanted| wanted.name).collect()
    }

    /// The columns of values, then those of keys, whose names are no dates.
    fn all(&self) -> impl Iterator<Item = Wanted<'_>> {
        let names = self.names.iter().map(|name| Wanted { name, kind: Kind::Numbers });
        self.wanted.iter().copied().chain(names)
    }

    /// Where the columns are.
    fn places(&self, file: &str, table: &Tabular) -> Result<Vec<usize>, Error> {
        self.all().map(|wanted| table.place_as(file, wanted.name, wanted.kind)).collect()
    }

    fn of_lines<R>(&self, opened: Opened, take: impl Fn(Part) -> R) -> Result<Vec<R>, Error> {
        let file = opened.name.clone();
        let mut table = Tabular::Text(Box::new(TextTable::open(opened, self.form)?), self.form);
        let (places, width) = (self.places(&file, &table)?, table.width());
        let (mut building, mut parts, mut rows) = (Building::new(self), Vec::new(), 0);
        while let Some(row) = table.next()? {
            rows += 1;
            check_room(&file, rows, places.len(), self.limits)?;
            building.add(&row, &places, width, self.form.notation);
            if building.rows == ROWS {
                parts.push(take(std::mem::replace(&mut building, Building::new(self)).finish()));
            }
        }
        if building.rows > 0 {
            parts.push(take(building.finish()));
        }
        Ok(parts)
    }

    fn of_groups<R: Send>(
        &self,
        source: &Source,
        opened: Opened,
        cores: usize,
        take: &(impl Fn(Part) -> R + Sync),
    ) -> Result<Vec<R>, Error> {
        let before = source.mark();
        let first = self.open(opened)?;
        check_room(&source.name(), first.0.rows(), self.columns().len(), self.limits)?;
        let (groups, rows) = (first.0.groups(), first.0.rows());
        let next = AtomicUsize::new(0);
        let has_failed = AtomicBool::new(false);
        // Each core takes the next group that no other has taken.
        let work = |(mut table, places): (Box<ColumnarTable>, Vec<usize>)| {
            let mut found = Vec::new();
            loop {
                let group = next.fetch_add(1, Ordering::Relaxed);
                if group >= groups || has_failed.load(Ordering::Relaxed) {
                    return Ok(found);
                }
                let parts = self.of_group(&mut table, group, &places, take);
                has_failed.fetch_or(parts.is_err(), Ordering::Relaxed);
                found.push((group, parts?));
            }
        };
        let others = cores.min(groups).saturating_sub(1);
        let opened: Vec<_> =
            (0..others).map(|_| self.open(source.open(self.limits)?)).collect::<Result<_, Error>>()?;
        if opened.iter().any(|(table, _)| table.groups() != groups || table.rows() != rows) {
            return Err(changed(source));
        }
        let work = &work;
        let found: Result<Vec<_>, Error> = thread::scope(|scope| {
            let cores: Vec<_> = opened.into_iter().map(|table| scope.spawn(move || work(table))).collect();
            let mine = work(first);
            let all = cores.into_iter().map(|core| core.join().unwrap_or_else(|panic| resume_unwind(panic)));
            std::iter::once(mine).chain(all).collect()
        });
        let mut found: Vec<(usize, Vec<R>)> = found?.into_iter().flatten().collect();
        // Parts of two versions of a file would give a person's rows to another.
        if source.mark() != before {
            return Err(changed(source));
        }
        found.sort_by_key(|(group, _)| *group);
        Ok(found.into_iter().flat_map(|(_, parts)| parts).collect())
    }

    fn of_group<R>(
        &self,
        table: &mut ColumnarTable,
        group: usize,
        places: &[usize],
        take: impl Fn(Part) -> R,
    ) -> Result<Vec<R>, Error> {
        let mut parts = Vec::new();
        table.start(group)?;
        while let Some(part) = table.pass(ROWS, |pass| self.part(pass, places))? {
            parts.push(take(part));
        }
        Ok(parts)
    }

    fn open(&self, opened: Opened) -> Result<(Box<ColumnarTable>, Vec<usize>), Error> {
        let file = opened.name.clone();
        let table = Tabular::open(opened.expect(Format::Parquet)?, self.form, &self.columns(), self.limits)?;
        let places = self.places(&file, &table)?;
        match table {
            Tabular::Columnar(table) => Ok((table, places)),
            Tabular::Text(..) => Err(refuse(&file, "a file that does not change while it is read")),
        }
    }

    /// The rows of a pass. A column may be asked for more than once, and is read once.
    fn part(&self, mut pass: Pass<'_>, places: &[usize]) -> Option<Part> {
        let mut building = Building::new(self);
        building.rows = pass.count;
        let notation = self.form.notation;
        let mut read: Vec<usize> = Vec::new();
        for (at, place) in places.iter().enumerate() {
            if read.contains(place) {
                continue;
            }
            read.push(*place);
            let same: Vec<usize> = (at + 1..places.len()).filter(|other| places[*other] == *place).collect();
            if same.is_empty() {
                match &mut building.columns[at] {
                    Sink::Values(Reading::Texts(coding)) => {
                        let mut met = Addresses::new();
                        pass.column(*place, |raw| met.add(raw, coding))?;
                    }
                    Sink::Values(reading) => {
                        pass.column(*place, |raw| reading.add(raw.cell().trimmed(), notation))?;
                    }
                    Sink::Keys(coding) => pass.column(*place, |raw| coding.add(&raw.cell().trimmed()))?,
                }
            } else {
                pass.column(*place, |raw| {
                    for at in std::iter::once(at).chain(same.iter().copied()) {
                        building.columns[at].add(raw.cell().trimmed(), notation);
                    }
                })?;
            }
        }
        // Without columns, one is there to be counted.
        if places.is_empty() {
            pass.column(0, |_| ())?;
        }
        Some(building.finish())
    }
}

fn changed(source: &Source) -> Error {
    refuse(&source.name(), "a file that does not change while it is read")
}

/// A part at work.
struct Building {
    rows: usize,
    columns: Vec<Sink>,
}

/// A column at work.
enum Sink {
    Values(Reading),
    Keys(KeyCoding),
}

impl Sink {
    fn add(&mut self, cell: Cell<'_>, notation: Notation) {
        match self {
            Sink::Values(reading) => reading.add(cell, notation),
            Sink::Keys(coding) => coding.add(&cell),
        }
    }
}

impl Building {
    fn new(asked: &Asked<'_>) -> Building {
        let values = asked.wanted.iter().map(|wanted| Sink::Values(Reading::new(wanted.kind)));
        let keys = asked.names.iter().map(|_| Sink::Keys(KeyCoding::default()));
        Building { rows: 0, columns: values.chain(keys).collect() }
    }

    /// Adds a row of text. Cells of one that has more or fewer than the header are missing.
    fn add(&mut self, row: &Row<'_>, places: &[usize], width: usize, notation: Notation) {
        let is_whole = row.len() == width;
        self.rows += 1;
        for (column, at) in self.columns.iter_mut().zip(places) {
            column.add(if is_whole { row.cell(*at) } else { Cell::Missing }, notation);
        }
    }

    fn finish(self) -> Part {
        let mut part = Part { rows: self.rows, ..Part::default() };
        for column in self.columns {
            match column {
                Sink::Values(reading) => part.values.push(reading.finish()),
                Sink::Keys(coding) => part.keys.push(coding.finish()),
            }
        }
        part
    }
}

/// Texts that were met lately, by where they are in memory: a value of a dictionary is the same bytes on each of its rows, and is
/// looked up once. The bytes are kept as long as their address is, so that no others can come to lie there.
struct Addresses(Vec<Option<(ByteArray, u32)>>);

impl Addresses {
    const SLOTS: usize = 1 << 10;

    fn new() -> Addresses {
        Addresses(vec![None; Addresses::SLOTS])
    }

    fn add(&mut self, raw: Raw<'_>, coding: &mut Coding) {
        let bytes = match raw {
            Raw::Text(bytes) => bytes,
            Raw::Cell(Cell::Whole(number)) => return coding.add_whole(number),
            Raw::Cell(cell) => return coding.add(texts::text_of(&cell).as_deref()),
        };
        let (address, length) = (bytes.data().as_ptr() as usize, bytes.len());
        let slot = &mut self.0[(address ^ address >> 10) % Addresses::SLOTS];
        match slot {
            Some((known, place)) if known.data().as_ptr() as usize == address && known.len() == length => {
                coding.add_known(*place);
            }
            _ => {
                coding.add(texts::text_of(&Cell::Text(bytes.data()).trimmed()).as_deref());
                *slot = coding.last().map(|place| (bytes.clone(), place));
            }
        }
    }
}
