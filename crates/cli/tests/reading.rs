//! What every command makes of files: the same rows from every format, and one line for what is none.

use crate::door;
use crate::door::{answer, json, refusal, room, veracity};
use flate2::{Compression, write::GzEncoder};
use parquet::{
    data_type::{DoubleType, Int64Type},
    file::writer::SerializedFileWriter,
    schema::parser::parse_message_type,
};
use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

fn ages() -> Vec<f64> {
    (0..1000).map(|row| f64::from(20 + row % 60)).collect()
}

fn csv() -> Vec<u8> {
    let rows = ages().into_iter().enumerate().map(|(row, age)| format!("{},{age},x\n", row % 250));
    ("id,age,note\n".to_owned() + &rows.collect::<String>()).into_bytes()
}

fn parquet() -> Vec<u8> {
    let schema =
        Arc::new(parse_message_type("message p { required double age; required int64 id; }").unwrap());
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&ages(), None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    let ids: Vec<i64> = (0..1000).map(|row| row % 250).collect();
    column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    bytes
}

fn path(room: &Path, name: &str, bytes: &[u8]) -> String {
    let path = room.join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A folder for claims, of which each release leaves one.
fn claims(room: &Path) -> PathBuf {
    let folder = room.join("claims");
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compressed bytes were counted by their newlines. ε = 1: an answer that is off by more than 40 has chance below
/// 1e-17.
#[test]
fn rows_are_counted_whatever_the_file_is_packed_in() {
    let room = room("reading-count");
    let claim = claims(&room);
    let tsv = String::from_utf8(csv()).unwrap().replace(',', "\t").into_bytes();
    for (name, bytes) in [
        ("people.csv", csv()),
        ("people.csv.gz", gzip(&csv())),
        ("people.csv.zst", zstd(&csv())),
        ("people.tsv", tsv.clone()),
        ("people.tsv.gz", gzip(&tsv)),
        ("people.parquet", parquet()),
        ("people.parquet.gz", gzip(&parquet())),
        // What it is called says nothing.
        ("people.npz", parquet()),
        ("people", gzip(&csv())),
    ] {
        let file = path(&room, name, &bytes);
        let counted =
            json(&answer(&format!("release count {file} --epsilon 1 --claim {} --json", claim.display())));
        let count = counted["answer"].as_f64().unwrap();
        assert!((count - 1000.0).abs() <= 40.0, "{name}: {count}");
        let words = format!("release mean {file} --column age --lower 0 --upper 100 --epsilon 1");
        let mean = json(&answer(&format!("{words} --claim {} --json", claim.display())));
        let truth = ages().iter().sum::<f64>() / 1000.0;
        let mean = mean["answer"].as_f64().unwrap();
        assert!((mean - truth).abs() < 5.0, "{name}: {mean}");
    }
}

#[test]
fn standard_input_is_a_file_like_any_other() {
    let room = room("reading-stdin");
    let claim = claims(&room);
    for bytes in [csv(), gzip(&csv()), parquet()] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_veracity"))
            .args(["release", "count", "-", "--epsilon", "1", "--json", "--claim", claim.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        let count = json(&String::from_utf8(output.stdout).unwrap())["answer"].as_f64().unwrap();
        assert!((count - 1000.0).abs() <= 40.0, "{count}");
    }
}

#[test]
fn a_unit_is_backed_by_a_column() {
    let room = room("reading-unit");
    let one_person = "id,age\n".to_owned() + &"7,30\n".repeat(1000);
    let file = path(&room, "visits.csv", one_person.as_bytes());
    let claim = claims(&room);
    let release = format!("release count {file} --epsilon 1 --claim {}", claim.display());
    let text = answer(&release);
    assert!(text.contains("per row"), "{text}");
    // Of the thousand rows of one household, three count: off by more than 120 with chance below 1e-17.
    let text = answer(&format!("{release} --unit household --person id --rows-per-person 3"));
    assert!(text.contains("per household"), "{text}");
    assert!(text.contains("each household contributes at most 3 rows, by column id"), "{text}");
    let object = json(&answer(&format!("{release} --unit household --person id --rows-per-person 3 --json")));
    assert!((object["answer"].as_f64().unwrap() - 3.0).abs() <= 120.0, "{object}");
    assert_eq!(object["persons"]["rows_per_person"], 3);
    let claim = object["claim"].as_str().unwrap();
    let written = json(&fs::read_to_string(claim).unwrap());
    assert_eq!(written["unit"], "household");
    assert_eq!(written["persons"]["column"], "id");
    assert!(written["definition"].as_str().unwrap().contains("At most 3 of these rows are used"));
    assert_eq!(veracity(&["verify", claim]).status.code(), Some(0));
}

/// 250 people with four rows each; ε = 100, so that noise is below a row's worth.
#[test]
fn at_most_so_many_rows_of_each_person_count() {
    let room = room("reading-persons");
    let claim = claims(&room);
    for file in [path(&room, "visits.csv", &csv()), path(&room, "visits.parquet", &parquet())] {
        for (rows, expected) in [(1, 250.0), (3, 750.0), (9, 1000.0)] {
            let line = format!(
                "release count {file} --epsilon 100 --person id --rows-per-person {rows} --claim {} --json",
                claim.display()
            );
            let count = json(&answer(&line))["answer"].as_f64().unwrap();
            assert!((count - expected).abs() <= 5.0, "{rows}: {count}");
        }
    }
    // Rows without a person do not count.
    let file = path(&room, "some.csv", b"id,age\n1,2\n,3\n,4\n2,5\n");
    let line = format!("release count {file} --epsilon 1000 --person id --claim {} --json", claim.display());
    assert_eq!(json(&answer(&line))["answer"], 2.0);
}

const PLAN: &str = "\
[data]
format = \"csv\"
path = \"FILE\"
label = \"rich\"
classes = 2
[[data.column]]
name = \"age\"
bounds = [0, 100]
[[model.layer]]
kind = \"linear\"
outputs = 2
[training]
batch_size = 100
epochs = 1
learning_rate = 0.5
[privacy]
epsilon = 3
delta = 1e-5
clip_norm = 1
";

fn rich(rows: usize, note: impl Fn(usize) -> &'static str) -> Vec<u8> {
    let row = |row: usize| format!("{},{},{}\n", 20 + row % 60, row % 2, note(row));
    ("age,rich,note\n".to_owned() + &(0..rows).map(row).collect::<String>()).into_bytes()
}

fn train(room: &Path, name: &str) -> Vec<String> {
    let plan = path(room, "plan.toml", PLAN.replace("FILE", name).as_bytes());
    let out = room.join(if name == "good.csv" { "model" } else { "other" });
    ["train", &plan, "--out", out.to_str().unwrap(), "--seed", "1"].map(str::to_owned).to_vec()
}

/// A line of each command that reads rows.
fn readers(model: &str, file: &str) -> [Vec<String>; 4] {
    [
        format!("release count {file} --epsilon 1"),
        format!("local encode {file} --column age --lower 0 --upper 100 --epsilon 1"),
        format!("evaluate {model} {file}"),
        format!("predict {model} {file}"),
    ]
    .map(|line| door::words(&line).into_iter().map(str::to_owned).collect())
}

fn borrowed(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

/// An unclosed quote in a column that nobody uses made one cell of 899 rows.
#[test]
fn a_quote_that_does_not_close_is_refused_by_every_command() {
    let room = room("reading-quote");
    let good = path(&room, "good.csv", &rich(1000, |_| "x"));
    assert_eq!(veracity(&borrowed(&train(&room, "good.csv"))).status.code(), Some(0));
    let model = room.join("model/model.safetensors");
    let model = model.to_str().unwrap();
    let later = |row| {
        if row == 100 {
            "\"hunter2"
        } else if row == 700 {
            "\"y\""
        } else {
            "x"
        }
    };
    let files = [
        ("open.csv", rich(1000, |row| if row == 100 { "\"hunter2" } else { "x" })),
        ("later.csv", rich(1000, later)),
        ("open.csv.gz", gzip(&rich(1000, |row| if row == 100 { "\"hunter2" } else { "x" }))),
    ];
    for (name, bytes) in files {
        let file = path(&room, name, &bytes);
        fs::remove_dir_all(room.join("model.csv")).ok();
        for command in readers(model, &file).into_iter().chain([train(&room, name)]) {
            let line = refusal(&borrowed(&command));
            assert!(line.contains("the one in line 102") && !line.contains("hunter2"), "{command:?}: {line}");
        }
    }
    assert_eq!(veracity(&["evaluate", model, &good]).status.code(), Some(0));
}

#[test]
fn files_that_are_cut_off_or_none_of_ours_are_refused_by_every_command() {
    let room = room("reading-foreign");
    path(&room, "good.csv", &rich(1000, |_| "x"));
    assert_eq!(veracity(&borrowed(&train(&room, "good.csv"))).status.code(), Some(0));
    let model = room.join("model/model.safetensors");
    let model = model.to_str().unwrap();
    let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 5].to_vec();
    let half = |bytes: Vec<u8>| bytes[..bytes.len() / 2].to_vec();
    for (bytes, expected) in [
        (cut(gzip(&rich(1000, |_| "x"))), "truncated"),
        (half(gzip(&rich(1000, |_| "x"))), "truncated"),
        (cut(zstd(&rich(1000, |_| "x"))), "truncated"),
        (cut(parquet()), "Parquet"),
        (half(parquet()), "Parquet"),
        (b"SQLite format 3\0\x10\0".to_vec(), "SQLite"),
        (
            b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x13\0\0\0[Content_Types].xml...."
                .to_vec(),
            "xlsx",
        ),
        (b"{\"age\": 3}\n".to_vec(), "JSON"),
        (b"%PDF-1.7\n".to_vec(), "PDF"),
        (vec![0xff, 0xfe, b'a', 0, b'\n', 0], "UTF-16"),
    ] {
        let file = path(&room, "strange.csv", &bytes);
        for command in readers(model, &file).into_iter().chain([train(&room, "strange.csv")]) {
            let line = refusal(&borrowed(&command));
            assert!(line.contains(expected), "{command:?}: {line}");
        }
    }
}

#[test]
fn numbers_are_read_as_declared_and_the_answer_says_so() {
    let room = room("reading-notation");
    let file = path(&room, "salaries.csv", b"salary\n\"1.234,5\"\n\"2.000,0\"\n\"1.5\"\n");
    let claim = claims(&room);
    let release = format!(
        "release sum {file} --column salary --lower 0 --upper 5000 --epsilon 1000 --claim {}",
        claim.display()
    );
    let text = answer(&format!("{release} --decimal , --thousands ."));
    assert!(text.contains("number notation: 1.234,5"), "{text}");
    let object = json(&answer(&format!("{release} --decimal , --thousands . --json")));
    assert!((object["answer"].as_f64().unwrap() - 3234.5).abs() < 200.0, "{object}");
    assert_eq!(object["numbers_read_as"], "1.234,5");
    // By default only 1.5 is a number.
    let object = json(&answer(&format!("{release} --json")));
    assert!(object["answer"].as_f64().unwrap().abs() < 200.0, "{object}");
}
