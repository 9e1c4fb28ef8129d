//! The table of the bench of queries: purchases of persons, of whom some buy far more than others, from a fixed seed.

use super::must;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// On average.
pub const ROWS_PER_PERSON: u64 = 10;
const REGIONS: [&str; 8] = ["north", "south", "east", "west", "centre", "abroad", "islands", "coast"];
const PAYMENTS: [&str; 3] = ["card", "cash", "transfer"];
const PRODUCTS: f64 = 5000.0;

/// Where the table is.
pub struct Table {
    /// The folder of files and catalogs.
    pub folder: PathBuf,
    /// The Parquet file, as DuckDB takes it for a table.
    pub quoted: String,
    rows: u64,
}

impl Table {
    /// Makes the files and catalogs where they are not there.
    pub fn make(folder: &Path, rows: u64, duckdb: &Path) -> io::Result<Table> {
        fs::create_dir_all(folder)?;
        let mut table = Table { folder: folder.to_owned(), quoted: String::new(), rows };
        let (csv, parquet) = (table.path("csv"), table.path("parquet"));
        table.quoted = format!("'{}'", parquet.display());
        if !parquet.exists() {
            // The Parquet file comes last: where it is there, so is the other, whole.
            write(&csv, rows)?;
            let copy = format!("COPY (FROM read_csv('{}')) TO {}", csv.display(), table.quoted);
            must(
                Command::new(duckdb).args(["-init", "/dev/null", "-batch", "-c", &copy]),
                "duckdb does not write Parquet",
            )?;
        }
        for kind in ["csv", "parquet"] {
            table.write_catalog(kind, &format!("path = \"{}\"", table.path(kind).display()))?;
        }
        Ok(table)
    }

    /// A file of the table, by its ending.
    pub fn path(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("purchases-{}.{kind}", self.rows))
    }

    /// A catalog, by its name.
    pub fn catalog(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}-{}.toml", self.rows))
    }

    /// Writes a catalog of a table that is in some place.
    pub fn write_catalog(&self, name: &str, place: &str) -> io::Result<()> {
        let columns = format!(
            "region = {{ keys = {REGIONS:?} }}\npayment = {{ keys = {PAYMENTS:?} }}\nproduct = {{ type = \"text\" }}\namount = {{ lower = 0, upper = 100 }}"
        );
        let caps = "person = \"person\"\ngroups_per_person = 8\nrows_per_group = 4";
        let text = format!("[tables.purchases]\n{place}\n{caps}\n[tables.purchases.columns]\n{columns}\n");
        fs::write(self.catalog(name), text)
    }
}

/// Writes the CSV file.
fn write(path: &Path, rows: u64) -> io::Result<()> {
    let mut file = BufWriter::new(fs::File::create(path)?);
    writeln!(file, "person,region,product,payment,amount")?;
    let mut dice = Dice(20);
    let persons = (rows / ROWS_PER_PERSON).max(1);
    for row in 0..rows {
        // Everyone is there once; the rest goes to some more than to others.
        let person = if row < persons { row } else { (persons as f64 * dice.part().powi(3)) as u64 };
        let region = REGIONS[((person % 8 + u64::from(dice.part() < 0.3) * dice.below(8)) % 8) as usize];
        let product = (PRODUCTS * dice.part().powi(3)) as u64;
        let payment = PAYMENTS[dice.below(3) as usize];
        let cents = (20_000.0 * dice.part().powi(4)) as u64;
        writeln!(file, "{},{region},p{product},{payment},{}.{:02}", person + 1, cents / 100, cents % 100)?;
    }
    file.flush()
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn part(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn the_table_is_the_same_each_time_and_some_have_far_more_rows_than_others() {
        let path = std::env::temp_dir().join(format!("veracity-bench-{}.csv", std::process::id()));
        let made = || {
            write(&path, 5000).unwrap();
            fs::read_to_string(&path).unwrap()
        };
        let text = made();
        assert_eq!(text, made());
        fs::remove_file(&path).unwrap();
        let mut persons: HashMap<&str, u64> = HashMap::new();
        for line in text.lines().skip(1) {
            assert_eq!(line.split(',').count(), 5, "{line}");
            *persons.entry(line.split(',').next().unwrap()).or_default() += 1;
        }
        assert_eq!(persons.len(), 500);
        assert!(*persons.values().max().unwrap() > 100 && persons.values().any(|rows| *rows < 8));
    }
}
