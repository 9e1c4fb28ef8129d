//! PostgreSQL: the table stays where it is, sums come out.

use super::Engine;
use crate::sql::{Column, Dialect, Place, Plan, Row, Statement, plan::Source};
use postgres::{Client, NoTls};
use veracity_core::Error;
use veracity_core::printable;

/// Types that are read as numbers without a failure on any row.
const NUMBERS: [&str; 5] = ["int2", "int4", "int8", "float4", "float8"];
/// Types that are read as texts without a failure on any row, always alike.
const TEXTS: [&str; 8] = ["text", "varchar", "bpchar", "int2", "int4", "int8", "uuid", "name"];
/// Types of dates, and of strings that may be dates.
const DATES: [&str; 6] = ["date", "timestamp", "timestamptz", "text", "varchar", "bpchar"];

/// Types that hold integers, each written in one way.
const WHOLE: [&str; 3] = ["int2", "int4", "int8"];
/// What a session is set to: reading alone, and what texts and numbers mean. Functions, operators and types are looked for among the
/// built-in ones alone: one of `public` that fits the types of a call better would be taken, wherever it is in the path. A query of this crate groups all rows by their unit,
/// which is quicker in memory than on disk; and joins few pairs with all rows, which is quicker by hashes.
const SETTINGS: &str = "SET default_transaction_read_only = on; SET standard_conforming_strings = on; SET client_encoding = 'UTF8'; \
     SET extra_float_digits = 1; SET datestyle = 'ISO, YMD'; SET timezone = 'UTC'; SET search_path = pg_catalog; SET client_min_messages = error; \
     SET work_mem = '256MB'; SET enable_mergejoin = off; SET jit = off";

/// A connection.
pub struct Postgres {
    client: Client,
    whole_units: Vec<bool>,
}

impl std::fmt::Debug for Postgres {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Postgres")
    }
}

impl Postgres {
    /// Connects, for reading alone. A `url` that begins with `$` names an environment variable that has it.
    ///
    /// # Errors
    /// Refuses a variable that is not set, and a server that cannot be reached.
    pub fn connect(url: &str) -> Result<Postgres, Error> {
        let url = match url.strip_prefix('$') {
            None => url.to_owned(),
            Some(variable) => std::env::var(variable).map_err(|_| {
                let variable = printable(&variable, 60);
                Error::invalid(format!(
                    "environment variable {variable} is not set; set it to the URL of the database"
                ))
            })?,
        };
        // What the driver says may hold the password.
        let refuse = |_| Error::invalid("cannot connect to the database; check the URL in the catalog");
        let mut client = Client::connect(&url, NoTls).map_err(refuse)?;
        client.batch_execute(SETTINGS).map_err(refuse)?;
        Ok(Postgres { client, whole_units: Vec::new() })
    }

    /// Checks that the columns of a table are there, and of types that cannot fail; which of the unit's hold integers.
    fn check(&mut self, source: &Source) -> Result<Vec<bool>, Error> {
        let source = source.stored();
        let found = self
            .client
            .query(
                "SELECT a.attname::text, t.typname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid \
                 WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped",
                &[&source.table.name_in(Dialect::Postgres)],
            )
            .map_err(failed)?;
        if found.is_empty() {
            return Err(Error::invalid(format!("no such table in the database: {}", source.table.name)));
        }
        let types: Vec<(String, String)> = found.iter().map(|row| (row.get(0), row.get(1))).collect();
        let units = source.unit.iter().map(|unit| (unit, &TEXTS[..], "strings or integers"));
        let columns = source.columns.iter().map(|(column, declared)| match declared {
            Column::Number(_) => (column, &NUMBERS[..], "integers or floats"),
            Column::Text(_) => (column, &TEXTS[..], "strings or integers"),
            Column::Date(..) => (column, &DATES[..], "dates, timestamps or strings"),
        });
        for (column, allowed, expected) in units.chain(columns) {
            let Some((_, kind)) = types.iter().find(|(name, _)| name == column) else {
                return Err(Error::invalid(format!("no such column in the database: {column}")));
            };
            if !allowed.contains(&kind.as_str()) {
                return Err(Error::invalid(format!(
                    "column {column} has type {kind} in the database, expected {expected}, because a cast \
                     can fail on one row"
                )));
            }
        }
        let is_whole =
            |unit: &String| types.iter().any(|(name, kind)| name == unit && WHOLE.contains(&kind.as_str()));
        Ok(source.unit.iter().map(is_whole).collect())
    }
}

impl Engine for Postgres {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn whole_units(&self) -> &[bool] {
        &self.whole_units
    }

    fn check(&mut self, plan: &Plan) -> Result<(), Error> {
        self.whole_units = vec![true; plan.sources[0].unit.len()];
        for source in &plan.sources {
            match &source.table.place {
                Place::Engine { engine, .. } if engine == "postgres" => {
                    let found = self.check(source)?;
                    self.whole_units.iter_mut().zip(found).for_each(|(all, one)| *all &= one);
                }
                Place::Engine { .. } | Place::File(_) => {
                    return Err(Error::invalid(format!(
                        "table {} is in another engine; set engine = \"postgres\" in the catalog",
                        source.table.name
                    )));
                }
            }
        }
        Ok(())
    }

    fn run(&mut self, statement: &Statement) -> Result<Vec<Row>, Error> {
        let found = self.client.query(&statement.sql, &[]).map_err(failed)?;
        let read = |row: &postgres::Row| -> Option<Row> {
            let keys = (0..statement.keys).map(|at| row.try_get(at).ok()).collect::<Option<_>>()?;
            let numbers = statement.keys..statement.keys + statement.numbers;
            let numbers = numbers.map(|at| row.try_get(at).ok()).collect::<Option<_>>()?;
            Some(Row { keys, numbers })
        };
        found.iter().map(|row| read(row).ok_or_else(odd)).collect()
    }
}

fn odd() -> Error {
    Error::invalid(
        "internal error: the database returned other columns than the query asks for; please report the \
         query",
    )
}

/// Reports the code alone, because the message of a database may hold a value.
fn failed(error: postgres::Error) -> Error {
    let code = error.code().map_or("unknown", |code| code.code()).to_owned();
    Error::invalid(format!("PostgreSQL query failed (SQLSTATE {code}); nothing was released"))
}
