//! Columns of every format: the same people are the same values, however they were written.

use crate::written::{file, gzip, idx, npy, parquet_people, zip, zstd};
use veracity_core::Error;
use veracity_tables::{
    Columns, Form, Kind, Limits, Notation, Source, Values, Wanted, check_columns, read_columns,
};

const CSV: &str = "age,city,id\n31,Bern,7\n,Basel,8\n-2.5,,7\nhunter2,\"a\nb\",9\n";

fn read(source: &Source, wanted: &[(&str, Kind)], form: Form) -> Result<Columns, Error> {
    let wanted: Vec<Wanted> = wanted.iter().map(|(name, kind)| Wanted { name, kind: *kind }).collect();
    check_columns(source, form, &wanted, &Limits::default())?;
    read_columns(source, form, &wanted, &Limits::default())
}

fn texts(all: &[&str]) -> Values {
    let rows: Vec<Option<String>> =
        all.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned())).collect();
    Values::Texts(rows.into())
}

const ALL: [(&str, Kind); 3] = [("age", Kind::Numbers), ("city", Kind::Texts), ("id", Kind::Texts)];

#[test]
fn text_and_parquet_plain_or_packed_give_the_same_columns() {
    let expected = Columns {
        rows: 4,
        values: vec![
            Values::Numbers(vec![Some(31.0), None, Some(-2.5), None]),
            texts(&["Bern", "Basel", "", "a\nb"]),
            texts(&["7", "8", "7", "9"]),
        ],
    };
    let tsv = CSV.replace(',', "\t");
    let semicolons = format!("\u{feff}{}", CSV.replace(',', ";"));
    let parquet = parquet_people();
    for bytes in [CSV.as_bytes(), tsv.as_bytes(), semicolons.as_bytes(), &parquet] {
        // The name says nothing.
        for (name, packed) in
            [("people.npy", bytes.to_vec()), ("people.csv", gzip(bytes)), ("people.gz", zstd(bytes))]
        {
            let source = file(name, &packed);
            assert_eq!(read(&source, &ALL, Form::default()).unwrap(), expected);
            assert_eq!(read(&source, &[], Form::default()).unwrap().rows, 4);
            let refused = read(&source, &[("name", Kind::Texts)], Form::default()).unwrap_err();
            assert!(refused.to_string().contains("a name in the header"), "{refused}");
        }
    }
}

#[test]
fn arrays_have_columns_by_place_or_by_name() {
    let flat: Vec<u8> = [1.5f64, f64::NAN, 3.0, f64::INFINITY].iter().flat_map(|x| x.to_le_bytes()).collect();
    let one = Values::Numbers(vec![Some(1.5), None, Some(3.0), Some(f64::INFINITY)]);
    let row = npy(1, "<f8", false, "(4,)", &flat);
    let numbers = |name| [(name, Kind::Numbers)];
    for bytes in [row.clone(), gzip(&row), zstd(&row)] {
        let found = read(&file("x", &bytes), &numbers("1"), Form::default()).unwrap();
        assert_eq!(found, Columns { rows: 4, values: vec![one.clone()] });
    }
    let square = file("x", &npy(1, "<f8", false, "(2, 2)", &flat));
    let second = read(&square, &numbers("2"), Form::default()).unwrap();
    assert_eq!(second.values, [Values::Numbers(vec![None, Some(f64::INFINITY)])]);
    for name in ["0", "3", "age", ""] {
        assert!(read(&square, &numbers(name), Form::default()).is_err(), "{name}");
    }
    let archive = file("x", &zip("ages.npy", 8, &row, |_| {}));
    assert_eq!(read(&archive, &numbers("ages"), Form::default()).unwrap().values, [one]);
    assert!(read(&archive, &numbers("age"), Form::default()).is_err());
    assert!(read(&archive, &[], Form::default()).is_err(), "whose rows?");
    let labels = read(&file("x", &idx(8, &[3], &[9, 0, 7])), &[("1", Kind::Texts)], Form::default()).unwrap();
    assert_eq!(labels.values, [texts(&["9", "0", "7"])]);
    let images = file("x", &idx(8, &[1, 2, 2], &[0; 4]));
    assert!(read(&images, &[], Form::default()).unwrap_err().to_string().contains("one or two dimensions"));
}

/// A cell that is not what was asked for is missing, and so are those of a ragged row. None of them is refused.
#[test]
fn no_cell_is_refused() {
    let rows: [&[u8]; 9] =
        [b"1,2", b"hunter2,2", b"1", b"1,2,3", b"\xff\xfe,2", b"\"1\",\"2\"", b" 1 ,2", b"1\0,2", b"NaN,2"];
    let table = [b"age,x\n", &rows.join(&b'\n')[..], b"\n"].concat();
    let read =
        read(&file("x", &table), &[("age", Kind::Numbers), ("x", Kind::Texts)], Form::default()).unwrap();
    let (one, two) = (Some(1.0), "2");
    assert_eq!(read.values[0], Values::Numbers(vec![one, None, None, None, None, one, one, None, None]));
    assert_eq!(read.values[1], texts(&[two, two, "", "", two, two, two, two, two]));
}

#[test]
fn numbers_are_read_in_the_declared_notation_and_stored_ones_as_they_are() {
    let form = Form { notation: Notation::new(',', Some('.')).unwrap(), ..Form::default() };
    let table = file("x", b"age;city\n1.234,5;a\n1.5;b\n12;c\n");
    let found = read(&table, &[("age", Kind::Numbers)], form).unwrap();
    assert_eq!(found.values, [Values::Numbers(vec![Some(1234.5), None, Some(12.0)])]);
    let plain = read(&table, &[("age", Kind::Numbers)], Form::default()).unwrap();
    assert_eq!(plain.values, [Values::Numbers(vec![None, Some(1.5), Some(12.0)])]);
    let stored = read(&file("x", &parquet_people()), &[("id", Kind::Numbers)], form).unwrap();
    assert_eq!(stored.values, [Values::Numbers([7.0, 8.0, 7.0, 9.0].map(Some).to_vec())]);
}

#[test]
fn what_is_none_of_our_formats_is_named_and_what_is_packed_twice_is_refused() {
    for (bytes, expected) in [
        (&b"SQLite format 3\0hunter2"[..], "SQLite"),
        (b"BZh91AYhunter2", "bzip2"),
        (b"{\"hunter2\": 1}\n", "JSON"),
        (b"\x01\x02\x03hunter2", "binary"),
    ] {
        for bytes in [bytes.to_vec(), gzip(bytes), zstd(bytes)] {
            let line = read(&file("x", &bytes), &[], Form::default()).unwrap_err().to_string();
            assert!(line.contains(expected) && !line.contains("hunter2") && !line.contains('\n'), "{line}");
        }
    }
    let twice = read(&file("x", &gzip(&gzip(CSV.as_bytes()))), &[], Form::default()).unwrap_err();
    assert!(twice.to_string().contains("compressed twice"), "{twice}");
}

/// A column in which all have the same value packs a thousand to one. How well cells pack is about people, so it refuses nothing.
#[test]
fn a_constant_column_is_read_however_well_it_packs() {
    let rows = 800_000;
    let csv = [b"age\n".to_vec(), b"0\n".repeat(rows)].concat();
    let packed = gzip(&csv);
    assert!(csv.len() > 256 * packed.len() + (1 << 20), "{} of {}", packed.len(), csv.len());
    assert_eq!(read(&file("constant.csv", &packed), &[], Form::default()).unwrap().rows, rows);
}
