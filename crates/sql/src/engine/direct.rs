//! A query of one table in one pass, without SQL: rows that count, by unit; what the caps leave of each unit; sums of that.
//!
//! It gives the whole numbers that a statement gives, many times faster than SQLite runs one.

use super::{
    cells::Cells,
    coded::{Coded, Joined},
};
use crate::{Plan, Row, Secret, Summand, Totals, rank};

/// The rows of one unit that count: their groups, and where they are.
type Mine = [(u32, u32)];

/// A plan at work on the rows of a table.
struct Direct<'a> {
    plan: &'a Plan,
    cells: &'a Cells,
    secret: &'a str,
    units: Joined<'a>,
    groups: Joined<'a>,
    /// What is summed: a query of quantiles alone still has groups.
    summands: &'a [Summand],
    /// For each group, whether a row of it counts, and its sums.
    sums: Vec<(bool, Vec<i64>)>,
    /// For each tally, the group and the value of each row.
    tallies: Vec<Vec<(u32, i64)>>,
}

/// The whole numbers of a plan that has one table.
pub(crate) fn totals(plan: &Plan, cells: &Cells, secret: &Secret) -> Totals {
    let mut direct = Direct::new(plan, cells, secret.digits());
    let (starts, mut order) = direct.by_unit();
    for unit in 0..direct.units.len() {
        direct.add_unit(unit as u32, &mut order[starts[unit] as usize..starts[unit + 1] as usize]);
    }
    direct.finish()
}

impl<'a> Direct<'a> {
    fn new(plan: &'a Plan, cells: &'a Cells, secret: &'a str) -> Direct<'a> {
        let columns: Vec<&Coded> =
            plan.keys.iter().filter_map(|key| cells.texts(key.column.column)).collect();
        let allowed: Vec<Option<Vec<bool>>> = plan
            .keys
            .iter()
            .zip(&columns)
            .map(|(key, column)| {
                let public = key.public.as_ref()?;
                Some(column.texts.iter().map(|text| public.contains(text)).collect())
            })
            .collect();
        let counts = |row: u32| {
            let is_public = columns.iter().zip(&allowed).all(|(column, allowed)| {
                column.place(row).is_some_and(|at| allowed.as_ref().is_none_or(|all| all[at as usize]))
            });
            is_public && plan.filter.as_ref().is_none_or(|filter| cells.holds(filter, row) == Some(true))
        };
        let groups = Joined::new(columns.clone(), cells.rows, counts);
        let units = Joined::new(cells.unit().collect(), cells.rows, |row| groups.place(row).is_some());
        let summands = if plan.sums.is_empty() { &[Summand::Rows][..] } else { &plan.sums };
        // Without keys there is one group, whether a row counts or not.
        let sums = vec![(plan.keys.is_empty(), vec![0; summands.len()]); groups.len()];
        let tallies = vec![Vec::new(); plan.tallies.len()];
        Direct { plan, cells, secret, units, groups, summands, sums, tallies }
    }

    /// Rows that count, those of each unit together: where each unit starts, and the rows.
    fn by_unit(&self) -> (Vec<u32>, Vec<(u32, u32)>) {
        let rows =
            || (0..self.cells.rows as u32).filter_map(|row| Some((self.units.place(row)? as usize, row)));
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
        let mut pairs: Vec<&Mine> = mine.chunk_by(|a, b| a.0 == b.0).collect();
        if pairs.len() as u64 > most {
            pairs.sort_by_cached_key(|pair| {
                (self.key(unit, pair[0].0), self.groups.texts(pair[0].0).collect::<Vec<_>>())
            });
            pairs.truncate(most as usize);
        }
        for pair in pairs {
            self.add_pair(unit, pair);
        }
    }

    /// The key of a pair, as a statement has it.
    fn key(&self, unit: u32, group: u32) -> i64 {
        let mut text = self.secret.to_owned();
        for part in self.units.texts(unit).chain(self.groups.texts(group)) {
            text.push('|');
            text += part;
        }
        rank::key(text.as_bytes())
    }

    /// Adds what the cap on rows leaves of a pair.
    fn add_pair(&mut self, unit: u32, pair: &Mine) {
        let (group, most) = (pair[0].0, self.plan.caps.rows.get());
        let is_above = pair.len() as u64 > most;
        self.sums[group as usize].0 = true;
        if self.plan.inputs.is_empty() {
            self.add(group, (pair.len() as u64).min(most) as i64, &[]);
            return;
        }
        let mut rows: Vec<Vec<Option<i64>>> = pair.iter().map(|(_, row)| self.wholes(*row)).collect();
        if is_above {
            let key = self.key(unit, group);
            rows.sort_by_cached_key(|wholes| self.rank(key, wholes));
            rows.truncate(most as usize);
        }
        self.add(group, rows.len() as i64, &rows);
    }

    fn wholes(&self, row: u32) -> Vec<Option<i64>> {
        let whole = |input: &crate::Input| Some(input.grid.whole(self.cells.number(&input.scalar, row)?));
        self.plan.inputs.iter().map(whole).collect()
    }

    fn rank(&self, key: i64, wholes: &[Option<i64>]) -> (i64, Vec<i64>) {
        let places =
            wholes.iter().zip(&self.plan.inputs).map(|(whole, input)| rank::place(*whole, &input.grid));
        let places: Vec<i64> = places.collect();
        (rank::rank(key, &places), places)
    }

    /// Adds the rows of a pair that count: how many, and their whole numbers.
    fn add(&mut self, group: u32, number: i64, rows: &[Vec<Option<i64>>]) {
        let wholes = |input: usize| rows.iter().filter_map(move |wholes| wholes[input]);
        for (sum, summand) in self.sums[group as usize].1.iter_mut().zip(self.summands) {
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
        let of_groups = self.sums.iter().enumerate().filter(|(_, (occurs, _))| *occurs);
        let sums = of_groups
            .map(|(group, (_, sums))| Row { keys: keys(group as u32), numbers: sums.clone() })
            .collect();
        let tallies = self.tallies.iter_mut().map(|tally| {
            tally.sort_unstable();
            let same = tally.chunk_by(|a, b| a == b);
            same.map(|all| Row { keys: keys(all[0].0), numbers: vec![all[0].1, all.len() as i64] }).collect()
        });
        Totals { sums, tallies: tallies.collect() }
    }
}
