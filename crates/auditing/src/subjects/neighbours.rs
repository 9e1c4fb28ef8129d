//! Two adjacent data files from one: the user's records, and the same with the canary added or in place of the last.
//!
//! Both worlds end with one line end and have all else byte for byte as given, so that they differ in nothing but the
//! canary.

use std::{
    fs::File,
    io::{self, Read, Write},
    path::Path,
};
use veracity_audit::World;
use veracity_core::{Adjacency, Error, Refusal};

/// The most bytes of data or canary: both are kept in memory, so that no trial sees a file that has changed.
const LONGEST: u64 = 1 << 30;

/// The data of both worlds.
#[derive(Debug)]
pub struct Neighbours {
    base: Vec<u8>,
    /// How much of the base both worlds share.
    shared: usize,
    canary: Vec<u8>,
    records: u64,
}

impl Neighbours {
    /// Reads both files; the canary's records are taken so many times.
    pub fn read(data: &Path, canary: &Path, copies: u64, adjacency: Adjacency) -> Result<Neighbours, Error> {
        let base = read("data", data)?;
        let planted = read("canary", canary)?;
        Neighbours::new(base, &planted, copies, adjacency)
    }

    fn new(base: Vec<u8>, canary: &[u8], copies: u64, adjacency: Adjacency) -> Result<Neighbours, Error> {
        let base_lines = lines("data", &base)?;
        let mut canary_lines = lines("canary", canary)?;
        let text =
            |bytes: &[u8], (from, to, _): (usize, usize, usize)| bytes[from..to].trim_ascii_end().to_vec();
        let first = base_lines.first().map(|line| text(&base, *line)).unwrap_or_default();
        if canary_lines.first().is_some_and(|line| text(canary, *line) == first) {
            canary_lines.remove(0);
        }
        let width = base_lines.first().map_or(0, |line| line.2);
        if let Some(line) = canary_lines.iter().find(|line| line.2 != width) {
            return Err(Error::invalid(format!(
                "canary has {} cells in a record, expected {width} as in the first line of the data",
                line.2
            )));
        }
        let records = canary_lines.len() as u64 * copies;
        if records == 0 || records > 1 << 20 {
            return Err(Error::out_of_range("canary records", records, "1 ≤ records × copies ≤ 2^20"));
        }
        let shared = shared(&base, &base_lines, records, adjacency)?;
        let one: Vec<u8> =
            canary_lines.iter().flat_map(|line| [&text(canary, *line)[..], b"\n"].concat()).collect();
        Ok(Neighbours { base, shared, canary: one.repeat(copies as usize), records })
    }

    /// How many records separate the worlds: the size of the group that the claim must cover.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Writes the file of a world.
    pub fn write(&self, world: World, path: &Path) -> io::Result<()> {
        let mut file = File::create(path)?;
        match world {
            World::Out => file.write_all(&self.base),
            World::In => {
                file.write_all(&self.base[..self.shared])?;
                file.write_all(&self.canary)
            }
        }
    }

    /// SHA-256 of the data of both worlds, for the order.
    pub fn fingerprint(&self) -> String {
        let shared = (self.shared as u64).to_le_bytes();
        let length = (self.base.len() as u64).to_le_bytes();
        crate::sha256(&[&length, &shared, &self.base, &self.canary])
    }
}

/// How much of the base both worlds have.
fn shared(
    base: &[u8],
    lines: &[(usize, usize, usize)],
    records: u64,
    adjacency: Adjacency,
) -> Result<usize, Error> {
    match adjacency {
        Adjacency::AddRemove => Ok(base.len()),
        Adjacency::ReplaceOne => {
            let kept = lines.len().checked_sub(records as usize).filter(|kept| *kept > 0);
            kept.map(|kept| lines[kept].0).ok_or_else(|| {
                Error::invalid(format!(
                    "data has {} lines, expected more than the {records} records that the canary replaces",
                    lines.len()
                ))
            })
        }
        Adjacency::ZeroOut => Err(Error::Refused(Refusal::no_theorem(
            "a data file",
            "zero-out",
            "what a blank record is, is not known here; use add-remove or replace-one",
        ))),
    }
}

/// A file with its last line ended once.
fn read(what: &str, path: &Path) -> Result<Vec<u8>, Error> {
    let refuse = |why: String| Error::file(what, path, why);
    let unreadable = |error: io::Error| Error::unreadable(what, path, error);
    let mut bytes = Vec::new();
    File::open(path).map_err(unreadable)?.take(LONGEST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > LONGEST {
        return Err(refuse("at most 1 GiB".into()));
    }
    bytes.truncate(bytes.trim_ascii_end().len());
    if bytes.is_empty() {
        return Err(refuse("a CSV file with something in it".into()));
    }
    bytes.push(b'\n');
    Ok(bytes)
}

/// Where each record begins and ends, and how many cells it has; line ends in quotes do not end a record.
fn lines(what: &str, bytes: &[u8]) -> Result<Vec<(usize, usize, usize)>, Error> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut found: Vec<(usize, usize, usize)> = Vec::new();
    let mut record = csv::ByteRecord::new();
    while reader
        .read_byte_record(&mut record)
        .map_err(|_| Error::invalid(format!("{what} is not CSV, expected records")))?
    {
        let from = record.position().map_or(0, |position| position.byte() as usize);
        // The reader counts what ends a line, or is empty, to the record after it.
        let skipped = bytes[from..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let from = from + skipped;
        found.push((from, reader.position().byte() as usize, record.len()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(data: &str, canary: &str, copies: u64, adjacency: Adjacency) -> Result<(String, String), Error> {
        let both = Neighbours::new(data.into(), canary.as_bytes(), copies, adjacency)?;
        let inside = [&both.base[..both.shared], &both.canary[..]].concat();
        Ok((String::from_utf8(inside).unwrap(), String::from_utf8(both.base).unwrap()))
    }

    #[test]
    fn worlds_differ_in_the_canary_and_nothing_else() {
        let data = "x,y\n1,2\n\"a\nb\",4\n";
        let (inside, outside) = both(data, "9,9\n", 2, Adjacency::AddRemove).unwrap();
        assert_eq!((inside.as_str(), outside.as_str()), ("x,y\n1,2\n\"a\nb\",4\n9,9\n9,9\n", data));
        // The header may be repeated; a record with a line end in it is one record.
        let (inside, _) = both(data, "x,y\r\n9,9\r\n", 1, Adjacency::ReplaceOne).unwrap();
        assert_eq!(inside, "x,y\n1,2\n9,9\n");
        let (inside, _) = both("x,y\r\n1,2\r\n\r\n3,4\r\n", "9,9\r\n", 1, Adjacency::ReplaceOne).unwrap();
        assert_eq!(inside, "x,y\r\n1,2\r\n\r\n9,9\n");
        let (inside, _) = both(data, "8,8\n\"q\nq\",9\n", 1, Adjacency::ReplaceOne).unwrap();
        assert_eq!(inside, "x,y\n8,8\n\"q\nq\",9\n");
    }

    #[test]
    fn canaries_that_do_not_fit_are_refused() {
        for (data, canary, copies, adjacency) in [
            ("x,y\n1,2\n", "1\n", 1, Adjacency::AddRemove),
            ("x,y\n1,2\n", "x,y\n", 1, Adjacency::AddRemove),
            ("x,y\n1,2\n", "9,9\n", 0, Adjacency::AddRemove),
            ("x,y\n1,2\n", "9,9\n", 2, Adjacency::ReplaceOne),
            ("x,y\n1,2\n", "9,9\n", 1, Adjacency::ZeroOut),
        ] {
            assert!(both(data, canary, copies, adjacency).is_err(), "{canary} {copies} {adjacency}");
        }
    }
}
