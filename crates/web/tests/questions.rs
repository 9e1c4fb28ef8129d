//! The page's questions, asked without a browser.

use serde_json::{Value, json};
use veracity_account::claims::{Choice, Target, account, plan, words};
use veracity_core::Delta;
use veracity_web::{Session, ask};

fn answer(question: &Value) -> Value {
    serde_json::from_str(&ask(&mut Session::default(), &question.to_string())).expect("every answer is JSON")
}

fn subject(mechanism: Value) -> Value {
    json!({ "entries": [{ "mechanism": mechanism }] })
}

#[test]
fn a_question_has_the_words_of_its_plan() {
    let toml = "adjacency = 'replace-one'\nunit = 'user'\n[[mechanism]]\nkind = 'dp-sgd'\nsampling_rate = 0.01\n\
                noise_multiplier = 1.1\nsteps = 500\n[[mechanism]]\nkind = 'laplace'\nscale = 10\nsensitivity = 1\ntimes = 3\n";
    let planned = plan::parse(toml).unwrap();
    let expected = account(&planned, Target::Delta(Delta::new(1e-6).unwrap()), Choice::Best).unwrap();
    let asked = json!({ "ask": "account", "delta": 1e-6, "subject": {
        "adjacency": "replace-one", "unit": "user",
        "entries": [
            { "mechanism": { "kind": "dp-sgd", "sampling_rate": 0.01, "noise_multiplier": 1.1, "steps": 500 } },
            { "mechanism": { "kind": "laplace", "scale": 10, "sensitivity": 1 }, "times": 3 },
        ],
    } });
    assert_eq!(answer(&asked)["text"], words::answer::answer(&planned, &expected).to_string());
}

#[test]
fn every_kind_of_question_is_answered() {
    let sgd =
        || subject(json!({ "kind": "dp-sgd", "sampling_rate": 0.01, "noise_multiplier": 1, "steps": 100 }));
    let row = answer(&json!({ "ask": "account", "delta": 1e-5, "subject": sgd(), "method": "rdp" }));
    assert_eq!((&row["method"], &row["standing"]), (&json!("rdp"), &json!("upper bound")));
    let none = answer(&json!({ "ask": "account", "delta": 1e-5, "subject": sgd(), "method": "zcdp" }));
    assert!(none["standing"].as_str().unwrap().starts_with("–: no theorem"), "{none}");
    for (solve, found) in
        [("noise", "noise multiplier "), ("steps", "steps "), ("sampling-rate", "sampling rate ")]
    {
        let asked =
            json!({ "ask": "calibrate", "solve": solve, "epsilon": 2, "delta": 1e-5, "subject": sgd() });
        let told = answer(&asked);
        assert!(told["found"].as_str().unwrap().starts_with(found), "{told}");
        assert!(told["answer"]["upper"].as_f64().unwrap() <= 2.0);
    }
    let told = answer(&json!({ "ask": "explain", "delta": 1e-5, "subject": sgd() }));
    assert_eq!(told["rows"].as_array().unwrap().len(), 3);
    let curves = answer(&json!({ "ask": "curves", "delta": 1e-5, "subject": sgd() }));
    let profile: Vec<[f64; 2]> = serde_json::from_value(curves["profile"].clone()).unwrap();
    assert!(profile.len() > 50 && profile.is_sorted_by(|a, b| a[0] < b[0] && a[1] >= b[1]));
    let begun = json!({ "ask": "audit", "audit": { "mechanism": "laplace", "noise_multiplier": 1, "bug": "half-noise", "delta": 0, "seed": 5 } });
    let mut session = Session::default();
    ask(&mut session, &begun.to_string());
    let told: Value =
        serde_json::from_str(&ask(&mut session, r#"{"ask": "trials", "trials": 20000}"#)).unwrap();
    assert_eq!((&told["verdict"], &told["over"]), (&json!("refuted"), &json!(true)), "{told}");
}

/// Whatever is asked, the answer is an object; what cannot be answered is one line.
#[test]
fn what_makes_no_sense_is_one_line() {
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let questions = [
        "",
        "{",
        "null",
        "[]",
        "\u{0}",
        &deep,
        r#"{"ask": "trials", "trials": 5}"#,
        r#"{"ask": "evil"}"#,
        r#"{"ask": "account"}"#,
        r#"{"ask": "account", "delta": 1, "epsilon": 1, "subject": {"entries": []}}"#,
        r#"{"ask": "account", "delta": 1e-5, "subject": {"entries": []}}"#,
        r#"{"ask": "account", "delta": 1e-5, "subject": {"entries": [{"mechanism": {"kind": "gaussian"}}]}}"#,
        r#"{"ask": "account", "delta": -1, "subject": {"entries": [{"mechanism": {"kind": "gaussian", "noise_multiplier": 1}}]}}"#,
        r#"{"ask": "account", "delta": 1e999, "subject": {"entries": [{"mechanism": {"kind": "gaussian", "noise_multiplier": 1}}]}}"#,
        r#"{"ask": "account", "delta": 0.1, "subject": {"entries": [{"mechanism": {"kind": "gaussian", "noise_multiplier": 1}, "times": 1e300}]}}"#,
        r#"{"ask": "verify", "text": "{\"schema\": \"veracity.claim/2\"}"}"#,
        r#"{"ask": "verify", "text": "{\"schema\": \"veracity.certificate/3\"}"}"#,
        r#"{"ask": "verify", "text": "no"}"#,
        r#"{"ask": "audit", "audit": {"mechanism": "laplace", "noise_multiplier": -1, "bug": "honest", "delta": 0, "seed": 1}}"#,
    ];
    for question in questions {
        let told: Value = serde_json::from_str(&ask(&mut Session::default(), question)).unwrap();
        let line = told["error"].as_str().unwrap_or_else(|| panic!("{question}: {told}"));
        assert!(!line.contains('\n') && line.len() < 900, "{line}");
    }
}

#[test]
fn the_example_of_the_page_holds_and_its_forgery_does_not() {
    let claim = include_str!("../page/example.claim.json");
    let verify = |text: &str| answer(&json!({ "ask": "verify", "text": text }));
    assert_eq!(verify(claim)["stands"], true);
    // As the page's button forges it.
    let forged = claim.replacen("\"upper\": 1.0999", "\"upper\": 0.0999", 1);
    assert_ne!(forged, claim);
    assert_eq!(verify(&forged)["stands"], false);
}

/// A certificate whose bound needs its trials: what it says of itself must still agree.
#[test]
fn a_certificate_that_contradicts_itself_does_not_stand() {
    let certificate = |verdict: &str, epsilon_lower: f64| {
        let text = json!({
            "schema": "veracity.certificate/3",
            "verdict": verdict,
            "epsilon_lower": epsilon_lower,
            "ceiling": 5.0,
            "basis": "proved",
            "significance": 0.05,
            "claim": { "epsilon": 2.0, "delta": 1e-5, "adjacency": "add-remove", "mechanism": null },
            "proved": null,
            "method": { "bound": "band", "threshold": "all", "group_size": 1 },
            "counted": {},
            "curve": {},
            "trials": 1000,
        });
        answer(&json!({ "ask": "verify", "text": text.to_string() }))
    };
    // More is shown than claimed, or the verdict is none.
    for (verdict, shown) in [("not-refuted", 3.0), ("inconclusive", 3.0), ("fine", 1.0), ("", 1.0)] {
        let told = certificate(verdict, shown);
        assert_eq!(told["stands"], false, "{verdict} {shown}: {told}");
    }
    for (verdict, shown) in [("not-refuted", 1.0), ("inconclusive", 1.0), ("refuted", 3.0)] {
        let told = certificate(verdict, shown);
        assert!(told["error"].is_null() && told["stands"] != false, "{verdict} {shown}: {told}");
    }
}
