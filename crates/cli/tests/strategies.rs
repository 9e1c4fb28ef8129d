//! Correlated noise on the command line: strategies by name, by file and in plans; events of dp_accounting.

use crate::door::{answer, json, refusal, room, text, veracity};
use std::fs;

fn upper(line: &str) -> f64 {
    json(&answer(&format!("{line} --json")))["epsilon"]["upper"].as_f64().unwrap()
}

#[test]
fn a_tree_of_eight_levels_is_a_gaussian_of_a_larger_shift() {
    // 255 steps have 8 levels, so √8 times the shift.
    let tree = upper("account matrix --strategy tree --steps 255 --noise-multiplier 8 --delta 1e-6");
    let plain = upper("account gaussian --sigma 8 --sensitivity 2.8284271247461903 --delta 1e-6");
    assert!((tree / plain - 1.0).abs() < 1e-9, "{tree} {plain}");
}

#[test]
fn a_band_is_found_written_down_read_back_and_accounted() {
    let room = room("strategies-band");
    let file = room.join("band.json");
    let found = json(&answer(&format!("strategy --steps 200 --bands 8 --out {} --json", text(&file))));
    assert_eq!(found["coefficients"].as_array().unwrap().len(), 8);
    let errors = found["errors"].as_array().unwrap();
    let mean = |row: &serde_json::Value| row["mean_error"].as_f64().unwrap();
    assert!(errors[1..].iter().take(1).all(|row| mean(row) >= mean(&errors[0])), "{found}");
    assert!(mean(&errors[0]) > found["least_mean_error"].as_f64().unwrap());
    let asked = "--noise-multiplier 2 --participations 5 --separation 40 --delta 1e-6";
    let from_file = upper(&format!("account matrix --strategy {} {asked}", text(&file)));
    let by_name = upper(&format!("account matrix --strategy banded --steps 200 --bands 8 {asked}"));
    assert_eq!(from_file, by_name);
    // Columns of norm 1, five of them without a row in common.
    let plain = upper("account gaussian --noise-multiplier 2 --times 5 --delta 1e-6");
    assert!((from_file / plain - 1.0).abs() < 1e-9, "{from_file} {plain}");
    assert!(
        refusal(&["strategy", "--steps", "9", "--bands", "3", "--out", text(&file)])
            .contains("expected a new file")
    );
}

#[test]
fn bands_in_turns_are_sampled_and_claimed() {
    let room = room("strategies-turns");
    let claim = room.join("claim.json");
    let asked = "account matrix --strategy banded --steps 200 --bands 8 --noise-multiplier 1 --cyclic-rate 0.16 --delta 1e-6";
    answer(&format!("{asked} --claim {}", text(&claim)));
    let plain = upper("account dp-sgd --sampling-rate 0.16 --noise-multiplier 1 --steps 25 --delta 1e-6");
    assert!((upper(asked) / plain - 1.0).abs() < 1e-6);
    assert!(answer(&format!("verify {}", text(&claim))).starts_with("valid"));
}

#[test]
fn a_matrix_from_a_file_may_be_whole_or_end_at_the_diagonal() {
    let room = room("strategies-rows");
    let mut answers = Vec::new();
    for (name, rows) in [
        ("whole.csv", "1,0,0\n0.5,1,0\n0.25,0.5,1\n"),
        ("short.csv", "1\n0.5,1\n0.25,0.5,1\n"),
        ("blanks.txt", "1\n0.5 1\n\n0.25\t0.5 1"),
        ("rows.json", "[[1],[0.5,1],[0.25,0.5,1]]"),
        ("whole.json", "[[1,0,0],[0.5,1,0],[0.25,0.5,1]]"),
        ("spec.json", r#"{"kind":"banded","steps":3,"coefficients":[1,0.5,0.25]}"#),
    ] {
        let path = room.join(name);
        fs::write(&path, rows).unwrap();
        answers.push(upper(&format!(
            "account matrix --strategy {} --noise-multiplier 2 --delta 1e-5",
            text(&path)
        )));
    }
    assert!(answers.iter().all(|epsilon| *epsilon == answers[0]), "{answers:?}");
}

#[test]
fn noise_and_rates_are_found_for_a_budget() {
    let found = json(&answer(
        "calibrate matrix --strategy tree --steps 1000 --participations 3 --separation 300 --epsilon 3 --delta 1e-6 --json",
    ));
    let noise = found["noise_multiplier"].as_f64().unwrap();
    let at = |noise: f64| {
        upper(&format!(
            "account matrix --strategy tree --steps 1000 --participations 3 --separation 300 --noise-multiplier {noise} --delta 1e-6"
        ))
    };
    assert!(at(noise) <= 3.0 && at(noise * (1.0 - 1e-6)) > 3.0, "{found}");
    let turns = answer(
        "calibrate matrix --strategy banded --steps 200 --bands 8 --noise-multiplier 1 --solve sampling-rate --epsilon 3 --delta 1e-6",
    );
    assert!(turns.starts_with("sampling rate "), "{turns}");
}

const PLANS: [(&str, &str); 4] = [
    (r#"{ kind = "tree", steps = 100 }"#, r#"{ kind = "once" }"#),
    (
        r#"{ kind = "banded", steps = 100, coefficients = [1, 0.5, 0.25] }"#,
        r#"{ kind = "separated", times = 4, separation = 20 }"#,
    ),
    (
        r#"{ kind = "banded", steps = 100, coefficients = [1, 0.5, 0.25] }"#,
        r#"{ kind = "cyclic-poisson", groups = 4, rate = 0.1 }"#,
    ),
    (
        r#"{ kind = "rows", rows = [[1.0], [0.5, 1.0], [0.1, 0.4, 1.0]] }"#,
        r#"{ kind = "separated", times = 2, separation = 1 }"#,
    ),
];

#[test]
fn plans_name_strategies_and_participations() {
    let room = room("strategies-plans");
    for (place, (strategy, participation)) in PLANS.into_iter().enumerate() {
        let plan = room.join(format!("{place}.toml"));
        let lines = format!(
            "[[mechanism]]\nkind = \"matrix\"\nnoise_multiplier = 2\nstrategy = {strategy}\nparticipation = {participation}\n"
        );
        fs::write(&plan, lines).unwrap();
        let claim = room.join(format!("{place}.claim.json"));
        answer(&format!("account {} --delta 1e-6 --claim {}", text(&plan), text(&claim)));
        assert!(answer(&format!("verify {}", text(&claim))).starts_with("valid"), "{strategy}");
    }
}

#[test]
fn events_stand_where_a_plan_stands() {
    let room = room("strategies-events");
    let file = room.join("events.json");
    fs::write(
        &file,
        r#"{"class_name": "SelfComposedDpEvent", "count": 1000, "event": {"class_name": "PoissonSampledDpEvent",
            "sampling_probability": 0.01, "event": {"class_name": "GaussianDpEvent", "noise_multiplier": 1.0}}}"#,
    )
    .unwrap();
    let events = upper(&format!("account {} --delta 1e-6", text(&file)));
    assert_eq!(
        events,
        upper("account dp-sgd --sampling-rate 0.01 --noise-multiplier 1 --steps 1000 --delta 1e-6")
    );
    assert!(answer(&format!("explain {} --delta 1e-6", text(&file))).contains("2.12"));
    let replaced = upper(&format!("account {} --adjacency replace-one --delta 1e-6", text(&file)));
    assert!(replaced > events);
    assert_eq!(
        veracity(&["account", text(&file), "--noise-multiplier", "2", "--delta", "1e-6"]).status.code(),
        Some(2)
    );
}
