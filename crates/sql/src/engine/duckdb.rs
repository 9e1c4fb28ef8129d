//! DuckDB by its own program, `duckdb`: for files that are larger than memory, and for its databases.
//!
//! The program is started once for each statement, reads it on its standard input and prints JSON. Where it is not on the path, the
//! environment variable `VERACITY_DUCKDB` says where it is. From Python a connection is asked instead.

use super::Engine;
use crate::{Dialect, Place, Plan, Row, Statement};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::{Command, Stdio},
};
use veracity_core::Error;

/// The environment variable that says where the program is.
const PROGRAM: &str = "VERACITY_DUCKDB";

/// How far the header of a file is read.
const LONGEST_HEADER: u64 = 1 << 20;

/// The program, and what it must know before a statement.
#[derive(Debug)]
pub struct DuckDb {
    program: String,
    /// A database file; none for files of tables.
    database: Option<String>,
    /// Views of files.
    views: String,
}

impl DuckDb {
    /// The program on the path, or where the environment says.
    pub fn new() -> DuckDb {
        let program = std::env::var(PROGRAM).unwrap_or_else(|_| "duckdb".to_owned());
        DuckDb { program, database: None, views: String::new() }
    }

    /// What the program prints of a script, as JSON.
    fn script(&self, script: &str) -> Result<Value, Error> {
        let mut command = Command::new(&self.program);
        // No start-up file of anyone's may change what a statement means.
        command.args(["-init", "/dev/null", "-batch", "-bail", "-json"]);
        match &self.database {
            Some(database) => command.args(["-readonly", database]),
            None => command.arg(":memory:"),
        };
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(
                |_| {
                    Error::invalid(format!(
                        "duckdb cannot be started, expected its program on the path, or in {PROGRAM}"
                    ))
                },
            )?;
        let mut input = child.stdin.take().ok_or_else(failed)?;
        let script = format!("SET enable_progress_bar = false;\n{}{script};\n", self.views);
        // A program that ends early closes its input; how it ended says why.
        let writer = std::thread::spawn(move || input.write_all(script.as_bytes()));
        let output = child.wait_with_output().map_err(|_| failed())?;
        let written = writer.join().is_ok_and(|written| written.is_ok());
        if !written || !output.status.success() {
            return Err(failed());
        }
        let text = String::from_utf8(output.stdout).map_err(|_| failed())?;
        if text.trim().is_empty() {
            return Ok(Value::Array(Vec::new()));
        }
        serde_json::from_str(&text).map_err(|_| failed())
    }
}

impl Default for DuckDb {
    fn default() -> DuckDb {
        DuckDb::new()
    }
}

/// What it says of a failure may hold data.
fn failed() -> Error {
    Error::invalid("duckdb does not answer, expected tables and columns as the catalog has them")
}

/// How DuckDB reads a file as a table.
fn reader(path: &Path) -> Result<String, Error> {
    let text = path.to_str().ok_or_else(|| Error::file("table", path, "a path in UTF-8"))?;
    let quoted = Dialect::DuckDb.text(text);
    let name = text.to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if ends(&[".parquet", ".pq"]) {
        Ok(format!("read_parquet({quoted})"))
    } else if ends(&[".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".csv.zst"]) {
        // Cells stay texts until they are read as what the catalog says; a row that is too short or too long fails nothing. Nothing
        // of the form is guessed: a guess rests on rows, and one row would move it.
        let delimiter = match delimiter(path, ends(&[".gz", ".zst"]), ends(&[".tsv.gz"]))? {
            '\t' => "'\t'".to_owned(),
            other => format!("'{other}'"),
        };
        Ok(format!(
            "read_csv({quoted}, delim = {delimiter}, quote = '\"', escape = '\"', comment = '', skip = 0, header = true, \
             all_varchar = true, null_padding = true, ignore_errors = true, strict_mode = false)"
        ))
    } else {
        Err(Error::file("table", path, "a CSV or Parquet file for duckdb, by its ending"))
    }
}

/// What is between cells, by the header: a tab if it has one, else a comma, else a semicolon. A file that is packed has commas, or
/// tabs if it says so.
fn delimiter(path: &Path, is_packed: bool, has_tabs: bool) -> Result<char, Error> {
    if is_packed {
        return Ok(if has_tabs { '\t' } else { ',' });
    }
    let unreadable = |error| Error::unreadable("table", path, error);
    let mut header = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let mut start = BufReader::new(file.take(LONGEST_HEADER));
    start.read_until(b'\n', &mut header).map_err(unreadable)?;
    let found = ['\t', ',', ';'].into_iter().find(|one| header.contains(&(*one as u8)));
    Ok(found.unwrap_or(','))
}

impl Engine for DuckDb {
    fn dialect(&self) -> Dialect {
        Dialect::DuckDb
    }

    fn prepare(&mut self, plan: &Plan) -> Result<(), Error> {
        let mut views: BTreeMap<&str, String> = BTreeMap::new();
        let mut databases: Vec<&str> = Vec::new();
        for source in &plan.sources {
            match &source.table.place {
                Place::File(path) => {
                    let path =
                        std::path::absolute(path).map_err(|error| Error::unreadable("table", path, error))?;
                    if !path.is_file() {
                        return Err(Error::file("table", &path, "a readable file"));
                    }
                    views.insert(&source.table.name, reader(&path)?);
                }
                Place::Engine { engine, url, .. } if engine == "duckdb" => databases.extend(url.as_deref()),
                Place::Engine { .. } => {
                    return Err(Error::invalid(format!(
                        "table {} is in another engine, expected a file or a database of duckdb",
                        source.table.name
                    )));
                }
            }
        }
        databases.dedup();
        match (databases.as_slice(), views.is_empty()) {
            ([], _) => {}
            ([database], true) if Path::new(database).is_file() => {
                self.database = Some((*database).to_owned())
            }
            ([_], true) => {
                return Err(Error::invalid("database of duckdb is not there, expected url to be its file"));
            }
            _ => {
                return Err(Error::invalid(
                    "query joins tables of several places, expected one database or files",
                ));
            }
        }
        let view = |(name, reader): (&&str, &String)| {
            format!("CREATE VIEW {} AS SELECT * FROM {reader};\n", Dialect::DuckDb.identifier(name))
        };
        self.views = views.iter().map(view).collect();
        Ok(())
    }

    fn run(&mut self, statement: &Statement) -> Result<Vec<Row>, Error> {
        // Names that cannot be lost: JSON has columns by name.
        let width = statement.keys + statement.numbers;
        let names: Vec<String> = (0..width).map(|at| format!("x{at}")).collect();
        let texts: Vec<String> =
            names.iter().map(|name| format!("CAST({name} AS VARCHAR) AS {name}")).collect();
        let script =
            format!("SELECT {} FROM ({}) AS answered({})", texts.join(", "), statement.sql, names.join(", "));
        let found = self.script(&script)?;
        let rows = found.as_array().ok_or_else(failed)?;
        rows.iter().map(|row| read(row, &names, statement.keys).ok_or_else(failed)).collect()
    }
}

fn read(row: &Value, names: &[String], keys: usize) -> Option<Row> {
    let text = |name: &String| row.get(name)?.as_str();
    let texts: Vec<String> =
        names[..keys].iter().map(|name| text(name).map(str::to_owned)).collect::<Option<_>>()?;
    let numbers = names[keys..].iter().map(|name| text(name)?.parse().ok()).collect::<Option<_>>()?;
    Some(Row { keys: texts, numbers })
}
