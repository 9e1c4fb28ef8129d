//! Files that cannot be written: a long job says so before it charges a budget and before its first step, not at its end.

#![cfg(unix)]

use crate::door::{has, json, names, refusal, room, veracity, words};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// A model of 150,010 parameters: a file of 600 kB.
const PLAN: &str = r#"
[data]
format = "digits"
[[model.layer]]
kind = "linear"
outputs = 2000
[[model.layer]]
kind = "relu"
[[model.layer]]
kind = "linear"
outputs = 10
[training]
batch_size = 256
steps = 1
learning_rate = 0.5
[privacy]
noise_multiplier = 20
delta = 1e-5
"#;

fn desk(name: &str) -> PathBuf {
    let room = room(name);
    fs::write(room.join("plan.toml"), PLAN).unwrap();
    room
}

/// What a ledger has spent, in all of its entries.
fn entries(room: &Path) -> usize {
    let ledger = room.join("year.ledger");
    let output = veracity(&["ledger", "history", ledger.to_str().unwrap(), "--json"]);
    let text = String::from_utf8(output.stdout).unwrap();
    json(&text)["entries"].as_array().unwrap().len()
}

/// No file may be longer than 200 kB (or 400, by the shell): the model does not fit, and the ledger does. Nothing is charged.
#[test]
fn a_model_that_does_not_fit_is_refused_before_it_is_paid_for() {
    let room = desk("disk-limit");
    let made = Command::new(env!("CARGO_BIN_EXE_veracity"))
        .args(["ledger", "create", "year.ledger", "--epsilon", "9", "--delta", "1e-4"])
        .current_dir(&room)
        .output()
        .unwrap();
    assert_eq!(made.status.code(), Some(0), "{}", String::from_utf8_lossy(&made.stderr));
    let run = |limit: &str, more: &str| {
        let line = format!(
            "trap '' XFSZ; {limit} exec {} train plan.toml --out out --ledger year.ledger {more}",
            env!("CARGO_BIN_EXE_veracity")
        );
        let output = Command::new("sh").args(["-c", &line]).current_dir(&room).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    for more in ["", "--checkpoint-every 1"] {
        let (code, said) = run("ulimit -f 400;", more);
        assert_eq!((code, said.matches('\n').count()), (Some(2), 1), "{said}");
        assert!(
            said.starts_with("veracity: cannot write model ")
                || said.starts_with("veracity: cannot write checkpoint "),
            "{said}"
        );
        has(&said, &["it takes about ", "free some space or choose another folder"]);
        assert_eq!(entries(&room), 0, "{more}: a training that could not be written was charged");
        assert_eq!(names(&room), ["plan.toml", "year.ledger"], "{more}");
    }
    // Control: without the limit the same training is charged and leaves its files, and nothing else.
    let (code, said) = run("", "");
    assert_eq!((code, entries(&room)), (Some(0), 1), "{said}");
    assert_eq!(names(&room.join("out")), ["claim.json", "model.safetensors", "report.html"]);
}

/// A disk of 256 kB, where this machine lets us mount one.
#[test]
fn a_full_disk_is_noticed_before_the_first_step() {
    let room = desk("disk-full");
    let disk = room.join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=256k", "none"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "NOT TESTED: this machine does not let the test mount a tmpfs; the test above does not need one"
        );
        return;
    }
    let out = disk.join("out");
    // Steps for hours: who trains first does not come back.
    let plan = fs::read_to_string(room.join("plan.toml")).unwrap().replace("steps = 1\n", "steps = 20000\n");
    fs::write(room.join("plan.toml"), plan).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_veracity"))
        .args(["train", "plan.toml", "--out", out.to_str().unwrap()])
        .current_dir(&room)
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut ended = None;
    for _ in 0..600 {
        ended = child.try_wait().unwrap();
        if ended.is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    let _ = child.kill();
    let output = child.wait_with_output().unwrap();
    let left = names(&disk);
    let _ = Command::new("umount").arg(&disk).status();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(ended.is_some(), "trains on a full disk");
    assert_eq!((output.status.code(), said.matches('\n').count()), (Some(2), 1), "{said}");
    assert!(said.contains("it takes about ") && left.is_empty(), "{said} {left:?}");
}

/// A file for results in a folder that is not there: no trial is run, and nothing is left.
#[test]
fn a_result_without_a_folder_is_refused_before_the_first_trial() {
    let room = room("no-folder");
    let out = room.join("out");
    for flag in ["--junit", "--sarif"] {
        let line = format!(
            "audit --mechanism gaussian --noise-multiplier 1 --trials 40 --out {} {flag} {}",
            out.display(),
            room.join("nowhere/file").display()
        );
        let said = refusal(&words(&line));
        assert!(said.contains("cannot write "), "{said}");
        assert!(!out.exists(), "{flag}: trials were run for a file that cannot be written");
    }
}
