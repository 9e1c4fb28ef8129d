//! Prints random cases for engines as JSON lines: tables, the statements of every dialect, and the rows that the slow twin expects.
//!
//! `cargo run --example engine_cases -- 2000` prints so many. `python/engines/compare.py` runs them on servers.
#![allow(clippy::unwrap_used)]

#[path = "../tests/common/mod.rs"]
mod common;

use common::{
    Data,
    typed::{Case, cases_with_types},
};
use serde_json::{Value, json};
use std::io::Write;
use veracity_statistics::sql::{Dialect, Plan, Row, compile, compile_sizes};

fn main() {
    let wanted = std::env::args().nth(1).map_or(2000, |text| text.parse().expect("how many cases"));
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for case in cases_with_types(wanted) {
        writeln!(out, "{}", written(&case)).unwrap();
    }
}

fn written(case: &Case) -> Value {
    let dialects = [Dialect::Sqlite, Dialect::DuckDb, Dialect::Postgres, Dialect::Spark];
    let statements: serde_json::Map<String, Value> = dialects
        .iter()
        .map(|dialect| {
            // Whole numbers as they are for half of the cases that have them, as texts for the others.
            let is_whole = case.kinds.whole_persons && case.seed.is_multiple_of(2) && *dialect != Dialect::Sqlite;
            let whole_units = vec![is_whole; case.plan.sources[0].unit.len()];
            let mut all = compile(&case.plan, *dialect, &common::secret(case.seed), &whole_units).unwrap();
            if has_sizes(&case.plan) {
                all.extend(compile_sizes(&case.plan, *dialect, &whole_units).unwrap());
            }
            let one = |statement: &veracity_statistics::sql::Statement| json!({"sql": statement.sql, "keys": statement.keys, "numbers": statement.numbers});
            (dialect.name().to_owned(), all.iter().map(one).collect())
        })
        .collect();
    let rows = |rows: &Vec<Row>| -> Value { rows.iter().map(|row| json!([row.keys, row.numbers])).collect() };
    let mut expected = Vec::new();
    for totals in case.expected.groupings() {
        expected.push(rows(&totals.sums));
        expected.extend(totals.tallies.iter().map(rows));
    }
    expected.extend(case.expected.cut.map(|cut| json!([[[], [cut]]])));
    if has_sizes(&case.plan) {
        let sizes = common::twin::places(&case.plan, &case.tables, &common::digits(case.seed));
        for counts in [&sizes.rows, &sizes.groups] {
            let there = counts.iter().enumerate().filter(|(_, units)| **units > 0);
            expected.push(there.map(|(place, units)| json!([[], [place, units]])).collect());
        }
    }
    let tables: Vec<Value> = case.tables.iter().map(|table| table_written(table, case)).collect();
    json!({"seed": case.seed, "query": case.query, "tables": tables, "statements": statements, "expected": expected})
}

/// Whether caps can be chosen for a plan: which rows of a join of private tables count rests on a secret, and sizes have none.
fn has_sizes(plan: &Plan) -> bool {
    plan.others.is_empty()
        && plan.sources.iter().all(|source| source.per_unit.is_none() && source.most.is_none())
}

fn table_written(table: &Data, case: &Case) -> Value {
    let columns: Vec<Value> = table
        .columns
        .iter()
        .map(|(name, is_number)| json!({"name": name, "type": case.kinds.of(table, name, *is_number).name()}))
        .collect();
    let cell = |cell: &common::Cell| match cell {
        common::Cell::Null => Value::Null,
        // JSON has neither NaN nor infinity.
        common::Cell::Number(x) => json!(format!("{x:e}")),
        common::Cell::Text(text) => json!(text),
    };
    let rows: Vec<Vec<Value>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    json!({"name": table.name, "columns": columns, "rows": rows})
}
