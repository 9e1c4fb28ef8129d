//! The embedded engine: files are read by `records`. There is nothing to install.
//!
//! A query of one table is answered from its rows, which are read part by part; several tables are loaded into SQLite in memory, which
//! joins them.

use super::{
    Engine, Needed, columns_of, direct,
    gathered::{Gathered, Gatherer, Shelved},
    header::{Header, column_in_schema},
};
use crate::sql::{
    Dialect, Place, Plan, Row, Secret, Sizes, Statement, Totals, calendar::day_of, compile_sizes, pattern,
    plan::Source, spread,
};
use rusqlite::{Connection, functions::FunctionFlags, types::ToSqlOutput, types::Value};
use std::{
    collections::BTreeMap,
    num::NonZero,
    path::{Path, PathBuf},
    thread,
};
use veracity_core::Error;
use veracity_tables::{Form, Limits, Part, Source as File, Values, Wanted, read_columns, read_parts};

/// So few rows are left to one CPU.
const FEW: usize = 1 << 14;

/// One table as it is, or SQLite in memory.
#[derive(Debug)]
pub struct Sqlite {
    connection: Connection,
    /// The only table of a plan, where it has no other: once for each grouping.
    only: Vec<Gathered>,
    /// How many CPUs take part; by default all.
    cores: Option<NonZero<usize>>,
    limits: Limits,
}

impl Sqlite {
    /// An empty one.
    ///
    /// # Errors
    /// Returns the error of SQLite.
    pub fn open(limits: Limits) -> Result<Sqlite, Error> {
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
        connection
            .create_scalar_function("veracity_like", 2, flags, |context| {
                let (text, pattern): (Option<String>, String) = (context.get(0)?, context.get(1)?);
                Ok(text.map(|text| pattern::fits(&text, &pattern)))
            })
            .map_err(failed)?;
        connection
            .create_scalar_function("veracity_days", 1, flags, |context| {
                let cell: Option<String> = context.get(0)?;
                Ok(cell.and_then(|cell| day_of(&cell)).map(|day| day as f64))
            })
            .map_err(failed)?;
        Ok(Sqlite { connection, only: Vec::new(), cores: None, limits })
    }

    /// Loads a table from columns: one value for each row.
    ///
    /// # Errors
    /// Returns the error of SQLite.
    pub fn load(&mut self, table: &str, columns: &[(&str, Values)]) -> Result<(), Error> {
        let rows = columns.first().map_or(0, |(_, values)| length(values));
        let statement = create(table, columns);
        self.insert(
            &statement,
            table,
            (0..rows).map(|row| columns.iter().map(move |(_, values)| value(values, row))),
        )
    }

    /// Takes the only table of a plan in parts: each has the declared columns as values, and those of the unit as keys, in the order
    /// of the plan.
    ///
    /// # Errors
    /// Refuses parts that lack a column, and a plan of several tables.
    pub fn load_parts(&mut self, plan: &Plan, parts: Vec<Part>) -> Result<(), Error> {
        let source = match plan.sources.as_slice() {
            [source] if source.per_unit.is_none() => source,
            _ => {
                let message =
                    "internal error: a join or a subquery is loaded in parts; please report the query";
                return Err(Error::invalid(message));
            }
        };
        let gatherers = Gatherers::new(plan, source);
        let parts = parts.into_iter().map(|part| gatherers.gather(part)).collect();
        self.only = gatherers.finish(parts)?;
        Ok(())
    }

    /// Sets how many CPUs take part. By default, all do where there are many rows.
    pub fn set_cores(&mut self, cores: NonZero<usize>) {
        self.cores = Some(cores);
    }

    /// Reads the only table of a plan, part by part.
    fn read_only(&mut self, plan: &Plan, source: &Source) -> Result<(), Error> {
        let gatherers = Gatherers::new(plan, source);
        let file = File::at(file_of(source)?, &self.limits)?;
        let declared = columns_of(source).skip(source.unit.len());
        let wanted: Vec<Wanted<'_>> = declared.map(|(name, kind)| Wanted { name, kind }).collect();
        let names: Vec<&str> = source.unit.iter().map(String::as_str).collect();
        let parts = read_parts(&file, source.table.form, &wanted, &names, &self.limits, |part| {
            gatherers.gather(part)
        })?;
        self.only = gatherers.finish(parts)?;
        Ok(())
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

/// Gathers the rows of one table for each grouping of a plan. The parts of the table are read once.
struct Gatherers<'a> {
    source: &'a Source,
    each: Vec<Gatherer<'a>>,
}

impl<'a> Gatherers<'a> {
    fn new(plan: &'a Plan, source: &'a Source) -> Gatherers<'a> {
        Gatherers { source, each: plan.groupings().map(|plan| Gatherer::new(plan, source)).collect() }
    }

    /// The rows of a part that count, for each grouping; nothing where a column is missing.
    fn gather(&self, part: Part) -> Option<Vec<Shelved>> {
        let (last, others) = self.each.split_last()?;
        let mut gathered: Vec<Shelved> =
            others.iter().map(|one| one.gather(part.clone())).collect::<Option<_>>()?;
        gathered.push(last.gather(part)?);
        Some(gathered)
    }

    /// All parts, for each grouping.
    fn finish(self, parts: Vec<Option<Vec<Shelved>>>) -> Result<Vec<Gathered>, Error> {
        let mut of_each: Vec<Vec<Shelved>> = self.each.iter().map(|_| Vec::new()).collect();
        for part in parts {
            let part = part.ok_or_else(|| lacks_column(self.source))?;
            of_each.iter_mut().zip(part).for_each(|(parts, part)| parts.push(part));
        }
        Ok(self.each.into_iter().zip(of_each).map(|(gatherer, parts)| gatherer.finish(parts)).collect())
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
    format!("DROP TABLE IF EXISTS {0}; CREATE TABLE {0} ({1})", quoted(table), declared.join(", "))
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
                look_at(path, source)?;
            }
        }
        Ok(())
    }

    fn load(&mut self, plan: &Plan) -> Result<(), Error> {
        if let [source] = plan.sources.as_slice()
            && source.per_unit.is_none()
        {
            return self.read_only(plan, source);
        }
        // A table may stand in a query more than once.
        let mut needed: BTreeMap<&str, (&PathBuf, Form, Needed<'_>)> = BTreeMap::new();
        for source in &plan.sources {
            let table = &source.table;
            let (_, _, columns) =
                needed.entry(&table.name).or_insert((file_of(source)?, table.form, Needed::new()));
            columns.extend(columns_of(source));
        }
        for (table, (path, form, columns)) in needed {
            let wanted: Vec<Wanted<'_>> =
                columns.iter().map(|(name, kind)| Wanted { name, kind: *kind }).collect();
            let file = File::at(path, &self.limits)?;
            let read = read_columns(&file, form, &wanted, &self.limits)?;
            let named: Vec<(&str, Values)> = columns.keys().copied().zip(read.values).collect();
            Sqlite::load(self, table, &named)?;
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

    fn sizes(&mut self, plan: &Plan) -> Result<Sizes, Error> {
        match self.only.first() {
            Some(gathered) => Ok(direct::sizes(gathered)),
            None => {
                let statements = compile_sizes(plan, Dialect::Sqlite, &[])?;
                let all =
                    statements.iter().map(|statement| self.run(statement)).collect::<Result<Vec<_>, _>>()?;
                Ok(Sizes::of(&all)?)
            }
        }
    }

    fn totals(&mut self, plan: &Plan, secret: &Secret) -> Result<Totals, Error> {
        if self.only.is_empty() {
            return self.asked(plan, secret);
        }
        let mut each = plan
            .groupings()
            .zip(&self.only)
            .map(|(plan, gathered)| direct::totals(plan, gathered, secret, self.cores_for(gathered.rows())));
        let first = each.next().unwrap_or_default();
        Ok(Totals { others: each.collect(), ..first })
    }
}

fn lacks_column(source: &Source) -> Error {
    let name = &source.table.name;
    Error::invalid(format!(
        "internal error: table {name} was read without one of its columns; please report it"
    ))
}

/// Reports the code alone, because the message of SQLite may hold a value.
fn failed(error: rusqlite::Error) -> Error {
    let code = error.sqlite_error_code().map_or("no code".to_owned(), |code| format!("{code:?}"));
    Error::invalid(format!("internal error: SQLite rejected the generated query ({code}); please report it"))
}

impl Sqlite {
    fn cores_for(&self, rows: usize) -> usize {
        // To start a thread costs as much as some thousand rows.
        let usual = if rows < FEW { 1 } else { thread::available_parallelism().map_or(1, NonZero::get) };
        self.cores.map_or(usual, NonZero::get)
    }
}

/// Refuses what is no file, and a file whose first line or schema does not have each of the columns once.
fn look_at(path: &Path, source: &Source) -> Result<(), Error> {
    let about = std::fs::metadata(path).map_err(|error| Error::unreadable("table", path, error))?;
    if !about.is_file() {
        return Err(Error::file("table", path, "a file, not a directory"));
    }
    let mut names = columns_of(source).map(|(name, _)| name);
    match Header::of(path, source.table.form)? {
        Some(header) => names.try_for_each(|name| header.place(path, name).map(drop)),
        None => names.try_for_each(|name| column_in_schema(path, name).map(drop)),
    }
}

/// Where the rows of a source are.
fn file_of(source: &Source) -> Result<&PathBuf, Error> {
    match &source.table.place {
        Place::File(path) => Ok(path),
        _ => Err(Error::invalid(format!("table {} is not a file; choose its engine", source.table.name))),
    }
}
