//! Claims that state a mechanism and an epsilon which the mechanism does not have: refused at the start, and found in a certificate.
//!
//! Expected numbers: the exact ε of the Gaussian mechanism (Balle and Wang 2018, Theorem 8), solved with mpmath at 30 digits. Noise
//! multiplier 1 has ε = 4.377178096 at δ = 1e-5 and 6.173935047 at δ = 1e-9. Under replace-one it has 9.997256147 at δ = 1e-5, as noise multiplier 1/2.

use crate::door::{has, json, refusal, room, text, veracity, words};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Scores of two worlds that nobody can distinguish.
fn scores(room: &Path) -> String {
    let rows: String = (0..40).map(|at| format!("{},{at}\n", ["in", "out"][at % 2])).collect();
    fs::write(room.join("scores.csv"), format!("world,score\n{rows}")).unwrap();
    text(&room.join("scores.csv")).to_owned()
}

/// Runs an audit and keeps its files.
fn audited(room: &Path, name: &str, line: &str) -> PathBuf {
    let out = room.join(name);
    let output = veracity(&[&["audit"][..], &words(line), &["--out", text(&out)]].concat());
    assert!(out.join("certificate.json").exists(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    out
}

/// Changes the claim in the order and in the certificate alike.
fn forge(folder: &Path, change: &dyn Fn(&mut Value)) {
    for name in ["order.json", "certificate.json"] {
        let path = folder.join(name);
        let mut value = json(&fs::read_to_string(&path).unwrap());
        change(&mut value["claim"]);
        fs::write(path, serde_json::to_string_pretty(&value).unwrap() + "\n").unwrap();
    }
}

fn verified(folder: &Path) -> (Option<i32>, String) {
    let output = veracity(&["verify", text(&folder.join("certificate.json"))]);
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// A claim that promises less than its mechanism keeps is a claim; so is the ε of the mechanism itself.
#[test]
fn an_epsilon_that_the_mechanism_keeps_is_claimed() {
    let room = room("contradictory-kept");
    let scores = scores(&room);
    for (at, claim) in [
        "",
        "--claim-epsilon 4.3772",
        "--claim-epsilon 10",
        "--claim-epsilon 6.3 --claim-delta 1e-9",
        "--claim-epsilon 9.998 --adjacency replace-one",
    ]
    .iter()
    .enumerate()
    {
        let line = format!("--scores {scores} --claim gaussian --noise-multiplier 1 {claim}");
        let folder = audited(&room, &at.to_string(), &line);
        let (code, said) = verified(&folder);
        assert_eq!(code, Some(0), "{claim}: {said}");
    }
}

#[test]
fn a_claim_file_whose_epsilon_was_edited_is_refused() {
    let room = room("contradictory-file");
    let (scores, claim) = (scores(&room), room.join("claim.json"));
    let line = format!("account gaussian --noise-multiplier 1 --delta 1e-5 --claim {}", text(&claim));
    assert_eq!(veracity(&words(&line)).status.code(), Some(0));
    let mut value = json(&fs::read_to_string(&claim).unwrap());
    let audit = |value: &Value| {
        fs::write(&claim, serde_json::to_string_pretty(value).unwrap() + "\n").unwrap();
        format!("audit --scores {scores} --claim {}", text(&claim))
    };
    let honest = veracity(&words(&audit(&value)));
    assert!(honest.stderr.is_empty(), "{}", String::from_utf8_lossy(&honest.stderr));
    value["epsilon"]["upper"] = json!(3.0);
    value["epsilon"]["lower"] = json!(2.9);
    let said = refusal(&words(&audit(&value)));
    assert!(said.starts_with("claim epsilon is 3, expected at least 4.3771"), "{said}");
}

/// The claim is edited in the order and in the certificate; the trials are as they were.
#[test]
fn an_edited_claim_is_found_by_verify_and_by_merge() {
    let room = room("contradictory-verify");
    let scores = scores(&room);
    let recorded = format!("--scores {scores} --claim gaussian --noise-multiplier 1");
    let mechanism = "--mechanism gaussian --noise-multiplier 1 --trials 200".to_owned();
    type Change = dyn Fn(&mut Value);
    let changes: [&Change; 5] = [
        &|claim| claim["epsilon"] = json!(3.0),
        &|claim| claim["epsilon"] = json!(claim["epsilon"].as_f64().unwrap() * (1.0 - 1e-9)),
        &|claim| claim["delta"] = json!(1e-9),
        &|claim| claim["adjacency"] = json!("replace-one"),
        &|claim| claim["mechanism"]["noise_multiplier"] = json!(0.9),
    ];
    for (kind, line) in [("recorded", &recorded), ("mechanism", &mechanism)] {
        for (at, change) in changes.iter().enumerate() {
            let folder = audited(&room, &format!("{kind}-{at}"), line);
            assert_eq!(verified(&folder).0, Some(0));
            forge(&folder, change);
            let (code, said) = verified(&folder);
            assert_eq!((code, said.lines().count()), (Some(1), 1), "{kind} {at}: {said}");
            assert!(said.starts_with("invalid: claim.epsilon, stated "), "{kind} {at}: {said}");
            // Nor does the tool itself seal such an order again.
            fs::remove_file(folder.join("certificate.json")).unwrap();
            let merged = room.join(format!("merged-{kind}-{at}"));
            let said = refusal(&["audit", "merge", text(&folder), "--out", text(&merged)]);
            assert!(said.starts_with("claim epsilon is "), "{kind} {at}: {said}");
            assert!(!merged.join("certificate.json").exists(), "{kind} {at}");
        }
    }
    for (at, epsilon) in [json!(-1.0), json!("inf"), Value::Null].into_iter().enumerate() {
        let folder = audited(&room, &format!("no-number-{at}"), &recorded);
        forge(&folder, &|claim| claim["epsilon"] = epsilon.clone());
        assert_ne!(verified(&folder).0, Some(0), "{epsilon}");
    }
}

/// An audit of a mechanism or of a plan may be asked about an ε that is too small. Then that ε is all that is claimed: the noise
/// that the subject declares is there, and no word says otherwise.
#[test]
fn an_epsilon_that_the_subject_does_not_keep_is_claimed_alone() {
    let room = room("contradictory-alone");
    for (name, line) in [
        (
            "mechanism",
            "--mechanism discrete-laplace --scale 2 --claim-epsilon 0.3 --claim-delta 0 --trials 40000",
        ),
        ("plan", "--attack blank --trials 20 --claim-epsilon 0.2"),
        ("one-run", "--one-run --canaries 40 --claim-epsilon 0.2"),
    ] {
        let folder = audited(&room, name, line);
        let certificate = json(&fs::read_to_string(folder.join("certificate.json")).unwrap());
        let (claim, proved) = (&certificate["claim"], certificate["proved"].as_f64().unwrap());
        assert!(
            claim["mechanism"].is_null() && proved > claim["epsilon"].as_f64().unwrap(),
            "{certificate:#}"
        );
        let page = fs::read_to_string(folder.join("report.html")).unwrap();
        assert!(!page.contains("noise it declares"), "{name}");
        assert_eq!(verified(&folder).0, Some(0), "{name}: {}", verified(&folder).1);
    }
    // Records of one's own are not in the certificate, so nobody can recompute what is proved of the plan, and verify says so.
    let rows: String = (0..60).map(|at| format!("{},{}\n", at % 7, ["no", "yes"][at % 2])).collect();
    fs::write(room.join("records.csv"), format!("x,class\n{rows}")).unwrap();
    let plan = "[data]\nformat = \"csv\"\npath = \"records.csv\"\nlabel = \"class\"\nclasses = [\"no\", \"yes\"]\n\
                [[data.column]]\nname = \"x\"\nbounds = [0, 7]\n[[model.layer]]\nkind = \"linear\"\noutputs = 2\n\
                [training]\nbatch_size = 20\nsteps = 3\nlearning_rate = 0.5\n[privacy]\nepsilon = 2\ndelta = 1e-5\n";
    fs::write(room.join("plan.toml"), plan).unwrap();
    let line = format!("{} --trials 20 --canaries 2 --claim-epsilon 0.2", text(&room.join("plan.toml")));
    let (code, said) = verified(&audited(&room, "own", &line));
    assert_eq!(code, Some(0), "{said}");
    has(&said, &["not known: what was run and its upper bound"]);
}
