//! A model and its claim belong together: what is swapped, altered, copied or lost is seen, and no run costs another its files.

use crate::door::{has, json, names, refusal, room, text, veracity};
use std::{
    fs,
    path::{Path, PathBuf},
};

const PLAN: &str = r#"
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
batch_size = 50
steps = 20
learning_rate = 0.5
[privacy]
noise_multiplier = 20
delta = 1e-5
"#;

const FILES: [&str; 3] = ["claim.json", "model.safetensors", "report.html"];

/// A room with a plan and its data.
fn desk(name: &str) -> (PathBuf, PathBuf) {
    let room = room(name);
    let row =
        |at: usize| format!("{},{}\n", at * 37 % 100, if at * 37 % 100 < 50 { "left" } else { "right" });
    let points: String = std::iter::once("x,side\n".to_owned()).chain((0..300).map(row)).collect();
    fs::write(room.join("points.csv"), points).unwrap();
    fs::write(room.join("plan.toml"), PLAN).unwrap();
    let plan = room.join("plan.toml");
    (room, plan)
}

fn train(plan: &Path, out: &Path, more: &[&str]) -> String {
    let output = veracity(&[&["train", text(plan), "--out", text(out)], more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stderr).unwrap()
}

/// The exit code of `verify`, and what it says.
fn verify(path: &Path) -> (i32, String) {
    let output = veracity(&["verify", text(path)]);
    let said = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(said).unwrap())
}

/// Two runs, and what they wrote.
struct Runs {
    room: PathBuf,
    plan: PathBuf,
    one: PathBuf,
    two: PathBuf,
}

impl Runs {
    fn new(name: &str) -> Runs {
        let (room, plan) = desk(name);
        let runs = Runs { one: room.join("one"), two: room.join("two"), room, plan };
        for out in [&runs.one, &runs.two] {
            train(&runs.plan, out, &[]);
        }
        runs
    }

    fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.one.join(name)).unwrap()
    }

    fn other(&self, name: &str) -> Vec<u8> {
        fs::read(self.two.join(name)).unwrap()
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.one.join(name), bytes).unwrap();
    }
}

#[test]
fn whatever_is_not_as_it_was_handed_over_is_named_in_one_line() {
    let runs = Runs::new("train-forged");
    let (code, said) = verify(&runs.one);
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("claim.json: valid: epsilon ≤ ") && said.ends_with("all 2 valid\n"), "{said}");
    assert!(said.contains("model.safetensors: valid: the model of claim.json\n"), "{said}");
    let (claim, model) = (runs.read("claim.json"), runs.read("model.safetensors"));
    let (claim_file, model_file) = (runs.one.join("claim.json"), runs.one.join("model.safetensors"));
    for file in [&claim_file, &model_file] {
        assert_eq!(verify(file).0, 0);
    }
    let judged = |what: &str, expected: &[&str]| {
        let (code, said) = verify(&runs.one);
        assert_eq!(code, 1, "{what}: {said}");
        for line in expected {
            assert_eq!(
                said.lines().filter(|said| said.starts_with(line)).count(),
                1,
                "{what}: {said}\nexpected {line}"
            );
        }
    };
    let none = "model.safetensors: invalid: no claim in this folder matches this model";
    let lost = "claim.json: invalid: the model of this claim is not in this folder";

    // The models of two runs of one plan, swapped.
    runs.write("model.safetensors", &runs.other("model.safetensors"));
    judged("swapped", &[none, lost]);
    let (code, said) = verify(&claim_file);
    assert!(code == 1 && said.contains("model.safetensors does not match the claim"), "{said}");
    assert_eq!(verify(&model_file).0, 1);
    // Every bit of every weight.
    let weights = 16;
    for at in 0..8 * weights {
        let mut flipped = model.clone();
        let byte = model.len() - weights + at / 8;
        flipped[byte] ^= 1 << (at % 8);
        runs.write("model.safetensors", &flipped);
        if at % 37 == 0 {
            judged("flipped", &[lost]);
        }
        // The claim is recomputed each time; it is enough to do so for some of the bits.
        if at % 61 == 0 {
            assert_eq!(verify(&claim_file).0, 1, "bit {at}");
        }
    }
    for cut in [0, 7, 8, 200, model.len() - 4, model.len() - 1] {
        runs.write("model.safetensors", &model[..cut]);
        judged("truncated", &["model.safetensors: invalid: not readable as a model", lost]);
        assert_eq!(verify(&claim_file).0, 1, "{cut}");
    }
    fs::remove_file(&model_file).unwrap();
    judged("no model", &[lost]);
    // Alone, a claim still holds; that nothing was compared is said.
    let (code, said) = verify(&claim_file);
    assert!(code == 0 && said.contains("its model is not in the same folder"), "{said}");
    runs.write("model.safetensors", &model);

    fs::remove_file(&claim_file).unwrap();
    judged("no claim", &[none]);
    assert_eq!(verify(&model_file).0, 1);
    runs.write("claim.json", &claim);
    runs.write("second.json", &claim);
    judged("a copy", &["second.json: invalid: a copy of claim.json"]);
    // With another time it is no copy, but still the second for one model.
    let mut later = json(std::str::from_utf8(&claim).unwrap());
    later["release"]["time"] = "2030-01-31T12:00:00.000000000Z".into();
    runs.write("second.json", later.to_string().as_bytes());
    judged("a second", &["second.json: invalid: a second claim for one model; claim.json is the first"]);
    fs::remove_file(runs.one.join("second.json")).unwrap();
    let mut edited = json(std::str::from_utf8(&claim).unwrap());
    edited["release"]["digest"]["sha256"] = "0".repeat(64).into();
    runs.write("claim.json", edited.to_string().as_bytes());
    judged("another digest", &[none, lost]);
    edited["release"].as_object_mut().unwrap().remove("digest");
    runs.write("claim.json", edited.to_string().as_bytes());
    judged("no digest", &[none, "claim.json: invalid: digest does not match"]);
    runs.write("claim.json", &claim);
    assert_eq!(verify(&runs.one).0, 0);
    // Both runs at once: the folders are looked at one by one.
    let (code, said) = verify(&runs.room);
    assert!(code == 0 && said.contains("one/claim.json: valid") && said.ends_with("all 4 valid\n"), "{said}");
    fs::copy(runs.two.join("claim.json"), runs.one.join("claim.json")).unwrap();
    fs::copy(runs.two.join("model.safetensors"), runs.one.join("model.safetensors")).unwrap();
    assert!(verify(&runs.room).1.contains("two/claim.json: invalid: a copy of one/claim.json"));
    let empty = runs.room.join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(refusal(&["verify", text(&empty)]).contains("expected something to verify"));
}

/// The same tensors with other words about them, in another order, are the same model.
#[test]
fn a_model_that_is_saved_anew_is_still_the_one_of_its_claim() {
    let runs = Runs::new("train-resaved");
    let model = runs.read("model.safetensors");
    let length = u64::from_le_bytes(model[..8].try_into().unwrap()) as usize;
    let mut header = json(std::str::from_utf8(&model[8..8 + length]).unwrap());
    let numbers = &model[8 + length..];
    // Last tensor first: other offsets, and other bytes.
    let names: Vec<String> =
        header.as_object().unwrap().keys().filter(|name| *name != "__metadata__").cloned().collect();
    assert_eq!(names.len(), 2);
    let place = |header: &serde_json::Value, name: &str| {
        [0, 1].map(|end| header[name]["data_offsets"][end].as_u64().unwrap() as usize)
    };
    let mut tensors: Vec<(String, Vec<u8>)> = names
        .iter()
        .map(|name| {
            let [start, stop] = place(&header, name);
            (name.clone(), numbers[start..stop].to_vec())
        })
        .collect();
    tensors.sort_by_key(|(name, _)| std::cmp::Reverse(place(&header, name)));
    header["__metadata__"]["saved-by"] = "someone else".into();
    let mut bytes = Vec::new();
    for (name, numbers) in tensors {
        header[&name]["data_offsets"] = serde_json::json!([bytes.len(), bytes.len() + numbers.len()]);
        bytes.extend(numbers);
    }
    let head = header.to_string();
    let resaved = [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), &bytes].concat();
    assert_ne!(resaved, model);
    runs.write("model.safetensors", &resaved);
    let (code, said) = verify(&runs.one);
    assert_eq!(code, 0, "{said}");
    // Without a word about them, and under another name, they are still those tensors; what others keep there is not looked at.
    header.as_object_mut().unwrap().remove("__metadata__");
    let file =
        |head: &str, bytes: &[u8]| [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), bytes].concat();
    runs.write("weights.safetensors", &file(&header.to_string(), &bytes));
    fs::remove_file(runs.one.join("model.safetensors")).unwrap();
    runs.write(
        "half.safetensors",
        &file(r#"{"a":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}"#, &[0, 0]),
    );
    runs.write(
        "other.safetensors",
        &file(r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#, &[0; 4]),
    );
    let (code, said) = verify(&runs.one);
    assert!(
        code == 0 && said.contains("weights.safetensors: valid") && said.ends_with("all 2 valid\n"),
        "{said}"
    );
}

#[test]
fn a_finished_run_is_replaced_only_by_force_and_its_claim_stays() {
    let (room, plan) = desk("train-finished");
    let out = room.join("out");
    train(&plan, &out, &[]);
    let before: Vec<Vec<u8>> = FILES.iter().map(|name| fs::read(out.join(name)).unwrap()).collect();
    let again = ["train", text(&plan), "--out", text(&out)];
    for more in [&[][..], &["--non-private"], &["--seed", "1"], &["--checkpoint-every", "3"]] {
        let said = refusal(&[&again[..], more].concat());
        has(&said, &["replace its model (and keep its claim) with force, or choose another folder"]);
    }
    // Nothing was read: the records are not even there.
    fs::rename(room.join("points.csv"), room.join("away.csv")).unwrap();
    assert!(refusal(&again).contains("with force"));
    fs::rename(room.join("away.csv"), room.join("points.csv")).unwrap();
    let after: Vec<Vec<u8>> = FILES.iter().map(|name| fs::read(out.join(name)).unwrap()).collect();
    assert!(names(&out) == FILES && before == after);
    for round in 1..4 {
        let said = train(&plan, &out, &["--force"]);
        assert!(
            said.starts_with("--force: in ") && said.contains("keeps its claim") && said.lines().count() == 1,
            "{said}"
        );
        let numbered = (1..=round).map(|number| format!("claim-{number}.json"));
        assert_eq!(names(&out), numbered.chain(FILES.map(str::to_owned)).collect::<Vec<_>>());
    }
    assert_eq!(fs::read(out.join("claim-1.json")).unwrap(), before[0], "the claim was lost");
    // What was spent is all there, and adds up.
    let (code, said) = verify(&out);
    assert!(
        code == 0 && said.contains("claim-1.json: valid") && said.contains("its model was replaced"),
        "{said}"
    );
    let sum = json(
        &String::from_utf8(veracity(&["account", text(&out), "--delta", "1e-5", "--json"]).stdout).unwrap(),
    );
    assert_eq!((&sum["claims"], &sum["dataset"]), (&4.into(), &"points.csv".into()));
    assert!(
        sum["epsilon"]["upper"].as_f64()
            > json(std::str::from_utf8(&before[0]).unwrap())["epsilon"]["upper"].as_f64()
    );
    // In an empty folder there is nothing to replace, and nothing is said.
    assert_eq!(train(&plan, &room.join("new"), &["--force"]), "");
}

/// What is not ours is not replaced by force, either.
#[test]
fn what_others_left_in_the_folder_is_never_touched() {
    let (room, plan) = desk("train-strangers");
    for name in ["model.safetensors", "claim.json", "report.html", "checkpoint.safetensors", "checkpoint.key"]
    {
        let out = room.join(format!("out-{name}"));
        fs::create_dir(&out).unwrap();
        for precious in [
            "mine",
            "{\"schema\": \"veracity.claim/2\", \"mine\": true}",
            "<meta name=\"generator\" content=\"veracity\">",
        ] {
            fs::write(out.join(name), precious).unwrap();
            for more in [&[][..], &["--force"], &["--force", "--checkpoint-every", "3"]] {
                let output = veracity(&[&["train", text(&plan), "--out", text(&out)], more].concat());
                let said = String::from_utf8(output.stderr).unwrap();
                assert!(
                    output.status.code() == Some(2) && said.contains("found a file of another kind"),
                    "{name}: {said}"
                );
            }
            assert!(names(&out) == [name] && fs::read_to_string(out.join(name)).unwrap() == precious);
        }
    }
    // Predictions are plain lines: nothing tells them from someone's own.
    let out = room.join("out");
    train(&plan, &out, &[]);
    let (model, points) = (out.join("model.safetensors"), room.join("points.csv"));
    let predict = ["predict", text(&model), text(&points), "--out", text(&points)];
    let before = fs::read(&points).unwrap();
    assert!(refusal(&predict).contains("choose another name"));
    assert_eq!(fs::read(&points).unwrap(), before);
}

#[cfg(unix)]
mod killed {
    use super::*;
    use std::process::{Child, Command, Stdio};

    fn spawn(args: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_veracity"));
        command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn kill(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_paused_run_is_neither_lost_nor_entered_twice() {
        let (room, _) = desk("train-paused");
        let plan = room.join("long.toml");
        fs::write(&plan, PLAN.replace("steps = 20", "steps = 1000000")).unwrap();
        let out = room.join("out");
        let run = ["train", text(&plan), "--out", text(&out), "--checkpoint-every", "5"];
        let mut child = spawn(&run);
        while !out.join("checkpoint.safetensors").exists() {
            assert!(child.try_wait().unwrap().is_none(), "the run ended without a checkpoint");
        }
        // While it runs, no other enters, not even by force.
        for more in [["--resume"], ["--force"]] {
            let output = veracity(&[&run[..], &more].concat());
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.code() == Some(2) && said.contains("no other run is writing to"), "{said}");
        }
        kill(child);
        let key = fs::read(out.join("checkpoint.key")).unwrap();
        let short = room.join("plan.toml");
        let fresh = ["train", text(&short), "--out", text(&out)];
        for more in [&[][..], &["--checkpoint-every", "3"], &["--non-private"]] {
            let said = refusal(&[&fresh[..], more].concat());
            has(&said, &["continue it with resume, delete it with force, or choose another folder"]);
            assert_eq!(fs::read(out.join("checkpoint.key")).unwrap(), key, "the key was destroyed");
        }
        // It can still be taken up.
        let mut child = spawn(&[&run[..], &["--resume"]].concat());
        assert!(child.try_wait().unwrap().is_none());
        kill(child);
        assert_eq!(fs::read(out.join("checkpoint.key")).unwrap(), key);
        let said = train(&short, &out, &["--force"]);
        assert!(said.contains("a paused run with its key") && said.lines().count() == 1, "{said}");
        assert_eq!(names(&out), FILES);
    }

    /// Killed as soon as something in the folder changes, at whatever write: the model that is there has its claim, and no
    /// earlier claim is gone. The unit tests of `training/out_folder` stop at every write in turn.
    #[test]
    fn a_kill_between_the_writes_loses_no_claim() {
        let (room, plan) = desk("train-between");
        let out = room.join("out");
        train(&plan, &out, &[]);
        for round in 0..12 {
            let claims = |out: &Path| -> Vec<Vec<u8>> {
                let is_claim = |name: &String| name.starts_with("claim") && name.ends_with(".json");
                names(out)
                    .iter()
                    .filter(|name| is_claim(name))
                    .map(|name| fs::read(out.join(name)).unwrap())
                    .collect()
            };
            let (before, listed) = (claims(&out), names(&out));
            let mut child = spawn(&["train", text(&plan), "--out", text(&out), "--force"]);
            let mut changes = 0;
            let mut last = listed;
            while changes <= round % 6 && child.try_wait().unwrap().is_none() {
                let now = names(&out);
                changes += i32::from(now != last);
                last = now;
            }
            let _ = child.kill();
            child.wait().unwrap();
            let after = claims(&out);
            assert!(before.iter().all(|claim| after.contains(claim)), "round {round}: a claim is gone");
            let (_, said) = verify(&out);
            assert!(said.contains("model.safetensors: valid: the model of "), "round {round}: {said}");
        }
        // Whatever was left, the next run ends cleanly.
        train(&plan, &out, &["--force"]);
        assert!(!names(&out).iter().any(|name| name.starts_with('.')), "{:?}", names(&out));
    }
}
