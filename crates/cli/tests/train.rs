//! `veracity train`, `predict` and `evaluate` on the real binary: what they write, what they say, and how they fail closed.

use crate::door::{done, has, json, names, refusal, room, text, veracity};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// A word that must never come back in a message.
const SECRET: &str = "hunter2";

/// Two clouds of points, told apart by their sum; a CSV file of so many rows.
fn people(rows: usize) -> String {
    let mut lines = String::from("x,y,city,rich\n");
    for row in 0..rows {
        let high = row % 2;
        let spread = (row * 7919 % 100) as f64 / 250.0;
        let city = ["Bern", "Chur", "Basel"][row % 3];
        let rich = ["no", "yes"][high];
        lines += &format!(
            "{},{},{city},{rich}\n",
            0.1 + 0.5 * high as f64 + spread,
            0.9 - 0.5 * high as f64 - spread
        );
    }
    lines
}

const PLAN: &str = r#"
unit = "record"

[data]
format = "csv"
path = "people.csv"
label = "rich"
classes = ["no", "yes"]

[[data.column]]
name = "x"
bounds = [0, 1]
onto = "symmetric"

[[data.column]]
name = "y"
bounds = [0, 1]
onto = "symmetric"

[[data.column]]
name = "city"
categories = ["Bern", "Chur"]
unknown = "other"

[[model.layer]]
kind = "linear"
outputs = 4

[[model.layer]]
kind = "relu"

[[model.layer]]
kind = "linear"
outputs = 2

[training]
batch_size = 50
steps = 60
learning_rate = 0.5
momentum = 0.5
averaging = "tail"
averaging_steps = 20

[privacy]
epsilon = 4
delta = 1e-5
clip_norm = 1
"#;

/// A room with a plan and its data.
fn desk(name: &str, plan: &str, data: &[u8]) -> (PathBuf, PathBuf) {
    let room = room(name);
    fs::write(room.join("people.csv"), data).unwrap();
    fs::write(room.join("plan.toml"), plan).unwrap();
    let plan = room.join("plan.toml");
    (room, plan)
}

#[test]
fn without_a_plan_the_built_in_digits_are_learnt_privately() {
    let room = room("train-digits");
    let out = room.join("out");
    let said = done(&veracity(&["train", "--out", text(&out)]));
    assert!(said.contains("epsilon ≤ ") && said.contains("add-remove, per example"), "{said}");
    assert!(!said.contains("accuracy") && !said.contains("not for release"), "{said}");
    assert_eq!(names(&out), ["claim.json", "model.safetensors", "report.html"]);
    let claim = json(&fs::read_to_string(out.join("claim.json")).unwrap());
    assert_eq!(claim["release"]["for_release"], true);
    assert!(claim["epsilon"]["upper"].as_f64().unwrap() <= 3.0);
    assert_eq!(veracity(&["verify", text(&out.join("claim.json"))]).status.code(), Some(0));
    // Seed 1: how good a model is hangs on its noise. Nine of ten guesses would be wrong; with chance far below 1e-9 a model this
    // good has learnt something.
    let rehearsal = room.join("rehearsal");
    done(&veracity(&["train", "--out", text(&rehearsal), "--seed", "1"]));
    let rehearsed = rehearsal.join("model.safetensors");
    let object = json(&done(&veracity(&["evaluate", text(&rehearsed), "digits", "--json"])));
    assert!(object["accuracy"].as_f64().unwrap() > 0.8, "{object}");
    assert_eq!(object["private"], false);
    let lines = done(&veracity(&["predict", text(&out.join("model.safetensors")), "digits"]));
    assert_eq!(lines.lines().count(), 359);
    assert!(lines.lines().all(|line| line.parse::<u8>().is_ok_and(|class| class < 10)));
}

#[test]
fn a_plan_on_a_csv_file_gives_a_model_that_knows_how_to_read_such_files() {
    let (room, plan) = desk("train-csv", PLAN, people(600).as_bytes());
    let out = room.join("out");
    let said = done(&veracity(&["train", text(&plan), "--out", text(&out), "--show-non-private"]));
    has(&said, &["per record", "not private, on the training records: accuracy"]);
    assert_eq!(names(&out), ["claim.json", "model.safetensors", "report.html"]);
    let model = out.join("model.safetensors");
    let said = done(&veracity(&["evaluate", text(&model), text(&room.join("people.csv"))]));
    assert!(
        said.starts_with("accuracy ") && said.contains("not private: measured on these records"),
        "{said}"
    );
    // Labels need not be there, and classes are called by their names.
    fs::write(room.join("new.csv"), "city,y,x\nBern,0.9,0.1\nAarau,0.1,0.9\n").unwrap();
    let lines = done(&veracity(&["predict", text(&model), text(&room.join("new.csv"))]));
    assert!(lines.lines().count() == 2 && lines.lines().all(|line| ["no", "yes"].contains(&line)), "{lines}");
    // Neither the paths nor a score went into what is handed over.
    let bytes = fs::read(&model).unwrap();
    for word in ["people.csv", "accuracy", "loss\":0"] {
        assert!(!bytes.windows(word.len()).any(|window| window == word.as_bytes()), "{word}");
    }
    let claim = fs::read_to_string(out.join("claim.json")).unwrap();
    assert!(!claim.contains("accuracy") && !claim.contains(text(&room)), "a path is in the claim");
    assert_eq!(json(&claim)["release"]["dataset"], "people.csv");
}

#[test]
fn data_may_lie_in_another_folder_than_the_plan() {
    let (room, plan) = desk("train-data", PLAN, people(300).as_bytes());
    let (elsewhere, out) = (room.join("elsewhere"), room.join("out"));
    fs::create_dir(&elsewhere).unwrap();
    fs::rename(room.join("people.csv"), elsewhere.join("people.csv")).unwrap();
    refusal(&["train", text(&plan), "--out", text(&out)]);
    assert!(names(&out).is_empty());
    done(&veracity(&["train", text(&plan), "--data", text(&elsewhere), "--out", text(&out)]));
    assert_eq!(names(&out), ["claim.json", "model.safetensors", "report.html"]);
    refusal(&["train", "--data", text(&elsewhere), "--out", text(&out)]);
}

#[test]
fn seeds_repeat_and_are_never_for_release() {
    let (room, plan) = desk("train-seed", PLAN, people(300).as_bytes());
    let train = |out: &str, more: &[&str]| {
        let out = room.join(out);
        let said = done(&veracity(&[&["train", text(&plan), "--out", text(&out)], more].concat()));
        (said, fs::read(out.join("model.safetensors")).unwrap())
    };
    let (said, one) = train("one", &["--seed", "987654321987"]);
    assert!(said.contains("not for release"), "{said}");
    assert_eq!(one, train("two", &["--seed", "987654321987"]).1);
    assert_ne!(one, train("three", &[]).1, "two keys of 256 bits are the same");
    let claim = fs::read_to_string(room.join("one/claim.json")).unwrap();
    assert!(!claim.contains("987654321987") && json(&claim)["release"]["for_release"] == false);
    assert_eq!(veracity(&["verify", text(&room.join("one/claim.json"))]).status.code(), Some(1));
    // Without protection there is nothing to claim, and the claim of an earlier run is not taken for one.
    let (said, _) = train("one", &["--non-private", "--force"]);
    assert!(said.contains("trained without privacy"), "{said}");
    assert_eq!(names(&room.join("one")), ["claim-1.json", "model.safetensors", "report.html"]);
}

/// A run that is killed and taken up again ends in the same bits; other data or another plan are refused.
#[test]
fn a_run_that_was_laid_aside_is_taken_up_with_the_same_bits() {
    let (room, plan) = desk("train-resume", PLAN, people(300).as_bytes());
    let whole = room.join("whole");
    let base = ["train", text(&plan), "--seed", "5", "--out"];
    done(&veracity(&[&base[..], &[text(&whole), "--checkpoint-every", "7"]].concat()));
    let part = room.join("part");
    // At the end the model cannot be put in its place: the checkpoint is there, and already the claim.
    fs::create_dir_all(part.join("model.safetensors/in-the-way")).unwrap();
    let line = refusal(&[&base[..], &[text(&part), "--checkpoint-every", "7"]].concat());
    assert!(line.starts_with("cannot write model "), "{line}");
    fs::remove_dir_all(part.join("model.safetensors")).unwrap();
    assert_eq!(names(&part), ["checkpoint.safetensors", "claim.json"]);
    let resume = [&base[..], &[text(&part), "--resume"]].concat();

    fs::write(room.join("people.csv"), people(299)).unwrap();
    assert!(refusal(&resume).contains("resume with"), "changed data were taken");
    fs::write(room.join("people.csv"), people(300)).unwrap();
    fs::write(&plan, PLAN.replace("learning_rate = 0.5", "learning_rate = 0.4")).unwrap();
    assert!(refusal(&resume).contains("of this plan"), "a changed plan was taken");
    fs::write(&plan, PLAN).unwrap();
    let fresh = ["train", text(&plan), "--out", text(&part), "--resume"];
    assert!(refusal(&fresh).contains("resume with its seed"), "another kind of entropy was taken");
    let good = fs::read(part.join("checkpoint.safetensors")).unwrap();
    fs::write(part.join("checkpoint.safetensors"), &good[..good.len() - 1]).unwrap();
    assert!(refusal(&resume).contains("checkpoint is"));
    assert_eq!(names(&part), ["checkpoint.safetensors", "claim.json"], "something was half-written");
    fs::write(part.join("checkpoint.safetensors"), good).unwrap();

    done(&veracity(&resume));
    let model = |out: &Path| fs::read(out.join("model.safetensors")).unwrap();
    assert_eq!(model(&whole), model(&part));
    assert_eq!(names(&part), ["claim.json", "model.safetensors", "report.html"]);
    assert!(refusal(&resume).contains("cannot read checkpoint"), "there is nothing to take up");
}

/// Killed at any step, a run that is taken up again ends in the bits of one that never was.
#[cfg(unix)]
#[test]
fn a_killed_run_is_taken_up_with_the_same_bits() {
    let long = PLAN.replace("steps = 60", "steps = 20000").replace("epsilon = 4", "noise_multiplier = 8");
    let (room, plan) = desk("train-killed", &long, people(300).as_bytes());
    let (whole, part) = (room.join("whole"), room.join("part"));
    let base = ["train", text(&plan), "--seed", "6", "--out"];
    done(&veracity(&[&base[..], &[text(&whole)]].concat()));
    // On a busy machine a run may end before anyone looks; then it is begun anew.
    let is_killed = |_| {
        let _ = fs::remove_dir_all(&part);
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_veracity"));
        let mut child = command.args(base).args([text(&part), "--checkpoint-every", "3"]).spawn().unwrap();
        while !part.join("checkpoint.safetensors").exists() && child.try_wait().unwrap().is_none() {}
        child.kill().unwrap();
        let status = child.wait().unwrap();
        assert!(matches!(status.code(), None | Some(0)), "{status}");
        status.code().is_none()
    };
    assert!((0..50).any(is_killed), "every run ended before it was killed");
    assert!(!part.join("model.safetensors").exists());
    done(&veracity(&[&base[..], &[text(&part), "--resume"]].concat()));
    let model = |out: &Path| fs::read(out.join("model.safetensors")).unwrap();
    assert_eq!(model(&whole), model(&part));
}

/// Every write beyond a few blocks fails, as on a full disk: one line, exit 2, no part of a file.
#[cfg(unix)]
#[test]
fn a_full_disk_is_one_line_and_leaves_nothing_behind() {
    let wide = PLAN.replace("outputs = 4", "outputs = 4000");
    let (room, plan) = desk("train-full", &wide, people(300).as_bytes());
    let out = room.join("out");
    for more in ["", "--checkpoint-every 1"] {
        let command = format!(
            "trap '' XFSZ; ulimit -f 32; exec {} train {} --out {} {more}",
            env!("CARGO_BIN_EXE_veracity"),
            text(&plan),
            text(&out)
        );
        let output = std::process::Command::new("sh").args(["-c", &command]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.matches('\n').count() == 1 && stderr.contains("cannot write "), "{stderr}");
        assert_eq!(names(&out), Vec::<String>::new());
    }
}

#[test]
fn a_plan_without_noise_is_trained_by_its_flag() {
    // With its flag, no noise is what was asked for.
    let (room, plan) =
        desk("train-bad-plan", &PLAN.replace("epsilon = 4", "noise_multiplier = 0"), people(100).as_bytes());
    done(&veracity(&["train", text(&plan), "--out", text(&room.join("out")), "--non-private"]));
}

/// A model that cannot be read again is not written, and its claim is not left without it. Seed 1: how far noise drives the
/// weights is a matter of chance.
#[test]
fn a_run_that_went_to_infinity_is_one_line_and_nothing_is_written() {
    let plan = PLAN.replace("learning_rate = 0.5", "learning_rate = 1e38").replace("size = 50", "size = 1");
    let (room, plan) = desk("train-infinite", &plan, people(100).as_bytes());
    let out = room.join("out");
    for more in [&[][..], &["--with-training-metrics"]] {
        let line = refusal(&[&["train", text(&plan), "--out", text(&out), "--seed", "1"], more].concat());
        assert!(line.contains("use a smaller learning_rate"), "{line}");
        assert_eq!(names(&out), [""; 0]);
    }
}

#[test]
fn models_and_records_that_do_not_fit_are_refused() {
    let (room, plan) = desk("train-misfit", PLAN, people(100).as_bytes());
    let out = room.join("out");
    done(&veracity(&["train", text(&plan), "--out", text(&out)]));
    let model = out.join("model.safetensors");
    let good = fs::read(&model).unwrap();
    let bad = room.join("bad.safetensors");
    for (bytes, expected) in [
        (Vec::new(), "truncated"),
        (good[..good.len() - 4].to_vec(), "truncated"),
        ([&good[..], b"more"].concat(), "bytes after the last tensor"),
        ([&good[..good.len() - 4], &f32::NAN.to_le_bytes()].concat(), "finite weights"),
        (SECRET.repeat(100).into_bytes(), "too long"),
    ] {
        fs::write(&bad, bytes).unwrap();
        let line = refusal(&["predict", text(&bad), text(&room.join("people.csv"))]);
        assert!(line.contains(expected) && !line.contains(SECRET), "{line}: {expected}");
    }
    assert!(refusal(&["predict", text(&room), "digits"]).contains("directory"));
    assert!(refusal(&["predict", text(&model), text(&room.join("nowhere.csv"))]).contains("cannot read "));
    fs::write(room.join("few.csv"), "x,y\n1,2\n").unwrap();
    assert!(refusal(&["predict", text(&model), text(&room.join("few.csv"))]).contains("column is city"));
    assert!(refusal(&["evaluate", text(&model), text(&room.join("few.csv"))]).contains("column is city"));
}

#[test]
fn progress_is_on_stderr_and_only_when_asked_for() {
    let (room, plan) = desk("train-progress", PLAN, people(100).as_bytes());
    let out = room.join("out");
    let quiet = veracity(&["train", text(&plan), "--out", text(&out)]);
    assert!(done(&quiet).starts_with(text(&out)) && quiet.stderr.is_empty());
    let told = veracity(&["train", text(&plan), "--out", text(&out), "--progress", "--force"]);
    let stderr = String::from_utf8(told.stderr.clone()).unwrap();
    assert!(stderr.contains("step 60 of 60") && stderr.contains(" so far"), "{stderr}");
    let object = json(&done(&veracity(&["train", text(&plan), "--out", text(&out), "--json", "--force"])));
    assert!(object["epsilon"]["upper"].as_f64().unwrap() <= 4.0 && object["non_private"].is_null());
}

/// Images and labels in files of their own: the layout is in the model, the paths are on the command line. Seed 1, so that
/// what is learnt is no matter of chance.
#[test]
fn idx_files_are_learnt_and_evaluated() {
    let room = room("train-idx");
    let mut images = vec![0, 0, 8, 3, 0, 0, 0, 200, 0, 0, 0, 2, 0, 0, 0, 2];
    let mut labels = vec![0, 0, 8, 1, 0, 0, 0, 200];
    for record in 0..200u8 {
        let class = record % 2;
        images.extend(if class == 0 { [250, 5, 5, 250] } else { [5, 250, 250, 5] });
        labels.push(class);
    }
    fs::write(room.join("images"), images).unwrap();
    fs::write(room.join("labels"), labels).unwrap();
    let plan = "[data]\nformat = \"idx\"\npath = \"images\"\nlabels = \"labels\"\nclasses = 2\n\
                [[model.layer]]\nkind = \"linear\"\noutputs = 1\n\
                [training]\nloss = \"logistic\"\nbatch_size = 50\nsteps = 40\nlearning_rate = 1\n\
                [privacy]\nnoise_multiplier = 1\ndelta = 1e-5\n";
    fs::write(room.join("plan.toml"), plan).unwrap();
    let out = room.join("out");
    done(&veracity(&["train", text(&room.join("plan.toml")), "--out", text(&out), "--seed", "1"]));
    let (model, images) = (out.join("model.safetensors"), room.join("images"));
    assert!(refusal(&["evaluate", text(&model), text(&images)]).contains("labels are missing"));
    let labels = room.join("labels");
    let said = done(&veracity(&["evaluate", text(&model), text(&images), "--labels", text(&labels)]));
    assert!(said.starts_with("accuracy 100%"), "{said}");
    assert_eq!(done(&veracity(&["predict", text(&model), text(&images)])).lines().count(), 200);
}
