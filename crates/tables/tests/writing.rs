//! What was written as CSV or Parquet is read again, to the last bit.

use veracity_tables::{
    Columns, Form, Kind, Limits, Source, Values, Wanted, read_columns,
    writing::{Cells, Column, csv, parquet},
};

const TEXTS: [&str; 5] = ["Ulm, old", "a \"quoted\" one", "two\nlines", "naïve – ε", "="];
const NUMBERS: [f64; 5] = [0.1, -1e300, 5e-324, 917.0, 0.30000000000000004];

fn columns(texts: &[&str], numbers: &[f64]) -> [Column; 2] {
    let texts = texts.iter().map(|text| Some((*text).to_owned())).collect();
    [
        Column { name: "town, or so".into(), cells: Cells::Texts(texts) },
        Column { name: "n".into(), cells: Cells::Numbers(numbers.into()) },
    ]
}

fn read(name: &str, bytes: Vec<u8>) -> Columns {
    let wanted =
        [("town, or so", Kind::Texts), ("n", Kind::Numbers)].map(|(name, kind)| Wanted { name, kind });
    read_columns(&Source::in_memory(name, bytes), Form::default(), &wanted, &Limits::default()).unwrap()
}

#[test]
fn what_is_written_is_what_is_read() {
    let table = columns(&TEXTS, &NUMBERS);
    for (name, bytes) in [("t.csv", csv(&table).unwrap()), ("t.parquet", parquet(&table).unwrap())] {
        let found = read(name, bytes);
        assert_eq!(found.rows, 5, "{name}");
        let texts = TEXTS.map(|text| Some(text.to_owned())).to_vec();
        let numbers = NUMBERS.map(Some).to_vec();
        assert_eq!(found.values, [Values::Texts(texts.into()), Values::Numbers(numbers)], "{name}");
    }
    let missing = [
        Column { name: "town, or so".into(), cells: Cells::Texts(vec![None, Some("Ulm".into()), None]) },
        Column { name: "n".into(), cells: Cells::Numbers(vec![1.0, 2.0, 3.0]) },
    ];
    assert_eq!(csv(&missing).unwrap(), b"\"town, or so\",n\n,1.0\nUlm,2.0\n,3.0\n");
    for (name, bytes) in [("t.csv", csv(&missing).unwrap()), ("t.parquet", parquet(&missing).unwrap())] {
        assert_eq!(
            read(name, bytes).values[0],
            Values::Texts(vec![None, Some("Ulm".to_owned()), None].into()),
            "{name}"
        );
    }
    let none = columns(&[], &[]);
    assert_eq!(csv(&none).unwrap(), b"\"town, or so\",n\n");
    assert_eq!(read("none.parquet", parquet(&none).unwrap()).rows, 0);
}

#[test]
fn what_is_no_table_is_refused() {
    let mut twice = columns(&TEXTS, &NUMBERS);
    twice[1].name = twice[0].name.clone();
    let ragged = columns(&TEXTS, &NUMBERS[1..]);
    for (table, word) in [(twice, "two columns called town"), (ragged, "length")] {
        for refusal in [csv(&table).unwrap_err(), parquet(&table).unwrap_err()] {
            assert!(refusal.to_string().contains(word), "{refusal}");
        }
    }
}
