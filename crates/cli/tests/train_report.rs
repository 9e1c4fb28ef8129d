//! The report of `veracity train`: it says what was promised, and nothing that only the records know unless asked to.
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{room, veracity};
use std::{fs, path::Path};

fn report(folder: &Path, name: &str, more: &[&str]) -> String {
    let (plan, out) = (folder.join("plan.toml"), folder.join(name));
    let base = ["train", plan.to_str().unwrap(), "--force", "--out", out.to_str().unwrap()];
    let output = veracity(&[&base[..], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(out.join("report.html")).unwrap()
}

const PLAN: &str = r#"
unit = "record"
[data]
format = "csv"
path = "points.csv"
label = "side"
classes = ["left", "right"]
[[data.column]]
name = "x"
bounds = [0, 100]
[[model.layer]]
kind = "linear"
outputs = 2
[training]
batch_size = 50
steps = 40
learning_rate = 0.5
[privacy]
epsilon = 2
delta = 1e-5
"#;

/// Points on two sides of a place.
fn points(place: usize) -> String {
    let row =
        |at: usize| format!("{},{}\n", at * 37 % 100, if at * 37 % 100 < place { "left" } else { "right" });
    std::iter::once("x,side\n".to_owned()).chain((0..200).map(row)).collect()
}

fn desk(name: &str) -> std::path::PathBuf {
    let room = room(name);
    fs::write(room.join("plan.toml"), PLAN).unwrap();
    fs::write(room.join("points.csv"), points(50)).unwrap();
    room
}

/// With other records and other noise, the report is the same to the last byte: it tells the plan, and nothing else.
#[test]
fn a_report_follows_from_the_plan_and_the_number_of_records() {
    let room = desk("report-plain");
    let one = report(&room, "one", &[]);
    fs::write(room.join("points.csv"), points(20)).unwrap();
    assert_eq!(one, report(&room, "two", &[]));
    for expected in [
        "ε\u{a0}≤\u{a0}2 at δ\u{a0}=\u{a0}10⁻⁵ (add-remove, per record)",
        "veracity verify claim.json",
        "<svg",
        "linear (outputs 2)",
    ] {
        assert!(one.contains(expected), "{expected}");
    }
    for forbidden in
        ["Accuracy", "mean loss", "class=\"lead alarm\"", "<script", "http:", "https:", "points.csv"]
    {
        assert!(!one.contains(forbidden), "{forbidden}");
    }
    assert!(one.len() < 40_000, "{} bytes", one.len());
    // The bound on the page is that of the claim: recomputed, it holds.
    assert_eq!(veracity(&["verify", room.join("one/claim.json").to_str().unwrap()]).status.code(), Some(0));
}

#[test]
fn what_is_not_private_is_there_when_asked_for_and_said_in_red() {
    let room = desk("report-metrics");
    let told = report(&room, "out", &["--with-training-metrics"]);
    for expected in [
        "class=\"lead alarm\"",
        "class=\"note alarm\"",
        "Not covered by the guarantee",
        "Accuracy, not private",
        "mean loss (not private)",
    ] {
        assert!(told.contains(expected), "{expected}");
    }
    // It is measured: with the same noise, other records give other numbers. Seed 1, twice.
    let seeded = ["--with-training-metrics", "--seed", "1"];
    let rehearsed = report(&room, "rehearsal", &seeded);
    fs::write(room.join("points.csv"), points(20)).unwrap();
    assert_ne!(rehearsed, report(&room, "rehearsal", &seeded));
    let model = fs::read(room.join("out/model.safetensors")).unwrap();
    let claim = fs::read(room.join("out/claim.json")).unwrap();
    for word in ["ccuracy", "mean loss"] {
        for file in [&model, &claim] {
            assert!(!file.windows(word.len()).any(|window| window == word.as_bytes()), "{word}");
        }
    }
}

#[test]
fn without_protection_or_with_a_seed_the_first_sentence_says_so() {
    let room = desk("report-alarm");
    let seeded = report(&room, "out", &["--seed", "7"]);
    assert!(seeded.contains("<p class=\"lead alarm\">Not for release"), "{seeded}");
    let bare = report(&room, "out", &["--non-private"]);
    assert!(bare.contains("<p class=\"lead alarm\">No protection"), "{bare}");
    assert!(
        !bare.contains("ε\u{a0}≤") && !bare.contains("veracity verify"),
        "a guarantee is told where there is none"
    );
}
