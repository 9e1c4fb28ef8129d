//! `veracity bound` through the real binary: the bound first, what it rests on beside it, and the same as JSON.

use crate::door::{answer, json, room, veracity, words};

#[test]
fn the_published_refutation_is_one_line_away() {
    let found = json(&answer("bound --tp 4922 --fn 95078 --fp 174 --tn 99826 --significance 1e-10 --json"));
    assert_eq!(found["schema"], "veracity.bound/2");
    assert!((found["epsilon_lower"].as_f64().unwrap() - 2.795_000).abs() < 1e-6, "{found}");
    assert_eq!((&found["trials"], &found["basis"]), (&200_000.into(), &"proved".into()));
    assert!(found["ceiling"].as_f64().unwrap() > 8.0 && found["significance"] == 1e-10, "{found}");
    let grouped = json(&answer("bound --tp 400 --fn 100 --fp 10 --tn 490 --group-size 2 --delta 0 --json"));
    assert!((grouped["epsilon_lower"].as_f64().unwrap() - 1.437_622).abs() < 1e-6, "{grouped}");
}

#[test]
fn each_theorem_of_one_run_has_a_name_and_says_what_it_rests_on() {
    let line = "bound one-run --canaries 1000 --guesses 100 --correct 95 --significance 0.05 --json";
    // The published code of each paper, on these counts; (ε, δ) lines have none.
    for (name, figure, basis) in [
        ("one-run-binomial", Some(2.165_175), "proved"),
        ("one-run-gaussian", Some(3.3233), "if-gaussian"),
        ("one-run-independent", None, "if-independent"),
        ("one-run-independent-gaussian", None, "if-independent-gaussian"),
        ("one-run", None, "proved"),
    ] {
        let found = json(&answer(&format!("{line} --bound {name}")));
        let shown = found["epsilon_lower"].as_f64().unwrap();
        assert!(figure.is_none_or(|figure: f64| (shown - figure).abs() < 1e-4), "{found}");
        assert!(shown > 2.1 && shown < found["ceiling"].as_f64().unwrap(), "{found}");
        assert_eq!((&found["bound"], &found["basis"]), (&name.into(), &basis.into()));
    }
}

/// Ever the same scores: a grid of normal quantiles would do, a clean gap is enough.
fn scores(gap: f64) -> String {
    let rows = (0..400).map(|i| {
        let (world, base) = if i % 2 == 0 { ("in", gap) } else { ("out", 0.0) };
        format!("{world},{}\n", base + f64::from((i / 2 * 37) % 200) / 100.0)
    });
    "world,score\n".to_owned() + &rows.collect::<String>()
}

#[test]
fn scores_are_bounded_side_by_side() {
    let file = room("bound_scores").join("scores.csv");
    std::fs::write(&file, scores(1.9)).unwrap();
    let path = file.to_str().unwrap();
    let text = answer(&format!("bound scores {path}"));
    assert!(
        text.starts_with("bound") && text.contains("sequential") && text.contains("before you look"),
        "{text}"
    );
    let found = json(&answer(&format!("bound scores {path} --json")));
    let bounds = found["bounds"].as_array().unwrap();
    // The same file, the same bound, the same number, whichever command reads it.
    let line = format!("audit --scores {path} --claim-epsilon 20 --significance 0.01 --json");
    let audited = json(&String::from_utf8(veracity(&words(&line)).stdout).unwrap());
    assert_eq!(audited["epsilon_lower"], bounds[0]["epsilon_lower"], "{audited} {found}");
    assert_eq!((bounds.len(), &found["trials"]), (10, &400.into()), "{found}");
    for bound in bounds {
        let (epsilon, ceiling) =
            (bound["epsilon_lower"].as_f64().unwrap(), bound["ceiling"].as_f64().unwrap());
        assert!((0.0..=ceiling).contains(&epsilon), "{bound}");
    }
    assert!(bounds[0]["epsilon_lower"].as_f64().unwrap() > 1.5, "{found}");
}

#[test]
fn a_plan_says_how_many_trials() {
    let found = json(&answer("bound power --claim-epsilon 1 --true-epsilon 4 --significance 0.05 --json"));
    let trials = found["trials"].as_u64().unwrap();
    assert!((2000..20_000).contains(&trials) && found["chance"].as_f64().unwrap() >= 0.9, "{found}");
}
