//! The files by which others gate on veracity, carried out: the action's steps, the pre-commit hooks and the image's command, with
//! what holds and with what does not.

#![cfg(unix)] // The gates are shell scripts.

use crate::door;
use crate::door::{answer, json, room};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn text(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
}

/// The value of the first `key: value` after a line, as far as its indentation goes; a `|` begins a block.
fn value(yaml: &str, after: &str, key: &str) -> String {
    let rest: Vec<&str> = yaml.lines().skip_while(|line| !line.contains(after)).skip(1).collect();
    let at = rest.iter().position(|line| line.trim_start().starts_with(key)).unwrap();
    let first = rest[at].trim_start().strip_prefix(key).unwrap().trim();
    if first != "|" {
        return first.to_owned();
    }
    let depth = |line: &str| line.len() - line.trim_start().len();
    let block = rest[at + 1..].iter().take_while(|line| depth(line) > depth(rest[at]));
    block.map(|line| line.trim_start().to_owned() + "\n").collect()
}

/// A shell as the gates meet it: the binary is on its path.
fn shell(program: &str, words: &[&str], folder: &Path, variables: &[(&str, &str)]) -> Output {
    let binary = Path::new(env!("CARGO_BIN_EXE_veracity")).parent().unwrap().to_owned();
    let others = env::var_os("PATH").unwrap();
    let path = env::join_paths([binary].into_iter().chain(env::split_paths(&others))).unwrap();
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).env("PATH", path).envs(variables.iter().copied());
    command.output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

/// A room with a claim that holds, one that does not, and one that cannot be read.
fn desk(name: &str) -> PathBuf {
    let room = room(name);
    let good = room.join("good claim.json");
    let words = ["account", "gaussian", "--noise-multiplier", "2", "--delta", "1e-5", "--claim"];
    let made = door::veracity(&[&words[..], &[good.to_str().unwrap()]].concat());
    assert_eq!(code(&made), 0);
    let claim = fs::read_to_string(&good).unwrap();
    let epsilon = json(&claim)["epsilon"]["upper"].to_string();
    fs::write(room.join("forged.claim.json"), claim.replace(&epsilon, "0.5")).unwrap();
    fs::write(room.join("half.claim.json"), &claim[..claim.len() / 2]).unwrap();
    fs::write(room.join("scores.csv"), scores()).unwrap();
    room
}

/// Scores that tell the worlds apart.
fn scores() -> String {
    let rows = (0..200).map(|at| format!("in,{}\nout,{at}\n", at + 1000));
    "world,score\n".to_owned() + &rows.collect::<String>()
}

#[test]
fn the_action_passes_on_the_exit_code_of_what_it_runs() {
    let room = desk("gate-action");
    let (yaml, bash) = (text("action.yml"), |script: &str, variables: &[(&str, &str)]| {
        // As the runner calls it.
        shell("bash", &["--noprofile", "--norc", "-eo", "pipefail", "-c", script], &room, variables)
    });
    let verify = value(&yaml, "name: Verify", "run:");
    for (paths, expected) in [
        ("good claim.json", 0),
        ("good claim.json\n\ngood claim.json\n", 0),
        ("forged.claim.json", 1),
        ("forged.claim.json\ngood claim.json", 1),
        ("good claim.json\nhalf.claim.json", 2),
        ("$(touch struck)", 2),
        ("--help; touch struck", 2),
    ] {
        let output = bash(&verify, &[("VERIFY", paths)]);
        assert_eq!(code(&output), expected, "{paths}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(!room.join("struck").exists(), "an input was taken for a command");
    let audit = value(&yaml, "name: Audit", "run:");
    for (words, expected) in [
        ("--scores\nscores.csv\n--claim-epsilon\n1", 1),
        // So few scores could not have refuted so much: that is no pass.
        ("--scores\nscores.csv\n--claim-epsilon\n20", 3),
        ("--mechanism\ngaussian\n--noise-multiplier\n1\n--trials\n400\n", 0),
        ("--scores\nno such file.csv\n--claim-epsilon\n1", 2),
        ("--no-such-option", 2),
    ] {
        let output = bash(&audit, &[("AUDIT", words), ("SARIF", "veracity.sarif")]);
        assert_eq!(code(&output), expected, "{words}: {}", String::from_utf8_lossy(&output.stderr));
        // What an earlier audit wrote does not outlive one that fails.
        let sarif = fs::read_to_string(room.join("veracity.sarif")).ok();
        assert_eq!(sarif.is_some(), expected != 2, "{words}");
        assert!(sarif.is_none_or(|sarif| json(&sarif)["version"] == "2.1.0"));
    }
    // The word for the built-in audit is not handed on.
    let echo = audit.replace("veracity audit", "echo");
    let said = bash(&echo, &[("AUDIT", "default"), ("SARIF", "a.sarif")]);
    assert_eq!(String::from_utf8(said.stdout).unwrap(), "--sarif a.sarif\n");
}

#[test]
fn the_hooks_fail_on_what_does_not_hold() {
    let room = desk("gate-hooks");
    let yaml = text(".pre-commit-hooks.yaml");
    // pre-commit splits an entry as a shell does, and appends the names of files.
    let entry = value(&yaml, "id: veracity-verify", "entry:");
    let hook = |files: &[&str]| {
        let line = format!("{entry} \"$@\"");
        code(&shell("sh", &[&["-c", &line, "hook"], files].concat(), &room, &[]))
    };
    assert_eq!(hook(&["good claim.json"]), 0);
    assert_eq!(hook(&["good claim.json", "good claim.json"]), 0);
    assert_eq!(hook(&["forged.claim.json", "good claim.json"]), 1);
    assert_eq!(hook(&["good claim.json", "half.claim.json"]), 2);
    let entry = value(&yaml, "id: veracity-audit", "entry:");
    let audit = |more: &str| code(&shell("sh", &["-c", &format!("{entry} {more}")], &room, &[]));
    assert_eq!(audit("--scores scores.csv --claim-epsilon 1"), 1);
    assert_eq!(audit("--scores scores.csv --claim-epsilon 20"), 3);
    assert_eq!(audit("--trials none"), 2);
}

/// The tasks run one after the other, two of them twice, and the subject is one that takes no time.
#[test]
fn the_job_array_of_the_docs_leaves_the_bits_of_one_run() {
    let (room, page) = (room("gate-cluster"), text("docs/audit-scaling.md"));
    let (_, section) = page.split_once("## On a cluster").unwrap();
    let blocks: Vec<&str> =
        section.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    let mechanism = "--mechanism gaussian --noise-multiplier 1 --trials 64";
    fs::write(room.join("audit.sh"), blocks[0].replace("plan.toml --trials 1e5", mechanism)).unwrap();
    let sbatch =
        "sbatch() { for task in $(seq 0 15) 0 3; do SLURM_ARRAY_TASK_ID=$task sh $2 || exit 9; done; }";
    let compare = format!(
        "veracity audit {mechanism} --out whole; for file in certificate.json trials.csv; do cmp whole/$file audit/$file; done"
    );
    let output = shell("sh", &["-ec", &[sbatch, blocks[1], &compare].join("\n")], &room, &[]);
    assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        fs::read_to_string(room.join("shard-7/order.json")).unwrap().matches("\"trials\": 64").count(),
        1
    );
}

#[test]
fn the_image_does_what_the_first_command_of_the_readme_does() {
    let (readme, dockerfile) = (text("README.md"), text("Dockerfile"));
    let first = readme.lines().find(|line| line.starts_with("cargo run")).unwrap();
    let words = first.split('#').next().unwrap().split_once("--release -- ").unwrap().1.trim();
    let of = |keyword: &str| {
        let line = dockerfile.lines().rev().find(|line| line.starts_with(keyword)).unwrap();
        serde_json::from_str::<Vec<String>>(line.strip_prefix(keyword).unwrap()).unwrap()
    };
    assert_eq!((of("ENTRYPOINT "), of("CMD ").join(" ")), (vec!["veracity".to_owned()], words.to_owned()));
    // What the comments promise is understood: clap looks at every word before it shows its help.
    for line in dockerfile.lines().filter_map(|line| line.split_once("\" veracity")).map(|(_, words)| words) {
        assert!(answer(&format!("{line} --help")).contains("Usage: veracity"), "{line}");
    }
    let last_user = dockerfile.lines().rfind(|line| line.starts_with("USER ")).unwrap();
    assert!(!["USER root", "USER 0"].contains(&last_user));
}
