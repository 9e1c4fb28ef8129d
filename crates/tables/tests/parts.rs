//! A table in parts: the rows of the file, each once and in order, wherever it is cut.

use crate::written::{file, gzip, npy, write, zstd};
use parquet::{
    data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use std::sync::Arc;
use veracity_tables::{Form, Key, Keys, Kind, Limits, Part, Source, Texts, Values, Wanted, read_parts};
use veracity_testkit::short::Dice;

/// A row as the test writes it.
#[derive(Debug, Clone, PartialEq)]
struct Visit {
    cost: Option<f64>,
    ward: Option<String>,
    patient: Option<String>,
}

const WARDS: [&str; 9] = ["", "a", " a", "a\u{a0}", "b", "7", "07", "\u{2003}", "a b"];

fn visits(dice: &mut Dice, rows: usize) -> Vec<Visit> {
    let mut below = |n: u64| dice.below(n) as usize;
    let visit = |_| {
        let ward = WARDS[below(9)].to_owned();
        let patient = match below(3) {
            0 => below(4).to_string(),
            1 => format!("p{}", below(4)),
            _ => format!("0{}", below(4)),
        };
        Visit {
            cost: (below(4) > 0).then(|| below(5) as f64 / 4.0),
            ward: (below(5) > 0).then_some(ward),
            patient: (below(6) > 0).then_some(patient),
        }
    };
    (0..rows).map(visit).collect()
}

/// A file with a group of rows for each of these.
fn parquet(groups: &[&[Visit]], has_dictionary: bool) -> Vec<u8> {
    let schema = "message visits { optional double cost; optional byte_array ward (UTF8); \
                  optional byte_array patient (UTF8); required int64 day; }";
    let properties = WriterProperties::builder().set_dictionary_enabled(has_dictionary).build();
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    for rows in groups {
        let mut group = writer.next_row_group().unwrap();
        let costs: Vec<f64> = rows.iter().filter_map(|row| row.cost).collect();
        let is_there: Vec<i16> = rows.iter().map(|row| row.cost.is_some().into()).collect();
        write::<DoubleType, _>(&mut group, &costs, Some(&is_there));
        for text in [|row: &Visit| row.ward.clone(), |row: &Visit| row.patient.clone()] {
            let texts: Vec<ByteArray> =
                rows.iter().filter_map(text).map(|text| text.as_str().into()).collect();
            let is_there: Vec<i16> = rows.iter().map(|row| text(row).is_some().into()).collect();
            write::<ByteArrayType, _>(&mut group, &texts, Some(&is_there));
        }
        write::<Int64Type, _>(
            &mut group,
            &(0..rows.len() as i64).map(|day| day - 1).collect::<Vec<_>>(),
            None,
        );
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

fn csv(rows: &[Visit]) -> Vec<u8> {
    let cell = |text: &Option<String>| text.clone().unwrap_or_default();
    let line = |row: &Visit| {
        let cost = row.cost.map_or(String::new(), |cost| cost.to_string());
        format!("{cost},{},{},0\n", cell(&row.ward), cell(&row.patient))
    };
    format!("cost,ward,patient,day\n{}", rows.iter().map(line).collect::<String>()).into_bytes()
}

fn name(keys: &Keys, row: usize) -> Option<String> {
    Some(match keys.get(row)? {
        Key::Whole(number) => number.to_string(),
        Key::Text(place) => keys.texts()[place as usize].clone(),
    })
}

fn read(source: &Source) -> Vec<Part> {
    let wanted = [
        Wanted { name: "ward", kind: Kind::Texts },
        Wanted { name: "cost", kind: Kind::Numbers },
        Wanted { name: "ward", kind: Kind::Numbers },
    ];
    let names = ["patient", "ward"];
    read_parts(source, Form::default(), &wanted, &names, &Limits::default(), |part| part).unwrap()
}

/// The rows of parts, as they should be: white space is none, and what is empty is missing.
fn check(parts: &[Part], rows: &[Visit]) {
    let trimmed = |text: &Option<String>| {
        text.as_ref().map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let mut at = 0;
    for part in parts {
        let [Values::Texts(wards), Values::Numbers(costs), Values::Numbers(numbers)] = &part.values[..]
        else {
            panic!("{part:?}")
        };
        let [patients, keys] = &part.keys[..] else { panic!("{part:?}") };
        assert_eq!([wards.len(), costs.len(), numbers.len(), patients.len(), keys.len()], [part.rows; 5]);
        for row in 0..part.rows {
            let (expected, ward) = (&rows[at], trimmed(&rows[at].ward));
            assert_eq!((wards.get(row), costs[row]), (ward.as_deref(), expected.cost), "row {at}");
            assert_eq!(numbers[row], ward.as_ref().and_then(|ward| ward.parse().ok()), "row {at}");
            assert_eq!(
                (name(patients, row), name(keys, row)),
                (trimmed(&expected.patient), ward),
                "row {at}"
            );
            at += 1;
        }
    }
    assert_eq!(at, rows.len());
}

#[test]
fn rows_are_those_of_the_file_wherever_it_is_cut_into_groups() {
    let mut dice = Dice::new(33);
    for has_dictionary in [true, false] {
        for _ in 0..100 {
            let (rows, mut groups) = (dice.below(40) as usize, Vec::new());
            let rows = visits(&mut dice, rows);
            let mut rest = &rows[..];
            while !rest.is_empty() {
                let (group, others) = rest.split_at(dice.below(1 + rest.len() as u64) as usize);
                groups.push(group);
                rest = others;
            }
            let bytes = parquet(&groups, has_dictionary);
            for source in [file("x", &bytes), file("x", &gzip(&bytes)), file("x", &csv(&rows))] {
                check(&read(&source), &rows);
            }
        }
    }
}

/// Groups and files of more rows than a part has.
#[test]
fn large_groups_are_cut_into_parts() {
    let rows = visits(&mut Dice::new(5), 150_000);
    let groups = [&rows[..140_000], &rows[140_000..140_000], &rows[140_000..]];
    for has_dictionary in [true, false] {
        let parts = read(&file("x", &parquet(&groups, has_dictionary)));
        assert!(parts.len() >= 4 && parts.iter().all(|part| part.rows <= 1 << 16));
        check(&parts, &rows);
    }
    let parts = read(&file("x", &zstd(&csv(&rows))));
    assert!(parts.len() >= 3 && parts.iter().all(|part| part.rows <= 1 << 16));
    check(&parts, &rows);
}

#[test]
fn rows_are_counted_without_a_column_and_arrays_are_one_part() {
    let rows = visits(&mut Dice::new(6), 10);
    let count = |source: &Source| {
        let parts = read_parts(source, Form::default(), &[], &[], &Limits::default(), |part| part.rows);
        parts.unwrap().into_iter().sum::<usize>()
    };
    assert_eq!(count(&file("x", &parquet(&[&rows[..4], &rows[4..]], true))), 10);
    assert_eq!(count(&file("x", &csv(&rows))), 10);
    assert_eq!(count(&file("x", &parquet(&[], true))), 0);
    let flat: Vec<u8> = [1.5f64, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let array = file("x", &npy(1, "<f8", false, "(2,)", &flat));
    let one = [Wanted { name: "1", kind: Kind::Numbers }];
    let parts = read_parts(&array, Form::default(), &one, &["1"], &Limits::default(), |part| part).unwrap();
    let names = Keys::from(&Texts::from(vec![Some("1.5".to_owned()), Some("2".to_owned())]));
    let values = vec![Values::Numbers(vec![Some(1.5), Some(2.0)])];
    assert_eq!(parts, [Part { rows: 2, values, keys: vec![names] }]);
}

/// A damaged group refuses the file, whichever CPU reads it, and so do more rows than the limits allow.
#[test]
fn a_damaged_group_and_too_many_rows_are_refused() {
    let rows = visits(&mut Dice::new(7), 60);
    let groups: Vec<&[Visit]> = rows.chunks(20).collect();
    let good = parquet(&groups, true);
    let tried = |bytes: &[u8], limits: &Limits| {
        let wanted = [Wanted { name: "cost", kind: Kind::Numbers }];
        read_parts(&file("x", bytes), Form::default(), &wanted, &["patient"], limits, |part| part)
    };
    let mut refused = 0;
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x55;
        for bytes in [&bad[..], &good[..at]] {
            if let Err(error) = tried(bytes, &Limits::default()) {
                let line = error.to_string();
                assert!(!line.contains('\n') && line.contains("expected"), "{line}");
                refused += 1;
            }
        }
    }
    assert!(refused > good.len(), "{refused} of {}", good.len());
    for bytes in [good, csv(&rows)] {
        assert!(tried(&bytes, &Limits { rows: 60, values: 120, ..Limits::default() }).is_ok());
        for limits in [Limits { rows: 59, ..Limits::default() }, Limits { values: 119, ..Limits::default() }]
        {
            let line = tried(&bytes, &limits).unwrap_err().to_string();
            assert!(line.contains("at most 59 records") || line.contains("119 values"), "{line}");
        }
    }
}
