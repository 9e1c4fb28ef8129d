//! Commands and all that they print, in `snapshots/*.txt`: a file for each group of cases, run in a folder of its own.
//!
//! `UPDATE_SNAPSHOTS=1 cargo nextest run -p veracity-cli -E 'test(snapshots)'` writes down what is printed now. A file has these
//! parts, and `#` begins a remark:
//!
//! - `copy examples/people.csv` takes a file of the repository, to the same place without `examples/`;
//! - `file NAME` and lines that begin with `|` make one;
//! - `edit FROM NAME`, lines that begin with `-` and lines that begin with `+` make one in which the first text is replaced by the second;
//! - `$ veracity …` is run. Lines of stdout that begin with `|`, lines of stderr that begin with `!`, and an exit code that is not 0
//!   follow; `...` stands for any text within a line.
//!
//! What exits with 2 must say so in one line and leave every file as it was. No output may hold the word hunter2, which stands for data.

use crate::door::{room, run as ran};
use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Output,
};

/// Every file below a folder, with its bytes.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths
        .flat_map(
            |path| {
                if path.is_dir() { files(&path) } else { [(path.clone(), fs::read(path).unwrap())].into() }
            },
        )
        .collect()
}

/// Output as a file has it.
fn written(output: &Output) -> String {
    let mut text = String::new();
    for (mark, bytes) in [("|", &output.stdout), ("!", &output.stderr)] {
        for line in String::from_utf8(bytes.clone()).unwrap().lines() {
            text += &(format!("{mark} {line}").trim_end().to_owned() + "\n");
        }
    }
    match output.status.code().unwrap() {
        0 => text,
        code => text + &format!("exit {code}\n"),
    }
}

/// Whether a text is the one that is expected, in which `...` stands for any text within a line.
fn fits(expected: &str, text: &str) -> bool {
    let fits = |(expected, line): (&str, &str)| {
        let mut parts = expected.split("...");
        let mut rest = parts.next().and_then(|first| line.strip_prefix(first));
        for part in parts {
            rest = rest.and_then(|rest| rest.find(part).map(|at| &rest[at + part.len()..]));
        }
        rest.is_some_and(|rest| rest.is_empty() || expected.ends_with("..."))
    };
    expected.lines().count() == text.lines().count() && expected.lines().zip(text.lines()).all(fits)
}

/// Runs a command of a group, and returns what it printed.
fn run(room: &Path, line: &str) -> String {
    let before = files(room);
    let output = ran(room, line.strip_prefix("veracity ").unwrap());
    let text = written(&output);
    assert!(!text.contains("hunter2") && !text.contains("panicked"), "{line}\n{text}");
    if output.status.code() == Some(2) {
        assert!(text.starts_with("! veracity: ") && text.lines().count() == 2, "{line}\n{text}");
        assert!(files(room) == before, "{line}: a file was touched");
    }
    text
}

fn check(name: &str) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let path = repository.join(format!("crates/cli/tests/snapshots/{name}.txt"));
    let (room, kept) = (room(&format!("snapshots-{name}")), fs::read_to_string(&path).unwrap());
    let (mut lines, mut now, mut wrong) = (kept.lines().peekable(), String::new(), Vec::new());
    while let Some(line) = lines.next() {
        now += &format!("{line}\n");
        let mut block = |marks: &[&str]| {
            let mut block = String::new();
            while let Some(line) = lines.next_if(|line| marks.iter().any(|mark| line.starts_with(mark))) {
                block += &format!("{line}\n");
            }
            block
        };
        let bare = |block: &str| -> Vec<String> {
            block.lines().map(|line| line.get(2..).unwrap_or_default().to_owned()).collect()
        };
        match line.split_once(' ').unwrap_or((line, "")) {
            ("copy", file) => {
                let to = room.join(file.strip_prefix("examples/").unwrap());
                fs::create_dir_all(to.parent().unwrap()).unwrap();
                fs::copy(repository.join(file), to).map(drop).unwrap();
            }
            ("file", name) => {
                let text = block(&["|"]);
                now += &text;
                fs::create_dir_all(room.join(name).parent().unwrap()).unwrap();
                let lines = bare(&text).into_iter().map(|line| line + "\n");
                fs::write(room.join(name), lines.collect::<String>()).unwrap();
            }
            ("edit", names) => {
                let (old, new) = (block(&["-"]), block(&["+"]));
                now += &(old.clone() + &new);
                let (from, to) = names.split_once(' ').unwrap();
                let (text, old) = (fs::read_to_string(room.join(from)).unwrap(), bare(&old).join("\n"));
                assert!(text.contains(&old), "{name}: {old} is not in {from}");
                fs::write(room.join(to), text.replacen(&old, &bare(&new).join("\n"), 1)).unwrap();
            }
            ("$", command) => {
                let (expected, found) = (block(&["|", "!", "exit "]), run(&room, command));
                let is_right = fits(&expected, &found);
                now += if is_right { &expected } else { &found };
                if !is_right {
                    wrong.push(format!("$ {command}\nexpected\n{expected}found\n{found}"));
                }
            }
            _ => assert!(line.is_empty() || line.starts_with('#'), "{name}: {line}"),
        }
    }
    if env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::write(path, now).unwrap();
    } else {
        assert!(
            wrong.is_empty(),
            "{name}: UPDATE_SNAPSHOTS=1 writes down what is printed now\n{}",
            wrong.join("\n")
        );
    }
}

/// A test for each file.
macro_rules! groups {
    ($($name:ident),*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn every_file_is_a_group() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots");
            let mut names: Vec<String> = files(&folder)
                .into_keys()
                .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
                .collect();
            names.sort();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

groups!(
    answers, audits, bounds, collecting, ledgers, numbers, plans, queries, releases, slips, strategies,
    traces, training, training_data, training_plans
);
