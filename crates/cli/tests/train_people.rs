//! Plans that say whose each record is, on the real binary: a person counts once, however many records there are.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{json, refusal, room, veracity};
use std::{fs, path::PathBuf};

const PLAN: &str = r#"
unit = "customer"

[data]
format = "csv"
path = "visits.csv"
person = "who"
label = "rich"
classes = ["no", "yes"]

[[data.column]]
name = "x"
bounds = [0, 1]

[[model.layer]]
kind = "linear"
outputs = 2

[training]
batch_size = 30
steps = 20
learning_rate = 0.5

[privacy]
epsilon = 4
delta = 1e-5
clip_norm = 1
"#;

/// A hundred people, the first of whom has a thousand records, and some records of nobody.
fn visits() -> String {
    let mut lines = String::from("who,x,rich\n");
    for record in 0..1000 {
        lines += &format!("p0,{},yes\n", record % 2);
    }
    for record in 0..300 {
        lines += &format!("p{},{},{}\n", record % 100, record as f64 / 300.0, ["no", "yes"][record % 2]);
    }
    lines + ",0.5,no\n,0.7,yes\n"
}

fn desk(name: &str, plan: &str) -> (PathBuf, String) {
    let room = room(name);
    fs::write(room.join("visits.csv"), visits()).unwrap();
    fs::write(room.join("plan.toml"), plan).unwrap();
    let plan = room.join("plan.toml").to_str().unwrap().to_owned();
    (room, plan)
}

#[test]
fn a_person_is_one_of_a_hundred_whatever_they_have() {
    let (room, plan) = desk("train-people", PLAN);
    let out = room.join("out").to_str().unwrap().to_owned();
    let trained = veracity(&["train", &plan, "--out", &out, "--json"]);
    assert_eq!(trained.status.code(), Some(0), "{}", String::from_utf8_lossy(&trained.stderr));
    let claim = json(&fs::read_to_string(room.join("out/claim.json")).unwrap());
    assert_eq!(claim["unit"], "customer");
    // A hundred people and batches of thirty: the rate is that of people, not of records.
    assert!(claim["mechanism"].to_string().contains("0.3"), "{}", claim["mechanism"]);
    assert!(claim["definition"].as_str().unwrap().contains("one customer"));
    assert!(claim.to_string().contains("clipped together"));
    let verified = veracity(&["verify", room.join("out/claim.json").to_str().unwrap()]);
    assert_eq!(verified.status.code(), Some(0), "{}", String::from_utf8_lossy(&verified.stdout));
    let replayed = veracity(&["audit", &plan, "--replay", "--json"]);
    assert_eq!(replayed.status.code(), Some(0), "{}", String::from_utf8_lossy(&replayed.stderr));
    assert_eq!(json(&String::from_utf8(replayed.stdout).unwrap())["verdict"], "not-refuted");
}

#[test]
fn a_unit_that_no_column_backs_is_refused_and_so_is_what_counts_records() {
    let bounds = PLAN.replace(
        "bounds = [0, 1]",
        "bounds = [0, 1]\nprivate_bounds = { epsilon = 0.1, quantiles = [0.05, 0.95] }",
    );
    for (name, plan, word) in [
        ("no-column", PLAN.replace("person = \"who\"\n", ""), "person = \"COLUMN\""),
        ("record-unit", PLAN.replace("\"customer\"", "\"record\""), "another name"),
        ("no-such-column", PLAN.replace("\"who\"", "\"whom\""), "whom"),
        ("private-bounds", bounds, "private bounds"),
    ] {
        let (room, plan) = desk(&format!("train-people-{name}"), &plan);
        let line = refusal(&["train", &plan, "--out", room.join("out").to_str().unwrap()]);
        assert!(line.contains(word), "{name}: {line}");
        assert!(!room.join("out/model.safetensors").exists());
    }
}
