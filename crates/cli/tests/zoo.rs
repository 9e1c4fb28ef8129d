//! `veracity zoo` and `veracity audit --replay`, from arguments to exit code.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{answer, json, refusal, room, veracity, words};
use std::path::Path;

#[test]
fn planted_bugs_are_refuted_with_the_promised_names_and_their_twins_are_not() {
    let line = "zoo float-laplace noise-reused seed-reuse layers-clipped-apart";
    let found = json(&answer(&format!("{line} --json")));
    assert_eq!(found["schema"], "veracity.zoo/1");
    let bugs = found["bugs"].as_array().unwrap();
    assert_eq!(bugs.len(), 4);
    for bug in bugs {
        assert_eq!(bug["verdict"], "refuted", "{bug}");
        assert!(bug["trials"].as_u64().unwrap() > 0 && bug["seconds"].is_number());
        let is_replay = bug["audit"] == "replay";
        assert!(
            bug["epsilon_lower"].is_null() == is_replay && bug["fault"].is_string() == is_replay,
            "{bug}"
        );
        if !is_replay {
            assert!(bug["epsilon_lower"].as_f64().unwrap() > bug["claim"]["epsilon"].as_f64().unwrap());
        }
    }
    let text = answer(line);
    assert!(text.starts_with("4 of 4 planted bugs refuted in "), "{text}");
    let text = answer(&format!("{line} --honest"));
    assert!(text.starts_with("0 of 4 honest twins refuted in "), "{text}");
}

#[test]
fn a_zoo_without_power_says_so_by_its_exit_code() {
    // So little significance that no number of these trials could refute anything.
    let output = veracity(&words("zoo scale-inverted --significance 1e-300 --json"));
    assert_eq!(output.status.code(), Some(1));
    let found = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(found["bugs"][0]["verdict"], "not-refuted");
    let line = refusal(&words("zoo unicorn"));
    assert_eq!(line, "bug is unicorn, expected a name that `veracity zoo` lists");
    assert!(refusal(&words("zoo --significance 2")).starts_with("significance is 2, expected"));
}

fn write(room: &Path, name: &str, input: f64, output: f64) -> String {
    let path = room.join(name);
    let line = format!(
        "{{\"place\": \"sum\", \"norm\": \"l1\", \"sensitivity\": 2.0, \"input\": [{input}], \"output\": [{output}]}}\n"
    );
    std::fs::write(&path, line).unwrap();
    path.display().to_string()
}

#[test]
fn two_traces_are_not_refuted_or_refuted_or_no_evidence() {
    let room = room("traces");
    let one = write(&room, "one.jsonl", 5.0, 9.0);
    let within = write(&room, "within.jsonl", 6.0, 9.0);
    let text = answer(&format!("audit --replay --trace {one} --trace-neighbour {within}"));
    assert!(text.starts_with("NOT REFUTED: used at most 50 % of what was declared"), "{text}");
    let beyond = write(&room, "beyond.jsonl", 8.0, 9.0);
    let args = format!("audit --replay --trace {one} --trace-neighbour {beyond}");
    let output = veracity(&words(&args));
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("REFUTED: the input of sum (call 0) moved 1.5"), "{text}");
    let output = veracity(&words(&format!("{args} --json")));
    let found = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((&found["verdict"], &found["fault"]["kind"]), (&"refuted".into(), &"sensitivity".into()));
    let thawed = write(&room, "thawed.jsonl", 5.0, 8.0);
    let line = refusal(&words(&format!("audit --replay --trace {one} --trace-neighbour {thawed}")));
    assert!(line.starts_with("the outputs of call 0 differ"), "{line}");
    refusal(&words(&format!("audit --trace {one} --trace-neighbour {within}")));
    refusal(&words(&format!("audit --replay --trace {one}")));
}

/// A trace of two calls of four numbers; `noise` is put into each line as it is.
fn write_noisy(room: &Path, name: &str, outputs: [&str; 2], noise: &str) -> String {
    let path = room.join(name);
    let line = |output: &str| {
        format!(
            "{{\"place\": \"sums\", \"norm\": \"l2\", \"sensitivity\": 1, \"input\": [10, 20, 30, 40], \"output\": [{output}]{noise}}}\n"
        )
    };
    std::fs::write(&path, outputs.map(line).concat()).unwrap();
    path.display().to_string()
}

#[test]
fn forged_noise_passes_where_it_is_not_declared_and_is_refuted_where_it_is() {
    let room = room("noisy-traces");
    let honest = ["13.31, 18.94, 34.52, 38.08", "8.67, 21.73, 28.69, 43.05"];
    let none = ["10, 20, 30, 40"; 2];
    let tiny = ["10.000001, 19.999998, 30.000003, 40.000002", "9.999998, 20.000001, 30.000002, 39.999997"];
    let turned = ["13.31, 18.94, 34.52, 38.08", "6.69, 21.06, 25.48, 41.92"];
    let again = ["13.31, 18.94, 34.52, 38.08"; 2];
    let declared = ", \"noise\": {\"kind\": \"gaussian\", \"scale\": 2.5}";
    for (outputs, kind) in [
        (honest, None),
        (none, Some("noise-missing")),
        (tiny, Some("noise-too-small")),
        (turned, Some("noise-reused")),
        (again, Some("noise-reused")),
    ] {
        let silent = write_noisy(&room, "silent.jsonl", outputs, "");
        let text = answer(&format!("audit --replay --trace {silent} --trace-neighbour {silent}"));
        assert!(text.contains("noise       not declared: nothing is said of it\n"), "{text}");
        let said = write_noisy(&room, "said.jsonl", outputs, declared);
        let line = format!("audit --replay --trace {said} --trace-neighbour {said}");
        let output = veracity(&words(&format!("{line} --json")));
        let found = json(&String::from_utf8(output.stdout).unwrap());
        assert_eq!(output.status.code(), Some(i32::from(kind.is_some())), "{found}");
        assert_eq!(found["fault"]["kind"].as_str(), kind, "{found}");
        let p = found["noise"]["p_value"].as_f64().unwrap();
        assert!((p <= 0.01) == kind.is_some() && found["noise"]["declared"] == 2, "{found}");
        let text = String::from_utf8(veracity(&words(&line)).stdout).unwrap();
        assert!(text.contains("noise") && text.contains("declared in 2 calls, "), "{text}");
        assert_eq!(text.contains(", tested at "), kind.is_some(), "{text}");
    }
    // With so little to spend nothing is refuted but what could not be at all.
    let said = write_noisy(&room, "said.jsonl", tiny, declared);
    answer(&format!("audit --replay --trace {said} --trace-neighbour {said} --significance 1e-200"));
    for (noise, says) in [
        (
            ", \"noise\": {\"kind\": \"cauchy\", \"scale\": 1}",
            "line 1: noise kind is cauchy, expected gaussian",
        ),
        (
            ", \"noise\": {\"kind\": \"laplace\", \"scale\": 0}",
            "line 1: noise scale is 0, expected a finite number > 0",
        ),
        (", \"noise\": {\"kind\": \"laplace\"}", "line 1: no noise call"),
        (", \"noise\": {\"kind\": \"laplace\", \"scale\": 1, \"seed\": 4711}", "line 1: no noise call"),
    ] {
        let strange = write_noisy(&room, "strange.jsonl", honest, noise);
        let line = refusal(&words(&format!("audit --replay --trace {strange} --trace-neighbour {strange}")));
        assert!(line.contains(says) && !line.contains("4711"), "{line}");
    }
}

#[test]
fn training_and_releases_are_replayed_on_their_neighbours() {
    let found = json(&answer("audit --replay --json"));
    assert_eq!((&found["schema"], &found["verdict"]), (&"veracity.replay/3".into(), &"not-refuted".into()));
    assert!(found["used"].as_f64().unwrap() > 0.9 && found["neighbours"].as_array().unwrap().len() >= 9);
    assert!(found["noise"]["declared"].as_u64().unwrap() >= 30 && found["noise"]["silent"] == 0, "{found}");
    let room = room("replayed-release");
    let file = room.join("ages.csv");
    std::fs::write(&file, "age\n31\n\n47\n1e9\n").unwrap();
    let line =
        format!("release sum {} --column age --lower 0 --upper 100 --epsilon 1 --replay", file.display());
    let text = answer(&line);
    assert!(text.starts_with("NOT REFUTED: used at most 100 % of what was declared"), "{text}");
    assert!(text.contains("noise       declared in 1 call, "), "{text}");
    assert!(!Path::new("claim.json").exists());
}

#[test]
fn generic_audits_find_little_noise_and_spare_the_twin() {
    let line = "zoo scale-inverted noise-divided-by-batch --powers --trainings 1000";
    let found = json(&answer(&format!("{line} --json")));
    assert_eq!(found["schema"], "veracity.zoo-powers/1");
    for bug in found["bugs"].as_array().unwrap() {
        assert_eq!(bug["audits"][0]["audit"], "curve");
        assert_eq!(bug["audits"][0]["verdict"], "refuted", "{bug}");
    }
    let text = answer(&format!("{line} --honest"));
    assert!(text.starts_with("0 of 2 honest twins fall to the curve within 1000 trainings"), "{text}");
    assert!(refusal(&words("zoo --powers --trainings 0")).contains('0'));
}
