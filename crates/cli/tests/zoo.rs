//! `veracity zoo` and `veracity audit --replay`, from arguments to exit code.

use crate::door::{answer, json, room, veracity, words};
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
    assert!(text.starts_with("0 of 4 correct versions refuted in "), "{text}");
}

#[test]
fn a_zoo_without_power_says_so_by_its_exit_code() {
    // So little significance that no number of these trials could refute anything.
    let output = veracity(&words("zoo scale-inverted --significance 1e-300 --json"));
    assert_eq!(output.status.code(), Some(1));
    let found = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(found["bugs"][0]["verdict"], "not-refuted");
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
fn a_trace_that_moves_too_far_is_a_fault_of_the_sensitivity() {
    let room = room("traces");
    let (one, beyond) = (write(&room, "one.jsonl", 5.0, 9.0), write(&room, "beyond.jsonl", 8.0, 9.0));
    let output = veracity(&words(&format!("audit --replay --trace {one} --trace-neighbour {beyond} --json")));
    let found = json(&String::from_utf8(output.stdout).unwrap());
    assert_eq!((&found["verdict"], &found["fault"]["kind"]), (&"refuted".into(), &"sensitivity".into()));
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
        assert!(text.contains("noise      not declared, so not tested\n"), "{text}");
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
        assert_eq!(text.contains(", tested at level "), kind.is_some(), "{text}");
    }
    // With so little to spend nothing is refuted but what could not be at all.
    let said = write_noisy(&room, "said.jsonl", tiny, declared);
    answer(&format!("audit --replay --trace {said} --trace-neighbour {said} --significance 1e-200"));
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
    assert!(text.starts_with("NOT REFUTED: used at most 100% of the declared sensitivity"), "{text}");
    assert!(text.contains("noise      declared in 1 call, "), "{text}");
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
    assert!(
        text.starts_with("0 of 2 correct versions refuted by the curve within 1,000 training runs"),
        "{text}"
    );
}
