//! `veracity calibrate` through the real binary: the setting first, then what it leaks, and the same as JSON.

use crate::door::{answer, json};

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
    let found = json(&answer("calibrate laplace --epsilon 0.5 --delta 0 --sensitivity 3 --json"));
    let (noise, scale) = (found["noise_multiplier"].as_f64().unwrap(), found["scale"].as_f64().unwrap());
    assert!((2.0..2.000_001).contains(&noise) && (6.0..6.000_003).contains(&scale), "{found}");
}

#[test]
fn each_question_has_its_name_in_json() {
    let training = "--noise-multiplier 1 --epsilon 3 --delta 1e-5 --json";
    let noise =
        json(&answer("calibrate dp-sgd --sampling-rate 0.01 --steps 1000 --epsilon 3 --delta 1e-5 --json"));
    let steps = json(&answer(&format!("calibrate dp-sgd --solve steps --sampling-rate 0.01 {training}")));
    let rate = json(&answer(&format!("calibrate dp-sgd --solve sampling-rate --steps 1000 {training}")));
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
    let found = json(&answer("calibrate gaussian --epsilon 1 --delta 1e-5 --adjacency replace-one --json"));
    let noise = found["noise_multiplier"].as_f64().unwrap();
    assert!((noise / NOISE_FOR_ONE - 2.0).abs() < 1e-6, "{found}");
}
