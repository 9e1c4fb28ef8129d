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

/// SQLite with all tables of a world.
pub fn engine(tables: &[Data]) -> Sqlite {
    let mut engine = Sqlite::open(Form::default(), Limits::default()).unwrap();
    for table in tables {
        let columns: Vec<(&str, Values)> = table
            .columns
            .iter()
            .enumerate()
            .map(|(at, (name, is_number))| {
                let cells = table.rows.iter().map(|row| &row[at]);
                let values = match is_number {
                    true => Values::Numbers(cells.map(Cell::number).collect()),
                    false => Values::Texts(cells.map(|cell| cell.text().map(str::to_owned)).collect()),
                };
                (name.as_str(), values)
            })
            .collect();
        engine.load(&table.name, &columns).unwrap();
    }
    engine
}

/// What SQLite says to a plan, in one order.
pub fn ask(tables: &[Data], plan: &Plan, secret: &Secret) -> Result<Totals, Error> {
    ask_changed(tables, plan, secret, &|sql| sql)
}

/// The same, with a change to what it is asked.
pub fn ask_changed(
    tables: &[Data],
    plan: &Plan,
    secret: &Secret,
    change: &dyn Fn(String) -> String,
) -> Result<Totals, Error> {
    let mut engine = engine(tables);
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
