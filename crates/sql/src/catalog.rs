//! The catalog: which tables there are, whose rows they hold, and what is public about their columns.
//!
//! ```toml
//! [tables.people]
//! path = "people.csv"
//! person = "id"
//! rows_per_group = 1
//! groups_per_person = 2
//! rows_in_joins = 100
//! [tables.people.columns]
//! hours = { lower = 0, upper = 99 }
//! sex = { keys = ["Male", "Female"] }
//! town = { type = "text" }
//!
//! [tables.regions]
//! path = "regions.csv"
//! public = true
//! [tables.regions.columns]
//! code = { type = "text" }
//! ```
//!
//! What is declared here is public and was not read off the data. A column that is not declared cannot be asked about.

use crate::{Dialect, spread};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use std::{
    collections::{BTreeMap, HashSet},
    path::{Path, PathBuf},
};
use veracity_core::{Count, Error, PrivacyUnit, Refusal};
use veracity_query::Bounds;

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
}

/// One table.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Its name in queries.
    pub name: String,
    /// Where it is.
    pub place: Place,
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
    /// Of nobody: everyone may know them.
    Public,
    /// Of people, or of whatever the unit is.
    Units {
        /// The columns that say whose a row is, together.
        columns: Vec<String>,
        /// What is protected.
        unit: PrivacyUnit,
        /// How much of one unit counts, where a query does not say.
        caps: Caps,
        /// How many rows of one unit are joined to other private tables, where that is declared.
        joined: Option<Count>,
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

/// What is public about a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Column {
    /// Numbers; those outside are moved to the nearest bound, before anything else is done with them.
    Number(Bounds),
    /// Texts; of a public list, or of any.
    Text(Option<Vec<String>>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    tables: BTreeMap<String, WrittenTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTable {
    path: Option<PathBuf>,
    engine: Option<String>,
    url: Option<String>,
    table: Option<String>,
    #[serde(default)]
    public: bool,
    person: Option<OneOrMore>,
    unit: Option<String>,
    rows_per_group: Option<u64>,
    groups_per_person: Option<u64>,
    rows_in_joins: Option<u64>,
    #[serde(default)]
    columns: BTreeMap<String, WrittenColumn>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenColumn {
    lower: Option<f64>,
    upper: Option<f64>,
    keys: Option<Vec<Key>>,
    r#type: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Key {
    Whole(i64),
    Text(String),
}

impl Catalog {
    /// Reads a catalog; paths in it are relative to its folder.
    pub fn open(path: &Path) -> Result<Catalog, Error> {
        let unreadable = |error| Error::unreadable("catalog", path, error);
        if std::fs::metadata(path).map_err(unreadable)?.len() > LONGEST {
            return Err(Error::file("catalog", path, "at most 64 MiB"));
        }
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Catalog::read(&text, folder).map_err(|refusal| Error::damaged(path, refusal))
    }

    /// Reads the text of a catalog; paths in it are relative to `folder`.
    pub fn read(text: &str, folder: &Path) -> Result<Catalog, Refusal> {
        let written: Written = toml::from_str(text).map_err(|error| {
            let line =
                error.span().map_or(0, |span| text[..span.start.min(text.len())].lines().count().max(1));
            Refusal::invalid(format!(
                "catalog is not as expected in line {line} ({})",
                one_line(error.message())
            ))
        })?;
        let mut tables = BTreeMap::new();
        for (name, table) in written.tables {
            check_name("table", &name)?;
            let read = table.read(&name, folder)?;
            tables.insert(name, read);
        }
        if tables.is_empty() {
            return Err(Refusal::invalid("catalog has no tables, expected at least one"));
        }
        check_case("table", tables.keys())?;
        let digest = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Catalog { tables, digest })
    }

    /// The SHA-256 of its text, by which two catalogs are told apart.
    pub fn digest(&self) -> &str {
        &self.digest
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
                table.iter().map(|part| dialect.identifier(part)).collect::<Vec<_>>().join(".")
            }
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

impl WrittenTable {
    fn read(self, name: &str, folder: &Path) -> Result<Table, Refusal> {
        let refuse = |what: &str| Refusal::invalid(format!("table {} {what}", one_line(name)));
        let place = match (self.path, self.engine) {
            (Some(path), None) if self.url.is_none() && self.table.is_none() => {
                // SQLite, which joins files, keeps such names for itself.
                if name.to_ascii_lowercase().starts_with("sqlite_") {
                    return Err(refuse("has a name that begins with sqlite_, expected another"));
                }
                Place::File(folder.join(path))
            }
            (None, Some(engine)) => {
                let table: Vec<String> =
                    self.table.unwrap_or_else(|| name.to_owned()).split('.').map(str::to_owned).collect();
                for part in &table {
                    check_name("table", part)?;
                }
                Place::Engine { engine, url: self.url, table }
            }
            _ => return Err(refuse("is in no place or in two, expected path, or engine with url and table")),
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
            (true, Some(_)) => return Err(refuse("is public and has a person, expected one or the other")),
            (false, None) => {
                return Err(refuse(
                    "has no person, expected the column that says whose a row is, or public = true",
                ));
            }
            (false, Some(person)) => {
                let people = match person {
                    OneOrMore::One(column) => vec![column],
                    OneOrMore::More(columns) => columns,
                };
                let distinct: HashSet<&String> = people.iter().collect();
                if people.is_empty() || people.len() > 8 || distinct.len() < people.len() {
                    return Err(refuse("has an odd person, expected one column, or up to eight that differ"));
                }
                for column in &people {
                    check_name("column", column)?;
                    if columns.contains_key(column) {
                        return Err(refuse(
                            "declares its person among the columns, expected it as person alone",
                        ));
                    }
                }
                check_case("column", columns.keys().chain(&people))?;
                let unit = self.unit.as_deref().unwrap_or(if people.len() == 1 { "person" } else { "unit" });
                let caps = Caps {
                    groups: spread::cap("groups_per_person", self.groups_per_person.unwrap_or(1))?,
                    rows: spread::cap("rows_per_group", self.rows_per_group.unwrap_or(1))?,
                };
                let joined =
                    self.rows_in_joins.map(|number| spread::cap("rows_in_joins", number)).transpose()?;
                RowsOf::Units { columns: people, unit: PrivacyUnit::new(unit)?, caps, joined }
            }
        };
        let numbers = [self.rows_per_group, self.groups_per_person, self.rows_in_joins];
        let has_caps = self.unit.is_some() || numbers.iter().any(Option::is_some);
        if rows_of == RowsOf::Public && has_caps {
            return Err(refuse("is public and has caps, expected them for people alone"));
        }
        Ok(Table { name: name.to_owned(), place, rows_of, columns })
    }
}

impl WrittenColumn {
    fn read(self, name: &str) -> Result<Column, Refusal> {
        let refuse = |what: &str| Refusal::invalid(format!("column {} {what}", one_line(name)));
        match (self.lower, self.upper, self.keys, self.r#type.as_deref()) {
            (Some(lower), Some(upper), None, None | Some("number")) => {
                if !(lower.abs() <= FARTHEST && upper.abs() <= FARTHEST && upper - lower >= 1e-6) {
                    return Err(refuse(
                        "has odd bounds, expected lower < upper within ±1e15, at least 1e-6 apart",
                    ));
                }
                Ok(Column::Number(Bounds::new(lower, upper)?))
            }
            (None, None, Some(keys), None | Some("text")) => {
                let keys: Vec<String> = keys.into_iter().map(Key::text).collect();
                let distinct: HashSet<&String> = keys.iter().collect();
                if keys.is_empty() || keys.len() > MOST_KEYS || distinct.len() < keys.len() {
                    return Err(refuse("has odd keys, expected 1 to 10^5 that differ"));
                }
                if keys.iter().any(|key| {
                    key.contains('\0') || key.len() > 10_000 || key.trim() != key || key.is_empty()
                }) {
                    return Err(refuse(
                        "has a key that is empty, too long or has spaces around it, expected texts",
                    ));
                }
                Ok(Column::Text(Some(keys)))
            }
            (None, None, None, Some("text")) => Ok(Column::Text(None)),
            (None, None, None, Some("number") | None) => {
                Err(refuse("has no bounds, expected lower and upper, or keys, or type = \"text\""))
            }
            (_, _, _, Some(other)) if other != "text" && other != "number" => {
                Err(refuse("has an unknown type, expected text or number"))
            }
            _ => Err(refuse("is declared twice over, expected lower and upper, or keys, or type = \"text\"")),
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

/// A name that can be quoted on every engine.
fn check_name(what: &'static str, name: &str) -> Result<(), Refusal> {
    let fits =
        !name.is_empty() && name.len() <= 63 && !name.contains(|c: char| c.is_control() || c == '\u{feff}');
    if fits {
        Ok(())
    } else {
        Err(Refusal::invalid(format!(
            "{what} has the name {:?}, expected 1 to 63 bytes without control characters",
            one_line(name)
        )))
    }
}

/// Refuses names that differ by case alone: to some engines they are one, and a query would read the wrong one.
fn check_case<'a>(what: &'static str, names: impl Iterator<Item = &'a String>) -> Result<(), Refusal> {
    let mut known = HashSet::new();
    for name in names {
        if !known.insert(name.to_lowercase()) {
            return Err(Refusal::invalid(format!(
                "{what} {} is there twice but for upper and lower case, expected names that differ",
                one_line(name)
            )));
        }
    }
    Ok(())
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(80).collect()
}
