//! Questions in SQL from the command line: answers, costs, budgets, and what is refused.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{json, room};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A value that must never be told.
const MARKED: &str = "Eve-4711";

fn furnished(name: &str) -> PathBuf {
    let room = room(name);
    let mut people = "id,sex,hours,town\n".to_owned();
    for i in 0..3000 {
        people += &format!("p{i},{},{},t{}\n", ["Male", "Female"][i % 2], 30 + i % 20, i % 3);
    }
    // A cell that is no number, a number far out, a row that is too short, a town of one person.
    people += &format!("{MARKED},Male,{MARKED},t0\nq1,Male,1e300,t0\nq2\nq3,Female,40,{MARKED}\n");
    fs::write(room.join("people.csv"), people).unwrap();
    let catalog = "[tables.people]\npath = 'people.csv'\nperson = 'id'\n[tables.people.columns]\n\
                   hours = { lower = 0, upper = 99 }\nsex = { keys = ['Male', 'Female', 'Other'] }\ntown = { type = 'text' }\n";
    fs::write(room.join("catalog.toml"), catalog).unwrap();
    room
}

fn run(room: &Path, query: &str, flags: &str) -> Output {
    let flags = flags.split_whitespace();
    let mut command = Command::new(env!("CARGO_BIN_EXE_veracity"));
    command.args(["query", query, "--catalog", "catalog.toml"]).args(flags).current_dir(room);
    command.output().unwrap()
}

fn asked(room: &Path, query: &str, flags: &str) -> Value {
    let output = run(room, query, &format!("{flags} --json"));
    assert_eq!(output.status.code(), Some(0), "{query}: {}", String::from_utf8_lossy(&output.stderr));
    json(std::str::from_utf8(&output.stdout).unwrap())
}

fn refused(room: &Path, query: &str, flags: &str) -> (Option<i32>, String) {
    let output = run(room, query, flags);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.stdout.len(), said.lines().count()), (0, 1), "{query}: {said}");
    assert!(!said.contains(MARKED), "{said}");
    (output.status.code(), said)
}

fn ledger(room: &Path, line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_veracity"));
    command.arg("ledger").args(line.split_whitespace()).current_dir(room).output().unwrap()
}

#[test]
fn rows_have_noisy_numbers_under_their_names_and_a_claim_that_verifies() {
    let room = furnished("query-answers");
    let query = "SELECT sex, AVG(hours), COUNT(*) AS n FROM people GROUP BY sex";
    let found = asked(&room, query, "--epsilon 5");
    let rows = found["rows"].as_array().unwrap();
    let sexes: Vec<&str> = rows.iter().map(|row| row["sex"].as_str().unwrap()).collect();
    assert_eq!(sexes, ["Male", "Female", "Other"]);
    assert!(found["epsilon"]["upper"].as_f64().unwrap() <= 5.0 && found["delta"]["upper"] == 0.0);
    for (row, mean) in rows.iter().zip([39.0, 40.0]) {
        let (hours, n) = (&row["AVG(hours)"], &row["n"]);
        let off = (hours["answer"].as_f64().unwrap() - mean).abs();
        // A bar is for 95 %; six times as far is next to never.
        assert!(off <= 6.0 * hours["error_bar"].as_f64().unwrap(), "{row}");
        assert!(
            (n["answer"].as_f64().unwrap() - 1501.0).abs() <= 6.0 * n["error_bar"].as_f64().unwrap(),
            "{row}"
        );
    }
    let claim = found["claim"].as_str().unwrap();
    let verified = Command::new(env!("CARGO_BIN_EXE_veracity"))
        .args(["verify", claim])
        .current_dir(&room)
        .output()
        .unwrap();
    assert_eq!(verified.status.code(), Some(0));
    // So does one of people in several groups with several rows, of every aggregate, with a δ.
    let all = "SELECT sex, MEDIAN(hours), STDDEV(hours), SUM(hours), COUNT(DISTINCT id) AS n FROM people GROUP BY sex";
    for flags in
        ["--delta 1e-6", "--delta 1e-6 --rows-per-group 3 --groups-per-person 2", "--rows-per-group 2"]
    {
        for query in [all, "SELECT MEDIAN(hours) FROM people", "SELECT AVG(hours) FROM people"] {
            let found = asked(&room, query, &format!("--epsilon 3 {flags}"));
            let claim = found["claim"].as_str().unwrap();
            let mut verify = Command::new(env!("CARGO_BIN_EXE_veracity"));
            let verified = verify.args(["verify", claim]).current_dir(&room).output().unwrap();
            let said = String::from_utf8_lossy(&verified.stderr);
            assert_eq!(verified.status.code(), Some(0), "{query} {flags}: {said}");
        }
    }
    // The same seed gives the same rows, another one does not, and neither is for release.
    let seeded = |seed: u64| asked(&room, query, &format!("--epsilon 1 --seed {seed}"));
    let (one, again, other) = (seeded(1), seeded(1), seeded(2));
    assert!(one["rows"] == again["rows"] && one["rows"] != other["rows"] && one["for_release"] == false);
}

#[test]
fn a_key_of_one_person_is_not_shown_and_a_dry_run_reads_no_row() {
    let room = furnished("query-keys");
    let query = "SELECT town, COUNT(DISTINCT id) AS n FROM people GROUP BY town ORDER BY n DESC";
    let found = asked(&room, query, "--epsilon 2 --delta 1e-9");
    let towns: Vec<&str> =
        found["rows"].as_array().unwrap().iter().map(|row| row["town"].as_str().unwrap()).collect();
    assert_eq!(towns.len(), 3, "{towns:?}");
    assert!(found["threshold"].as_f64().unwrap() > 2.0 && !towns.contains(&MARKED));
    fs::remove_file(room.join("people.csv")).unwrap();
    let before = asked(&room, query, "--epsilon 2 --delta 1e-9 --dry-run --rows 100");
    assert_eq!(before["columns"][0]["name"], "n");
    assert!(before["columns"][0]["epsilon"]["upper"].as_f64().unwrap() <= 2.0);
    assert_eq!(refused(&room, query, "--epsilon 2 --delta 1e-9").0, Some(2));
}

#[test]
fn a_ledger_is_charged_once_by_an_id_and_never_overdrawn() {
    let room = furnished("query-ledger");
    assert_eq!(ledger(&room, "create l --epsilon 1").status.code(), Some(0));
    let query = "SELECT COUNT(*) FROM people";
    let first = asked(&room, query, "--epsilon 0.75 --ledger l --request-id one");
    assert_eq!(asked(&room, query, "--epsilon 0.75 --ledger l --request-id one"), first);
    // The id is of that question.
    let other = "SELECT COUNT(*) FROM people WHERE hours > 40";
    assert_eq!(refused(&room, other, "--epsilon 0.2 --ledger l --request-id one").0, Some(2));
    let (code, said) = refused(&room, query, "--epsilon 0.5 --ledger l");
    assert!(code == Some(1) && said.contains("budget"), "{said}");
    // What the check refuses costs nothing; neither does a file that is not there.
    assert_eq!(refused(&room, "SELECT hours FROM people", "--epsilon 0.1 --ledger l").0, Some(2));
    fs::rename(room.join("people.csv"), room.join("away.csv")).unwrap();
    assert_eq!(refused(&room, query, "--epsilon 0.1 --ledger l").0, Some(2));
    fs::rename(room.join("away.csv"), room.join("people.csv")).unwrap();
    let shown = json(std::str::from_utf8(&ledger(&room, "show l --json").stdout).unwrap());
    assert_eq!(
        (&shown["entries"], shown["spent"]["epsilon"].as_f64().unwrap() <= 0.76),
        (&Value::from(1), true)
    );
    asked(&room, query, "--epsilon 0.2 --ledger l");
    assert_eq!(ledger(&room, "verify l").status.code(), Some(0));
    // The first request protected people; a release of rows is another unit.
    let mut rows = Command::new(env!("CARGO_BIN_EXE_veracity"));
    rows.args(["release", "count", "people.csv", "--epsilon", "0.01", "--ledger", "l"]).current_dir(&room);
    assert!(
        String::from_utf8(rows.output().unwrap().stderr).unwrap().contains("unit is row, expected person")
    );
}

#[test]
fn what_cannot_be_bounded_is_refused_in_one_line_without_a_value() {
    let room = furnished("query-refused");
    for (query, word) in [
        ("SELECT * FROM people", "raw rows"),
        ("SELECT hours FROM people", "aggregate"),
        ("SELECT SUM(hours / 2) FROM people", "divides"),
        ("SELECT COUNT(*) FROM (SELECT * FROM people)", "subquery"),
        ("SELECT id, COUNT(*) FROM people GROUP BY id", "whose"),
        ("SELECT COUNT(*) FROM people WHERE id = 'p1'", "whose"),
        ("SELECT town, COUNT(*) FROM people GROUP BY town", "delta"),
        ("SELECT COUNT(*) FROM nobody", "catalog"),
        ("SELECT COUNT(DISTINCT town) FROM people", "person"),
        ("SELECT MAX(hours) FROM people", "aggregate"),
        ("SELECT COUNT(*) FROM people; DROP TABLE people", "expected"),
    ] {
        let (code, said) = refused(&room, query, "--epsilon 1");
        assert!(code == Some(2) && said.contains(word), "{query}: {said}");
    }
    for (flags, word) in [
        ("--epsilon 0", "epsilon"),
        ("--epsilon 1 --engine oracle", "engine"),
        ("--epsilon 1 --rows-per-group 0", "rows per group"),
        ("--epsilon 1 --noise gaussian", "delta"),
    ] {
        let (code, said) = refused(&room, "SELECT COUNT(*) FROM people", flags);
        assert!(code == Some(2) && said.contains(word), "{flags}: {said}");
    }
    fs::write(room.join("catalog.toml"), "[tables.people]\npath = 'people.csv'\n").unwrap();
    assert!(refused(&room, "SELECT COUNT(*) FROM people", "--epsilon 1").1.contains("person"));
}
