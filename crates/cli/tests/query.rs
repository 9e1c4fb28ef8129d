//! Questions in SQL from the command line: answers, costs, budgets, and what is refused.

use crate::door::{has, json, room};
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
    let catalog = "[tables.people]\npath = 'people.csv'\nperson = 'id'\nrows_per_group = 1\ngroups_per_person = 1\n[tables.people.columns]\n\
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
    // A row that nobody could read, below a header that is as it should be.
    fs::write(room.join("people.csv"), b"id,sex,hours,town\n\"\xff\xfe never closed").unwrap();
    let before = asked(&room, query, "--epsilon 2 --delta 1e-9 --dry-run --rows 100");
    assert_eq!(before["columns"][0]["name"], "n");
    assert!(before["columns"][0]["epsilon"]["upper"].as_f64().unwrap() <= 2.0);
    assert_eq!(refused(&room, query, "--epsilon 2 --delta 1e-9").0, Some(2));
}

#[test]
fn empty_lines_above_a_header_are_none_of_it() {
    let room = furnished("query-blank");
    let query = "SELECT SUM(hours) FROM people";
    let plain = asked(&room, query, "--epsilon 1 --seed 1");
    let text = fs::read_to_string(room.join("people.csv")).unwrap();
    fs::write(room.join("people.csv"), format!("\n\r\n{text}")).unwrap();
    assert_eq!(asked(&room, query, "--epsilon 1 --seed 1")["rows"], plain["rows"]);
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
    // Whoever asks again needs no file.
    assert_eq!(asked(&room, query, "--epsilon 0.75 --ledger l --request-id one"), first);
    fs::rename(room.join("away.csv"), room.join("people.csv")).unwrap();
    // Nor does a claim cost anything whose place is taken, a table without its column, or numbers that an engine does not read.
    assert_eq!(refused(&room, query, "--epsilon 0.1 --ledger l --claim people.csv").0, Some(2));
    assert_eq!(refused(&room, query, "--epsilon 0.1 --ledger l --engine duckdb --decimal ,").0, Some(2));
    fs::rename(room.join("people.csv"), room.join("away.csv")).unwrap();
    fs::write(room.join("people.csv"), "id,sex,town\n1,Male,t0\n").unwrap();
    assert_eq!(refused(&room, "SELECT SUM(hours) FROM people", "--epsilon 0.1 --ledger l").0, Some(2));
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

/// A quote in the middle of a cell is refused, which a row decides: so that is charged first, and over budget it is not even read.
#[test]
fn what_a_row_decides_is_charged_and_over_budget_no_row_is_read() {
    let room = furnished("query-torn");
    let people = fs::read_to_string(room.join("people.csv")).unwrap();
    fs::write(room.join("people.csv"), people + "q9,Male,40,\"torn\"quote\n").unwrap();
    assert_eq!(ledger(&room, "create l --epsilon 1").status.code(), Some(0));
    let query = "SELECT COUNT(*) FROM people";
    assert_eq!(refused(&room, query, "--epsilon 0.75 --ledger l").0, Some(2));
    let shown = json(std::str::from_utf8(&ledger(&room, "show l --json").stdout).unwrap());
    assert!(shown["spent"]["epsilon"].as_f64().unwrap() > 0.74, "{shown}");
    let (code, said) = refused(&room, query, "--epsilon 0.75 --ledger l");
    assert!(code == Some(1) && said.contains("budget"), "{said}");
}

/// Rows as files hold what the JSON holds, bit for bit, and a second file does not take the place of the first.
#[test]
fn rows_are_written_as_csv_and_parquet_and_drawn() {
    let room = furnished("query-files");
    let query = "SELECT sex, COUNT(*) AS n, AVG(hours) FROM people GROUP BY sex";
    let found = asked(&room, query, "--epsilon 5 --out rows.csv --plot rows.svg");
    let written = fs::read_to_string(room.join("rows.csv")).unwrap();
    let mut lines = written.lines();
    assert_eq!(
        lines.next(),
        Some("sex,n,n_error_bar,AVG(hours),AVG(hours)_error_bar,rows_per_group,groups_per_person")
    );
    let rows = found["rows"].as_array().unwrap();
    for (line, row) in lines.by_ref().zip(rows) {
        let cells: Vec<&str> = line.split(',').collect();
        assert_eq!(cells[0], row["sex"].as_str().unwrap());
        for (place, name, field) in [
            (1, "n", "answer"),
            (2, "n", "error_bar"),
            (3, "AVG(hours)", "answer"),
            (4, "AVG(hours)", "error_bar"),
        ] {
            let number: f64 = cells[place].parse().unwrap();
            assert_eq!(number.to_bits(), row[name][field].as_f64().unwrap().to_bits(), "{line}");
        }
    }
    assert!(lines.next().is_none() && rows.len() == 3);
    let picture = fs::read_to_string(room.join("rows.svg")).unwrap();
    assert!(["Male", "Female", "Other", "AVG(hours)"].iter().all(|word| picture.contains(word)));
    // A key that is not shown is in no file.
    let towns = "SELECT town, COUNT(*) AS n FROM people GROUP BY town";
    let found = asked(&room, towns, "--epsilon 2 --delta 1e-9 --out towns.parquet --plot towns.png");
    assert_eq!(found["rows"].as_array().unwrap().len(), 3);
    let bytes = fs::read(room.join("towns.parquet")).unwrap();
    assert!(!String::from_utf8_lossy(&bytes).contains(MARKED));
    let reader =
        parquet::file::reader::SerializedFileReader::new(fs::File::open(room.join("towns.parquet")).unwrap());
    let read: Vec<String> = reader.unwrap().into_iter().map(|row| row.unwrap().to_string()).collect();
    let first = &found["rows"][0];
    let (answer, bar) = (first["n"]["answer"].as_f64().unwrap(), first["n"]["error_bar"].as_f64().unwrap());
    assert_eq!(
        read[0],
        format!(
            "{{town: \"t0\", n: {answer:?}, n_error_bar: {bar:?}, rows_per_group: 1, groups_per_person: 1}}"
        )
    );
    // What could not be written is refused before anything is spent.
    assert_eq!(ledger(&room, "create l --epsilon 1").status.code(), Some(0));
    for (flags, word) in [
        ("--out rows.csv", "already exists"),
        ("--out rows.xlsx", ".csv or .parquet"),
        ("--plot people.csv", ".svg or .png"),
        ("--plot away/rows.svg", "plot"),
        ("--out away/rows.csv", "out"),
    ] {
        let (code, said) = refused(&room, query, &format!("--epsilon 0.5 --ledger l {flags}"));
        assert!(code == Some(2) && said.contains(word), "{flags}: {said}");
    }
    let clash = "SELECT COUNT(*) AS n, AVG(hours) AS n_error_bar FROM people";
    assert!(refused(&room, clash, "--epsilon 0.5 --ledger l --out c.csv").1.contains("n_error_bar"));
    let shown = json(std::str::from_utf8(&ledger(&room, "show l --json").stdout).unwrap());
    assert_eq!(shown["entries"], 0);
    // Asked again under its id, the files are those of the first answer.
    let flags = "--epsilon 0.5 --ledger l --request-id one";
    asked(&room, query, &format!("{flags} --out first.csv"));
    asked(&room, query, &format!("{flags} --out again.csv"));
    assert_eq!(fs::read(room.join("first.csv")).unwrap(), fs::read(room.join("again.csv")).unwrap());
}

/// The share of groups that is not shown is known beforehand, from the law of the noise; and it is what happens.
#[test]
fn a_dry_run_says_which_groups_are_not_shown() {
    let room = furnished("query-suppressed");
    let query = "SELECT town, COUNT(*) FROM people GROUP BY town";
    let before = asked(&room, query, "--epsilon 2 --delta 1e-6 --dry-run");
    let shares = before["suppressed"].as_array().unwrap();
    let sizes: Vec<u64> = shares.iter().map(|one| one["units"].as_u64().unwrap()).collect();
    assert_eq!(sizes[..4], [1, 2, 5, 10]);
    let upper = |at: usize| shares[at]["share"]["upper"].as_f64().unwrap();
    let lower = |at: usize| shares[at]["share"]["lower"].as_f64().unwrap();
    // One person is hidden but for half of δ, and many are shown; in between it falls.
    assert!(upper(0) <= 1.0 && lower(0) >= 1.0 - 0.5e-6, "{shares:?}");
    assert!(upper(sizes.len() - 1) <= 1e-3);
    assert!((1..sizes.len()).all(|at| lower(at) <= upper(at) && upper(at) <= upper(at - 1)), "{shares:?}");
    let words = run(&room, query, "--epsilon 2 --delta 1e-6 --dry-run");
    assert!(
        String::from_utf8(words.stdout)
            .unwrap()
            .contains("people in a group  suppressed with probability at most")
    );
    let public = asked(&room, "SELECT sex, COUNT(*) FROM people GROUP BY sex", "--epsilon 1 --dry-run");
    assert_eq!(public["suppressed"], Value::Array(vec![]));
}

/// Two processes with one request id: one charge and one answer, whichever comes first.
#[test]
fn two_processes_with_one_request_id_are_charged_once() {
    let room = furnished("query-race");
    let query = "SELECT COUNT(*) FROM people";
    for round in 0..8 {
        assert_eq!(ledger(&room, &format!("create l{round} --epsilon 1")).status.code(), Some(0));
        let flags = format!("--epsilon 0.75 --ledger l{round} --request-id one --json");
        let both: Vec<_> = (0..2)
            .map(|_| {
                let mut command = Command::new(env!("CARGO_BIN_EXE_veracity"));
                command.args(["query", query, "--catalog", "catalog.toml"]).args(flags.split_whitespace());
                let piped = std::process::Stdio::piped;
                command.current_dir(&room).stdout(piped()).stderr(piped()).spawn().unwrap()
            })
            .collect();
        let both: Vec<Output> = both.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        let known = asked(&room, query, flags.trim_end_matches(" --json"));
        let mut answered = 0;
        for output in both {
            match output.status.code() {
                Some(0) => {
                    answered += 1;
                    assert_eq!(json(std::str::from_utf8(&output.stdout).unwrap()), known);
                }
                // The other one is still at it: to take a new id would be charged again.
                code => {
                    let said = String::from_utf8_lossy(&output.stderr);
                    has(&said, &["answering this request ID right now", "same request ID"]);
                    assert_eq!(code, Some(2));
                }
            }
        }
        assert!(answered >= 1);
        let shown =
            json(std::str::from_utf8(&ledger(&room, &format!("show l{round} --json")).stdout).unwrap());
        assert_eq!((&shown["entries"], &shown["answered"]), (&1.into(), &1.into()));
    }
}

/// A request id stands for one question about one catalog: another one that would cost the same does not get its answer.
#[test]
fn a_catalog_that_was_swapped_does_not_get_the_answer_of_another() {
    let room = furnished("query-swapped");
    assert_eq!(ledger(&room, "create l --epsilon 1").status.code(), Some(0));
    let (query, flags) = ("SELECT COUNT(*) FROM people", "--epsilon 0.5 --ledger l --request-id one");
    let first = asked(&room, query, flags);
    let catalog = fs::read_to_string(room.join("catalog.toml")).unwrap();
    fs::write(room.join("others.csv"), "id,hours\n1,1\n").unwrap();
    fs::write(
        room.join("catalog.toml"),
        catalog.replace("people.csv", "others.csv").replace("'text'", "'text', x = 1"),
    )
    .unwrap();
    assert_eq!(refused(&room, query, flags).0, Some(2));
    let other = "[tables.people]\npath = 'others.csv'\nperson = 'id'\nrows_per_group = 1\n";
    fs::write(room.join("catalog.toml"), other).unwrap();
    let (code, said) = refused(&room, query, flags);
    assert!(code == Some(2) && said.contains("another catalog"), "{said}");
    fs::write(room.join("catalog.toml"), catalog).unwrap();
    assert_eq!(asked(&room, query, flags), first);
}

/// A table may be a link to a file; links that lead nowhere, in a circle, to a folder or to a device are refused and cost nothing.
#[cfg(unix)]
#[test]
fn tables_that_are_links_are_read_or_refused_for_free() {
    use std::os::unix::fs::symlink;
    let room = furnished("query-links");
    assert_eq!(ledger(&room, "create l --epsilon 1").status.code(), Some(0));
    let (query, flags) = ("SELECT COUNT(*) FROM people", "--epsilon 0.5 --ledger l");
    fs::rename(room.join("people.csv"), room.join("real.csv")).unwrap();
    for target in ["nowhere.csv", "people.csv", ".", "/dev/null", "/dev/zero", "catalog.toml"] {
        let _ = fs::remove_file(room.join("people.csv"));
        symlink(target, room.join("people.csv")).unwrap();
        assert_eq!(refused(&room, query, flags).0, Some(2), "{target}");
    }
    fs::remove_file(room.join("people.csv")).unwrap();
    symlink("real.csv", room.join("people.csv")).unwrap();
    asked(&room, query, flags);
    let shown = json(std::str::from_utf8(&ledger(&room, "show l --json").stdout).unwrap());
    assert_eq!(shown["entries"], 1);
    // Neither do rows go through a link to where somebody else's file is.
    symlink("real.csv", room.join("out.csv")).unwrap();
    symlink("real.csv", room.join("out.svg")).unwrap();
    let before = fs::read(room.join("real.csv")).unwrap();
    for flags in ["--out out.csv", "--plot out.svg"] {
        assert_eq!(refused(&room, query, &format!("--epsilon 0.1 {flags}")).0, Some(2));
    }
    assert_eq!(fs::read(room.join("real.csv")).unwrap(), before);
}

/// What a claim says of people: the column, and how much of each counts.
#[test]
fn a_claim_says_how_much_of_one_person_counts() {
    let room = furnished("query-persons");
    let all = "SELECT sex, MEDIAN(hours), SUM(hours) FROM people GROUP BY sex";
    for (query, caps, rows, groups) in [
        (all, "--rows-per-group 3 --groups-per-person 2", 3, 2),
        ("SELECT MEDIAN(hours) FROM people", "--rows-per-group 4", 4, 1),
        ("SELECT COUNT(*) FROM people", "", 1, 1),
    ] {
        let found = asked(&room, query, &format!("--epsilon 2 {caps}"));
        let path = room.join(found["claim"].as_str().unwrap());
        let text = fs::read_to_string(&path).unwrap();
        let claim = json(&text);
        assert_eq!(claim["persons"]["column"], "id");
        assert_eq!(
            (&claim["persons"]["rows_per_group"], &claim["persons"]["groups_per_person"]),
            (&rows.into(), &groups.into())
        );
        let said = claim["definition"].as_str().unwrap();
        let counted = format!("At most {rows} of these rows are used");
        assert!(said.contains("same value in column id") && said.contains(&counted), "{said}");
        let verified = |path: &Path| {
            let mut verify = Command::new(env!("CARGO_BIN_EXE_veracity"));
            verify.arg("verify").arg(path).output().unwrap().status.code()
        };
        assert_eq!(verified(&path), Some(0), "{query}");
        // A note of other groups than the mechanism has is not believed, whatever the words say.
        let forged = text.replace(
            &format!("\"groups_per_person\": {groups}"),
            &format!("\"groups_per_person\": {}", groups + 1),
        );
        let forged = match groups {
            1 => forged.replace(", in one group of an answer", " in each of at most 2 groups of an answer"),
            _ => forged.replace("at most 2 groups", "at most 3 groups"),
        };
        assert_ne!(forged, text);
        fs::write(room.join("forged.json"), forged).unwrap();
        assert_ne!(verified(&room.join("forged.json")), Some(0), "{query}");
    }
}

/// A dry run refuses what the question itself would be refused for, before a row is read; and makes no file and no folder.
#[test]
fn a_dry_run_refuses_what_the_question_would_be_refused_for() {
    let room = furnished("query-dry");
    let catalog = fs::read_to_string(room.join("catalog.toml")).unwrap();
    let more = "[tables.gone]\npath = 'gone.csv'\nperson = 'id'\nrows_per_group = 1\ncolumns.hours = { lower = 0, upper = 1 }\n\
                [tables.absent]\npath = 'people.csv'\nperson = 'id'\nrows_per_group = 1\ncolumns.height = { lower = 0, upper = 1 }\n\
                [tables.nobody]\npath = 'regions.csv'\nperson = 'who'\nrows_per_group = 1\ncolumns.x = { lower = 0, upper = 1 }\n\
                [tables.folder]\npath = '.'\nperson = 'id'\nrows_per_group = 1\ncolumns.hours = { lower = 0, upper = 1 }\n\
                [tables.elsewhere]\nengine = 'oracle'\nperson = 'id'\nrows_per_group = 1\ncolumns.hours = { lower = 0, upper = 1 }\n";
    fs::write(room.join("catalog.toml"), catalog + more).unwrap();
    fs::write(room.join("regions.csv"), "code,x\n1,2\n").unwrap();
    fs::write(room.join("taken.json"), "{}").unwrap();
    let count = "SELECT COUNT(*) FROM people";
    let questions = [
        ("SELECT COUNT(*) FROM gone", ""),
        ("SELECT SUM(height) FROM absent", ""),
        ("SELECT COUNT(*) FROM nobody", ""),
        ("SELECT COUNT(*) FROM folder", ""),
        ("SELECT COUNT(*) FROM elsewhere", ""),
        (count, "--engine oracle"),
        (count, "--engine postgres"),
        (count, "--claim taken.json"),
        (count, "--claim nowhere/c.json"),
        (count, "--dataset \u{7}"),
        (count, "--delimiter ;"),
        (count, "--epsilon 1e-12"),
    ];
    for (question, flags) in questions {
        let flags =
            if flags.contains("--epsilon") { flags.to_owned() } else { format!("--epsilon 1 {flags}") };
        let asked = refused(&room, question, &flags);
        assert_eq!(refused(&room, question, &format!("{flags} --dry-run")), asked, "{question} {flags}");
    }
    let before = fs::read_dir(&room).unwrap().count();
    for (question, flags) in [
        (count, "--claim made/"),
        (
            "SELECT sex, town, MEDIAN(hours), AVG(hours), COUNT(DISTINCT id) FROM people GROUP BY sex, town",
            "--delta 1e-6",
        ),
    ] {
        assert_eq!(
            run(&room, question, &format!("--epsilon 1 {flags} --dry-run")).status.code(),
            Some(0),
            "{question}"
        );
    }
    assert_eq!(fs::read_dir(&room).unwrap().count(), before);
}

/// All days are one claim and one charge, and another period under the same ID is another query.
#[test]
fn every_day_is_one_claim_and_one_charge() {
    let room = room("query-every");
    let visits: String = (0..600).map(|i| format!("p{},2025-03-{:02}\n", i % 150, 1 + i % 31)).collect();
    fs::write(room.join("visits.csv"), format!("id,seen\n{visits}")).unwrap();
    let catalog = "[tables.visits]\npath = 'visits.csv'\nperson = 'id'\nrows_per_group = 1\ngroups_per_person = 4\n[tables.visits.columns]\n\
                   seen = { first = '2025-03-01', last = '2025-03-31' }\n";
    fs::write(room.join("catalog.toml"), catalog).unwrap();
    assert_eq!(ledger(&room, "create l --epsilon 1.2 --delta 1e-6").status.code(), Some(0));
    let query = "SELECT COUNT(*) AS n FROM visits";
    let flags = "--epsilon 1 --delta 1e-6 --ledger l --request-id one";
    let first = asked(&room, query, &format!("{flags} --every day"));
    let rows = first["rows"].as_array().unwrap();
    assert_eq!((rows.len(), rows[0]["day"].as_str()), (31, Some("2025-03-01")));
    // Bars are for 95%; six times as far is next to never.
    let total = &rows[30]["n so far"];
    assert!((total["answer"].as_f64().unwrap() - 600.0).abs() <= 6.0 * total["error_bar"].as_f64().unwrap());
    assert!(total["error_bar"].as_f64() < Some(200.0), "{total}");
    assert_eq!(asked(&room, query, &format!("{flags} --every day")), first);
    for other in ["--every week", "--every day --minimize counts", ""] {
        let (code, said) = refused(&room, query, &format!("{flags} {other}"));
        assert!(code == Some(2) && said.contains("already used for another query"), "{said}");
    }
    let verified = Command::new(env!("CARGO_BIN_EXE_veracity"))
        .args(["verify", first["claim"].as_str().unwrap()])
        .current_dir(&room)
        .output()
        .unwrap();
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stdout));
    // One charge is all that fits.
    let (code, _) = refused(&room, query, "--epsilon 1 --delta 1e-6 --ledger l --every day");
    assert_eq!(code, Some(1));
    assert!(refused(&room, query, "--epsilon 1 --every day").1.contains("delta > 0"));
    assert!(refused(&room, query, "--epsilon 1 --date seen").1.contains("--every"));
}
