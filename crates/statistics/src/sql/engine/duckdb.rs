//! DuckDB by its own program, `duckdb`: for files that are larger than memory, and for its databases.
//!
//! The program is started once for each statement, reads it on its standard input and prints JSON. Where it is not on the path, the
//! environment variable `VERACITY_DUCKDB` says where it is. From Python a connection is asked instead.

use super::{
    Engine, Needed, columns_of,
    header::{Header, column_in_schema},
    must_read_forms,
};
use crate::sql::{Dialect, Place, Plan, Row, Source, Statement, dialect::SHADOWS};
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use veracity_core::Error;
use veracity_core::printable;
use veracity_tables::{Form, Kind, Limits, Source as File, check_lines};

/// The environment variable that says where the program is.
const PROGRAM: &str = "VERACITY_DUCKDB";

/// The program, and what it must know before a statement.
#[derive(Debug)]
pub struct DuckDb {
    program: String,
    /// A database file; none for files of tables.
    database: Option<String>,
    /// Views of files.
    views: String,
    whole_units: Vec<bool>,
}

/// Types that hold integers, each written in one way.
const WHOLE: [&str; 8] =
    ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"];

impl DuckDb {
    /// The program on the path, or where the environment says.
    pub fn new() -> DuckDb {
        let program = std::env::var(PROGRAM).unwrap_or_else(|_| "duckdb".to_owned());
        DuckDb { program, database: None, views: String::new(), whole_units: Vec::new() }
    }

    /// Refuses a program that does not answer: an answer that is missing must not pass for one without rows.
    fn must_answer(&self) -> Result<(), Error> {
        match self.script("SELECT 42 AS veracity")? {
            found if found == json!([{ "veracity": 42 }]) => Ok(()),
            _ => Err(Error::invalid(format!(
                "the duckdb program does not answer a test query; put it on the PATH, or set {PROGRAM} to \
                 its path"
            ))),
        }
    }

    /// Refuses a database whose functions stand in for built-ins: a sum would not be what the claim says. Each statement fails then, too.
    fn must_have_built_ins(&self) -> Result<(), Error> {
        let found = self.script(SHADOWS)?;
        let Some(first) = found.as_array().ok_or_else(failed)?.first() else { return Ok(()) };
        let name = first.get("name").and_then(Value::as_str).unwrap_or_default();
        let name = printable(name, 40);
        Err(Error::invalid(format!(
            "the DuckDB database overrides the built-in function {name}; drop or rename it"
        )))
    }

    /// Which columns of the unit hold integers in every table that has them, by what is public: the types of columns.
    fn find_whole_units(&self, plan: &Plan) -> Result<Vec<bool>, Error> {
        let of_persons: Vec<&Source> = plan.sources.iter().filter(|source| !source.unit.is_empty()).collect();
        let is_text =
            |source: &&Source| matches!(&source.table.place, Place::File(path) if !is_parquet(path));
        if of_persons.iter().any(is_text) {
            return Ok(Vec::new());
        }
        let mut whole = vec![true; plan.sources[0].unit.len()];
        for source in of_persons {
            let units: Vec<String> =
                source.unit.iter().map(|unit| Dialect::DuckDb.identifier(unit)).collect();
            let (units, table) = (units.join(", "), source.table.name_in(Dialect::DuckDb));
            let found =
                self.script(&format!("SELECT column_type FROM (DESCRIBE SELECT {units} FROM {table})"))?;
            let types = found.as_array().ok_or_else(failed)?;
            for (whole, row) in whole.iter_mut().zip(types) {
                *whole &=
                    row.get("column_type").and_then(Value::as_str).is_some_and(|kind| WHOLE.contains(&kind));
            }
        }
        Ok(whole)
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
                        "cannot start duckdb; put it on the PATH, or set {PROGRAM} to its path"
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
        // It prints nothing where there are no rows.
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
    Error::invalid("DuckDB query failed; check that the tables and columns match the catalog")
}

/// Whether a file is Parquet, by its ending.
fn is_parquet(path: &Path) -> bool {
    let name = path.to_string_lossy().to_lowercase();
    name.ends_with(".parquet") || name.ends_with(".pq")
}

/// What is no part of a cell before and after it: white space, as Unicode has it.
const BLANKS: &str = "\t\n\u{b}\u{c}\r \u{85}\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\u{2005}\u{2006}\u{2007}\
                      \u{2008}\u{2009}\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}";

/// A cell of a file of text, as the reader of files has it: without blanks, missing where nothing is left; a number without the
/// underscores that DuckDB would allow.
fn cell(column: &str, kind: Kind) -> String {
    let text = format!("NULLIF(TRIM({column}, {}), '')", Dialect::DuckDb.text(BLANKS));
    match kind {
        Kind::Numbers => format!("CASE WHEN NOT contains({column}, '_') THEN {text} END"),
        _ => text,
    }
}

/// How DuckDB reads the columns of a file as a table.
fn reader(path: &Path, needed: &Needed<'_>, form: Form) -> Result<String, Error> {
    let text = path.to_str().ok_or_else(|| Error::file("table", path, "a path in UTF-8"))?;
    let quoted = Dialect::DuckDb.text(text);
    let name = text.to_lowercase();
    let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    if is_parquet(path) {
        let names = |name: &&str| {
            let found = column_in_schema(path, name)?;
            let quoted =
                [found.as_deref().unwrap_or(name), name].map(|name| Dialect::DuckDb.identifier(name));
            Ok(format!("{} AS {}", quoted[0], quoted[1]))
        };
        let columns = needed.keys().map(names).collect::<Result<Vec<String>, Error>>()?.join(", ");
        Ok(format!("SELECT {columns} FROM read_parquet({quoted})"))
    } else if ends(&[".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".csv.zst"]) {
        // Cells stay texts until they are read as what the catalog says. Nothing of the form is guessed, since a guess rests on rows and
        // one row would move it; and none fails: one that is too short or too long, a quote that never closes, a line within quotes (for
        // which one thread must read them all), a cell of some megabytes (of more than 64, one does).
        let Some(header) = Header::of(path, form)?.filter(|header| !header.is_below_blanks) else {
            return Err(Error::file("table", path, "a header in its first line, in UTF-8"));
        };
        // By their places: names may be empty, or the same to DuckDB.
        let columns: Vec<String> = (0..header.names.len()).map(|at| format!("'v{at}': 'VARCHAR'")).collect();
        let delimiter = Dialect::DuckDb.text(&header.delimiter.to_string());
        let cells = needed.iter().map(|(name, kind)| {
            let column = format!("v{}", header.place(path, name)?);
            Ok(format!("{} AS {}", cell(&column, *kind), Dialect::DuckDb.identifier(name)))
        });
        let cells = cells.collect::<Result<Vec<String>, Error>>()?.join(", ");
        Ok(format!(
            "SELECT {cells} FROM read_csv({quoted}, columns = {{{}}}, auto_detect = false, delim = {delimiter}, quote = '\"', escape = '\"', comment = '', \
             skip = 0, header = true, null_padding = true, ignore_errors = true, strict_mode = false, parallel = false, \
             max_line_size = 67108864)",
            columns.join(", ")
        ))
    } else {
        Err(Error::file("table", path, "a file for DuckDB that ends in .csv, .tsv, .txt or .parquet"))
    }
}

impl Engine for DuckDb {
    fn dialect(&self) -> Dialect {
        Dialect::DuckDb
    }

    fn check(&mut self, plan: &Plan) -> Result<(), Error> {
        must_read_forms(plan, "DuckDB")?;
        // A table may stand in a query more than once, each time with other columns.
        let mut needed: BTreeMap<&str, Needed<'_>> = BTreeMap::new();
        for source in &plan.sources {
            needed.entry(&source.table.name).or_default().extend(columns_of(source));
        }
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
                    let name = source.table.name.as_str();
                    views.insert(name, reader(&path, &needed[name], source.table.form)?);
                }
                Place::Engine { engine, url, .. } if engine == "duckdb" => databases.extend(url.as_deref()),
                Place::Engine { .. } => {
                    return Err(Error::invalid(format!(
                        "table {} is in another engine; DuckDB reads files and its own databases",
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
                return Err(Error::invalid("no such DuckDB database; set url in the catalog to its file"));
            }
            _ => {
                return Err(Error::invalid(
                    "query joins tables from several places; use one database, or only files",
                ));
            }
        }
        let view = |(name, reader): (&&str, &String)| {
            format!("CREATE VIEW {} AS {reader};\n", Dialect::DuckDb.identifier(name))
        };
        self.must_answer()?;
        self.must_have_built_ins()?;
        self.views = views.iter().map(view).collect();
        self.whole_units = self.find_whole_units(plan)?;
        Ok(())
    }

    /// Looks through files of text first: what DuckDB makes of a quote that does not close would let one row swallow others.
    fn load(&mut self, plan: &Plan) -> Result<(), Error> {
        let limits = Limits { bytes: u64::MAX, rows: u32::MAX as usize, ..Limits::default() };
        let mut paths: Vec<&PathBuf> = Vec::new();
        for source in &plan.sources {
            if let Place::File(path) = &source.table.place
                && !is_parquet(path)
                && !paths.contains(&path)
            {
                check_lines(&File::at(path, &limits)?, source.table.form, &limits)?;
                paths.push(path);
            }
        }
        Ok(())
    }

    fn whole_units(&self) -> &[bool] {
        &self.whole_units
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
        // Without keys there is one group, whatever the rows are.
        if statement.keys == 0 && statement.is_of_sums && rows.len() != 1 {
            return Err(failed());
        }
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
