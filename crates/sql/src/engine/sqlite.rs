//! The embedded engine: files are read by `records` and loaded into SQLite in memory. There is nothing to install.

use super::{
    Engine,
    sorted::{Coded, sorted},
};
use crate::{Column, Dialect, Place, Plan, Row, Statement, plan::Source};
use rusqlite::{Connection, functions::FunctionFlags, types::ToSqlOutput, types::Value};
use sha2::{Digest, Sha256};
use std::{collections::BTreeMap, path::PathBuf};
use veracity_core::Error;
use veracity_records::{Form, Kind, Limits, Source as File, Values, Wanted, read_columns};

/// SQLite in memory.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    /// How files of text are written.
    form: Form,
    limits: Limits,
}

/// The columns of a file that a plan reads, by name.
type Needed<'a> = BTreeMap<&'a str, Kind>;

impl Sqlite {
    /// An empty one.
    pub fn open(form: Form, limits: Limits) -> Result<Sqlite, Error> {
        let connection = Connection::open_in_memory().map_err(failed)?;
        connection
            .execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA temp_store = MEMORY;")
            .map_err(failed)?;
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        connection
            .create_scalar_function("veracity_sha256", 1, flags, |context| {
                // Neither a missing text nor a number gets here: texts are joined, and none of them is missing.
                let digest = Sha256::digest(context.get_raw(0).as_bytes().unwrap_or_default());
                let mut first = [0; 8];
                first.copy_from_slice(&digest[..8]);
                Ok((u64::from_be_bytes(first) >> 4) as i64)
            })
            .map_err(failed)?;
        connection
            .create_scalar_function("veracity_floor", 1, flags, |context| {
                let x: Option<f64> = context.get(0)?;
                Ok(x.map(|x| x.floor() as i64))
            })
            .map_err(failed)?;
        Ok(Sqlite { connection, form, limits })
    }

    /// Loads a table from columns: one value for each row.
    pub fn load(&mut self, table: &str, columns: &[(&str, Values)]) -> Result<(), Error> {
        let rows = columns.first().map_or(0, |(_, values)| length(values));
        let statement = create(table, columns, "");
        self.insert(
            &statement,
            table,
            (0..rows).map(|row| columns.iter().map(move |(_, values)| value(values, row))),
        )
    }

    /// Loads a table for a plan: where there is no other table, rows that count are sorted by unit and keys. Those on which one of
    /// these is missing count for nothing, and are left out.
    pub fn load_for(&mut self, plan: &Plan, table: &str, columns: &[(&str, Values)]) -> Result<(), Error> {
        let [source] = plan.sources.as_slice() else { return self.load(table, columns) };
        let keys = plan.keys.iter().map(|key| &source.columns[key.column.column].0);
        let mut by: Vec<usize> = Vec::new();
        for name in source.unit.iter().chain(keys) {
            by.extend(columns.iter().position(|(known, _)| known == name).filter(|at| !by.contains(at)));
        }
        let coded: Vec<Option<Coded<'_>>> = columns
            .iter()
            .enumerate()
            .map(|(at, (_, values))| match values {
                Values::Texts(texts) if by.contains(&at) => Some(Coded::new(texts)),
                Values::Texts(_) | Values::Numbers(_) => None,
            })
            .collect();
        let by_texts: Vec<&Coded<'_>> = by.iter().filter_map(|at| coded[*at].as_ref()).collect();
        let order = sorted(&by_texts, columns.first().map_or(0, |(_, values)| length(values)));
        let is_taken = |name: &str| columns.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        let mut place = "veracity_place".to_owned();
        while is_taken(&place) {
            place.push('_');
        }
        let names: Vec<String> = by.iter().map(|at| Dialect::Sqlite.identifier(columns[*at].0)).collect();
        let key = format!(", {place} INTEGER, PRIMARY KEY ({}, {place})", names.join(", "));
        let statement = create(table, columns, &key) + " WITHOUT ROWID";
        let cell = |at: usize, row: u32| match &coded[at] {
            Some(coded) => coded.text(row).map_or(NOTHING, |text| ToSqlOutput::Borrowed(text.into())),
            None => value(&columns[at].1, row as usize),
        };
        let cell = &cell;
        let rows = order.iter().enumerate().map(|(place, row)| {
            let place = ToSqlOutput::Owned(Value::Integer(place as i64));
            (0..columns.len()).map(move |at| cell(at, *row)).chain([place])
        });
        self.insert(&statement, table, rows)
    }

    /// Makes a table and fills it, in one transaction.
    fn insert<'a, R>(&mut self, create: &str, table: &str, rows: impl Iterator<Item = R>) -> Result<(), Error>
    where
        R: Iterator<Item = ToSqlOutput<'a>>,
    {
        let transaction = self.connection.transaction().map_err(failed)?;
        transaction.execute_batch(create).map_err(failed)?;
        let table = Dialect::Sqlite.identifier(table);
        let width = transaction.prepare(&format!("SELECT * FROM {table}")).map_err(failed)?.column_count();
        {
            let marks = vec!["?"; width].join(", ");
            let mut insert =
                transaction.prepare(&format!("INSERT INTO {table} VALUES ({marks})")).map_err(failed)?;
            for row in rows {
                insert.execute(rusqlite::params_from_iter(row)).map_err(failed)?;
            }
        }
        transaction.commit().map_err(failed)
    }
}

const NOTHING: ToSqlOutput<'static> = ToSqlOutput::Owned(Value::Null);

/// The statement that makes a table of columns; `key` comes after them.
fn create(table: &str, columns: &[(&str, Values)], key: &str) -> String {
    let quoted = |name: &str| Dialect::Sqlite.identifier(name);
    let declared: Vec<String> = columns
        .iter()
        .map(|(name, values)| match values {
            Values::Numbers(_) => format!("{} REAL", quoted(name)),
            Values::Texts(_) => format!("{} TEXT COLLATE BINARY", quoted(name)),
        })
        .collect();
    format!("CREATE TABLE {} ({}{key})", quoted(table), declared.join(", "))
}

fn length(values: &Values) -> usize {
    match values {
        Values::Numbers(numbers) => numbers.len(),
        Values::Texts(texts) => texts.len(),
    }
}

/// A value without a copy; one that is no number is missing.
fn value(values: &Values, row: usize) -> ToSqlOutput<'_> {
    match values {
        Values::Numbers(numbers) => {
            let number = numbers.get(row).copied().flatten().filter(|x| !x.is_nan());
            ToSqlOutput::Owned(number.map_or(Value::Null, Value::Real))
        }
        Values::Texts(texts) => match texts.get(row).and_then(Option::as_deref) {
            Some(text) => ToSqlOutput::Borrowed(text.into()),
            None => ToSqlOutput::Owned(Value::Null),
        },
    }
}

impl Engine for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn prepare(&mut self, plan: &Plan) -> Result<(), Error> {
        // A table may stand in a query more than once.
        let mut needed: BTreeMap<&str, (&PathBuf, Needed<'_>)> = BTreeMap::new();
        for source in &plan.sources {
            let Place::File(path) = &source.table.place else {
                return Err(Error::invalid(format!(
                    "table {} is in another engine, expected a file for sqlite; name its engine",
                    source.table.name
                )));
            };
            let (_, columns) = needed.entry(&source.table.name).or_insert((path, Needed::new()));
            columns.extend(columns_of(source));
        }
        for (table, (path, columns)) in needed {
            let wanted: Vec<Wanted<'_>> =
                columns.iter().map(|(name, kind)| Wanted { name, kind: *kind }).collect();
            let file = File::at(path, &self.limits)?;
            let read = read_columns(&file, self.form, &wanted, &self.limits)?;
            let named: Vec<(&str, Values)> = columns.keys().copied().zip(read.values).collect();
            self.load_for(plan, table, &named)?;
        }
        Ok(())
    }

    fn run(&mut self, statement: &Statement) -> Result<Vec<Row>, Error> {
        let mut prepared = self.connection.prepare(&statement.sql).map_err(failed)?;
        let mut found = prepared.query([]).map_err(failed)?;
        let mut rows = Vec::new();
        while let Some(row) = found.next().map_err(failed)? {
            let keys = (0..statement.keys).map(|at| row.get(at)).collect::<Result<_, _>>().map_err(failed)?;
            let numbers = statement.keys..statement.keys + statement.numbers;
            let numbers = numbers.map(|at| row.get(at)).collect::<Result<_, _>>().map_err(failed)?;
            rows.push(Row { keys, numbers });
        }
        Ok(rows)
    }
}

/// The columns that a source reads, and as what.
fn columns_of(source: &Source) -> impl Iterator<Item = (&str, Kind)> {
    let units = source.unit.iter().map(|name| (name.as_str(), Kind::Texts));
    let declared = source.columns.iter().map(|(name, column)| {
        let kind = match column {
            Column::Number(_) => Kind::Numbers,
            Column::Text(_) => Kind::Texts,
        };
        (name.as_str(), kind)
    });
    units.chain(declared)
}

/// What SQLite says may hold a value, so that its code alone is told.
fn failed(error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code().map_or("no code".to_owned(), |code| format!("{code:?}"));
    Error::invalid(format!("sqlite does not answer ({code}), expected it to; please report the query"))
}
