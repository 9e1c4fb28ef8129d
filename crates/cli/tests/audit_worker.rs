//! Commands that stay: workers that read a trial from each line and answer with its score.

#![cfg(unix)]

use crate::door::{has, json, room, veracity};
use std::{fs, path::Path, process::Output};

/// A worker in plain shell: it notes its start, and answers each line with `answer`, which knows `$id`, `$seed`, `$world` and `$line`.
fn worker(room: &Path, answer: &str) -> String {
    let script = room.join("worker.sh");
    let text = format!(
        "echo started >> '{0}/starts'\n\
         while IFS= read -r line; do\n\
           id=${{line#*'\"id\":'}}; id=${{id%%,*}}\n\
           seed=${{line#*'\"seed\":'}}; seed=${{seed%%,*}}\n\
           case \"$line\" in *'\"world\":\"in\"'*) world=1;; *) world=0;; esac\n\
           {answer}\n\
         done\n\
         echo ended >> '{0}/starts'\n",
        room.display()
    );
    fs::write(&script, text).unwrap();
    format!("sh {}", script.display())
}

/// Audits a worker by the curve of Gaussian noise, and returns its exit code and JSON.
fn audit(room: &Path, command: &str, more: &[&str]) -> Output {
    let out = room.join("out");
    let mut args = vec!["audit", "--command", command, "--worker", "--out", out.to_str().unwrap(), "--json"];
    args.extend(["--claim-noise-multiplier", "1"]);
    args.extend(more);
    veracity(&args)
}

fn verdict(output: &Output) -> (Option<i32>, serde_json::Value) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.is_empty(), "{stderr}");
    (output.status.code(), json(&String::from_utf8(output.stdout.clone()).unwrap()))
}

fn complaint(output: &Output) -> String {
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    String::from_utf8(output.stderr.clone()).unwrap()
}

const TELLS: &str = r#"printf '{"id":%s,"score":%s}\n' "$id" "$world""#;
const TELLS_NOTHING: &str = r#"printf '{"id":%s,"score":%s}\n' "$id" "$((seed % 1009))""#;

#[test]
fn a_worker_is_started_once_and_ends_with_its_input() {
    let room = room("worker-once");
    let command = worker(&room, TELLS_NOTHING);
    let (code, found) = verdict(&audit(&room, &command, &["--trials", "300", "--jobs", "1"]));
    assert_eq!((code, found["verdict"].as_str()), (Some(0), Some("not-refuted")), "{found}");
    assert_eq!(found["trials"].as_u64(), Some(300));
    assert_eq!(found["subject"]["settings"]["worker"], true);
    assert_eq!(fs::read_to_string(room.join("starts")).unwrap(), "started\nended\n");
    assert!(!room.join("out/work").exists());
}

#[test]
fn a_worker_that_tells_its_world_is_refuted_and_anyone_can_run_it_again() {
    let room = room("worker-tells");
    let command = worker(&room, TELLS);
    let (code, found) = verdict(&audit(&room, &command, &["--trials", "400"]));
    assert_eq!((code, found["verdict"].as_str()), (Some(1), Some("refuted")), "{found}");
    assert!(found["trials"].as_u64() < Some(100), "{found}");
    let certificate = room.join("out/certificate.json");
    let verify = |more: &[&str]| {
        let mut args = vec!["verify", certificate.to_str().unwrap(), "--rerun", "8"];
        args.extend(more);
        let output = veracity(&args);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, said) = verify(&["--command", &command]);
    assert_eq!(code, Some(0), "{said}");
    has(&said, &["re-ran 8 randomly chosen trials: bit-identical"]);
    // A certificate does not decide what is run.
    let (code, said) = verify(&[]);
    assert_eq!(code, Some(2), "{said}");
    has(&said, &["the audit ran a command, which was not given"]);
    let (code, said) = verify(&["--command", "sh other.sh"]);
    assert!(code == Some(2) && said.contains("the command differs from that of the certificate"), "{said}");
    // Another program under the same name, and scores that nobody ran.
    worker(&room, TELLS_NOTHING);
    let (code, said) = verify(&["--command", &command]);
    assert!(code == Some(1) && said.contains("subject.settings.files_sha256"), "{said}");
}

#[test]
fn scores_that_the_command_does_not_give_again_are_found() {
    let room = room("worker-invented");
    // The score depends on when it is run.
    let command = worker(
        &room,
        r#"n=$(wc -l < starts.txt); echo x >> starts.txt; printf '{"id":%s,"score":%s}\n' "$id" "$n""#,
    );
    fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("starts.txt"), "").unwrap();
    let (code, found) = verdict(&audit(&room, &command, &["--trials", "100", "--jobs", "1"]));
    assert!(code.is_some_and(|code| code != 2), "{found}");
    let certificate = room.join("out/certificate.json");
    let output = veracity(&["verify", certificate.to_str().unwrap(), "--rerun", "5", "--command", &command]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("invalid: trial "), "{said}");
}

/// Each way of failing is a failed trial with its reason, and the next trial has a new worker.
#[test]
fn workers_that_fail_are_named_and_replaced() {
    let ways = [
        ("echo '{\"id\":0,\"score\":1}'", "the worker answered with the id of another trial"),
        ("echo '{\"score\":1}'", "the worker answered something else"),
        ("echo '{not json'", "the worker answered something else"),
        (r#"printf '{"id":%s,"error":"out of luck"}\n' "$id""#, "the worker answered with an error"),
        (r#"printf '{"id":%s,"score":"NaN"}\n' "$id""#, "the score is not a number (NaN)"),
        (r#"printf '{"id":%s,"score":"high"}\n' "$id""#, "a score that is not a number"),
        (r#"printf '{"id":%s}\n' "$id""#, "neither or both of score and error"),
        ("exit 7", "the worker ended with exit status: 7 before its answer"),
        ("exec >&-; sleep 60", "the worker closed its output without an answer"),
        ("sleep 60", "the command took longer than 0.3 s"),
    ];
    for (at, (answer, reason)) in ways.into_iter().enumerate() {
        let room = room(&format!("worker-fails-{at}"));
        let command = worker(&room, answer);
        let more = ["--trials", "4", "--max-failures", "1", "--jobs", "1", "--timeout", "300ms"];
        let said = complaint(&audit(&room, &command, &more));
        assert!(
            said.contains("2 of 4 trials failed (")
                && said.contains("more than the maximum of 1: ")
                && said.contains(reason),
            "{said}"
        );
        // One for each trial: some more may have been run before the failures were counted.
        let starts = fs::read_to_string(room.join("starts")).unwrap().matches("started").count();
        assert!((2..=4).contains(&starts), "{answer}: {starts}");
        let log = fs::read_to_string(room.join("out/command.log")).unwrap();
        assert!(!answer.contains("out of luck") || log.contains("out of luck"), "{log}");
    }
}

/// What a worker prints beside its answers is for the log, and infinite scores are scores.
#[test]
fn talk_beside_answers_is_logged() {
    let room = room("worker-talks");
    let answer = r#"echo loading 10%; echo warning >&2; printf '{"id":%s,"score":"%s"}\n' "$id" "-inf""#;
    let command = worker(&room, answer);
    let (_, found) = verdict(&audit(&room, &command, &["--trials", "40", "--jobs", "1"]));
    assert_eq!((found["trials"].as_u64(), found["failures"].as_u64()), (Some(40), Some(0)), "{found}");
    let log = fs::read_to_string(room.join("out/command.log")).unwrap();
    assert_eq!((log.matches("loading 10%").count(), log.matches("warning").count()), (40, 40));
}

#[test]
fn a_worker_is_told_by_lines_and_not_by_words() {
    let room = room("worker-words");
    let command = format!("{} --seed {{seed}}", worker(&room, TELLS));
    let said = complaint(&audit(&room, &command, &["--trials", "4"]));
    assert!(
        said.contains("command contains {seed}, but a worker receives its trials as lines of JSON"),
        "{said}"
    );
}

/// A worker on data is told where they are, in a folder whose name tells nothing, and not which world they are of.
#[test]
fn a_worker_with_data_is_not_told_its_world() {
    let room = room("worker-data");
    fs::write(room.join("data.csv"), "x\n1\n2\n3\n").unwrap();
    fs::write(room.join("canary.csv"), "9\n").unwrap();
    let answer = r#"echo "$line" >&2; data=${line#*'"data":"'}; data=${data%%'"'*}
        if grep -q 9 "$data"; then score=1; else score=0; fi; printf '{"id":%s,"score":%s}\n' "$id" "$score""#;
    let command = worker(&room, answer);
    let (data, canary) = (room.join("data.csv"), room.join("canary.csv"));
    let files = ["--data", data.to_str().unwrap(), "--canary", canary.to_str().unwrap()];
    let (code, found) = verdict(&audit(&room, &command, &files));
    assert_eq!(code, Some(1), "{found}");
    let log = fs::read_to_string(room.join("out/command.log")).unwrap();
    let told: Vec<&str> = log.lines().filter(|line| line.starts_with('{')).collect();
    assert!(told.len() > 10 && told.iter().all(|line| !line.contains("world")), "{log}");
    let certificate = room.join("out/certificate.json");
    let mut again = vec!["verify", certificate.to_str().unwrap(), "--rerun", "4", "--command", &command];
    assert_eq!(veracity(&again).status.code(), Some(2));
    again.extend(files);
    assert_eq!(veracity(&again).status.code(), Some(0));
    // Other data under the same names.
    fs::write(&data, "x\n1\n2\n4\n").unwrap();
    assert_eq!(veracity(&again).status.code(), Some(1));
}

/// Answers to trials that nobody has told yet are no answers, and one who never reads does not keep the audit waiting.
#[test]
fn answers_come_after_their_trials_and_nobody_waits_for_a_reader() {
    let room = room("worker-before");
    let script = room.join("ahead.sh");
    fs::write(&script, "i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo \"{\\\"id\\\":$i,\\\"score\\\":1}\"; done; sleep 60\n")
        .unwrap();
    let more = ["--trials", "40", "--max-failures", "3", "--jobs", "1", "--timeout", "2s"];
    let said = complaint(&audit(&room, &format!("sh {}", script.display()), &more));
    assert!(said.contains("the id of another trial"), "{said}");
    // A second answer in the same breath spoils no other trial: the worker is replaced.
    let room = self::room("worker-twice");
    let command = worker(&room, &format!("{TELLS_NOTHING}; {TELLS_NOTHING}"));
    // On a busy machine the second answer may come after the next trial was sent, which then fails.
    let some = ["--trials", "20", "--jobs", "1", "--max-failures", "10"];
    let (_, found) = verdict(&audit(&room, &command, &some));
    let starts = fs::read_to_string(room.join("starts")).unwrap().matches("started").count();
    assert!(starts > 1 && found["failures"].as_u64() <= Some(10), "{starts} {found}");
}

/// What an earlier audit wrote does not outlive one that fails, whatever it fails by.
#[test]
fn a_green_file_does_not_survive_an_audit_that_fails() {
    let room = room("worker-stale");
    let at = |name: &str| room.join(name).to_str().unwrap().to_owned();
    let (junit, sarif) = (at("a.xml"), at("a.sarif"));
    let files = ["--junit", junit.as_str(), "--sarif", sarif.as_str()];
    let mut green = vec!["audit", "--mechanism", "gaussian", "--noise-multiplier", "1", "--trials", "400"];
    green.extend(files);
    assert_eq!(veracity(&green).status.code(), Some(0));
    assert!(Path::new(&junit).exists() && Path::new(&sarif).exists());
    let mut broken = vec!["audit", "--scores", "nowhere.csv", "--claim-epsilon", "1"];
    broken.extend(files);
    assert_eq!(veracity(&broken).status.code(), Some(2));
    assert!(!Path::new(&junit).exists() && !Path::new(&sarif).exists());
}

/// A crash is an outcome: one that comes in 30 % of the trials with the canary, and never without, is a leak.
#[test]
fn a_worker_that_dies_with_the_canary_is_refuted() {
    let room = room("worker-dies");
    let command = worker(&room, &format!("[ $world$((seed % 10 < 3)) = 11 ] && exit 1\n{TELLS_NOTHING}"));
    let (code, found) = verdict(&audit(&room, &command, &["--trials", "2000", "--jobs", "1"]));
    assert_eq!((code, found["verdict"].as_str()), (Some(1), Some("refuted")), "{found}");
    // A bound that counts a failure as a wrong guess does not say that the claim stands.
    let fixed = ["--trials", "200", "--jobs", "1", "--bound", "clopper-pearson", "--threshold", "fixed:500"];
    fs::remove_dir_all(room.join("out")).unwrap();
    let output = audit(&room, &command, &fixed);
    let found = json(&String::from_utf8(output.stdout.clone()).unwrap());
    assert_eq!((output.status.code(), found["verdict"].as_str()), (Some(3), Some("inconclusive")), "{found}");
}

/// A worker that crashes as often without the canary leaks nothing, and the audit stops with the reason.
#[test]
fn a_worker_that_dies_in_both_worlds_is_no_leak() {
    let room = room("worker-dies-in-both");
    let command = worker(&room, &format!("[ $((seed % 10 < 3)) = 1 ] && exit 1\n{TELLS_NOTHING}"));
    let said = complaint(&audit(&room, &command, &["--trials", "400", "--jobs", "1"]));
    assert!(said.contains("trials failed") && said.contains("without"), "{said}");
}
