//! Audits of mechanisms and of one run's canaries through the real binary.

use crate::door::{json, refusal, room, veracity, words};
use std::{fmt::Write as _, fs, path::Path};

/// The exit code and the JSON of an audit.
fn audit(line: &str) -> (Option<i32>, serde_json::Value) {
    let output = veracity(&words(&format!("audit {line} --json")));
    assert!(output.stderr.is_empty(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), json(&String::from_utf8(output.stdout).unwrap()))
}

/// Seed 1, significance 1e-3.
#[test]
fn a_mechanism_is_not_refuted_and_half_its_noise_is() {
    let declared = "--mechanism dp-sgd --noise-multiplier 1.5 --sampling-rate 0.5 --steps 3 --trials 200000 --significance 1e-3";
    let (code, honest) = audit(declared);
    assert_eq!((code, honest["verdict"].as_str()), (Some(0), Some("not-refuted")), "{honest}");
    assert_eq!(honest["epsilon"]["upper"], honest["claim"]["epsilon"]);
    assert_eq!(honest["subject"]["kind"], "mechanism");
    let (code, planted) = audit(&format!("{declared} --noise-added 0.75"));
    assert_eq!((code, planted["verdict"].as_str()), (Some(1), Some("refuted")), "{planted}");
    let (code, claimed) =
        audit("--mechanism discrete-laplace --scale 2 --claim-epsilon 0.3 --claim-delta 0 --trials 40000");
    assert_eq!((code, claimed["claim"]["delta"].as_f64()), (Some(1), Some(0.0)), "{claimed}");
}

/// Trials that could not have refuted a claim are no verdict on it, and what must be caught is part of one.
#[test]
fn an_audit_without_power_says_so() {
    let said = |more: &str| {
        let output = veracity(&words(&format!("audit --mechanism gaussian --noise-multiplier 1 {more}")));
        (output.status.code(), String::from_utf8(output.stdout).unwrap().lines().next().unwrap().to_owned())
    };
    let (code, line) = said("--trials 4");
    assert!(code == Some(3) && line.starts_with("INCONCLUSIVE: 4 trials cannot refute"), "{code:?} {line}");
    let (code, line) = said("--trials 4000");
    assert!(code == Some(0) && line.contains("These trials exclude noise above 1."), "{code:?} {line}");
    // A tenth of missing noise takes more trials than that, and is not begun.
    let (code, line) = said("--trials 4000 --require 0.97");
    assert!(code == Some(3) && line.contains("cannot detect noise at 0.97×"), "{code:?} {line}");
    let (code, line) = said("--trials 40000 --require 0.8 --seed 5");
    assert!(code == Some(0) && line.starts_with("NOT REFUTED"), "{code:?} {line}");
}

#[test]
fn shares_of_a_mechanism_are_the_whole_and_anyone_can_recompute_it() {
    let room = room("subjects-shares");
    let at = |name: &str| room.join(name).to_str().unwrap().to_owned();
    let line = "audit --mechanism laplace --scale 2 --sensitivity 1 --trials 200";
    let run = |more: &str| {
        let output = veracity(&words(&format!("{line} {more}")));
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&format!("--out {}", at("whole")));
    run(&format!("--shard 0/2 --out {}", at("a")));
    run(&format!("--shard 1/2 --out {}", at("b")));
    veracity(&["audit", "merge", &at("a"), &at("b"), "--out", &at("merged")]);
    for file in ["certificate.json", "trials.csv"] {
        let read = |folder: &str| fs::read(room.join(folder).join(file)).unwrap();
        assert_eq!(read("whole"), read("merged"), "{file}");
    }
    let verified = veracity(&["verify", &format!("{}/certificate.json", at("whole"))]);
    assert_eq!(verified.status.code(), Some(0));
}

/// A plan for records of two columns.
fn plan(room: &Path, epsilon: f64) -> String {
    let path = room.join("plan.toml");
    let text = format!(
        "[data]\nformat = \"csv\"\npath = \"records.csv\"\nlabel = \"class\"\nclasses = [\"no\", \"yes\"]\n\
         [[data.column]]\nname = \"x\"\nbounds = [-1, 1]\n[[data.column]]\nname = \"y\"\nbounds = [-1, 1]\n\
         [[model.layer]]\nkind = \"linear\"\noutputs = 64\n[[model.layer]]\nkind = \"relu\"\n\
         [[model.layer]]\nkind = \"linear\"\noutputs = 2\n\
         [training]\nbatch_size = 400\nrecords = 400\nsteps = 20\nlearning_rate = 1.0\n\
         [privacy]\nepsilon = {epsilon}\ndelta = 1e-5\n"
    );
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Numbers that look drawn, from −1 to 1.
fn coordinate(at: usize, turn: f64) -> f64 {
    2.0 * (at as f64 * turn).fract() - 1.0
}

/// Seed 1, significance 1e-3 for what is true. The twin is a network wide enough to learn its canaries by heart, with hardly any
/// noise, against a claim that is far from true.
#[test]
fn one_run_of_a_plan_refutes_what_is_not_true_and_nothing_else() {
    let room = room("subjects-one-run");
    let out = room.join("out").to_str().unwrap().to_owned();
    let (code, honest) = audit(&format!("--one-run --canaries 400 --significance 1e-3 --out {out}"));
    assert_eq!((code, honest["trials"].as_u64()), (Some(0), Some(1)), "{honest}");
    assert_eq!(honest["counted"]["canaries"].as_u64(), Some(400));
    assert_eq!(honest["method"]["threshold"], "ends:0.2");
    assert_eq!(veracity(&["verify", &format!("{out}/certificate.json")]).status.code(), Some(0));
    for canary in ["member", "blank", "checkerboard", "backdoor"] {
        let (code, found) = audit(&format!("--one-run --canaries 100 --canary {canary} --significance 1e-3"));
        assert_eq!((code, found["subject"]["settings"]["canary"].as_str()), (Some(0), Some(canary)));
    }
    let plan = room.join("plan.toml");
    let text = "[data]\nformat = \"digits\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 256\n\
                [[model.layer]]\nkind = \"relu\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
                [training]\nbatch_size = 1438\nrecords = 1438\nsteps = 300\nlearning_rate = 4.0\n\
                [privacy]\nepsilon = 1000\ndelta = 1e-5\n";
    fs::write(&plan, text).unwrap();
    let line = format!("--one-run {} --canaries 700", plan.to_str().unwrap());
    let (code, refuted) = audit(&format!("{line} --claim-epsilon 0.2"));
    assert_eq!((code, refuted["verdict"].as_str()), (Some(1), Some("refuted")), "{refuted}");
    // The same training tells the same.
    assert_eq!(audit(&line).1["counted"], refuted["counted"]);
}

/// Steps so long that every model overflows: nothing was seen, and that is no "not refuted".
#[test]
fn trials_that_fail_are_no_verdict_also_where_they_are_not_kept() {
    let room = room("subjects-failing");
    let plan = room.join("plan.toml");
    let text = "[data]\nformat = \"digits\"\n[[model.layer]]\nkind = \"linear\"\noutputs = 16\n\
                [[model.layer]]\nkind = \"linear\"\noutputs = 10\n\
                [training]\nbatch_size = 1438\nrecords = 1438\nsteps = 8\nlearning_rate = 3e38\n\
                [privacy]\nepsilon = 1\ndelta = 1e-5\n";
    fs::write(&plan, text).unwrap();
    let line = format!("audit {} --attack mislabelled --trials 20", plan.to_str().unwrap());
    let said = refusal(&words(&line));
    let expected = "without), more than the maximum of 2: a score is not a number (3 times)";
    assert!(said.starts_with("3 of 20 trials failed (") && said.ends_with(expected), "{said}");
}

/// A model trained on the canaries that are in, among other records. Seed 1, so that its scores are always the same.
#[test]
fn a_model_of_somebody_else_is_judged_by_its_canaries() {
    let room = room("subjects-model");
    let (mut records, mut canaries) = ("x,y,class\n".to_owned(), "x,y,class,world\n".to_owned());
    for at in 0..400 {
        let (x, y) = (coordinate(at, 0.618_033_988_75), coordinate(at, 0.414_213_562_37));
        let class = if x + y > 0.0 { "yes" } else { "no" };
        // Canaries lie on another line each, all with the class that is wrong there; a coin of their number lets them in.
        let wrong = if x + y > 0.0 { "no" } else { "yes" };
        let is_in = coordinate(at, 0.732_050_807_57) > 0.0;
        if at < 200 {
            writeln!(records, "{x},{y},{class}").unwrap();
        } else {
            if is_in {
                writeln!(records, "{x},{y},{wrong}").unwrap();
            }
            writeln!(canaries, "{x},{y},{wrong},{}", if is_in { "in" } else { "out" }).unwrap();
        }
    }
    fs::write(room.join("records.csv"), records).unwrap();
    fs::write(room.join("canaries.csv"), &canaries).unwrap();
    let out = room.join("trained").to_str().unwrap().to_owned();
    let trained = veracity(&["train", &plan(&room, 50.0), "--out", &out, "--seed", "1"]);
    assert_eq!(trained.status.code(), Some(0), "{}", String::from_utf8_lossy(&trained.stderr));
    let file = room.join("canaries.csv").to_str().unwrap().to_owned();
    let line = format!("--model {out}/model.safetensors --canaries-file {file}");
    let kept = room.join("kept").to_str().unwrap().to_owned();
    let (code, found) = audit(&format!("{line} --claim-epsilon 50 --out {kept}"));
    // Forty guesses could not have refuted so much.
    assert_eq!((code, found["counted"]["canaries"].as_u64()), (Some(3), Some(200)), "{found}");
    assert_eq!(veracity(&["verify", &format!("{kept}/certificate.json")]).status.code(), Some(0));
    // What the file says is what is judged: worlds that follow the model's answers refute any small claim.
    let trials = fs::read_to_string(Path::new(&kept).join("trials.csv")).unwrap();
    let mut margins: Vec<f64> =
        trials.lines().skip(1).map(|line| line.split(',').nth(3).unwrap().parse().unwrap()).collect();
    let scores = margins.clone();
    margins.sort_by(f64::total_cmp);
    let mut leaky = "x,y,class,world\n".to_owned();
    for (line, score) in canaries.lines().skip(1).zip(scores) {
        let (record, _) = line.rsplit_once(',').unwrap();
        writeln!(leaky, "{record},{}", if score > margins[99] { "in" } else { "out" }).unwrap();
    }
    fs::write(&file, leaky).unwrap();
    let (code, found) = audit(&format!("{line} --claim-epsilon 1"));
    assert_eq!((code, found["verdict"].as_str()), (Some(1), Some("refuted")), "{found}");
    // Worlds that no coin gave are refused.
    fs::write(&file, canaries.replace(",out\n", ",in\n")).unwrap();
    let said = refusal(&words(&format!("audit {line} --claim-epsilon 1")));
    assert!(said.contains("200 of 200 canaries are included"), "{said}");
    fs::write(&file, "x,y,class\n0,0,no\n").unwrap();
    let said = refusal(&words(&format!("audit {line} --claim-epsilon 1")));
    assert!(said.contains("world"), "{said}");
}
