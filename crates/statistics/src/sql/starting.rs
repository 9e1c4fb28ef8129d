//! A catalog to begin with, from the header of a file: what only a person can know is left to fill in.
//!
//! The header is public by convention, and no row is read. So the decimal sign, and the encoding of a header in plain ASCII, are guesses that the
//! catalog marks as such.

use crate::sql::{parse::parse, unfilled::FILL_IN};
use std::{
    collections::HashMap,
    path::{Path, PathBuf},
};
use veracity_core::{Error, printable};
use veracity_tables::{Encoding, HeaderLine, Limits, Outline, Source, header_line, outline};

/// The beginning of the name of a table where the name of the file is no word.
const PREFIX: &str = "data_";
/// The longest name of a table or column in a catalog, in bytes.
const LONGEST_NAME: usize = 63;

/// The text of a catalog for a file, to be written to `catalog`: paths in a catalog are relative to its folder.
///
/// # Errors
/// Refuses a file that cannot be read or has no named columns, and a path that a catalog cannot have.
pub fn starting_catalog(file: &Path, catalog: &Path) -> Result<String, Error> {
    let limits = Limits::default();
    let source = Source::File(file.to_owned());
    let (names, form) = match outline(&source, &limits) {
        Ok(Outline::Parquet(names)) => (names, String::new()),
        Ok(Outline::Npy | Outline::Npz(_) | Outline::Idx) => {
            return Err(Error::file("table", file, "CSV, TSV or Parquet, whose columns have names"));
        }
        // A text may be in another encoding than UTF-8.
        Ok(Outline::Text(_)) | Err(_) => {
            let header = header_line(&source, &limits)?;
            let form = form_lines(&header);
            (header.names, form)
        }
    };
    let path = path_in_catalog(file, catalog)?;
    let table = key(&table_name(file));
    let shown = printable(&file.file_name().unwrap_or_default().to_string_lossy(), 80);
    Ok(format!(
        "# The catalog of {shown} for `veracity query`. It was written from the header alone: no row was read.\n\
         #\n\
         # Fill in each \"{FILL_IN}\", and delete the lines of columns that you do not need. Write what you know without the\n\
         # rows: from the form, the tariff or the code book. A bound or a list that is computed from the rows reveals\n\
         # something about the people in them, and no claim covers that.\n\
         \n\
         [tables.{table}]\n\
         path = {}\n\
         {form}\n\
         # The column that says whose a row is, such as a patient number. All rows with the same value are one person,\n\
         # whom the answers protect. For a public table, write public = true in place of the settings up to the columns.\n\
         person = \"{FILL_IN}\"\n\
         # How many rows of one person count in each group of a query, such as 5. Noise grows with it, and rows above it\n\
         # are left out. Take the number of rows that a usual person has.\n\
         rows_per_group = \"{FILL_IN}\"\n\
         # In how many groups of a query one person counts, such as 2. Noise grows with it, too.\n\
         groups_per_person = \"{FILL_IN}\"\n\
         \n\
         # Each column is one of three:\n\
         #   numbers within bounds:      {{ lower = 0, upper = 2000 }}\n\
         #   strings of a public list:   {{ keys = [\"female\", \"male\"] }}\n\
         #   other strings:              {{ type = \"text\" }}\n\
         # The line of the person column may stay as it is. A query of another column that is not filled in is refused.\n\
         [tables.{table}.columns]\n\
         {}",
        quoted(&path),
        column_lines(&names)
    ))
}

/// How the file is written, as far as its header says.
fn form_lines(header: &HeaderLine) -> String {
    let semicolon = header.delimiter == b';';
    let delimiter = match header.delimiter {
        b'\t' => "tab".to_owned(),
        other => char::from(other).to_string(),
    };
    let (decimal, why) = match semicolon {
        true => (",", "a guess, because the delimiter is a semicolon"),
        false => (".", "a guess"),
    };
    let (encoding, whence) = match header.encoding {
        Some(Encoding::Utf8) => ("utf-8", "the header is UTF-8"),
        Some(other) => (other.name(), "a guess, because the header is not UTF-8"),
        // Files with semicolons come from places where names have letters outside of ASCII.
        None if semicolon => (FILL_IN, "utf-8 or windows-1252: the header is plain ASCII and does not say"),
        None => ("utf-8", "a guess, because the header is plain ASCII"),
    };
    format!(
        "\n# How the file is written. Cells do not decide it, because they are private. So check the guesses: with the wrong\n\
         # decimal sign or encoding, cells cannot be read and are missing in the answers.\n\
         delimiter = {}  # in the header\n\
         decimal = {}  # {why}\n\
         encoding = {}  # {whence}\n",
        quoted(&delimiter),
        quoted(decimal),
        quoted(encoding)
    )
}

/// A line for each column; those that a catalog cannot name are comments that say why.
fn column_lines(names: &[String]) -> String {
    let mut count: HashMap<String, usize> = HashMap::new();
    names.iter().for_each(|name| *count.entry(name.to_lowercase()).or_default() += 1);
    let line = |(at, name): (usize, &String)| {
        let why = if name.is_empty() {
            Some("has no name")
        } else if count[&name.to_lowercase()] > 1 {
            Some("has the name of another column, up to upper and lower case")
        } else if name.len() > LONGEST_NAME || name.contains(|c: char| c.is_control() || c == '\u{feff}') {
            Some("has a name with more than 63 bytes or with control characters")
        } else {
            None
        };
        match why {
            None => format!("{} = \"{FILL_IN}\"\n", quoted(name)),
            Some(why) => {
                format!(
                    "# Left out: column {} {why}; rename it in the file. {}\n",
                    at + 1,
                    printable(name, 60)
                )
            }
        }
    };
    names.iter().enumerate().map(line).collect()
}

/// The path of the data as the catalog has it.
fn path_in_catalog(file: &Path, catalog: &Path) -> Result<String, Error> {
    let folder = catalog.parent().unwrap_or(Path::new(""));
    let path: PathBuf = if file.is_absolute() || folder == Path::new("") {
        file.to_owned()
    } else {
        let cannot = |error| Error::cannot("find", "table", file, error);
        let whole = std::fs::canonicalize(file).map_err(cannot)?;
        match std::fs::canonicalize(folder)
            .ok()
            .and_then(|folder| Some(whole.strip_prefix(folder).ok()?.to_owned()))
        {
            Some(inside) => inside,
            None => whole,
        }
    };
    let text = path.to_str().ok_or_else(|| Error::file("table", file, "a path in UTF-8"))?;
    if text.contains(['*', '?', '[', ']']) || text.contains(char::is_control) {
        return Err(Error::file("table", file, "a path without * ? [ ] and control characters; rename it"));
    }
    Ok(text.to_owned())
}

/// A word that SQL reads without quotes, from the name of the file.
fn table_name(file: &Path) -> String {
    let stem = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let stem = stem.split('.').next().unwrap_or_default();
    let mut name = String::new();
    for c in stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }) {
        if name.len() + c.len_utf8() > LONGEST_NAME - PREFIX.len() {
            break;
        }
        name.push(c);
    }
    let name = name.trim_matches('_');
    // Not a keyword, and not a name that begins with a digit.
    let is_plain = parse(&format!("SELECT COUNT(*) FROM {name}")).is_ok() && !name.starts_with("sqlite_");
    if is_plain { name.to_owned() } else { format!("{PREFIX}{name}") }
}

/// A key of TOML, in quotes where it must be.
fn key(name: &str) -> String {
    if name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') { name.to_owned() } else { quoted(name) }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted += &format!("\\u{:04X}", u32::from(c)),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::sql::{CapOverrides, Catalog, check};
    use veracity_tables::writing::csv_line;

    /// Whatever columns and files are called, the catalog can be read once the table is filled in, and has a place for each column.
    #[test]
    fn a_catalog_to_begin_with_can_be_read_whatever_the_names_are() {
        let folder = std::env::temp_dir().join(format!("veracity-starting-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let odd = [
            "a \"b\" c", "x = \"FILL IN\"", "FILL IN", "# no", "[tables.t]", "back\\slash", "Größe", "名前",
            "a'b", "a,b;c", "two\nlines",
        ];
        let long = "x".repeat(64);
        let names: Vec<&str> = odd.into_iter().chain(["", "Twice", "twice", &long, "id"]).collect();
        for file in
            ["order.csv", "2024.csv", "sqlite_x.csv", "...csv", "Umsätze 2024.csv", "名前.csv", "a'b\"c.csv"]
        {
            let (data, catalog) = (folder.join(file), folder.join("catalog.toml"));
            std::fs::write(&data, csv_line(&names) + "\n1,2\n").unwrap();
            let text = starting_catalog(&data, &catalog).unwrap();
            let refused = Catalog::read(&text, &folder).unwrap_err().to_string();
            let line = 1 + text.lines().position(|line| line.starts_with("person = ")).unwrap();
            assert!(refused.contains(&format!("line {line} is not filled in: person")), "{refused}");
            let filled = text
                .replace("\nperson = \"FILL IN\"", "\nperson = \"id\"")
                .replace("rows_per_group = \"FILL IN\"", "rows_per_group = 1")
                .replace("groups_per_person = \"FILL IN\"", "groups_per_person = 1");
            let read = Catalog::read(&filled, &folder).unwrap();
            let places: Vec<&str> = read.unfilled().iter().map(|place| place.name.as_str()).collect();
            assert_eq!(places, [&odd[..10], &["id"]].concat(), "{filled}");
            for place in read.unfilled() {
                assert!(filled.lines().nth(place.line - 1).unwrap().ends_with("= \"FILL IN\""));
            }
            let table = read.tables().next().unwrap();
            assert_eq!(table.place, crate::sql::Place::File(data));
            check(&format!("SELECT COUNT(*) FROM {}", table.name), &read, CapOverrides::default()).unwrap();
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
