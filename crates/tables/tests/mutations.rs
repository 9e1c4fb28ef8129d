//! 10 000 changed files of each format: refused in one line, or read as what the bytes now say, and never otherwise.
//!
//! What a format can notice depends on what it has: gzip and zstd have checksums of all content, NPZ of each part; NPY, IDX and
//! Parquet have exact lengths (and Parquet checksums of pages, where its writer made them); text has neither. So where a checksum
//! covers the content, whatever is read must be the unchanged content; where only lengths are there, the number of rows must be
//! the one that the file says. For text the slow twin below says what the rows are.

use crate::written::{file, gzip, idx, npy, parquet_people, zip, zstd};
use veracity_tables::{Columns, Form, Kind, Limits, Wanted, read_columns};
use veracity_testkit::short::Dice;

const MUTATIONS: u64 = 10_000;
const SECRET: &str = "hunter2";

/// One change: a cut, a changed byte, a changed bit, a piece doubled, dropped or moved, another head or tail, more at the end.
fn mutated(bytes: &[u8], others: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let mut bad = bytes.to_vec();
    let mut below = |bound: usize| dice.below(bound as u64) as usize;
    let (at, to) = (below(bytes.len()), below(bytes.len()));
    let (from, to) = (at.min(to), at.max(to));
    let other = &others[below(others.len())];
    match below(9) {
        0 => bad.truncate(at),
        1 => bad[at] = below(256) as u8,
        2 => bad[at] ^= 1 << below(8),
        3 => drop(bad.drain(from..to)),
        4 => bad.splice(to..to, bytes[from..to].to_vec()).for_each(drop),
        5 => bad[from..=to].reverse(),
        6 => bad = [&other[..below(other.len())], &bytes[at..]].concat(),
        7 => bad = [&bytes[..at], &other[below(other.len())..]].concat(),
        _ => bad.extend((0..=below(20)).map(|_| [0, b'\n', b'"', b',', 0xff][below(5)])),
    }
    bad
}

fn read(bytes: &[u8], names: &[&str]) -> Result<Columns, String> {
    let wanted: Vec<Wanted> = names.iter().map(|name| Wanted { name, kind: Kind::Texts }).collect();
    let limits = Limits { rows: 1 << 16, bytes: 1 << 22, values: 1 << 18, ratio: 64 };
    read_columns(&file("changed", bytes), Form::default(), &wanted, &limits).map_err(|refusal| {
        let line = refusal.to_string();
        assert!(!line.contains(['\n', '\0']) && line.len() < 400 && line.contains("expected"), "{line}");
        assert!(!line.contains(SECRET), "{line}");
        line
    })
}

fn table() -> Vec<u8> {
    let mut text = String::from("age,city,id\n");
    for row in 0..60 {
        text += &format!("{},\"{SECRET}, {}\",{}\n", 20 + row % 60, ["Basel", "Bern"][row % 2], row);
    }
    text.into_bytes()
}

fn files() -> Vec<Vec<u8>> {
    let numbers: Vec<u8> = (0..40u8).flat_map(|x| f64::from(x).to_le_bytes()).collect();
    let array = npy(1, "<f8", false, "(40,)", &numbers);
    let bytes: Vec<u8> = (0..200).collect();
    vec![
        table(),
        gzip(&table()),
        zstd(&table()),
        parquet_people(),
        array.clone(),
        zip("age.npy", 8, &array, |_| {}),
        idx(8, &[200], &bytes),
        String::from_utf8(table()).unwrap().replace(", ", " ").replace(',', "\t").into_bytes(),
    ]
}

/// Reads changed files until all were tried; `judge` sees what was read of each. Returns how many were refused.
fn attack(which: usize, names: &[&str], judge: impl Fn(&[u8], &Columns)) -> u64 {
    let files = files();
    let mut dice = Dice::new(which as u64 + 1);
    let mut refused = 0;
    for _ in 0..MUTATIONS {
        let bad = mutated(&files[which], &files, &mut dice);
        match read(&bad, names) {
            Ok(found) => judge(&bad, &found),
            Err(_) => refused += 1,
        }
    }
    refused
}

/// Whether what a changed file gives may only be the unchanged content, or the content of another whole file that it became.
fn as_before(which: usize, names: &[&str]) {
    let files = files();
    let truth: Vec<Columns> = files.iter().filter_map(|file| read(file, names).ok()).collect();
    let refused = attack(which, names, |bad, found| {
        let is_text = !bad.starts_with(&files[which][..2]);
        assert!(is_text || truth.contains(found), "{} of {} bytes gave other content", which, bad.len());
    });
    assert!((MUTATIONS / 2..MUTATIONS).contains(&refused), "{refused} refused");
}

#[test]
fn gzip_gives_its_content_or_nothing() {
    as_before(1, &["age", "city", "id"]);
}

#[test]
fn zstd_gives_its_content_or_nothing() {
    as_before(2, &["age", "city", "id"]);
}

#[test]
fn npz_gives_its_content_or_nothing() {
    as_before(5, &["age"]);
}

/// The rows of all groups, of all columns and of the whole file are told apart, and must agree.
#[test]
fn parquet_has_as_many_rows_as_it_says() {
    let names = ["age", "city", "id"];
    let truth = read(&parquet_people(), &names).unwrap();
    let refused = attack(3, &names, |bad, found| {
        if bad.starts_with(b"PAR1") {
            assert_eq!(found.rows, truth.rows);
        }
    });
    assert!((MUTATIONS / 2..MUTATIONS).contains(&refused), "{refused} refused");
}

#[test]
fn arrays_have_as_many_numbers_as_their_header_says() {
    for which in [4, 6] {
        let refused = attack(which, &["1"], |bad, found| match bad {
            [0x93, ..] => {
                // The header is text that says the shape; the numbers fill the rest, whatever they are.
                let header = 10 + usize::from(u16::from_le_bytes([bad[8], bad[9]]));
                let header = if bad[6] == 1 { header } else { header + 2 };
                assert_eq!((bad.len() - header) % found.rows.max(1), 0);
            }
            [0, 0, 8, sides, ..] => assert_eq!(bad.len(), 4 + 4 * usize::from(*sides) + found.rows),
            _ => {}
        });
        assert!((MUTATIONS / 4..MUTATIONS).contains(&refused), "{refused} refused of {which}");
    }
}

/// Rows of a text by the letter of RFC 4180, one byte at a time: nothing where its quotes do not close.
fn rows_of(text: &[u8], delimiter: u8) -> Option<usize> {
    let (mut rows, mut cell, mut quoted, mut after, mut any) = (0, Vec::new(), false, false, false);
    let mut last = 0;
    for byte in text.iter().chain(b"\n") {
        let is_end = matches!(byte, b'\n' | b'\r');
        match (*byte, quoted) {
            (b'"', true) => (quoted, after) = (false, true),
            (_, true) => cell.push(*byte),
            (b'"', false) if after => (quoted, after) = (true, false),
            (b'"', false) if cell.is_empty() => (quoted, any) = (true, true),
            (byte, false) if byte == delimiter => (cell, after, any) = (Vec::new(), false, true),
            (_, false) if is_end => {
                rows += usize::from(any || !cell.is_empty());
                (cell, after, any) = (Vec::new(), false, false);
            }
            (_, false) if after => return None,
            (byte, false) => cell.push(byte),
        }
        last = *byte;
    }
    (!quoted && last == b'\n').then_some(rows)
}

/// Comma and tab: what is read has as many rows as the twin finds, and never one where a quote does not close.
#[test]
fn text_has_the_rows_that_its_quotes_say() {
    for (which, delimiter) in [(0, b','), (7, b'\t')] {
        let refused = attack(which, &["id"], |bad, found| {
            let is_still =
                bad.split(|byte| *byte == b'\n').next().is_some_and(|line| line.contains(&delimiter));
            if is_still && !bad.starts_with(b"\x1f\x8b") {
                assert_eq!(
                    Some(found.rows + 1),
                    rows_of(bad, delimiter),
                    "{:?}",
                    String::from_utf8_lossy(bad)
                );
            }
        });
        assert!((MUTATIONS / 10..MUTATIONS).contains(&refused), "{refused} refused of {which}");
    }
    // The twin can fail.
    assert_eq!(rows_of(b"a,b\n1,\"2\n3,4\n", b','), None);
    assert_eq!(rows_of(b"a,b\n1,\"2\n3\",4\n\n5,6", b','), Some(3));
}
