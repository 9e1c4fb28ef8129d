//! What a reader fails with: a file that cannot be used, with what the operating system said behind it, or a refused question.

use std::{error::Error as _, io, path::Path};
use veracity_core::{Error, ErrorKind, Refusal};
use veracity_tables::{
    Cells, Column, Columns, Form, Kind, Layout, Limits, Source, Wanted, read_columns, read_features,
};

fn read(source: &Source, column: &str) -> Result<Columns, Error> {
    let wanted = Wanted { name: column, kind: Kind::Numbers };
    read_columns(source, Form::default(), &[wanted], &Limits::default())
}

fn in_memory(bytes: &[u8]) -> Source {
    Source::in_memory("people.csv", bytes)
}

#[test]
fn a_missing_file_leads_to_what_the_operating_system_said() {
    let path = Path::new("no-such-folder/people.csv");
    let error = read(&Source::from(path), "age").unwrap_err();
    assert_eq!(error.to_string(), "cannot read file no-such-folder/people.csv: no such file");
    assert_eq!(error.kind(), ErrorKind::File);
    assert!(matches!(&error, Error::Io { path: told, .. } if told == path));
    let behind = error.source().unwrap();
    assert_eq!(behind.downcast_ref::<io::Error>().unwrap().kind(), io::ErrorKind::NotFound);
    let system = behind.source().unwrap().downcast_ref::<io::Error>().unwrap();
    assert!(system.raw_os_error().is_some());
}

#[test]
fn a_file_that_is_something_else_is_told_without_a_word_of_its_bytes() {
    // A block of the kind that DEFLATE reserves.
    let gzip = [&b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x07"[..], b"secret secret secret"].concat();
    for (bytes, line) in [
        (&gzip[..], "file is people.csv, expected intact compressed data, but it is damaged"),
        (
            b"\x1f\x8b\x08\0\0\0\0\0\0\xff",
            "file is people.csv, expected a complete file, but it is truncated",
        ),
        (b"", "file is people.csv, expected a table with a header, but it is empty"),
    ] {
        let error = read(&in_memory(bytes), "age").unwrap_err();
        assert_eq!((error.to_string().as_str(), error.kind()), (line, ErrorKind::File));
        assert!(error.source().is_none());
    }
    let here = Path::new(".");
    let error = read(&Source::from(here), "age").unwrap_err();
    assert_eq!(error.to_string(), "file is ., expected a file, not a directory");
    assert!(matches!(error, Error::File { path, .. } if path == here));
}

#[test]
fn a_question_that_does_not_fit_is_refused_and_no_file_is_blamed() {
    let error = read(&in_memory(b"age\n31\n"), "height").unwrap_err();
    assert_eq!(error.to_string(), "column is height, expected a name in the header of people.csv");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let layout = Layout { form: Form::default(), columns: Vec::new(), label: None };
    let error = read_features(&in_memory(b"age\n31\n"), &layout, &Limits::default()).unwrap_err();
    assert!(matches!(error, Error::Refused(Refusal::OutOfRange { name: "features", .. })));
}

#[test]
fn a_malformed_record_is_told_by_its_place() {
    let cells = Cells::Numbers { scale: None, missing: None };
    let columns = vec![Column { name: "age".into(), cells }];
    let layout = Layout { form: Form::default(), columns, label: None };
    let error = read_features(&in_memory(b"age\nsecret\n"), &layout, &Limits::default()).unwrap_err();
    assert_eq!(error.to_string(), "file is people.csv, expected a number in column age of record 1");
    assert_eq!(error.kind(), ErrorKind::File);
}

#[cfg(unix)]
#[test]
fn the_name_of_a_file_never_makes_a_second_line() {
    let error = read(&Source::from(Path::new("two\nlines.csv")), "age").unwrap_err();
    assert_eq!(error.to_string(), "cannot read file two lines.csv: no such file");
}
