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

use veracity_core::Error;
use veracity_records::{Form, Limits, Values};
use veracity_sql::{Engine, Plan, Secret, Totals, compile, engine::Sqlite};

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

/// The embedded engine with all tables of a world: for a plan as it takes files, or all of them in SQLite.
pub fn engine(tables: &[Data], plan: Option<&Plan>) -> Sqlite {
    let mut engine = Sqlite::open(Form::default(), Limits::default()).unwrap();
    let is_read = |table: &&Data| {
        plan.is_none_or(|plan| plan.sources.iter().any(|source| source.table.name == table.name))
    };
    for table in tables.iter().filter(is_read) {
        let columns: Vec<(&str, Values)> = table
            .columns
            .iter()
            .enumerate()
            .map(|(at, (name, is_number))| {
                let cells = table.rows.iter().map(|row| &row[at]);
                let values = match is_number {
                    true => Values::Numbers(cells.map(Cell::number).collect()),
                    false => {
                        let texts: Vec<_> = cells.map(|cell| cell.text().map(str::to_owned)).collect();
                        Values::Texts(texts.into())
                    }
                };
                (name.as_str(), values)
            })
            .collect();
        match plan {
            Some(plan) => engine.load_for(plan, &table.name, columns).unwrap(),
            None => engine.load(&table.name, &columns).unwrap(),
        }
    }
    engine
}

/// What the embedded engine says to a plan, in one order.
pub fn ask(tables: &[Data], plan: &Plan, secret: &Secret) -> Result<Totals, Error> {
    let mut totals = engine(tables, Some(plan)).totals(plan, secret)?;
    totals.sums.sort();
    totals.tallies.iter_mut().for_each(|tally| tally.sort());
    Ok(totals)
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
    for mut statement in compile(plan, engine.dialect(), secret).unwrap() {
        statement.sql = change(statement.sql);
        let mut rows = engine.run(&statement)?;
        rows.sort();
        all.push(rows);
    }
    let sums = all.remove(0);
    Ok(Totals { sums, tallies: all })
}
