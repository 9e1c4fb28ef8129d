//! Parquet files: what was written is what is read, and what is damaged is refused.

use crate::written::{file, write};
use parquet::{
    basic::Compression,
    data_type::{ByteArrayType, DoubleType, Int32Type, Int64Type},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::parser::parse_message_type,
};
use std::sync::Arc;
use veracity_tables::{
    Cells, Column, Form, Kind, LabelColumn, LabelKind, Labels, Layout, Limits, Scale, Source, Unknown,
    Values, Wanted, read_columns, read_features, read_parts,
};

fn people(packing: Compression) -> Vec<u8> {
    let schema =
        "message people { required double age; optional byte_array city (UTF8); required int64 rich; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder().set_compression(packing).build();
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    write::<DoubleType, _>(&mut group, &[25.5, 51.0, 300.0], None);
    write::<ByteArrayType, _>(&mut group, &["Bern".into(), "hunter2".into()], Some(&[1, 1, 0]));
    write::<Int64Type, _>(&mut group, &[0, 2, 1], None);
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn layout(classes: usize) -> Layout {
    let scale = Some(Scale::new(0.0, 102.0, Default::default()).unwrap());
    let names = vec!["Bern".to_owned()];
    Layout {
        form: Form::default(),
        columns: vec![
            Column { name: "city".into(), cells: Cells::Categories { names, unknown: Unknown::Other } },
            Column { name: "age".into(), cells: Cells::Numbers { scale, missing: None } },
        ],
        label: Some(LabelColumn { name: "rich".into(), kind: LabelKind::Counted(classes) }),
    }
}

#[test]
fn columns_of_a_parquet_file_become_features() {
    for packing in [Compression::UNCOMPRESSED, Compression::SNAPPY, Compression::GZIP(Default::default())] {
        let path = file("people.parquet", &people(packing));
        let table = read_features(&path, &layout(3), &Limits::default()).unwrap();
        assert_eq!(table.features, [1.0, 0.0, 0.25, 0.0, 1.0, 0.5, 0.0, 1.0, 1.0]);
        assert_eq!(table.labels, Some(Labels::Classes { of: vec![0, 2, 1], classes: 3 }));
        let refused = read_features(&path, &layout(2), &Limits::default()).unwrap_err().to_string();
        assert!(refused.contains("a label from 0 to 1 in column rich of record 2"), "{refused}");
        let few = Limits { rows: 2, ..Limits::default() };
        assert!(
            read_features(&path, &layout(3), &few).unwrap_err().to_string().contains("at most 2 records")
        );
    }
}

#[test]
fn a_damaged_parquet_file_is_one_line() {
    let good = people(Compression::SNAPPY);
    // A seeded walk over the file: every byte in turn changed, and every cut.
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x55;
        for bytes in [&bad[..], &good[..at]] {
            let path = file("damaged.parquet", bytes);
            if let Err(refusal) = read_features(&path, &layout(3), &Limits::default()) {
                let line = refusal.to_string();
                assert!(!line.contains('\n') && !line.contains("hunter2"), "{line}");
            }
        }
    }
}

/// A column of dates is text as it would be in CSV, also in parts and in another order, and never numbers or features. Days: 2025-03-31 is
/// 20178 days after 1970-01-01, and 1969-12-31 one before, as `date -d` has it.
#[test]
fn dates_are_text_and_no_numbers() {
    let schema = "message t { optional int32 visited (DATE); required int64 id; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    write::<Int32Type, _>(&mut group, &[20_178, -1, i32::MAX], Some(&[1, 0, 1, 1]));
    write::<Int64Type, _>(&mut group, &[1, 2, 3, 4], None);
    group.close().unwrap();
    writer.close().unwrap();
    // A date that is not written with four digits of a year is missing.
    let dates: Vec<Option<String>> =
        [Some("2025-03-31"), None, Some("1969-12-31"), None].map(|date| date.map(str::to_owned)).to_vec();
    let source = Source::in_memory("t.parquet", bytes.clone());
    let read = |kind| {
        read_columns(&source, Form::default(), &[Wanted { name: "visited", kind }], &Limits::default())
    };
    assert_eq!(read(Kind::Texts).unwrap().values, [Values::Texts(dates.clone().into())]);
    assert!(read(Kind::Numbers).unwrap_err().to_string().contains("it has another type"));
    let path = file("dates.parquet", &bytes);
    let wanted = [Wanted { name: "visited", kind: Kind::Texts }];
    let parts =
        read_parts(&path, Form::default(), &wanted, &["id"], &Limits::default(), |part| part).unwrap();
    assert_eq!(parts.len(), 1);
    assert_eq!(parts[0].values, [Values::Texts(dates.into())]);
    let as_key = read_parts(&path, Form::default(), &[], &["visited"], &Limits::default(), drop);
    assert!(as_key.unwrap_err().to_string().contains("it has another type"));
    let features = Layout {
        form: Form::default(),
        columns: vec![Column {
            name: "visited".into(),
            cells: Cells::Numbers { scale: None, missing: None },
        }],
        label: None,
    };
    let refused = read_features(&file("dates.parquet", &bytes), &features, &Limits::default());
    assert!(refused.unwrap_err().to_string().contains("it has another type"));
}
