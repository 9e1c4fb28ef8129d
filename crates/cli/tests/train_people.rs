//! Plans that say whose each record is, on the real binary: a person counts once, however many records there are.

use crate::door::{json, room, veracity};
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
