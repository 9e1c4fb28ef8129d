//! `veracity calibrate` through the real binary: the setting first, then what it leaks, and the same as JSON.

#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

use std::process::{Command, Output};

fn veracity(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_veracity")).args(line.split_whitespace()).output().unwrap()
}

fn answer(line: &str) -> String {
    let output = veracity(line);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.is_empty(), "{line}: {stderr}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(line: &str) -> serde_json::Value {
    serde_json::from_str(&answer(line)).unwrap()
}

/// Exit 2, one line on stderr, nothing on stdout.
fn refusal(line: &str) -> String {
    let output = veracity(line);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{line}: {stderr}");
    assert!(output.stdout.is_empty() && stderr.matches('\n').count() == 1, "{line}: {stderr}");
    stderr.trim_end().trim_start_matches("veracity: ").to_owned()
}

/// The first line, without the name of what was found.
fn first_number(text: &str, name: &str) -> f64 {
    let rest = text.lines().next().unwrap().strip_prefix(name).unwrap();
    rest.split(',').next().unwrap().trim().parse().unwrap()
}

/// # mpmath 1.4, 50 digits: 1/m with ncdf(m/2-1/m)-exp(1)*ncdf(-m/2-1/m) = mpf(1e-5)
const NOISE_FOR_ONE: f64 = 3.730_631_634_815_942;

#[test]
fn the_noise_comes_first_then_what_it_leaks() {
    let text = answer("calibrate gaussian --epsilon 1 --delta 1e-5");
    let noise = first_number(&text, "noise multiplier ");
    assert!((NOISE_FOR_ONE..NOISE_FOR_ONE * (1.0 + 1e-6)).contains(&noise), "{text}");
    let second = text.lines().nth(1).unwrap();
    assert!(
        second.starts_with("epsilon ≤ ") && second.contains("(add-remove, per example; exact)"),
        "{text}"
    );
    // The digits that are printed are the digits that were certified.
    let back = answer(&format!("account gaussian --noise-multiplier {noise} --delta 1e-5"));
    assert_eq!(text.lines().nth(1), back.lines().next());
}

#[test]
fn a_sensitivity_turns_the_noise_into_a_scale() {
    let text = answer("calibrate gaussian --epsilon 1 --delta 1e-5 --sensitivity 2");
    assert!(text.lines().next().unwrap().contains(", sigma 7.46126"), "{text}");
    let found = json("calibrate laplace --epsilon 0.5 --delta 0 --sensitivity 3 --json");
    let (noise, scale) = (found["noise_multiplier"].as_f64().unwrap(), found["scale"].as_f64().unwrap());
    assert!((2.0..2.000_001).contains(&noise) && (6.0..6.000_003).contains(&scale), "{found}");
}

#[test]
fn each_question_has_its_name_in_json() {
    let training = "--noise-multiplier 1 --epsilon 3 --delta 1e-5 --json";
    let noise = json("calibrate dp-sgd --sampling-rate 0.01 --steps 1000 --epsilon 3 --delta 1e-5 --json");
    let steps = json(&format!("calibrate dp-sgd --solve steps --sampling-rate 0.01 {training}"));
    let rate = json(&format!("calibrate dp-sgd --solve sampling-rate --steps 1000 {training}"));
    for (found, name) in [(&noise, "noise_multiplier"), (&steps, "steps"), (&rate, "sampling_rate")] {
        assert_eq!(found["schema"], "veracity.calibrate/2");
        assert_eq!((&found["method"], &found["adjacency"]), (&"exact".into(), &"add-remove".into()));
        assert!(found[name].is_number(), "{found}");
        let asked = ["noise_multiplier", "steps", "sampling_rate"].map(|name| !found[name].is_null());
        assert_eq!(asked.iter().filter(|asked| **asked).count(), 1, "{found}");
        let (lower, upper) = (&found["epsilon"]["lower"], &found["epsilon"]["upper"]);
        assert!(lower.as_f64().unwrap() <= upper.as_f64().unwrap() && upper.as_f64().unwrap() <= 3.0);
        assert!(upper.as_f64().unwrap() > 2.99 && found["mechanism"].is_object(), "{found}");
    }
    assert!((noise["noise_multiplier"].as_f64().unwrap() - 0.813_584_5).abs() < 1e-6, "{noise}");
}

#[test]
fn steps_and_rates_are_printed_by_name() {
    let text =
        answer("calibrate gaussian --solve steps --noise-multiplier 1000 --epsilon 4.3772 --delta 1e-5");
    assert!(first_number(&text, "steps ") >= 1e6, "{text}");
    let all = answer(
        "calibrate dp-sgd --solve sampling-rate --steps 2 --noise-multiplier 10 --epsilon 3 --delta 1e-5",
    );
    assert_eq!(first_number(&all, "sampling rate "), 1.0, "{all}");
    let whole = answer("calibrate discrete-gaussian --sensitivity 1 --epsilon 1 --delta 1e-5");
    assert!((first_number(&whole, "sigma ") - NOISE_FOR_ONE).abs() < 1e-2, "{whole}");
}

#[test]
fn a_replaced_record_needs_twice_the_noise() {
    let found = json("calibrate gaussian --epsilon 1 --delta 1e-5 --adjacency replace-one --json");
    let noise = found["noise_multiplier"].as_f64().unwrap();
    assert!((noise / NOISE_FOR_ONE - 2.0).abs() < 1e-6, "{found}");
}

#[test]
fn what_cannot_be_kept_is_refused_with_a_remedy() {
    let table = [
        ("calibrate gaussian --epsilon 1 --delta 0", "delta is 0, where epsilon is infinite"),
        (
            "calibrate gaussian --solve steps --noise-multiplier 1 --epsilon 0.1 --delta 1e-5",
            "even one use leaks more than epsilon 0.1 at delta 1e-5, expected a larger epsilon or delta",
        ),
        ("calibrate gaussian --epsilon inf --delta 1e-5", "epsilon is inf, expected a finite number > 0"),
    ];
    for (line, expected) in table {
        let told = refusal(line);
        assert!(told.starts_with(expected), "{line}\n  told:     {told}\n  expected: {expected}");
    }
}
