//! Replays of the real trainer, of real queries and of recorded traces.

use std::path::{Path, PathBuf};
use veracity::{
    Adjacency, NoiseMultiplier, Significance,
    auditing::default_plan,
    query::{Bins, Bounds, Column, ErrorBar, NoiseKind, Question, Rank, Statistic},
    replaying::{self, Fault, Replays, release, training},
};

fn trace(name: &str, text: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn significance() -> Significance {
    Significance::new(0.01).unwrap()
}

fn traces(run: &Path, replay: &Path) -> Result<Replays, veracity::Error> {
    replaying::traces(run, replay, significance())
}

#[test]
fn training_uses_nearly_all_that_it_declares_and_not_more() {
    let replays = training(&default_plan(&[]).unwrap(), 1, significance()).unwrap();
    assert_eq!(replays.fault(), None);
    assert!(replays.used() > 0.9 && replays.used() <= 1.0, "{}", replays.used());
    for word in ["removed", "blanked", "replaced by a record whose gradient is NaN", "added"] {
        assert!(replays.pairs.iter().any(|pair| pair.neighbour.contains(word)), "{word}");
    }
}

#[test]
fn every_statistic_moves_by_no_more_than_it_declares() {
    let bounds = || Bounds::new(-3.0, 10.0).unwrap();
    let numbers =
        Column::from(vec![Some(1.5), None, Some(-1e9), Some(1e9), Some(f64::NAN), Some(2.25), Some(9.0)]);
    let statistics = [
        Statistic::Count,
        Statistic::Sum(bounds()),
        Statistic::Mean(bounds()),
        Statistic::Variance(bounds()),
        Statistic::Quantile {
            bounds: bounds(),
            rank: Rank::new(1, 2).unwrap(),
            steps: 64,
            bar: ErrorBar::Charged,
        },
        Statistic::Histogram(Bins::Numeric { bounds: bounds(), bins: 4 }),
    ];
    for statistic in statistics {
        for adjacency in Adjacency::ALL {
            for kind in [NoiseKind::Laplace, NoiseKind::Gaussian] {
                let question = Question { statistic: statistic.clone(), adjacency };
                let Ok(design) = question.design(kind, NoiseMultiplier::new(1.5).unwrap()) else { continue };
                let replays = release(&design, &numbers, 1, significance()).unwrap();
                assert_eq!(replays.fault(), None, "{statistic:?} {adjacency}");
                assert!(replays.pairs.len() >= 5 && replays.used() <= 1.0);
            }
        }
    }
}

#[test]
fn traces_of_others_are_compared_call_by_call() {
    let line = |input: &str| {
        format!(
            "{{\"place\": \"step\", \"norm\": \"l2\", \"sensitivity\": 1.0, \"input\": [{input}], \"output\": [2.0, 3.0]}}\n"
        )
    };
    let one = trace("one.jsonl", &line("0.0, 0.0"));
    let near = traces(&one, &trace("near.jsonl", &line("0.6, 0.7"))).unwrap();
    assert_eq!(near.fault(), None);
    assert!((near.used() - 0.85f64.sqrt()).abs() < 1e-12);
    let far = traces(&one, &trace("far.jsonl", &line("0.8, 0.7"))).unwrap();
    assert!(matches!(far.fault(), Some((_, Fault::Sensitivity { call: 0, .. }))));
    let longer = traces(&one, &trace("longer.jsonl", &(line("0.0, 0.0") + &line("0.0, 0.0")))).unwrap();
    assert!(matches!(longer.fault(), Some((_, Fault::ControlFlow { call: 1, .. }))));
}

#[test]
fn strange_traces_are_refused_by_line_and_without_a_number_of_theirs() {
    let good = "{\"place\": \"a\", \"norm\": \"l1\", \"sensitivity\": 1, \"input\": [1], \"output\": [1]}\n";
    let one = trace("good.jsonl", good);
    let refused = |name: &str, text: &str| traces(&one, &trace(name, text)).unwrap_err().to_string();
    for (name, text, says) in [
        ("empty", String::new(), "is empty; it needs one line per noise call"),
        ("half", good[..40].to_owned(), "line 1: not a noise call"),
        ("nan", good.replace("[1], \"o", "[NaN], \"o"), "line 1: not a noise call"),
        ("norm", good.replace("l1", "l7"), "line 1: norm is l7, expected l1, l2 or linf"),
        (
            "negative",
            good.replace("\": 1,", "\": -1,"),
            "line 1: sensitivity is -1, expected a finite number ≥ 0",
        ),
        ("second", good.to_owned() + "{}", "line 2: not a noise call"),
        ("extra", good.replace("{", "{\"secret\": 4711, "), "line 1: not a noise call"),
        ("thawed", good.replace("\"output\": [1]", "\"output\": [4711]"), "the outputs of call 0 differ"),
    ] {
        let refusal = refused(&format!("{name}.jsonl"), &text);
        assert!(refusal.contains(says) && !refusal.contains("4711"), "{refusal}");
    }
    assert!(traces(&one, Path::new("nowhere.jsonl")).is_err());
}
