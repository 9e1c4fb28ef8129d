//! A job reads its files once: each is a pipe that is gone as soon as it is opened, so that a second reader finds
//! nothing. That the noise is calibrated once is counted where it is done, in `auditing/src/subjects/training_audit.rs`.

use crate::door::{room, veracity};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread::{self, JoinHandle},
};

/// A file that can be opened once.
fn once(path: PathBuf, text: String) -> JoinHandle<()> {
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    thread::spawn(move || {
        use std::io::Write;
        // Waits for a reader. It keeps the pipe that it opened when the name is gone.
        let mut pipe = fs::OpenOptions::new().write(true).open(&path).unwrap();
        fs::remove_file(&path).unwrap();
        pipe.write_all(text.as_bytes()).unwrap();
    })
}

const PLAN: &str = "[data]\nformat = \"csv\"\npath = \"records.csv\"\nlabel = \"class\"\nclasses = [\"no\", \"yes\"]\n\
     [[data.column]]\nname = \"x\"\nbounds = [-1, 1]\n\
     [[model.layer]]\nkind = \"linear\"\noutputs = 2\n\
     [training]\nbatch_size = 60\nrecords = 60\nsteps = 2\nlearning_rate = 1.0\n\
     [privacy]\nnoise_multiplier = 2\ndelta = 1e-5\n";

fn served(room: &Path) -> [JoinHandle<()>; 2] {
    let rows: String = (0..60).map(|at| format!("0.{at:02},{}\n", ["no", "yes"][at % 2])).collect();
    let records = format!("x,class\n{rows}");
    [once(room.join("plan.toml"), PLAN.to_owned()), once(room.join("records.csv"), records)]
}

/// With every attack on a training, also those that choose their canaries themselves.
#[test]
fn an_audit_opens_its_plan_and_its_records_once() {
    for (name, more) in [
        ("white-box", &["--trials", "4"][..]),
        ("last-model", &["--trials", "4", "--attack", "search"]),
        ("one-run", &["--one-run", "--canary", "mislabelled"]),
    ] {
        let room = room(&format!("read-once-{name}"));
        let files = served(&room);
        let (plan, out) = (room.join("plan.toml"), room.join("out"));
        let mut words = vec!["audit", plan.to_str().unwrap(), "--json", "--out", out.to_str().unwrap()];
        words.extend(more);
        let done = veracity(&words);
        let told = String::from_utf8_lossy(&done.stderr);
        assert!(matches!(done.status.code(), Some(0 | 3)), "{name}: {told}");
        files.into_iter().for_each(|file| file.join().unwrap());
    }
}

/// The built-in plan is no file. The command has one place where a plan is parsed, one where a case is made of it, and one where that is
/// attacked, and comes to each once.
#[test]
fn an_audit_of_the_built_in_plan_parses_it_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/commands/audit");
    let sources =
        fs::read_dir(folder).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
    let all: String = sources.map(|text| text.split("#[cfg(test)]").next().unwrap().to_owned()).collect();
    for call in [
        "training_plan(args)?",
        "default_plan(&",
        "meaning::training_plan(",
        "TrainingAudit::of(",
        "training::case(args)?",
        "Audit::new(",
    ] {
        assert_eq!(all.matches(call).count(), 1, "{call}");
    }
}
