//! A query of one table in one pass, without SQL: rows that count, by unit; what the caps leave of each unit; sums of that.
//!
//! It gives the whole numbers that a statement gives, many times faster than SQLite runs one.

use super::{cells::Cells, together::Together};
use crate::{Plan, Row, Secret, Summand, Totals, spread};
use std::collections::HashSet;
use veracity_records::Texts;

/// The rows of one unit that count: their groups, and where they are.
type Mine = [(u32, u32)];

/// A whole number that is missing: none is so far out.
const MISSING: i64 = i64::MIN;

/// A plan at work on the rows of a table.
struct Direct<'a> {
    plan: &'a Plan,
    secret: &'a Secret,
    units: Together<'a>,
    groups: Together<'a>,
    /// For each input the whole number of each row.
    wholes: Vec<Vec<i64>>,
    /// What is summed: a query of quantiles alone still has groups.
    summands: &'a [Summand],
    /// For each group whether a row of it counts, and its sums one after another.
    occurs: Vec<bool>,
    sums: Vec<i64>,
    /// For each tally, the group and the value of each row.
    tallies: Vec<Vec<(u32, i64)>>,
    /// Rows of a pair in order.
    in_order: Vec<u32>,
}

/// The whole numbers of a plan that has one table.
pub(crate) fn totals(plan: &Plan, cells: &Cells, secret: &Secret) -> Totals {
    let mut direct = Direct::new(plan, cells, secret);
    let (starts, mut order) = direct.by_unit(cells.rows);
    for unit in 0..direct.units.len() {
        direct.add_unit(unit as u32, &mut order[starts[unit] as usize..starts[unit + 1] as usize]);
    }
    direct.finish()
}

impl<'a> Direct<'a> {
    fn new(plan: &'a Plan, cells: &'a Cells, secret: &'a Secret) -> Direct<'a> {
        let columns: Vec<&Texts> =
            plan.keys.iter().filter_map(|key| cells.texts(key.column.column)).collect();
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
        let groups = Together::new(columns.clone(), cells.rows, counts);
        let units = Together::new(cells.unit().collect(), cells.rows, |row| groups.place(row).is_some());
        let wholes = plan.inputs.iter().map(|input| {
            let whole = |row: u32| {
                let number = units.place(row).and_then(|_| cells.number(&input.scalar, row));
                number.map_or(MISSING, |number| input.grid.whole(number))
            };
            (0..cells.rows as u32).map(whole).collect()
        });
        let summands = if plan.sums.is_empty() { &[Summand::Rows][..] } else { &plan.sums };
        Direct {
            plan,
            secret,
            wholes: wholes.collect(),
            summands,
            // Without keys there is one group, whether a row counts or not.
            occurs: vec![plan.keys.is_empty(); groups.len()],
            sums: vec![0; groups.len() * summands.len()],
            tallies: vec![Vec::new(); plan.tallies.len()],
            in_order: Vec::new(),
            units,
            groups,
        }
    }

    /// Rows that count, those of each unit together: where each unit starts, and the rows.
    fn by_unit(&self, rows: usize) -> (Vec<u32>, Vec<(u32, u32)>) {
        let rows = || (0..rows as u32).filter_map(|row| Some((self.units.place(row)? as usize, row)));
        let mut starts = vec![0; self.units.len() + 1];
        rows().for_each(|(unit, _)| starts[unit + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut order = vec![(0, 0); starts[self.units.len()] as usize];
        for (unit, row) in rows() {
            // A row of a unit has a group.
            order[next[unit] as usize] = (self.groups.place(row).unwrap_or(0), row);
            next[unit] += 1;
        }
        (starts, order)
    }

    /// Adds what the caps leave of a unit.
    fn add_unit(&mut self, unit: u32, mine: &mut Mine) {
        mine.sort_unstable();
        let most = self.plan.caps.groups.get();
        let groups = mine.chunk_by(|a, b| a.0 == b.0).count() as u64;
        if groups <= most {
            mine.chunk_by(|a, b| a.0 == b.0).for_each(|pair| self.add_pair(unit, pair));
            return;
        }
        let mut pairs: Vec<&Mine> = mine.chunk_by(|a, b| a.0 == b.0).collect();
        pairs.sort_by_cached_key(|pair| {
            (self.key(unit, pair[0].0), self.groups.texts(pair[0].0).collect::<Vec<_>>())
        });
        pairs.iter().take(most as usize).for_each(|pair| self.add_pair(unit, pair));
    }

    /// The key of a pair, as a statement has it.
    fn key(&self, unit: u32, group: u32) -> i64 {
        let (mut text, bar) = (self.secret.digits().to_owned(), self.secret.bar());
        for part in self.units.texts(unit).chain(self.groups.texts(group)) {
            text += &bar;
            text += part;
        }
        spread::key(text.as_bytes())
    }

    /// Adds what the cap on rows leaves of a pair.
    fn add_pair(&mut self, unit: u32, pair: &Mine) {
        let (group, most) = (pair[0].0, self.plan.caps.rows.get() as usize);
        self.occurs[group as usize] = true;
        if pair.len() <= most || self.wholes.is_empty() {
            // No number is summed, or all of them: which rows count is the same.
            self.add(group, pair.len().min(most) as i64, pair.iter().map(|(_, row)| *row));
            return;
        }
        let mut rows = std::mem::take(&mut self.in_order);
        rows.clear();
        rows.extend(pair.iter().map(|(_, row)| *row));
        // One that is missing stands first.
        rows.sort_unstable_by(|a, b| {
            let numbers = |row: u32| self.wholes.iter().map(move |wholes| wholes[row as usize]);
            numbers(*a).cmp(numbers(*b))
        });
        let key = self.key(unit, group);
        let mut place = 0;
        let all = rows.len();
        rows.retain(|_| {
            place += 1;
            spread::counts(place, all, most, key)
        });
        self.add(group, most as i64, rows.iter().copied());
        self.in_order = rows;
    }

    /// Adds the rows of a pair that count: how many, and which.
    fn add(&mut self, group: u32, number: i64, rows: impl Iterator<Item = u32> + Clone) {
        let all = &self.wholes;
        let wholes = |input: usize| {
            let of_rows = rows.clone().map(move |row| all[input][row as usize]);
            of_rows.filter(|whole| *whole != MISSING)
        };
        let width = self.summands.len();
        let sums = &mut self.sums[group as usize * width..(group as usize + 1) * width];
        for (sum, summand) in sums.iter_mut().zip(self.summands) {
            *sum += match *summand {
                Summand::Rows => number,
                Summand::Units => 1,
                Summand::Present(input) => wholes(input).count() as i64,
                Summand::Total(input) => wholes(input).sum(),
                Summand::Square(input) => {
                    let grid = self.plan.inputs[input].grid;
                    wholes(input).map(|whole| (2 * whole - (grid.least + grid.most)).pow(2)).sum()
                }
            };
        }
        for (tally, input) in self.tallies.iter_mut().zip(&self.plan.tallies) {
            tally.extend(wholes(*input).map(|whole| (group, whole)));
        }
    }

    fn finish(mut self) -> Totals {
        let keys = |group: u32| self.groups.texts(group).map(str::to_owned).collect();
        let width = self.summands.len();
        let of_groups = self.sums.chunks(width).zip(&self.occurs).enumerate();
        let sums = of_groups
            .filter(|(_, (_, occurs))| **occurs)
            .map(|(group, (sums, _))| Row { keys: keys(group as u32), numbers: sums.to_vec() })
            .collect();
        let tallies = self.tallies.iter_mut().map(|tally| {
            tally.sort_unstable();
            let same = tally.chunk_by(|a, b| a == b);
            same.map(|all| Row { keys: keys(all[0].0), numbers: vec![all[0].1, all.len() as i64] }).collect()
        });
        Totals { sums, tallies: tallies.collect() }
    }
}
