//! A query of one table in one pass, without SQL: rows that count, by unit; what the caps leave of each unit; sums of that.
//!
//! It gives the integers that a statement gives, many times faster than SQLite runs one. Units are divided among CPUs, and sums of
//! integers are the same in any order.

use super::gathered::{Gathered, MISSING, SHELVES, Shelf};
use crate::sql::{Plan, Row, Secret, Sizes, Summand, Totals, sizes::place, spread};
use std::{
    panic::resume_unwind,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};
use veracity_core::Count;

/// How large the units of a table are.
pub(super) fn sizes(gathered: &Gathered) -> Sizes {
    let (mut sizes, mut shelf) = (Sizes::none(), Shelf::default());
    for at in 0..SHELVES {
        gathered.fill(at, &mut shelf);
        shelf.rows.sort_unstable();
        for unit in shelf.rows.chunk_by(|a, b| a.0 == b.0) {
            let pairs = unit.chunk_by(|a, b| a.1 == b.1);
            let (groups, rows) =
                pairs.fold((0, 0), |(groups, rows), pair| (groups + 1, rows.max(pair.len() as u64)));
            sizes.rows[place(rows)] += 1;
            sizes.groups[place(groups)] += 1;
        }
    }
    sizes
}

/// The rows of one unit that count: the unit, their groups, and where they are.
type Mine = [(u64, u32, u32)];

/// A plan at work on units of a table.
struct Direct<'a> {
    plan: &'a Plan,
    gathered: &'a Gathered,
    /// What every text that is hashed starts with, and what is between its parts.
    start: &'a str,
    bar: &'a str,
    /// What is summed: a query of quantiles alone still has groups.
    summands: &'a [Summand],
    /// For each group whether a row of it counts, and its sums one after another.
    occurs: Vec<bool>,
    sums: Vec<i64>,
    /// For each tally, the group and the value of each row.
    tallies: Vec<Vec<(u32, i64)>>,
    /// How many rows the caps leave out.
    cut: u64,
    /// Integers of the rows at hand, and rows of a pair in order.
    wholes: Vec<i64>,
    in_order: Vec<u32>,
    text: String,
}

/// The integers of a plan that has one table, by so many CPUs.
pub(super) fn totals(plan: &Plan, gathered: &Gathered, secret: &Secret, cores: usize) -> Totals {
    let (start, bar) = (secret.digits(), secret.bar());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut direct = Direct::new(plan, gathered, start, &bar);
        let mut shelf = Shelf::default();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= SHELVES {
                return direct;
            }
            direct.add_shelf(at, &mut shelf);
        }
    };
    let all = thread::scope(|scope| {
        let others: Vec<_> = (1..cores).map(|_| scope.spawn(work)).collect();
        let mut all = work();
        for other in others {
            all.merge(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        all
    });
    all.finish()
}

impl<'a> Direct<'a> {
    fn new(plan: &'a Plan, gathered: &'a Gathered, start: &'a str, bar: &'a str) -> Direct<'a> {
        let summands = if plan.sums.is_empty() { &[Summand::Rows][..] } else { &plan.sums };
        Direct {
            plan,
            gathered,
            start,
            bar,
            summands,
            // Without keys there is one group, whether a row counts or not.
            occurs: vec![plan.keys.is_empty(); gathered.groups()],
            sums: vec![0; gathered.groups() * summands.len()],
            tallies: vec![Vec::new(); plan.tallies.len()],
            cut: 0,
            wholes: Vec::new(),
            in_order: Vec::new(),
            text: String::new(),
        }
    }

    /// Adds what the caps leave of the units of a shelf.
    fn add_shelf(&mut self, at: usize, shelf: &mut Shelf) {
        std::mem::swap(&mut self.wholes, &mut shelf.wholes);
        self.gathered.fill(at, shelf);
        std::mem::swap(&mut self.wholes, &mut shelf.wholes);
        shelf.rows.sort_unstable();
        shelf.rows.chunk_by(|a, b| a.0 == b.0).for_each(|unit| self.add_unit(unit));
    }

    /// Adds what another CPU has found of other units.
    fn merge(&mut self, other: Direct<'_>) {
        self.sums.iter_mut().zip(other.sums).for_each(|(sum, other)| *sum += other);
        self.cut += other.cut;
        self.occurs.iter_mut().zip(other.occurs).for_each(|(occurs, other)| *occurs |= other);
        self.tallies.iter_mut().zip(other.tallies).for_each(|(tally, mut other)| tally.append(&mut other));
    }

    /// The integers of a row.
    fn wholes_of(&self, row: u32) -> &[i64] {
        let width = self.plan.inputs.len();
        &self.wholes[row as usize * width..(row as usize + 1) * width]
    }

    /// Adds what the caps leave of a unit.
    fn add_unit(&mut self, mine: &Mine) {
        let counted = self.add_counted(mine);
        let most = self.plan.cut.map_or(0, Count::get);
        self.cut += (mine.len() as u64 - counted).min(most);
    }

    /// The same; how many rows it is.
    fn add_counted(&mut self, mine: &Mine) -> u64 {
        let most = self.plan.caps.groups.get();
        let groups = mine.chunk_by(|a, b| a.1 == b.1).count() as u64;
        if groups <= most {
            return mine.chunk_by(|a, b| a.1 == b.1).map(|pair| self.add_pair(pair)).sum();
        }
        let ranked = mine.chunk_by(|a, b| a.1 == b.1);
        let mut pairs: Vec<(i64, &Mine)> = ranked.map(|pair| (self.key(pair), pair)).collect();
        // The keys themselves distinguish equal hashes.
        let texts = |pair: &Mine| self.gathered.texts(pair[0].1);
        pairs.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| texts(a.1).cmp(texts(b.1))));
        pairs.iter().take(most as usize).map(|(_, pair)| self.add_pair(pair)).sum()
    }

    /// The key of a pair, as a statement has it.
    fn key(&mut self, pair: &Mine) -> i64 {
        let (unit, group, _) = pair[0];
        self.text.clear();
        self.text += self.start;
        self.gathered.write_unit(unit, self.bar, &mut self.text);
        for part in self.gathered.texts(group) {
            self.text += self.bar;
            self.text += part;
        }
        spread::key(self.text.as_bytes())
    }

    /// Adds what the cap on rows leaves of a pair, and says how many rows that is.
    fn add_pair(&mut self, pair: &Mine) -> u64 {
        let (group, most) = (pair[0].1, self.plan.caps.rows.get() as usize);
        self.occurs[group as usize] = true;
        if pair.len() <= most || self.plan.inputs.is_empty() {
            // No number is summed, or all of them: which rows count is the same.
            self.add(group, pair.len().min(most) as i64, pair.iter().map(|(_, _, row)| *row));
            return pair.len().min(most) as u64;
        }
        let mut rows = std::mem::take(&mut self.in_order);
        rows.clear();
        rows.extend(pair.iter().map(|(_, _, row)| *row));
        // One that is missing stands first.
        rows.sort_unstable_by(|a, b| self.wholes_of(*a).cmp(self.wholes_of(*b)));
        let key = self.key(pair);
        let mut place = 0;
        let all = rows.len();
        rows.retain(|_| {
            place += 1;
            spread::counts(place, all, most, key)
        });
        self.add(group, most as i64, rows.iter().copied());
        self.in_order = rows;
        most as u64
    }

    /// Adds the rows of a pair that count: how many, and which.
    fn add(&mut self, group: u32, number: i64, rows: impl Iterator<Item = u32> + Clone) {
        let (all, step) = (&self.wholes, self.plan.inputs.len());
        let wholes = |input: usize| {
            let of_rows = rows.clone().map(move |row| all[row as usize * step + input]);
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
                Summand::Product(first, second) => {
                    let centered = |input: usize, row: u32| {
                        let whole = all[row as usize * step + input];
                        let grid = self.plan.inputs[input].grid;
                        (whole != MISSING).then(|| 2 * whole - (grid.least + grid.most))
                    };
                    let products =
                        rows.clone().filter_map(|row| Some(centered(first, row)? * centered(second, row)?));
                    products.sum()
                }
            };
        }
        for (tally, input) in self.tallies.iter_mut().zip(&self.plan.tallies) {
            tally.extend(wholes(*input).map(|whole| (group, whole)));
        }
    }

    fn finish(mut self) -> Totals {
        let keys = |group: u32| self.gathered.texts(group).map(str::to_owned).collect();
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
        Totals {
            sums,
            tallies: tallies.collect(),
            cut: self.plan.cut.map(|_| self.cut as i64),
            others: Vec::new(),
        }
    }
}
