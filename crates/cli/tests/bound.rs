//! `veracity bound` through the real binary: the bound first, what it rests on beside it, and the same as JSON.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::{answer, json, refusal, room, words};

#[test]
fn the_published_refutation_is_one_line_away() {
    let text = answer("bound --tp 4922 --fn 95078 --fp 174 --tn 99826 --significance 1e-10 --delta 0");
    assert!(text.starts_with("epsilon ≥ 2.79522 at delta 0   (clopper-pearson; proved"), "{text}");
    assert!(text.contains("100000 runs with the canary and 100000 without"), "{text}");
    let found = json(&answer("bound --tp 4922 --fn 95078 --fp 174 --tn 99826 --significance 1e-10 --json"));
    assert_eq!(found["schema"], "veracity.bound/2");
    assert!((found["epsilon_lower"].as_f64().unwrap() - 2.795_000).abs() < 1e-6, "{found}");
    assert_eq!((&found["trials"], &found["basis"]), (&200_000.into(), &"proved".into()));
    assert!(found["ceiling"].as_f64().unwrap() > 8.0 && found["significance"] == 1e-10, "{found}");
}

#[test]
fn each_bound_says_what_it_rests_on() {
    for (bound, sign, basis) in [
        ("clopper-pearson", "≥", "proved, whatever"),
        ("gdp", "≥", "proved if the mechanism is Gaussian"),
        ("bayesian", "≈", "credible"),
        ("log-katz", "≈", "approximate"),
    ] {
        let text = answer(&format!("bound --tp 463 --fn 37 --fp 37 --tn 463 --bound {bound}"));
        assert!(text.starts_with(&format!("epsilon {sign} ")) && text.contains(basis), "{text}");
    }
    let grouped = json(&answer("bound --tp 400 --fn 100 --fp 10 --tn 490 --group-size 2 --delta 0 --json"));
    assert!((grouped["epsilon_lower"].as_f64().unwrap() - 1.437_622).abs() < 1e-6, "{grouped}");
}

/// `veracity audit` counts 90000 canaries, 459 guesses, 378 right and shows ε ≥ 1.189: the bound of the same name on the same
/// counts must say the same.
#[test]
fn one_run_is_the_bound_that_the_audit_names_so() {
    let text = answer("bound one-run --canaries 90000 --guesses 459 --correct 378");
    assert!(text.starts_with("epsilon ≥ 1.189"), "{text}");
    assert!(text.contains("(one-run; proved, whatever the mechanism)"), "{text}");
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
    let text = answer(
        "bound one-run --canaries 1e5 --guesses 5e4 --correct 39657 --significance 0.05 --bound one-run-independent-gaussian",
    );
    assert!(text.starts_with("epsilon ≥ 4.314"), "{text}");
    assert!(text.contains("proved if canaries are independent and the mechanism is Gaussian"), "{text}");
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
        text.starts_with("bound") && text.contains("sequential") && text.contains("before looking"),
        "{text}"
    );
    let found = json(&answer(&format!("bound scores {path} --json")));
    let bounds = found["bounds"].as_array().unwrap();
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
    let text = answer("bound power --claim-epsilon 1 --true-epsilon 2 --mechanism pure --trials 1000");
    assert!(text.starts_with("1000 trials") && text.contains("the most that so many could show"), "{text}");
}

#[test]
fn slips_are_told_in_one_line() {
    let file = room("bound_slips").join("scores.csv");
    let path = file.to_str().unwrap().to_owned();
    let table = [
        ("bound --tp 1 --fn 1 --fp 1", "--tn is missing"),
        ("bound --tp 1.5 --fn 1 --fp 1 --tn 1", "tp is 1.5, expected a whole number from 0"),
        ("bound --tp -1 --fn 1 --fp 1 --tn 1", "tp is -1, expected a whole number from 0"),
        ("bound --tp 0 --fn 0 --fp 1 --tn 1", "one world has no runs"),
        ("bound --tp 1 --fn 1 --fp 1 --tn 1 --bound clopper", "--bound is clopper, expected clopper-pearson"),
        ("bound --tp 1 --fn 1 --fp 1 --tn 1 --bound gdp --delta 0", "delta is 0, where epsilon"),
        (
            "bound --tp 1 --fn 1 --fp 1 --tn 1 --bound gdp --group-size 2",
            "no theorem for gdp under group size 2",
        ),
        (
            "bound --tp 1 --fn 1 --fp 1 --tn 1 --significance 0",
            "significance is 0, expected 0 < significance",
        ),
        (
            "bound one-run --canaries 10 --guesses 11 --correct 5",
            "guesses is 11, expected 0 ≤ guesses ≤ canaries",
        ),
        (
            "bound one-run --canaries 10 --guesses 5 --correct 6",
            "correct is 6, expected 0 ≤ correct ≤ guesses",
        ),
        (
            "bound one-run --canaries 10 --guesses 5 --correct 5 --bound fdp",
            "--bound is fdp, expected one-run, one-run-binomial, one-run-gaussian",
        ),
        (
            "bound one-run --canaries 10 --guesses 5 --correct 5 --bound one-run-gaussian --delta 0",
            "delta is 0, where epsilon",
        ),
        ("bound power --claim-epsilon 2 --true-epsilon 1", "the claim of epsilon 2 holds for that truth"),
        (
            "bound power --claim-epsilon 1 --true-epsilon 2 --choice best",
            "--choice is best, expected fixed, split",
        ),
        ("bound scores no-such-file.csv", "file is no-such-file.csv, expected a readable CSV file"),
    ];
    for (line, expected) in table {
        let told = refusal(&words(line));
        assert!(told.starts_with(expected), "{line}\n  told:     {told}\n  expected: {expected}");
    }
    for (text, expected) in [
        ("", "found no world"),
        ("world,points\nin,1\n", "found no score"),
        ("world,score\nin,1\nmaybe,2\n", "found neither at line 3"),
        ("world,score\nin,NaN\nout,1\n", "found none at line 2"),
        ("world,score\nin,1\nin,2\n", "found 2 in and 0 out"),
        ("world,score\nin,1\nin\n", "found none at line 3"),
    ] {
        std::fs::write(&file, text).unwrap();
        let told = refusal(&["bound", "scores", &path]);
        assert!(told.contains(expected), "{text:?}: {told}");
    }
}
