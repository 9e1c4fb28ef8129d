//! Rows of one table that count, before any cap, as integers: whose each is, its group, its numbers.
//!
//! They are gathered from parts of the table, several at once. Rows are divided among shelves by whose they are, so that those of one
//! unit meet when the caps need them together, and each shelf fits into the cache of a CPU. A row costs twelve bytes, and eight for
//! each number. Where a table is cut into parts changes no sum.

use super::{cells::Cells, together::Together};
use crate::sql::{Plan, plan::Source};
use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};
use veracity_tables::{Key, Keys, Part, Texts};

/// An integer that is missing: none is so far out.
pub(super) const MISSING: i64 = i64::MIN;
/// How many shelves there are: with 10^7 rows, 40,000 on each.
pub(super) const SHELVES: usize = 256;

/// Gathers rows of a plan that has one table.
pub(super) struct Gatherer<'a> {
    plan: &'a Plan,
    source: &'a Source,
    known: Mutex<Known>,
}

/// Numbers of texts, and of several numbers together, as they are met.
#[derive(Default)]
struct Known {
    units: HashMap<String, u32>,
    tuples: HashMap<Box<[u64]>, u32>,
    keys: Vec<HashMap<String, u32>>,
    groups: HashMap<Box<[u32]>, u32>,
}

/// Rows by their shelves.
#[derive(Debug)]
pub(super) struct Shelved {
    /// Where each shelf starts.
    starts: Vec<u32>,
    units: Vec<u64>,
    groups: Vec<u32>,
    /// The integers of each row, one row after another.
    wholes: Vec<i64>,
}

/// All rows of a table that count, and what their numbers stand for.
#[derive(Debug)]
pub(crate) struct Gathered {
    parts: Vec<Shelved>,
    /// How many integers a row has.
    width: usize,
    unit_texts: Vec<String>,
    /// The numbers of units with several columns.
    tuples: Option<Vec<Box<[u64]>>>,
    key_texts: Vec<Vec<String>>,
    groups: Vec<Box<[u32]>>,
}

impl<'a> Gatherer<'a> {
    /// For the rows of this table.
    pub(super) fn new(plan: &'a Plan, source: &'a Source) -> Gatherer<'a> {
        let keys = plan.keys.iter().map(|_| HashMap::new()).collect();
        let mut known = Known { keys, ..Known::default() };
        if plan.keys.is_empty() {
            // Without keys there is one group, whether a row counts or not.
            known.groups.insert(Box::new([]), 0);
        }
        Gatherer { plan, source, known: Mutex::new(known) }
    }

    /// The rows of a part that count; nothing where it lacks a column.
    pub(super) fn gather(&self, part: Part) -> Option<Shelved> {
        let (plan, rows) = (self.plan, part.rows);
        let is_whole =
            part.keys.len() == self.source.unit.len() && part.keys.iter().all(|keys| keys.len() == rows);
        if !is_whole {
            return None;
        }
        let cells = Cells::new(self.source, part.values, rows)?;
        let period = plan.period.as_ref().map(|period| Keys::from(&*cells.all_texts(period)));
        let units: Vec<Keys> = part.keys.into_iter().chain(period).collect();
        let texts: Vec<Cow<'_, Texts>> = plan.keys.iter().map(|key| cells.all_texts(&key.text)).collect();
        let columns: Vec<&Texts> = texts.iter().map(Cow::as_ref).collect();
        let allowed: Vec<Option<Vec<bool>>> = plan
            .keys
            .iter()
            .zip(&columns)
            .map(|(key, column)| {
                let public: HashSet<&String> = key.public.as_ref()?.iter().collect();
                Some(column.distinct().iter().map(|text| public.contains(text)).collect())
            })
            .collect();
        let counts = |row: u32| {
            let is_public = columns.iter().zip(&allowed).all(|(column, allowed)| {
                let place = column.place(row as usize);
                place.is_some_and(|at| allowed.as_ref().is_none_or(|all| all[at as usize]))
            });
            is_public && plan.filter.as_ref().is_none_or(|filter| cells.holds(filter, row) == Some(true))
        };
        let groups = Together::new(columns.clone(), rows, counts);
        let numbers = self.numbers(&groups, &columns, &units, rows);
        Some(self.shelve(&cells, &groups, &numbers, rows))
    }

    /// The number of each group of a part, and of each row's unit.
    fn numbers(&self, groups: &Together<'_>, columns: &[&Texts], units: &[Keys], rows: usize) -> Numbers {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut *known;
        let of_keys: Vec<Vec<u32>> = known
            .keys
            .iter_mut()
            .zip(columns)
            .map(|(known, column)| column.distinct().iter().map(|text| number_of(known, text)).collect())
            .collect();
        let mut group = Vec::new();
        let of_groups = (0..groups.len() as u32).map(|local| {
            group.clear();
            group.extend(
                groups.parts(local).iter().zip(&of_keys).map(|(part, of_key)| of_key[*part as usize]),
            );
            numbered(&mut known.groups, &group)
        });
        let of_groups = of_groups.collect();
        let texts: Vec<Vec<u32>> = units
            .iter()
            .map(|unit| unit.texts().iter().map(|text| number_of(&mut known.units, text)).collect())
            .collect();
        let code = |at: usize, row: usize| {
            units[at].get(row).map(|key| match key {
                Key::Whole(number) => number << 1,
                Key::Text(place) => u64::from(texts[at][place as usize]) << 1 | 1,
            })
        };
        let mut tuple = Vec::new();
        let of_rows = (0..rows).map(|row| match units.len() {
            1 => code(0, row).unwrap_or(NONE),
            many => {
                tuple.clear();
                tuple.extend((0..many).map_while(|at| code(at, row)));
                if tuple.len() == many && groups.place(row as u32).is_some() {
                    u64::from(numbered(&mut known.tuples, &tuple))
                } else {
                    NONE
                }
            }
        });
        Numbers { units: of_rows.collect(), groups: of_groups }
    }

    /// Rows that have a unit and a group, by their shelves.
    fn shelve(&self, cells: &Cells, groups: &Together<'_>, numbers: &Numbers, rows: usize) -> Shelved {
        let counted = || {
            (0..rows as u32).filter_map(|row| {
                let unit = numbers.units[row as usize];
                let group = groups.place(row).filter(|_| unit != NONE)?;
                Some((row, unit, numbers.groups[group as usize]))
            })
        };
        let mut starts = vec![0; SHELVES + 1];
        counted().for_each(|(_, unit, _)| starts[shelf(unit) + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let (all, width) = (starts[SHELVES] as usize, self.plan.inputs.len());
        let mut next = starts.clone();
        let mut shelved =
            Shelved { starts, units: vec![0; all], groups: vec![0; all], wholes: vec![0; all * width] };
        for (row, unit, group) in counted() {
            let place = &mut next[shelf(unit)];
            let at = *place as usize;
            *place += 1;
            (shelved.units[at], shelved.groups[at]) = (unit, group);
            for (whole, input) in
                shelved.wholes[at * width..(at + 1) * width].iter_mut().zip(&self.plan.inputs)
            {
                *whole = cells.number(&input.scalar, row).map_or(MISSING, |number| input.grid.whole(number));
            }
        }
        shelved
    }

    /// All parts.
    pub(super) fn finish(self, parts: Vec<Shelved>) -> Gathered {
        let known = self.known.into_inner().unwrap_or_else(PoisonError::into_inner);
        Gathered {
            parts,
            width: self.plan.inputs.len(),
            unit_texts: in_order(known.units),
            tuples: (self.source.unit.len() + usize::from(self.plan.period.is_some()) != 1)
                .then(|| in_order(known.tuples)),
            key_texts: known.keys.into_iter().map(in_order).collect(),
            groups: in_order(known.groups),
        }
    }
}

/// A row without a unit.
const NONE: u64 = u64::MAX;

/// What the texts of a part are in the whole table.
struct Numbers {
    /// Of each row.
    units: Vec<u64>,
    /// Of each group of the part.
    groups: Vec<u32>,
}

fn number_of(known: &mut HashMap<String, u32>, text: &str) -> u32 {
    match known.get(text) {
        Some(number) => *number,
        None => {
            let next = known.len() as u32;
            known.insert(text.to_owned(), next);
            next
        }
    }
}

fn numbered<T: Copy + Eq + std::hash::Hash>(known: &mut HashMap<Box<[T]>, u32>, all: &[T]) -> u32 {
    match known.get(all) {
        Some(number) => *number,
        None => {
            let next = known.len() as u32;
            known.insert(all.into(), next);
            next
        }
    }
}

fn in_order<T: Default>(known: HashMap<T, u32>) -> Vec<T> {
    let mut all: Vec<T> = std::iter::repeat_with(T::default).take(known.len()).collect();
    known.into_iter().for_each(|(one, number)| all[number as usize] = one);
    all
}

/// The shelf of a unit: numbers that follow one another are spread.
fn shelf(unit: u64) -> usize {
    (unit.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize
}

/// Rows of a shelf: unit, group and place of each, and their integers by place.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) rows: Vec<(u64, u32, u32)>,
    pub(super) wholes: Vec<i64>,
}

impl Gathered {
    /// How many rows count, before any cap.
    pub(super) fn rows(&self) -> usize {
        self.parts.iter().map(|part| part.units.len()).sum()
    }

    /// How many groups there are.
    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Fills in the rows of a shelf.
    pub(super) fn fill(&self, shelf: usize, rows: &mut Shelf) {
        rows.rows.clear();
        rows.wholes.clear();
        for part in &self.parts {
            let all = part.starts[shelf] as usize..part.starts[shelf + 1] as usize;
            rows.wholes.extend_from_slice(&part.wholes[all.start * self.width..all.end * self.width]);
            for at in all {
                rows.rows.push((part.units[at], part.groups[at], rows.rows.len() as u32));
            }
        }
    }

    /// The texts of a group.
    pub(super) fn texts(&self, group: u32) -> impl Iterator<Item = &str> {
        let parts = self.groups[group as usize].iter();
        parts.zip(&self.key_texts).map(|(part, texts)| texts[*part as usize].as_str())
    }

    /// Writes the texts of a unit, each after a separator.
    pub(super) fn write_unit(&self, unit: u64, separator: &str, text: &mut String) {
        let one = [unit];
        let codes: &[u64] = match &self.tuples {
            None => &one,
            Some(tuples) => &tuples[unit as usize],
        };
        for code in codes {
            *text += separator;
            match code & 1 {
                0 => *text += &(code >> 1).to_string(),
                _ => *text += &self.unit_texts[(code >> 1) as usize],
            }
        }
    }
}
