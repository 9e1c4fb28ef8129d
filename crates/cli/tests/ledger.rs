//! A budget in a file, from the command line: charged once, never overdrawn, and checked.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{json, room};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn run(folder: &Path, line: &str) -> Output {
    let words = line.split_whitespace();
    Command::new(env!("CARGO_BIN_EXE_veracity")).args(words).current_dir(folder).output().unwrap()
}

/// What a command that does its job prints.
fn done(folder: &Path, line: &str) -> String {
    let output = run(folder, line);
    assert_eq!(output.status.code(), Some(0), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The code and the one line of a command that does not.
fn refused(folder: &Path, line: &str) -> (Option<i32>, String) {
    let output = run(folder, line);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.stdout.len(), said.lines().count()), (0, 1), "{line}: {said}");
    (output.status.code(), said)
}

fn furnished(name: &str) -> PathBuf {
    let room = room(name);
    let people = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/people.csv");
    fs::copy(people, room.join("people.csv")).unwrap();
    room
}

fn shown(room: &Path) -> Value {
    json(&done(room, "ledger show l --json"))
}

#[test]
fn a_release_is_charged_once_and_over_budget_is_exit_code_1() {
    let room = furnished("ledger-release");
    done(&room, "ledger create l --epsilon 1 --dataset people.csv");
    let line = "release count people.csv --epsilon 0.75 --ledger l --request-id one --json";
    let first = json(&done(&room, line));
    assert_eq!(json(&done(&room, line)), first);
    let after = shown(&room);
    assert_eq!(after["entries"], 1);
    let (spent, left) =
        (after["spent"]["epsilon"].as_f64().unwrap(), after["remaining"]["epsilon"].as_f64().unwrap());
    assert!(spent > 0.74 && spent + left <= 1.0 && left > 0.24, "{spent} {left}");
    // As many claims as were charged.
    let claims = || {
        fs::read_dir(&room)
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "json"))
            .count()
    };
    assert_eq!(claims(), 1);

    let (code, said) = refused(&room, "release count people.csv --epsilon 0.5 --ledger l --request-id two");
    assert_eq!(code, Some(1));
    assert!(said.contains("the budget does not allow it"), "{said}");
    let (code, said) = refused(&room, "release count people.csv --epsilon 0.5 --ledger l --json");
    assert_eq!((code, json(&said)["kind"].as_str().unwrap()), (Some(1), "over-budget"));
    assert_eq!((shown(&room), claims()), (after, 1));

    // The same id for another question; other data; another unit; a file that is not there: nothing is charged.
    for line in [
        "release count people.csv --epsilon 0.1 --ledger l --request-id one",
        "release count people.csv --epsilon 0.1 --ledger l --dataset other",
        "release count people.csv --epsilon 0.1 --ledger l --person city",
        "release count nobody.csv --epsilon 0.1 --ledger l",
        "release mean people.csv --column height --lower 0 --upper 9 --epsilon 0.1 --ledger l",
        "release count people.csv --epsilon 0.1 --ledger nowhere",
        "release count people.csv --epsilon 0.1 --ledger people.csv",
        "release count people.csv --epsilon 0.1 --ledger l --seed 1",
        "release count people.csv --epsilon 0.1 --request-id one",
    ] {
        assert_eq!(refused(&room, line).0, Some(2), "{line}");
    }
    assert_eq!(shown(&room)["entries"], 1);
}

#[test]
fn a_training_is_charged_before_its_first_step_and_once() {
    let room = furnished("ledger-train");
    let plan = "[data]\nformat = 'digits'\n[[model.layer]]\nkind = 'linear'\noutputs = 10\n[training]\nbatch_size = 256\nsteps = 3\n\
                learning_rate = 1\n[privacy]\nnoise_multiplier = 8\ndelta = 1e-5\n";
    fs::write(room.join("plan.toml"), plan).unwrap();
    done(&room, "ledger create l --epsilon 5 --delta 1e-5");
    let line = "train plan.toml --out model --ledger l --request-id spring";
    done(&room, line);
    assert!(done(&room, line).contains("not charged again"));
    assert!(done(&room, &format!("{line} --resume")).contains("not charged again"));
    assert_eq!((shown(&room)["entries"].clone(), shown(&room)["answered"].clone()), (1.into(), 1.into()));
    let entry = json(&done(&room, "ledger export l"));
    assert_eq!(
        (entry["what"].as_str(), entry["charged_as"]["kind"].as_str()),
        (Some("training"), Some("approximate"))
    );

    // Without room for it, nothing is trained.
    done(&room, "ledger create small --epsilon 0.01 --delta 1e-5");
    let (code, _) = refused(&room, "train plan.toml --out other --ledger small");
    assert_eq!((code, room.join("other").exists()), (Some(1), false));
}

#[test]
fn a_ledger_is_verified_exported_and_drawn() {
    let room = furnished("ledger-verify");
    done(&room, "ledger create l --epsilon 2 --delta 1e-6 --analyst ada:1 --analyst bob:1.5");
    let head = shown(&room)["head"].as_str().unwrap().to_owned();
    done(&room, "release count people.csv --epsilon 0.3 --delta 1e-7 --ledger l --analyst ada");
    assert!(done(&room, "ledger verify l").starts_with("confirmed"));
    let verified = json(&done(&room, &format!("ledger verify l --head {head} --json")));
    assert_eq!((verified["verdict"].as_str(), verified["noted_at"].as_u64()), (Some("confirmed"), Some(0)));
    let output = run(&room, &format!("ledger verify l --head {}", "0".repeat(64)));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("does not hold"));
    assert_eq!(refused(&room, "ledger verify l --head 12").0, Some(2));
    assert!(done(&room, "ledger history l").contains("ada"));
    done(&room, "ledger export l --out entries.csv");
    assert_eq!(fs::read_to_string(room.join("entries.csv")).unwrap().lines().count(), 2);
    done(&room, "ledger plot l --out spent.svg");
    done(&room, "ledger plot l --out spent.png");
    assert!(fs::read_to_string(room.join("spent.svg")).unwrap().contains("mu squared"));
}

#[test]
fn terms_that_do_not_fit_are_refused() {
    let room = furnished("ledger-terms");
    for (code, line) in [
        (2, "ledger create l --epsilon nan"),
        (2, "ledger create l --epsilon inf"),
        (2, "ledger create l --epsilon 0"),
        (2, "ledger create l --epsilon 1 --delta 2"),
        (2, "ledger create l --epsilon 1 --mu 1"),
        (2, "ledger create l --epsilon 1 --delta 1e-6 --analyst ada"),
        (2, "ledger create l --epsilon 1 --delta 1e-6 --analyst ada:2"),
        (2, "ledger create l --epsilon 1 --delta 1e-6 --rule product --slot laplace:0.1"),
        (2, "ledger create people.csv --epsilon 1"),
        (1, "ledger create l --epsilon 1 --delta 1e-6 --rule product --mu 3"),
    ] {
        assert_eq!(refused(&room, line).0, Some(code), "{line}");
    }
    assert!(!room.join("l").exists());
    done(
        &room,
        "ledger create l --epsilon 2 --delta 1e-6 --rule product --mu 0.2 --reserve 1e-7 --slot pure:0.1:10",
    );
    assert_eq!(shown(&room)["remaining"]["slots"][0], 10);
    assert_eq!(refused(&room, "ledger create l --epsilon 1").0, Some(2));
}
