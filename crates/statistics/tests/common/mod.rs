//! Random small worlds for the tests of bounded plans: tables, catalogs, queries, and a slow and obvious twin of the engines.
//!
//! A [`World`] has people with rows in two private tables and a public table beside them; [`query`] writes a query about it;
//! [`twin`] evaluates a plan on it by nested loops, and shares no code with the compiler.
#![allow(dead_code, unused_imports, clippy::unwrap_used)]

pub mod dice;
pub mod neighbours;
pub mod queries;
pub mod twin;
pub mod typed;
pub mod worlds;

pub use dice::Dice;
pub use queries::query;
pub use twin::twin;
pub use worlds::{Cell, Data, World};

use std::num::NonZero;
use veracity_core::Error;
use veracity_statistics::sql::{Engine, Plan, Secret, Totals, compile, engine::Sqlite};
use veracity_tables::{Keys, Limits, Part, Values};

/// How many cases a test takes: `usual`, or what the environment says for a long run.
pub fn cases(usual: u64) -> u64 {
    match std::env::var("VERACITY_SQL_CASES") {
        Ok(text) => text.parse().expect("VERACITY_SQL_CASES is a whole number"),
        Err(_) => usual,
    }
}

/// A secret of a test.
pub fn secret(seed: u64) -> Secret {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_be_bytes());
    Secret::new(bytes)
}

/// The same as an engine is given it, for the twin.
pub fn digits(seed: u64) -> String {
    let digit = |byte: u8| match byte % 64 {
        low @ 0..10 => char::from(b'0' + low),
        low @ 10..36 => char::from(b'a' + low - 10),
        low @ 36..62 => char::from(b'A' + low - 36),
        62 => '-',
        _ => '_',
    };
    seed.to_be_bytes().into_iter().chain([0; 14]).map(digit).collect()
}

/// SQLite with all tables of a world, or with those that a plan reads.
pub fn engine(tables: &[Data], plan: Option<&Plan>) -> Sqlite {
    let mut engine = Sqlite::open(Limits::default()).unwrap();
    let is_read = |table: &&Data| {
        plan.is_none_or(|plan| plan.sources.iter().any(|source| source.table.name == table.name))
    };
    for table in tables.iter().filter(is_read) {
        let columns: Vec<(&str, Values)> =
            table.columns.iter().map(|(name, _)| (name.as_str(), values(table, name, &table.rows))).collect();
        engine.load(&table.name, &columns).unwrap();
    }
    engine
}

/// A column of some rows of a table.
fn values(table: &Data, name: &str, rows: &[Vec<Cell>]) -> Values {
    let at = table.columns.iter().position(|(known, _)| known == name).unwrap();
    let cells = rows.iter().map(|row| &row[at]);
    match table.columns[at].1 {
        true => Values::Numbers(cells.map(Cell::number).collect()),
        false => Values::Texts(cells.map(|cell| cell.text().map(str::to_owned)).collect::<Vec<_>>().into()),
    }
}

/// What the embedded engine says to a plan, in one order. One table comes in parts of a few rows, to a few CPUs.
pub fn ask(tables: &[Data], plan: &Plan, secret: &Secret) -> Result<Totals, Error> {
    let rows = tables.iter().map(|table| table.rows.len()).sum::<usize>();
    ask_in_parts(tables, plan, secret, (1 + rows % 7, 1 + rows % 3))
}

/// The same with so many rows in a part, and so many CPUs.
pub fn ask_in_parts(
    tables: &[Data],
    plan: &Plan,
    secret: &Secret,
    (rows, cores): (usize, usize),
) -> Result<Totals, Error> {
    let mut engine = match &plan.sources[..] {
        [source] if source.per_unit.is_none() => {
            let table = tables.iter().find(|table| table.name == source.table.name).unwrap();
            let part = |rows: &[Vec<Cell>]| {
                let keys = source.unit.iter().map(|name| match values(table, name, rows) {
                    Values::Texts(texts) => Keys::from(&texts),
                    Values::Numbers(_) => panic!("a person is a text"),
                });
                let declared = source.columns.iter().map(|(name, _)| values(table, name, rows));
                Part { rows: rows.len(), values: declared.collect(), keys: keys.collect() }
            };
            let mut engine = Sqlite::open(Limits::default())?;
            // A part may be empty.
            let parts = [&[][..]].into_iter().chain(table.rows.chunks(rows)).map(part).collect();
            engine.load_parts(plan, parts)?;
            engine.set_cores(NonZero::new(cores).unwrap());
            engine
        }
        _ => engine(tables, Some(plan)),
    };
    Ok(sorted(engine.totals(plan, secret)?))
}

/// What an engine says, in one order.
pub fn sorted(mut totals: Totals) -> Totals {
    let Totals { sums, tallies, others, .. } = &mut totals;
    let all = others.iter_mut().flat_map(|other| std::iter::once(&mut other.sums).chain(&mut other.tallies));
    std::iter::once(sums).chain(tallies).chain(all).for_each(|rows| rows.sort());
    totals
}

/// What SQLite says, with a change to what it is asked.
pub fn ask_changed(
    tables: &[Data],
    plan: &Plan,
    secret: &Secret,
    change: &dyn Fn(String) -> String,
) -> Result<Totals, Error> {
    let mut engine = engine(tables, None);
    let mut all = Vec::new();
    for mut statement in compile(plan, engine.dialect(), secret, &[]).unwrap() {
        statement.sql = change(statement.sql);
        let mut rows = engine.run(&statement)?;
        rows.sort();
        all.push(rows);
    }
    Ok(Totals::of(plan, all)?)
}
