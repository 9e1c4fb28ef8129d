//! The report of `veracity train`: it says what was promised, and nothing that only the records know unless asked to.

use crate::door::{json, room, veracity};
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

/// A report without its date, which is that of the claim beside it.
fn undated(room: &Path, name: &str, report: &str) -> String {
    let claim = json(&fs::read_to_string(room.join(name).join("claim.json")).unwrap());
    let time = claim["release"]["time"].as_str().unwrap();
    let date = format!("{} {} UTC", &time[..10], &time[11..16]);
    assert_eq!(report.matches(&date).count(), 1, "{date}");
    report.replace(&date, "DATE")
}

/// With other records and other noise, the report is the same to the last byte but for its date: it tells the plan, and nothing else.
#[test]
fn a_report_follows_from_the_plan_and_the_number_of_records() {
    let room = desk("report-plain");
    let one = report(&room, "one", &[]);
    fs::write(room.join("points.csv"), points(20)).unwrap();
    let two = report(&room, "two", &[]);
    assert_eq!(undated(&room, "one", &one), undated(&room, "two", &two));
    for expected in [
        "What was trained",
        concat!("veracity ", env!("CARGO_PKG_VERSION")),
        "200 (this number is public)",
        "40 × gaussian, noise multiplier ",
        ", sampled at 0.25",
        "50 records on average, each included independently with the same probability (poisson)",
        "the gradient of each record to ℓ2 norm 1 (flat)",
        "random number generator of the operating system",
        "has a proved bound",
        "ε\u{a0}≤\u{a0}2 at δ\u{a0}=\u{a0}10⁻⁵ (add-remove, per record)",
        "veracity verify claim.json",
        "<svg",
        "linear (outputs 2)",
    ] {
        assert!(one.contains(expected), "{expected}");
    }
    for forbidden in [
        "not a proof", "sha256", "SHA-256", "Accuracy", "mean loss", "class=\"lead alarm\"", "<script",
        "http:", "https:", "points.csv",
    ] {
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
    assert!(bare.contains("<p class=\"lead alarm\">No privacy guarantee"), "{bare}");
    assert!(
        !bare.contains("ε\u{a0}≤") && !bare.contains("veracity verify"),
        "a guarantee is told where there is none"
    );
}

/// Where people are protected, the page counts people, and never says how many records they have.
#[test]
fn a_report_of_a_plan_for_people_speaks_of_people() {
    let room = desk("report-people");
    let rows: String =
        (0..200).map(|at| format!("{at},{},p{}\n", ["left", "right"][at % 2], at % 80)).collect();
    fs::write(room.join("points.csv"), format!("x,side,who\n{rows}")).unwrap();
    let plan = PLAN
        .replace("unit = \"record\"", "unit = \"customer\"")
        .replace("label =", "person = \"who\"\nlabel =");
    fs::write(room.join("plan.toml"), plan).unwrap();
    let told = report(&room, "out", &[]);
    for expected in [
        "People",
        "80 (this number is public)",
        "50 people with all of their records on average",
        "the mean gradient of each person to ℓ2 norm 1",
        "All records of one customer have the same value in the privacy ID column",
        "one customer",
    ] {
        assert!(told.contains(expected), "{expected}");
    }
    assert!(!told.contains("200 (this") && !told.contains("each record"), "{told}");
}
