//! The embedded engine: files are read by `records`. There is nothing to install.
//!
//! A query of one table is answered from its columns as they were read; several tables are loaded into SQLite in memory, which
//! joins them.

use super::{
    Engine, Needed,
    cells::Cells,
    columns_of, direct,
    header::{Header, column_in_schema},
};
use crate::{Dialect, Place, Plan, Row, Secret, Statement, Totals, plan::Source, spread};
use rusqlite::{Connection, functions::FunctionFlags, types::ToSqlOutput, types::Value};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use veracity_core::Error;
use veracity_records::{Form, Limits, Source as File, Values, Wanted, read_columns};

/// One table as it is, or SQLite in memory.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    /// The only table of a plan, where it has no other.
    only: Option<Cells>,
    /// How files of text are written.
    form: Form,
    limits: Limits,
}

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
                Ok(spread::key(context.get_raw(0).as_bytes().unwrap_or_default()))
            })
            .map_err(failed)?;
        connection
            .create_scalar_function("veracity_floor", 1, flags, |context| {
                let x: Option<f64> = context.get(0)?;
                Ok(x.map(|x| x.floor() as i64))
            })
            .map_err(failed)?;
        Ok(Sqlite { connection, only: None, form, limits })
    }

    /// Loads a table from columns: one value for each row.
    pub fn load(&mut self, table: &str, columns: &[(&str, Values)]) -> Result<(), Error> {
        let rows = columns.first().map_or(0, |(_, values)| length(values));
        let statement = create(table, columns);
        self.insert(
            &statement,
            table,
            (0..rows).map(|row| columns.iter().map(move |(_, values)| value(values, row))),
        )
    }

    /// Takes a table for a plan: as it is, where there is no other.
    pub fn load_for(&mut self, plan: &Plan, table: &str, columns: Vec<(&str, Values)>) -> Result<(), Error> {
        let [source] = plan.sources.as_slice() else { return self.load(table, &columns) };
        self.only = Cells::new(source, columns);
        match self.only {
            Some(_) => Ok(()),
            None => Err(Error::invalid(format!(
                "table {table} has a column that is both whose rows are and a number, expected two columns"
            ))),
        }
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

/// The statement that makes a table of columns.
fn create(table: &str, columns: &[(&str, Values)]) -> String {
    let quoted = |name: &str| Dialect::Sqlite.identifier(name);
    let declared: Vec<String> = columns
        .iter()
        .map(|(name, values)| match values {
            Values::Numbers(_) => format!("{} REAL", quoted(name)),
            Values::Texts(_) => format!("{} TEXT COLLATE BINARY", quoted(name)),
        })
        .collect();
    format!("CREATE TABLE {} ({})", quoted(table), declared.join(", "))
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
        Values::Texts(texts) => match texts.get(row) {
            Some(text) => ToSqlOutput::Borrowed(text.into()),
            None => ToSqlOutput::Owned(Value::Null),
        },
    }
}

impl Engine for Sqlite {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn check(&mut self, plan: &Plan) -> Result<(), Error> {
        for source in &plan.sources {
            let path = file_of(source)?;
            // Standard input can be read once.
            if path.as_os_str() != "-" {
                self.look_at(path, source)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, plan: &Plan) -> Result<(), Error> {
        // A table may stand in a query more than once.
        let mut needed: BTreeMap<&str, (&PathBuf, Needed<'_>)> = BTreeMap::new();
        for source in &plan.sources {
            let (_, columns) = needed.entry(&source.table.name).or_insert((file_of(source)?, Needed::new()));
            columns.extend(columns_of(source));
        }
        for (table, (path, columns)) in needed {
            let wanted: Vec<Wanted<'_>> =
                columns.iter().map(|(name, kind)| Wanted { name, kind: *kind }).collect();
            let file = File::at(path, &self.limits)?;
            let read = read_columns(&file, self.form, &wanted, &self.limits)?;
            let named: Vec<(&str, Values)> = columns.keys().copied().zip(read.values).collect();
            self.load_for(plan, table, named)?;
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

    fn totals(&mut self, plan: &Plan, secret: &Secret) -> Result<Totals, Error> {
        match &self.only {
            Some(cells) => Ok(direct::totals(plan, cells, secret)),
            None => self.asked(plan, secret),
        }
    }
}

/// What SQLite says may hold a value, so that its code alone is told.
fn failed(error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code().map_or("no code".to_owned(), |code| format!("{code:?}"));
    Error::invalid(format!("sqlite does not answer ({code}), expected it to; please report the query"))
}

impl Sqlite {
    /// Refuses what is no file, and a file whose first line or schema does not have each of the columns once.
    fn look_at(&self, path: &Path, source: &Source) -> Result<(), Error> {
        let about = std::fs::metadata(path).map_err(|error| Error::unreadable("table", path, error))?;
        if !about.is_file() {
            return Err(Error::file("table", path, "a file with rows"));
        }
        // Without a header there are no names to look for.
        if self.form.header != veracity_records::Header::default() {
            return Ok(());
        }
        let mut names = columns_of(source).map(|(name, _)| name);
        match Header::of(path, self.form.delimiter)? {
            Some(header) => names.try_for_each(|name| header.place(path, name).map(drop)),
            None => names.try_for_each(|name| column_in_schema(path, name).map(drop)),
        }
    }
}

/// Where the rows of a source are.
fn file_of(source: &Source) -> Result<&PathBuf, Error> {
    match &source.table.place {
        Place::File(path) => Ok(path),
        _ => Err(Error::invalid(format!(
            "table {} is in another engine, expected a file for sqlite; name its engine",
            source.table.name
        ))),
    }
}
