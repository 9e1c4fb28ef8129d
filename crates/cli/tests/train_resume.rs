//! Training that is killed, with system entropy: the same bits again, no step charged twice, and no key left lying about.
#![cfg(unix)]

use crate::door::{json, names, refusal, room, veracity, words};
use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Child, Command},
};

const PLAN: &str = r#"
adjacency = "zero-out"
[data]
format = "csv"
path = "points.csv"
label = "side"
classes = ["left", "right"]
[[data.column]]
name = "x"
bounds = [0, 100]
[[model.layer]]
kind = "linear"
outputs = 2
[training]
sampling = "poisson"
batch_size = 50
steps = 20000
learning_rate = 0.5
momentum = 0.5
[privacy]
noise_multiplier = 20
delta = 1e-5
"#;

const FILES: [&str; 3] = ["claim.json", "model.safetensors", "report.html"];

fn points(rows: usize) -> String {
    let row =
        |at: usize| format!("{},{}\n", at * 37 % 100, if at * 37 % 100 < 50 { "left" } else { "right" });
    std::iter::once("x,side\n".to_owned()).chain((0..rows).map(row)).collect()
}

/// A room with a plan and its data.
fn desk(name: &str, plan: &str) -> (PathBuf, PathBuf) {
    let room = room(name);
    fs::write(room.join("points.csv"), points(300)).unwrap();
    fs::write(room.join("plan.toml"), plan).unwrap();
    let plan = room.join("plan.toml");
    (room, plan)
}

fn train<'a>(plan: &'a Path, out: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    [&["train", plan.to_str().unwrap(), "--out", out.to_str().unwrap()], more].concat()
}

fn done(args: &[&str]) {
    let output = veracity(args);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

fn spawn(args: &[&str]) -> Child {
    let null = std::process::Stdio::null;
    Command::new(env!("CARGO_BIN_EXE_veracity")).args(args).stdout(null()).stderr(null()).spawn().unwrap()
}

/// The step of the checkpoint in a folder; before there is one, nothing.
fn step(out: &Path) -> Option<u64> {
    let bytes = fs::read(out.join("checkpoint.safetensors")).ok()?;
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let head = json(std::str::from_utf8(&bytes[8..8 + length]).unwrap());
    json(head["__metadata__"]["veracity-checkpoint"].as_str().unwrap())["step"].as_u64()
}

/// Kills a run once it has laid a step at or after `wanted` aside; whether it was still going on.
fn is_killed_after(mut child: Child, out: &Path, wanted: u64) -> bool {
    while step(out).is_none_or(|step| step < wanted) && child.try_wait().unwrap().is_none() {}
    child.kill().unwrap();
    let status = child.wait().unwrap();
    assert!(matches!(status.code(), None | Some(0)), "{status}");
    status.code().is_none()
}

/// Does what must happen while a run goes on. On a busy machine the run may end before anyone looks; then it is begun anew.
fn while_it_runs(attempt: impl Fn() -> bool) {
    assert!((0..50).any(|_| attempt()), "every run ended too early");
}

/// A new run that was killed after step 7.
fn killed(args: &[&str], out: &Path) {
    while_it_runs(|| {
        let _ = fs::remove_dir_all(out);
        is_killed_after(spawn(args), out, 7)
    });
}

/// Copies what a run has laid aside.
fn copy_aside(from: &Path, to: &Path) -> std::io::Result<()> {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to)?;
    ["checkpoint.key", "checkpoint.safetensors"]
        .iter()
        .try_for_each(|name| fs::copy(from.join(name), to.join(name)).map(|_| ()))
}

/// All files of a run, the report without the minute at which it was made.
fn all(out: &Path) -> Vec<Vec<u8>> {
    let undated = |bytes: Vec<u8>| match std::str::from_utf8(&bytes)
        .ok()
        .and_then(|text| text.split_once("<dt>Date</dt>"))
    {
        Some((before, after)) => format!("{before}{}", after.split_once("</dd>").unwrap().1).into_bytes(),
        None => bytes,
    };
    FILES.iter().map(|name| undated(fs::read(out.join(name)).unwrap())).collect()
}

/// All files of a run, but for the time in its claim: two runs end at two times.
fn timeless(out: &Path) -> (serde_json::Value, Vec<Vec<u8>>) {
    let mut files = all(out);
    let mut claim = json(std::str::from_utf8(&files.remove(0)).unwrap());
    assert!(claim["release"]["time"].take().is_string());
    (claim, files)
}

/// Copies what was laid aside while its run goes on, and lets the copy be killed again and again.
#[test]
fn a_killed_run_ends_in_the_bits_of_one_from_the_same_key_that_never_was() {
    for sampling in ["poisson", "shuffled"] {
        // Long enough that a run seldom ends before it is killed.
        let plan = PLAN.replace("poisson", sampling).replace("steps = 20000", "steps = 100000");
        let (room, plan) = desk(&format!("resume-{sampling}"), &plan);
        let (whole, part) = (room.join("whole"), room.join("part"));
        while_it_runs(|| {
            let _ = fs::remove_dir_all(&whole);
            let mut first = spawn(&train(&plan, &whole, &["--checkpoint-every", "400"]));
            while step(&whole).is_none() && first.try_wait().unwrap().is_none() {}
            // The key is whole as long as steps are left.
            let is_copied =
                copy_aside(&whole, &part).is_ok() && step(&whole).is_some_and(|step| step < 100_000);
            assert!(first.wait().unwrap().success());
            is_copied
        });
        assert_eq!(names(&whole), FILES, "something was left lying about");
        // Steps within an epoch of shuffled batches, which has six.
        for wanted in [1, 3001, 9007, 15_013] {
            let before = room.join("before");
            copy_aside(&part, &before).unwrap();
            while_it_runs(|| {
                copy_aside(&before, &part).unwrap();
                let again = spawn(&train(&plan, &part, &["--resume", "--checkpoint-every", "251"]));
                is_killed_after(again, &part, wanted)
            });
            assert!(!part.join("model.safetensors").exists() && part.join("checkpoint.key").exists());
        }
        done(&train(&plan, &part, &["--resume"]));
        assert_eq!(timeless(&whole), timeless(&part), "{sampling}: other bits, or another claim");
        assert_eq!(names(&part), FILES);
        let claim = json(&fs::read_to_string(part.join("claim.json")).unwrap());
        assert_eq!(
            (&claim["release"]["entropy"], &claim["release"]["for_release"]),
            (&"system".into(), &true.into())
        );
        // A run of its own has a key of its own.
        let other = room.join("other");
        done(&train(&plan, &other, &["--checkpoint-every", "5000"]));
        assert_ne!(all(&whole)[1], all(&other)[1]);
    }
}

#[test]
fn a_run_is_taken_up_with_its_own_plan_records_and_key_only() {
    let (room, plan) = desk("resume-own", PLAN);
    let out = room.join("out");
    killed(&train(&plan, &out, &["--checkpoint-every", "7"]), &out);
    let key = out.join("checkpoint.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let resume = train(&plan, &out, &["--resume"]);
    let before = names(&out);

    fs::write(room.join("points.csv"), points(300).replacen("37,left", "38,left", 1)).unwrap();
    assert!(refusal(&resume).contains("the data that the run started with"));
    fs::write(room.join("points.csv"), points(300)).unwrap();
    fs::write(&plan, PLAN.replace("momentum = 0.5", "momentum = 0.6")).unwrap();
    assert!(refusal(&resume).contains("the plan that the run started with"));
    fs::write(&plan, PLAN).unwrap();
    assert!(refusal(&train(&plan, &out, &["--resume", "--seed", "1"])).contains("without a seed"));

    let good = fs::read(&key).unwrap();
    let mut other = good.clone();
    *other.last_mut().unwrap() ^= 1;
    fs::write(&key, &other).unwrap();
    assert!(refusal(&resume).contains("of this key or seed"));
    fs::write(&key, &good[..good.len() - 1]).unwrap();
    assert!(refusal(&resume).contains("key is "));
    fs::write(&key, &good).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(refusal(&resume).contains("only its owner"));
    fs::remove_file(&key).unwrap();
    assert!(refusal(&resume).contains("start the run again"));
    fs::write(&key, &good).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(names(&out), before, "a refusal changed what was laid aside");

    // Neither file holds the records in the clear, nor the checkpoint the key.
    let aside = fs::read(out.join("checkpoint.safetensors")).unwrap();
    let root = &good[good.len() - 32..];
    assert!(!aside.windows(32).any(|window| window == root));
    done(&resume);
    assert_eq!(names(&out), FILES);
    assert!(!all(&out).iter().any(|file| file.windows(32).any(|window| window == root)));
}

/// Every state that a crash can leave between the last step and the end is taken up to the same files, and a fresh run in it
/// begins anew with a key of its own.
#[test]
fn a_crash_while_the_model_is_handed_over_is_taken_up_cleanly() {
    let (room, plan) = desk("resume-end", PLAN);
    let out = room.join("out");
    let (aside, key) = (out.join("checkpoint.safetensors"), out.join("checkpoint.key"));
    killed(&train(&plan, &out, &["--checkpoint-every", "7"]), &out);
    let kept = fs::read(&key).unwrap();
    // At the end the model cannot be put in its place: all steps are done, and the key is gone before the model is there.
    fs::create_dir_all(out.join("model.safetensors/in-the-way")).unwrap();
    let resume = train(&plan, &out, &["--resume"]);
    assert!(refusal(&resume).starts_with("cannot write model "));
    fs::remove_dir_all(out.join("model.safetensors")).unwrap();
    let left = ["checkpoint.safetensors", "claim.json"].map(str::to_owned).to_vec();
    assert_eq!((names(&out), step(&out)), (left, Some(20_000)));
    let sealed = fs::read(&aside).unwrap();
    done(&resume);
    let first = all(&out);
    assert_eq!(names(&out), FILES);

    let secretly = |bytes: &[u8]| {
        fs::write(&key, bytes).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    };
    // Before the key was destroyed; half-way through; after; after the claim, but before the model; before the report.
    let states: [&dyn Fn(); 5] = [
        &|| secretly(&kept),
        &|| secretly(&vec![0; kept.len()]),
        &|| {},
        &|| FILES[1..].iter().for_each(|name| fs::remove_file(out.join(name)).unwrap()),
        &|| fs::remove_file(out.join("report.html")).unwrap(),
    ];
    for (at, state) in states.iter().enumerate() {
        fs::write(&aside, &sealed).unwrap();
        state();
        done(&resume);
        assert_eq!(
            (all(&out), names(&out)),
            (first.clone(), FILES.map(str::to_owned).to_vec()),
            "state {at}"
        );
    }
    for (at, state) in states[..3].iter().enumerate() {
        fs::write(&aside, &sealed).unwrap();
        state();
        assert!(
            refusal(&train(&plan, &out, &["--checkpoint-every", "9000"])).contains("continue it with resume")
        );
        done(&train(&plan, &out, &["--checkpoint-every", "9000", "--force"]));
        let numbered = (1..=at + 1).map(|number| format!("claim-{number}.json"));
        let expected: Vec<String> = numbered.chain(FILES.map(str::to_owned)).collect();
        assert_eq!(names(&out), expected, "state {at}");
        assert_ne!(all(&out)[1], first[1], "a fresh run drew from an old key");
    }
    assert_eq!(fs::read(out.join("claim-1.json")).unwrap(), first[0], "a claim was lost");
    // A key without a checkpoint: nothing was done yet, so there is nothing to take up.
    secretly(&kept);
    assert!(refusal(&resume).starts_with("cannot read checkpoint "));
}

#[test]
fn a_seeded_run_is_taken_up_with_its_own_seed_only() {
    for sampling in ["poisson", "shuffled"] {
        let (room, plan) = desk(&format!("resume-seed-{sampling}"), &PLAN.replace("poisson", sampling));
        let out = room.join("out");
        killed(&train(&plan, &out, &["--seed", "5", "--checkpoint-every", "7"]), &out);
        assert!(!out.join("checkpoint.key").exists(), "a seed was written down");
        assert!(refusal(&train(&plan, &out, &["--resume", "--seed", "6"])).contains("of this key or seed"));
        assert!(refusal(&train(&plan, &out, &["--resume"])).contains("resume with its seed"));
        done(&train(&plan, &out, &["--resume", "--seed", "5"]));
    }
}

/// A training that a ledger paid for, killed and resumed under its request id, is charged once; asked again, it is told again.
#[test]
fn a_paid_training_that_is_killed_and_resumed_is_charged_once() {
    let (room, plan) = desk("train-paid", PLAN);
    let (out, ledger) = (room.join("out"), room.join("year.ledger"));
    let ledger = ledger.to_str().unwrap();
    let paid = ["--ledger", ledger, "--request-id", "spring", "--checkpoint-every", "1"];
    while_it_runs(|| {
        let _ = (fs::remove_file(ledger), fs::remove_dir_all(&out));
        done(&words(&format!(
            "ledger create {ledger} --epsilon 1000 --rule sum --delta 1e-3 --adjacency zero-out"
        )));
        is_killed_after(spawn(&train(&plan, &out, &paid)), &out, 7)
    });
    let charged = || {
        let shown = veracity(&["ledger", "show", ledger, "--json"]);
        json(std::str::from_utf8(&shown.stdout).unwrap())
    };
    let before = charged();
    assert_eq!((&before["entries"], &before["answered"]), (&1.into(), &0.into()));
    // Begun anew under the same id it is refused: noise may have been drawn. So is one in a folder that is taken, which costs nothing.
    assert!(refusal(&train(&plan, &room.join("other"), &paid)).contains("never answered"));
    let fresh = ["--ledger", ledger, "--request-id", "summer"];
    assert!(refusal(&train(&plan, &out, &fresh)).contains("paused run"));
    assert!(refusal(&train(&plan, &room.join("plan.toml"), &fresh)).contains("plan.toml"));
    assert!(
        refusal(&train(&plan, &room.join("empty"), &[&fresh[..], &["--resume"]].concat()))
            .contains("cannot read checkpoint")
    );
    done(&train(&plan, &out, &[&paid[..4], &["--resume"]].concat()));
    let after = charged();
    assert_eq!((&after["entries"], &after["answered"]), (&1.into(), &1.into()));
    assert_eq!(before["spent"], after["spent"]);
    let again = veracity(&train(&plan, &out, &paid));
    assert!(String::from_utf8_lossy(&again.stdout).contains("answered before"), "{again:?}");
    assert_eq!(charged()["entries"], 1);
    done(&["ledger", "verify", ledger]);
}
