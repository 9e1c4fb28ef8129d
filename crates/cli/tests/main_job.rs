//! The main job through the real binary: the audit's verdict and exit code, and certified answers that contain numbers
//! from outside.

use std::process::{Command, Output};

fn veracity(line: &str) -> Output {
    // A report is written where it runs.
    let room = std::env::temp_dir().join(format!("veracity-main-job-{}", std::process::id()));
    std::fs::create_dir_all(&room).unwrap();
    Command::new(env!("CARGO_BIN_EXE_veracity"))
        .args(line.split_whitespace())
        .current_dir(room)
        .output()
        .unwrap()
}

fn json(line: &str) -> (serde_json::Value, Option<i32>) {
    let output = veracity(line);
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code())
}

/// Seed 1; the honest run errs with chance at most 1e-3.
#[test]
fn an_honest_claim_is_not_refuted_and_a_tenth_of_it_is() {
    let (honest, code) = json("audit --trials 400 --significance 1e-3 --json");
    assert_eq!((honest["verdict"].as_str(), code), (Some("not-refuted"), Some(0)), "{honest}");
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    assert!(number(&honest["epsilon_lower"]) <= number(&honest["epsilon"]["upper"]));
    assert!(number(&honest["ceiling"]) > number(&honest["epsilon_lower"]));
    assert_eq!((honest["trials"].as_u64(), honest["schema"].as_str()), (Some(400), Some("veracity.audit/4")));
    // The same runs against a claim that they can refute.
    let (refuted, code) = json("audit --trials 400 --claim-epsilon 0.2 --significance 0.05 --json");
    assert_eq!((refuted["verdict"].as_str(), code), (Some("refuted"), Some(1)), "{refuted}");
}

/// # testkit/golden: make_truth.py, FLINT balls of 192 bits
#[test]
fn answers_contain_numbers_from_outside_and_are_narrow() {
    let mnist = "account dp-sgd --batch-size 256 --dataset-size 60000 --delta 1e-5 --json";
    for (line, truth) in [
        (format!("{mnist} --noise-multiplier 1 --steps 600"), 0.577_329_032_741_14),
        (format!("{mnist} --noise-multiplier 1 --steps 3500"), 1.348_227_955_737_145),
        (format!("{mnist} --noise-multiplier 1 --steps 14000"), 2.815_723_148_272_161),
        (format!("{mnist} --noise-multiplier 1.1 --steps 14000"), 2.375_837_626_973_431),
        ("account gaussian --noise-multiplier 1 --delta 1e-5 --json".to_owned(), 4.377_178_095_681_225),
        (
            "account laplace --scale 10 --sensitivity 1 --times 100 --delta 1e-5 --json".to_owned(),
            4.220_347_325_080_36,
        ),
        (
            "account randomized-response --noise-parameter 0.5 --buckets 2 --times 50 --delta 1e-5 --json"
                .to_owned(),
            50.522_627_148_081_29,
        ),
        (
            "account gaussian --noise-multiplier 20 --times 1000 --delta 1e-12 --json".to_owned(),
            11.992_091_054_967_825,
        ),
    ] {
        let (found, code) = json(&line);
        let side = |side: &str| found["epsilon"][side].as_f64().unwrap();
        assert_eq!(code, Some(0));
        assert!(side("lower") <= truth && truth <= side("upper"), "{line}: {found}");
        assert!(side("upper") - side("lower") <= 1e-6 * truth, "{line}: {found}");
    }
}
