//! The habits of a command line: choices, colour, quiet, help, manual pages, words that people try.

use crate::door::{answer, commands, done, fed, has, json, refusal, room, run, veracity, words};
use std::{collections::BTreeSet, fs, path::Path, process::Command};

const ESCAPE: u8 = 0x1b;

#[test]
fn a_closed_choice_is_listed_by_the_help() {
    for (command, choices) in [
        ("release", "mean laplace replace-one"),
        ("account", "add-remove exact always"),
        ("calibrate", "noise"),
        ("curve", "profile"),
        ("strategy", "largest"),
        ("audit", "clip-bkd margin one-run"),
        ("bound", "bayesian"),
        ("bound power", "split gaussian"),
        ("local encode", "hadamard"),
        ("completions", "zsh"),
    ] {
        let help = answer(&format!("{command} --help"));
        assert!(words(choices).into_iter().all(|choice| help.contains(choice)), "{command}: {help}");
    }
}

#[test]
fn a_pipe_has_no_escape_byte_unless_colour_is_always_wanted() {
    let room = room("habits-colour");
    let claim = "account gaussian --noise-multiplier 2 --delta 1e-5 --claim claim.json";
    done(&run(&room, claim));
    let text = fs::read_to_string(room.join("claim.json")).unwrap();
    let forged = text.replacen("\"upper\": 2", "\"upper\": 1", 1);
    assert_ne!(text, forged);
    fs::write(room.join("forged.json"), forged).unwrap();
    for (name, input) in [("one.jsonl", 1), ("other.jsonl", 3)] {
        let call = format!(
            "{{\"place\":\"sum\",\"norm\":\"l2\",\"sensitivity\":1,\"input\":[{input}],\"output\":[5]}}\n"
        );
        fs::write(room.join(name), call).unwrap();
    }
    let red = "\u{1b}[1m\u{1b}[31m";
    for (line, code, word, is_alarm) in [
        ("verify claim.json", 0, "valid", false),
        ("verify forged.json", 1, "invalid", true),
        ("verify .", 1, "invalid", true),
        ("audit --replay --trace one.jsonl --trace-neighbour other.jsonl", 1, "REFUTED", true),
        ("audit --replay --trace one.jsonl --trace-neighbour one.jsonl", 0, "NOT REFUTED", false),
    ] {
        for plain in [line.to_owned(), format!("{line} --color auto"), format!("{line} --color never")] {
            let output = run(&room, &plain);
            let said = String::from_utf8(output.stdout.clone()).unwrap();
            assert_eq!(output.status.code(), Some(code), "{plain}: {said}");
            assert!(
                !output.stdout.contains(&ESCAPE) && !output.stderr.contains(&ESCAPE),
                "{plain}: {said:?}"
            );
            assert!(said.contains(&format!("{word}:")), "{plain}: {said}");
        }
        let output = run(&room, &format!("{line} --color always"));
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains(&format!("{word}\u{1b}[0m:")), "{line}: {said:?}");
        assert_eq!(said.contains(red), is_alarm, "{line}: {said:?}");
        let json = run(&room, &format!("{line} --color always --json"));
        assert!(!json.stdout.contains(&ESCAPE), "{line}");
    }
    // Whoever asks for it always has it, whatever the environment says; the environment does not ask for it in a pipe.
    let set = |name: &str, line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_veracity"));
        command.args(words(line)).env(name, "1").current_dir(&room).output().unwrap().stdout
    };
    assert!(set("NO_COLOR", "verify forged.json --colour always").contains(&ESCAPE));
    assert!(!set("NO_COLOR", "verify forged.json").contains(&ESCAPE));
    let error = veracity(&words("account gaussian --delta 2 --color always"));
    assert!(error.stderr.contains(&ESCAPE) && error.stdout.is_empty());
}

#[test]
fn quiet_leaves_nothing_on_stderr_but_errors() {
    let room = room("habits-quiet");
    for line in [
        "train --set training.epochs=1 --out out --progress",
        "train --set training.epochs=1 --out out --progress --force",
        "audit --trials 60 --progress",
        "zoo noise-reused --progress",
        "predict out/model.safetensors digits --probabilities",
    ] {
        let loud = run(&room, line);
        assert!(!loud.stderr.is_empty() && matches!(loud.status.code(), Some(0 | 1)), "{line}");
        assert!(!loud.stderr.contains(&b'\r') && !loud.stderr.contains(&ESCAPE), "{line}");
        fs::remove_dir_all(room.join("out-audit")).unwrap_or_default();
        let again = if line.contains("--force") || !line.contains("--out out") { "" } else { " --force" };
        for quiet in ["--quiet", "-q"] {
            let output = run(&room, &format!("{line}{again} {quiet}"));
            assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.status.code(), loud.status.code(), "{line}");
        }
    }
    let told = refusal(&words("--quiet account gaussian --noise-multiplier 0 --delta 1e-5"));
    assert!(told.contains("noise"), "{told}");
}

#[test]
fn without_a_word_there_is_help_and_no_success() {
    for line in ["", "local"] {
        let output = veracity(&words(line));
        let told = String::from_utf8(output.stderr).unwrap();
        // Not 0: a gate whose arguments were lost on the way must not pass.
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        assert!(told.contains("Usage: veracity") && commands(&told).len() > 2, "{told}");
    }
    assert!(answer("--help").contains("Exit codes: 0 success"));
}

#[test]
fn progress_without_a_terminal_is_plain_lines_that_count_up() {
    let room = room("habits-progress");
    let output = run(&room, "zoo noise-reused float-laplace --progress");
    let told = String::from_utf8(output.stderr).unwrap();
    let last = told.lines().last().unwrap();
    assert!(last.starts_with("bug 2 of 2, ") && told.lines().all(|line| line.starts_with("bug ")), "{told}");
    let output = run(&room, "audit --trials 60 --progress");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.lines().last().unwrap().starts_with("trial 60 of 60"), "{told}");
    for line in ["zoo noise-reused", "audit --trials 60"] {
        assert!(run(&room, line).stderr.is_empty(), "{line}");
    }
}

#[test]
fn the_median_is_the_quantile_in_the_middle() {
    let room = room("habits-median");
    let people = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/people.csv");
    fs::copy(people, room.join("people.csv")).unwrap();
    let ask = |statistic: &str, claim: &str| {
        let line = format!(
            "release {statistic} people.csv --column income --lower 0 --upper 1e6 --epsilon 1 --seed 7 --claim {claim} --json"
        );
        let mut object = json(&done(&run(&room, &line)));
        object.as_object_mut().unwrap().remove("claim");
        object
    };
    assert_eq!(ask("median", "a.json"), ask("quantile --rank 0.5", "b.json"));
    let said =
        done(&run(&room, "release median people.csv --column income --lower 0 --upper 1e6 --epsilon 1"));
    assert!(said.starts_with("median of income: "), "{said}");
}

#[test]
fn every_command_has_a_manual_page() {
    let room = room("habits-man");
    done(&run(&room, "man --out man1"));
    done(&run(&room, "man --out man1")); // Over pages of its own.
    let pages: BTreeSet<String> = fs::read_dir(room.join("man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let help = answer("--help");
    let all = commands(&help);
    assert!(all.len() > 15 && all.contains(&"init"), "{all:?}");
    for command in all {
        let name = format!("veracity-{command}.1");
        let page = fs::read_to_string(room.join("man1").join(&name)).unwrap_or_default();
        assert!(page.contains(&format!(".TH veracity-{command}")) && page.contains(".SH SYNOPSIS"), "{name}");
        if ["local", "bound", "audit"].contains(&command) {
            for below in commands(&answer(&format!("{command} --help"))) {
                assert!(pages.contains(&format!("veracity-{command}-{below}.1")), "{command} {below}");
            }
        }
    }
    assert!(pages.contains("veracity.1") && pages.contains("veracity-local-plan.1"), "{pages:?}");
    fs::write(room.join("man1/veracity-zoo.1"), "a diary").unwrap();
    assert_eq!(run(&room, "man --out man1").status.code(), Some(2));
    assert_eq!(fs::read_to_string(room.join("man1/veracity-zoo.1")).unwrap(), "a diary");
}

#[test]
fn probabilities_are_of_all_classes_and_the_likeliest_is_predicted() {
    let room = room("habits-probabilities");
    done(&run(&room, "train --set training.epochs=2 --seed 1 --out out"));
    let said = done(&run(&room, "predict out/model.safetensors digits"));
    let output = run(&room, "predict out/model.safetensors digits --probabilities --header");
    assert!(String::from_utf8_lossy(&output.stderr).contains("not private: computed from these records"));
    let text = done(&output);
    let mut lines = text.lines();
    assert_eq!(lines.next().unwrap(), "0,1,2,3,4,5,6,7,8,9");
    let rows: Vec<Vec<f64>> =
        lines.map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len(), said.lines().count());
    for (row, class) in rows.iter().zip(said.lines()) {
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12 && row.len() == 10);
        let likeliest = (0..10).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap();
        assert_eq!(likeliest.to_string(), class);
    }
    let bare = done(&run(&room, "predict out/model.safetensors digits --probabilities"));
    assert_eq!(bare, text.split_once('\n').unwrap().1);
    let told = String::from_utf8(run(&room, "predict out/model.safetensors digits --header").stderr).unwrap();
    assert!(told.contains("--probabilities is missing"), "{told}");
}

/// Whether a word is a claim is asked before it is read as a plan; a pipe can be read once only.
#[cfg(unix)]
#[test]
fn a_plan_may_come_through_a_pipe() {
    let plan = b"[[mechanism]]\nkind = \"gaussian\"\nnoise_multiplier = 3\n";
    let told = done(&fed(&words("account /dev/stdin --delta 1e-5"), plan));
    assert_eq!(told, answer("account gaussian --noise-multiplier 3 --delta 1e-5"));
}

/// What is written must be what the trainer reads.
#[test]
fn no_plan_is_written_that_is_too_long_to_be_read() {
    let room = room("init-wide");
    let names: Vec<String> = (0..20_000).map(|at| format!("c{at}")).collect();
    fs::write(room.join("wide.csv"), names.join(",") + "\n").unwrap();
    let told = run(&room, "init wide.csv --out plan.toml");
    let stderr = String::from_utf8(told.stderr).unwrap();
    assert_eq!((told.status.code(), stderr.matches('\n').count()), (Some(2), 1), "{stderr}");
    has(
        &stderr,
        &["file is wide.csv, expected fewer columns, because a plan has at most 1 MiB, found 20000"],
    );
    assert!(!room.join("plan.toml").exists());
}
