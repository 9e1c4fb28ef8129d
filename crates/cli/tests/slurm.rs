//! `veracity audit … --on slurm` against a stand-in for sbatch: shards are submitted, killed, submitted again and put together.
//! `cargo xtask reproduce clusters` does the same with Slurm itself.

#![cfg(unix)]
#![allow(clippy::unwrap_used)] // A test that cannot go on should stop there.

mod door;

use door::room;
use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

/// Runs the tasks of an array one after the other; the first round of a room kills one of them after some trials.
const SBATCH: &str = r#"#!/bin/sh
for word in "$@"; do
    case "$word" in
        --array=*) tasks=$(echo "${word#--array=}" | tr , ' ') ;;
        --output=*) log=${word#--output=} ;;
    esac
    script=$word
done
echo "$*" >> "$ROOM/submitted"
echo "$(wc -l < "$ROOM/submitted");cluster"
for task in $tasks; do
    out=$(echo "$log" | sed "s/%a/$task/")
    SLURM_ARRAY_TASK_ID=$task sh "$script" >> "$out" 2>&1 &
    job=$!
    if [ "$task" = 1 ] && [ ! -e "$ROOM/killed" ] && [ -n "$KILLS" ]; then
        part="${log%/*}/shard-1/trials.part"
        until [ -s "$part" ]; do sleep 0.01; done
        kill -9 $job && touch "$ROOM/killed"
    fi
    wait $job
done
exit 0
"#;

/// The score is one record with noise from the seed; slow enough to be killed in between.
const TRAINER: &str = r#"sleep 0.01
awk -v world="$1" -v seed="$2" 'BEGIN {
    srand(seed % 2147483647); a = rand(); b = rand()
    printf "%.12g\n", (world == "in") + PART * sqrt(-2 * log(1 - a)) * cos(6.283185307179586 * b)
}' > "$3"
"#;

fn audit(room: &Path, words: &[&str], environment: &[(&str, &str)]) -> Output {
    let path = format!("{}:{}", room.join("bin").display(), env::var("PATH").unwrap());
    let trainer = format!("sh {} {{world}} {{seed}} {{out}}", room.join("trainer.sh").display());
    Command::new(env!("CARGO_BIN_EXE_veracity"))
        .args(["audit", "--command", &trainer, "--claim-noise-multiplier", "1", "--trials", "60"])
        .args(words)
        .env("PATH", path)
        .env("ROOM", room)
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

/// A room with the stand-in, and a trainer with this part of the noise.
fn prepared(name: &str, part: &str) -> std::path::PathBuf {
    let room = room(name);
    fs::create_dir_all(room.join("bin")).unwrap();
    fs::write(room.join("trainer.sh"), TRAINER.replace("PART", part)).unwrap();
    let sbatch = room.join("bin/sbatch");
    fs::write(&sbatch, SBATCH).unwrap();
    fs::set_permissions(sbatch, fs::Permissions::from_mode(0o755)).unwrap();
    room
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// With a tenth of the noise the claim falls early, and both ways end at the same trial.
#[test]
fn a_job_array_leaves_the_bits_of_one_run_also_when_a_task_is_killed() {
    for (part, code, kills) in [("1", 0, "yes"), ("0.1", 1, "")] {
        let room = prepared(&format!("slurm-{code}"), part);
        let (whole, out) = (room.join("whole"), room.join("it's out"));
        assert_eq!(audit(&room, &["--out", text(&whole)], &[]).status.code(), Some(code));
        let words = ["--on", "slurm", "--shards", "3", "--out", text(&out), "--json"];
        let done = audit(&room, &words, &[("KILLS", kills)]);
        assert_eq!(done.status.code(), Some(code), "{}", String::from_utf8_lossy(&done.stderr));
        assert!(serde_json::from_slice::<serde_json::Value>(&done.stdout).is_ok());
        for file in ["certificate.json", "trials.csv", "order.json", "report.html"] {
            assert!(
                fs::read(whole.join(file)).unwrap() == fs::read(out.join(file)).unwrap(),
                "{part}: {file}"
            );
        }
        let submitted = fs::read_to_string(room.join("submitted")).unwrap();
        let arrays: Vec<&str> =
            submitted.split_whitespace().filter(|word| word.starts_with("--array=")).collect();
        let expected =
            if kills.is_empty() { vec!["--array=0,1,2"] } else { vec!["--array=0,1,2", "--array=1"] };
        assert_eq!(arrays, expected);
        // The same line again is refused, and with --resume it has nothing to do.
        let again = audit(&room, &words[..6], &[]);
        let said = String::from_utf8(again.stderr).unwrap();
        assert!(again.status.code() == Some(2) && said.contains("--resume"), "{said}");
        assert_eq!(audit(&room, &[&words[..6], &["--resume"]].concat(), &[]).status.code(), Some(code));
        assert_eq!(fs::read_to_string(room.join("submitted")).unwrap(), submitted);
        fs::remove_dir_all(room).unwrap();
    }
}

#[test]
fn without_slurm_and_with_shards_that_never_end_it_says_so_in_one_line() {
    let room = prepared("slurm-none", "1");
    let out = room.join("out");
    let words = ["--on", "slurm", "--shards", "2", "--out", text(&out)];
    let said = |output: Output| {
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.trim_end().lines().count() == 1, "{said}");
        said
    };
    let told = said(audit(&room, &words, &[("PATH", "/nowhere")]));
    assert!(told.contains("sbatch is not on the path"), "{told}");
    fs::write(room.join("bin/sbatch"), "#!/bin/sh\necho 'sbatch: error: no partition' >&2\nexit 1\n")
        .unwrap();
    let told = said(audit(&room, &words, &[]));
    assert!(told.contains("sbatch took no job (sbatch: error: no partition)"), "{told}");
    fs::write(room.join("bin/sbatch"), "#!/bin/sh\necho 7\n").unwrap();
    let told = said(audit(&room, &words, &[]));
    assert!(told.contains("2 of 2 shards do not end") && told.contains("slurm-0.log"), "{told}");
    let told = said(audit(&room, &["--shards", "2"], &[]));
    assert!(told.contains("--on"), "{told}");
    fs::remove_dir_all(room).unwrap();
}
