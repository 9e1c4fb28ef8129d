//! The catalog: which tables there are, whose rows they hold, and what is public about their columns.
//!
//! ```toml
//! [tables.people]
//! path = "people.csv"
//! delimiter = ";"           # by default the header tells
//! decimal = ","             # by default a point
//! encoding = "windows-1252" # by default utf-8
//! person = "id"
//! rows_per_group = 1
//! groups_per_person = 2
//! rows_in_joins = 100
//! [tables.people.columns]
//! hours = { lower = 0, upper = 99 }
//! sex = { keys = ["Male", "Female"] }
//! town = { type = "text" }
//! born = { first = "1900-01-01", last = "2025-12-31" }
//!
//! [tables.regions]
//! path = "regions.csv"
//! public = true
//! [tables.regions.columns]
//! code = { type = "text" }
//! ```
//!
//! What is declared here is public and was not read off the data. A column that is not declared cannot be asked about. A value that is
//! `"FILL IN"` is a place that `starting.rs` left to the person who writes the catalog.

use crate::sql::{
    Dialect,
    calendar::{Unit, day_written},
    spread,
    unfilled::{self, Unfilled},
};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
};
use veracity_core::printable;
use veracity_core::{Count, Error, PrivacyUnit, Refusal};
use veracity_mechanisms::Bounds;
use veracity_tables::{Form, FormParts};

/// The largest catalog.
const LONGEST: u64 = 64 << 20;
/// The most public keys of a column.
const MOST_KEYS: usize = 100_000;
/// The largest magnitude of a bound: sums and products of such numbers are finite floats on every engine.
const FARTHEST: f64 = 1e15;

/// All tables that may be asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Catalog {
    tables: BTreeMap<String, Table>,
    digest: String,
    /// Columns that are not filled in.
    unfilled: Vec<Unfilled>,
}

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name in queries.
    pub name: String,
    /// Where it is.
    pub place: Place,
    /// How its file is written, where it is text.
    pub form: Form,
    /// Whose its rows are.
    pub rows_of: RowsOf,
    /// Its declared columns.
    pub columns: BTreeMap<String, Column>,
}

/// Where a table is.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// In a file.
    File(PathBuf),
    /// In an engine that has it under a name of its own.
    Engine {
        /// Which engine.
        engine: String,
        /// How to reach it, where it has to be reached; the name of an environment variable where it begins with `$`.
        url: Option<String>,
        /// Its name there, one part for each schema.
        table: Vec<String>,
    },
}

/// Whose rows a table has.
#[derive(Debug, Clone, PartialEq)]
pub enum RowsOf {
    /// Public rows.
    Public,
    /// Of people, or of whatever the unit is.
    Units {
        /// The columns that say whose a row is, together.
        columns: Vec<String>,
        /// What is protected.
        unit: PrivacyUnit,
        /// How much of one unit counts, where a query does not say.
        caps: Caps,
        /// Which of the caps the catalog declares. The others are 1.
        declared: DeclaredCaps,
        /// Where one unit is a person's rows of one period: what a period is, and the column of its date.
        period: Option<(Unit, String)>,
        /// How many rows of one unit are joined to other private tables, where that is declared.
        joined: Option<Count>,
        /// The part of ε at which a query chooses the caps that it needs and that are not declared.
        suggest: Option<f64>,
    },
}

/// How much of one unit counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caps {
    /// In how many groups.
    pub groups: Count,
    /// How many rows in each of them.
    pub rows: Count,
}

/// Which caps a catalog declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeclaredCaps {
    /// The number of groups.
    pub groups: bool,
    /// The number of rows in each of them.
    pub rows: bool,
}

/// What is public about a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers; those outside are moved to the nearest bound, before anything else is done with them.
    Number(Bounds),
    /// Texts; of a public list, or of any.
    Text(Option<Vec<String>>),
    /// Dates, as days since 1970-01-01, from a first to a last; those outside are moved to the nearest of the two.
    Date(i64, i64),
}

impl Column {
    /// Between which numbers it is, where it is read as numbers.
    pub(crate) fn range(&self) -> Option<(f64, f64)> {
        match self {
            Column::Number(bounds) => Some((bounds.lower(), bounds.upper())),
            Column::Date(first, last) => Some((*first as f64, *last as f64)),
            Column::Text(_) => None,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CatalogFile {
    tables: BTreeMap<String, TableSection>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableSection {
    path: Option<PathBuf>,
    engine: Option<String>,
    url: Option<String>,
    table: Option<String>,
    delimiter: Option<String>,
    decimal: Option<String>,
    thousands: Option<String>,
    encoding: Option<String>,
    #[serde(default)]
    public: bool,
    person: Option<OneOrMore>,
    unit: Option<String>,
    period: Option<String>,
    date: Option<String>,
    rows_per_group: Option<u64>,
    groups_per_person: Option<u64>,
    rows_in_joins: Option<u64>,
    suggest_caps: Option<f64>,
    #[serde(default)]
    columns: BTreeMap<String, ColumnSection>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ColumnSection {
    lower: Option<f64>,
    upper: Option<f64>,
    keys: Option<Vec<Key>>,
    r#type: Option<String>,
    first: Option<String>,
    last: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Key {
    Whole(i64),
    Text(String),
}

impl Catalog {
    /// Reads a catalog; paths in it are relative to its folder.
    ///
    /// # Errors
    /// Refuses a file that cannot be read, and what [`Catalog::read`] refuses.
    pub fn open(path: &Path) -> Result<Catalog, Error> {
        let unreadable = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => Error::file(
                "catalog",
                path,
                "a file that exists; write one from the header of your data with veracity query and its option init",
            ),
            _ => Error::unreadable("catalog", path, error),
        };
        if std::fs::metadata(path).map_err(unreadable)?.len() > LONGEST {
            return Err(Error::file("catalog", path, "at most 64 MiB"));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Catalog::read(&text, folder).map_err(|refusal| Error::damaged(path, refusal))
    }

    /// Reads the text of a catalog; paths in it are relative to `folder`.
    ///
    /// # Errors
    /// Refuses text that is not a catalog, bounds, keys and caps out of range, and tables that do not agree on whose rows they have.
    pub fn read(text: &str, folder: &Path) -> Result<Catalog, Refusal> {
        let (filled, places) = unfilled::split(text);
        let written: CatalogFile = toml::from_str(&filled).map_err(|error| {
            let before = |at: usize| filled[..at.min(filled.len())].lines().count().max(1);
            let line = error.span().map_or(0, |span| before(span.start));
            Refusal::invalid(format!("invalid catalog, line {line} ({})", one_line(error.message())))
        })?;
        let unfilled = unfilled::columns(places)?;
        let mut tables = BTreeMap::new();
        for (name, table) in written.tables {
            check_name("table", &name)?;
            let read = table.read(&name, folder)?;
            tables.insert(name, read);
        }
        if tables.is_empty() {
            return Err(Refusal::invalid("the catalog declares no tables; add at least one"));
        }
        check_case("table", tables.keys())?;
        check_places(&tables)?;
        Ok(Catalog { tables, digest: digest(text), unfilled })
    }

    /// The SHA-256 of its text, which differs for two catalogs that differ.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Columns that are not filled in.
    pub(crate) fn unfilled(&self) -> &[Unfilled] {
        &self.unfilled
    }

    /// All tables, by name.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.values()
    }
}

impl Table {
    /// What an engine calls it.
    pub(crate) fn name_in(&self, dialect: Dialect) -> String {
        match &self.place {
            Place::File(_) => dialect.identifier(&self.name),
            Place::Engine { table, .. } => {
                // Its sessions look for nothing in a schema that is not named.
                let schema = (dialect == Dialect::Postgres && table.len() == 1).then_some("public");
                let parts = schema.into_iter().chain(table.iter().map(String::as_str));
                parts.map(|part| dialect.identifier(part)).collect::<Vec<_>>().join(".")
            }
        }
    }

    /// Whether two names may be of the same rows.
    fn may_be(&self, other: &Table) -> bool {
        match (&self.place, &other.place) {
            (Place::File(one), Place::File(other)) => is_same_file(one, other),
            (
                Place::Engine { engine, url, table },
                Place::Engine { engine: other_engine, url: other_url, table: other },
            ) => {
                // A name without its schema may be of any, and a table without a url is where the others are.
                let parts = table.iter().rev().zip(other.iter().rev());
                let is_same_url = url.is_none() || other_url.is_none() || url == other_url;
                is_same_url
                    && engine.eq_ignore_ascii_case(other_engine)
                    && parts.into_iter().all(|(one, other)| one.to_lowercase() == other.to_lowercase())
            }
            _ => false,
        }
    }

    /// The columns that say whose a row is; none of a public table.
    pub(crate) fn persons(&self) -> &[String] {
        match &self.rows_of {
            RowsOf::Public => &[],
            RowsOf::Units { columns, .. } => columns,
        }
    }

    /// Whether an engine could take a name for this table.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        match &self.place {
            Place::File(_) => self.name.eq_ignore_ascii_case(name),
            Place::Engine { table, .. } => table.iter().any(|part| part.eq_ignore_ascii_case(name)),
        }
    }
}

impl TableSection {
    fn read(self, name: &str, folder: &Path) -> Result<Table, Refusal> {
        let refuse = |what: &str| Refusal::invalid(format!("table {} {what}", one_line(name)));
        let written = [&self.delimiter, &self.decimal, &self.thousands, &self.encoding];
        let [delimiter, decimal, thousands, encoding] = written.map(Option::as_deref);
        let parts = FormParts::read(delimiter, decimal, thousands, encoding)?;
        if self.engine.is_some() && !parts.is_empty() {
            return Err(refuse(
                "is in an engine and sets delimiter, decimal, thousands or encoding, which are for files; remove them",
            ));
        }
        let form = parts.over(Form::default())?;
        let place = match (self.path, self.engine) {
            (Some(path), None) if self.url.is_none() && self.table.is_none() => {
                // SQLite, which joins files, keeps such names for itself.
                if name.to_ascii_lowercase().starts_with("sqlite_") {
                    return Err(refuse(
                        "has a name that begins with sqlite_, which SQLite reserves; rename it",
                    ));
                }
                // DuckDB takes these for patterns, which could be of another table's file.
                let path = folder.join(path);
                if path.to_string_lossy().contains(['*', '?', '[', ']']) {
                    return Err(refuse(
                        "has a path with one of * ? [ ], which DuckDB reads as a pattern; use a plain path",
                    ));
                }
                Place::File(path)
            }
            (None, Some(engine)) => {
                let table: Vec<String> =
                    self.table.unwrap_or_else(|| name.to_owned()).split('.').map(str::to_owned).collect();
                for part in &table {
                    check_name("table", part)?;
                }
                Place::Engine { engine, url: self.url, table }
            }
            _ => return Err(refuse("must have either path, or engine with url and table")),
        };
        let mut columns = BTreeMap::new();
        for (column, written) in self.columns {
            check_name("column", &column)?;
            columns.insert(column.clone(), written.read(&column)?);
        }
        let rows_of = match (self.public, self.person) {
            (true, None) => {
                check_case("column", columns.keys())?;
                RowsOf::Public
            }
            (true, Some(_)) => return Err(refuse("has both public = true and person; remove one of them")),
            (false, None) => {
                return Err(refuse(
                    "has no privacy ID; add a line such as person = \"patient\", the column that says whose a row is, \
                     or public = true",
                ));
            }
            (false, Some(person)) => {
                let people = match person {
                    OneOrMore::One(column) => vec![column],
                    OneOrMore::More(columns) => columns,
                };
                let distinct: HashSet<&String> = people.iter().collect();
                if people.is_empty() || people.len() > 8 || distinct.len() < people.len() {
                    return Err(refuse("has an invalid person, expected 1 to 8 distinct columns"));
                }
                for column in &people {
                    check_name("column", column)?;
                    if columns.contains_key(column) {
                        return Err(refuse("lists its privacy ID under columns; name it only in person"));
                    }
                }
                check_case("column", columns.keys().chain(&people))?;
                let period = period_of_unit(self.period.as_deref(), self.date.as_deref(), &columns)
                    .map_err(|what| refuse(&what))?;
                let alone = if people.len() == 1 { "person" } else { "unit" };
                let usual = match &period {
                    None => alone.to_owned(),
                    Some((period, _)) => format!("{alone}-{}", period.name()),
                };
                let unit = self.unit.as_deref().unwrap_or(&usual);
                if let Some((period, _)) = &period
                    && !unit.ends_with(&format!("-{}", period.name()))
                {
                    return Err(refuse(&format!(
                        "protects a person in a period, but its unit does not say so; end the unit in -{}",
                        period.name()
                    )));
                }
                let caps = Caps {
                    groups: spread::cap("groups_per_person", self.groups_per_person.unwrap_or(1))?,
                    rows: spread::cap("rows_per_group", self.rows_per_group.unwrap_or(1))?,
                };
                let declared = DeclaredCaps {
                    groups: self.groups_per_person.is_some(),
                    rows: self.rows_per_group.is_some(),
                };
                let joined =
                    self.rows_in_joins.map(|number| spread::cap("rows_in_joins", number)).transpose()?;
                RowsOf::Units {
                    columns: people,
                    unit: PrivacyUnit::new(unit)?,
                    caps,
                    declared,
                    period,
                    joined,
                    suggest: self.suggest_caps,
                }
            }
        };
        let numbers = [self.rows_per_group, self.groups_per_person, self.rows_in_joins];
        let has_caps = self.unit.is_some()
            || self.period.is_some()
            || self.date.is_some()
            || self.suggest_caps.is_some()
            || numbers.iter().any(Option::is_some);
        if rows_of == RowsOf::Public && has_caps {
            return Err(refuse("is public and has caps or a unit; remove them"));
        }
        Ok(Table { name: name.to_owned(), place, form, rows_of, columns })
    }
}

/// The period of a unit, and the column of its date, where they are declared.
fn period_of_unit(
    period: Option<&str>,
    date: Option<&str>,
    columns: &BTreeMap<String, Column>,
) -> Result<Option<(Unit, String)>, String> {
    let (period, date) = match (period, date) {
        (None, None) => return Ok(None),
        (Some(period), Some(date)) => (period, date),
        _ => {
            return Err(
                "has only one of period and date; set both, as in period = \"month\", date = \"visited\""
                    .to_owned(),
            );
        }
    };
    let unit = Unit::of(period)
        .ok_or("has an unknown period, expected \"day\", \"week\", \"month\", \"quarter\" or \"year\"")?;
    match columns.get(date) {
        Some(Column::Date(..)) => Ok(Some((unit, date.to_owned()))),
        _ => {
            Err("has a date that is no column with first and last dates; declare it under columns".to_owned())
        }
    }
}

impl ColumnSection {
    fn read(self, name: &str) -> Result<Column, Refusal> {
        let refuse = |what: &str| Refusal::invalid(format!("column {} {what}", one_line(name)));
        if self.first.is_some() || self.last.is_some() {
            let is_alone = self.lower.is_none() && self.upper.is_none() && self.keys.is_none();
            let (Some(first), Some(last), true, None | Some("date")) =
                (self.first, self.last, is_alone, self.r#type.as_deref())
            else {
                return Err(refuse("has settings that conflict; a column of dates has only first and last"));
            };
            let (first, last) = (day_written(&first)?, day_written(&last)?);
            if first >= last {
                return Err(refuse("has invalid dates, expected first before last"));
            }
            return Ok(Column::Date(first, last));
        }
        match (self.lower, self.upper, self.keys, self.r#type.as_deref()) {
            (Some(lower), Some(upper), None, None | Some("number")) => {
                if !(lower.abs() <= FARTHEST && upper.abs() <= FARTHEST && upper - lower >= 1e-6) {
                    return Err(refuse(
                        "has invalid bounds, expected lower < upper within ±1e15, at least 1e-6 apart",
                    ));
                }
                Ok(Column::Number(Bounds::new(lower, upper)?))
            }
            (None, None, Some(keys), None | Some("text")) => {
                let keys: Vec<String> = keys.into_iter().map(Key::text).collect();
                let distinct: HashSet<&String> = keys.iter().collect();
                if keys.is_empty() || keys.len() > MOST_KEYS || distinct.len() < keys.len() {
                    return Err(refuse("has invalid keys, expected 1 to 100,000 distinct keys"));
                }
                if keys.iter().any(|key| {
                    key.contains('\0') || key.len() > 10_000 || key.trim() != key || key.is_empty()
                }) {
                    return Err(refuse(
                        "has a key that is empty, too long or has spaces around it; correct or remove it",
                    ));
                }
                Ok(Column::Text(Some(keys)))
            }
            (None, None, None, Some("text")) => Ok(Column::Text(None)),
            (None, None, None, Some("number") | None) => {
                Err(refuse("has no bounds; set lower and upper, or keys, or type = \"text\""))
            }
            (_, _, _, Some("date")) => {
                Err(refuse("has no dates; set first and last, such as \"2025-01-01\""))
            }
            (_, _, _, Some(other)) if other != "text" && other != "number" => {
                Err(refuse("has an unknown type, expected \"text\", \"number\" or \"date\""))
            }
            _ => Err(refuse(
                "has settings that conflict; set either lower and upper, or keys, or type = \"text\"",
            )),
        }
    }
}

impl Key {
    fn text(self) -> String {
        match self {
            Key::Whole(number) => number.to_string(),
            Key::Text(text) => text,
        }
    }
}

/// The SHA-256 of a text.
pub(crate) fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name that can be quoted on every engine.
fn check_name(what: &'static str, name: &str) -> Result<(), Refusal> {
    let fits =
        !name.is_empty() && name.len() <= 63 && !name.contains(|c: char| c.is_control() || c == '\u{feff}');
    if fits {
        Ok(())
    } else {
        Err(Refusal::invalid(format!(
            "{what} has the name {:?}, expected a name of 1 to 63 bytes without control characters",
            one_line(name)
        )))
    }
}

/// Refuses two tables of the same rows that do not agree on whose these are: as rows of a public table, or of somebody else, they would
/// tell of a person without being counted as that person's.
fn check_places(tables: &BTreeMap<String, Table>) -> Result<(), Refusal> {
    let all: Vec<&Table> = tables.values().collect();
    for (at, table) in all.iter().enumerate() {
        let differs = |other: &&&Table| other.persons() != table.persons() && other.may_be(table);
        if let Some(other) = all[..at].iter().find(differs) {
            return Err(Refusal::invalid(format!(
                "tables {} and {} may contain the same rows but declare different privacy IDs; set the same \
                 person in both, remove one, or name its schema",
                one_line(&other.name),
                one_line(&table.name)
            )));
        }
    }
    Ok(())
}

/// Whether two paths lead to one file: by links of either kind, too. Of files that are not there, by their paths.
fn is_same_file(one: &Path, other: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let number = |path: &Path| std::fs::metadata(path).ok().map(|about| (about.dev(), about.ino()));
        if let (Some(one), Some(other)) = (number(one), number(other)) {
            return one == other;
        }
    }
    let whole = |path: &Path| std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    // Some file systems do not tell upper from lower case.
    match (whole(one), whole(other)) {
        (Ok(one), Ok(other)) => {
            one.to_string_lossy().to_lowercase() == other.to_string_lossy().to_lowercase()
        }
        _ => one == other,
    }
}

/// Refuses names that differ by case alone: to some engines they are one, and a query would read the wrong one.
fn check_case<'a>(what: &'static str, names: impl Iterator<Item = &'a String>) -> Result<(), Refusal> {
    let mut known = HashSet::new();
    for name in names {
        if !known.insert(name.to_lowercase()) {
            return Err(Refusal::invalid(format!(
                "{what} {} is declared twice with different upper and lower case; rename one",
                one_line(name)
            )));
        }
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    printable(text, 80)
}
