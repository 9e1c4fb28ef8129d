//! Audits of commands and recorded scores through the real binary: what is kept, what is refused, what survives a kill.

#![cfg(unix)] // The commands are shell scripts.

use crate::door::{has, json, names, refusal, room, text, veracity};
use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    thread,
    time::{Duration, Instant},
};

/// Scores that depend on seed and world alone; the worlds overlap in half of their range.
const LEAKY: &str =
    "sh -c 'if [ {world} = in ]; then add=500; else add=0; fi; echo $(( {seed} % 1000 + add )) > {out}'";

/// Whether a process has this command line.
fn is_running(line: &str) -> bool {
    let words = line.replace(' ', "\0");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut lines = processes.map(|process| fs::read(process.path().join("cmdline")).unwrap_or_default());
    lines.any(|line| line.starts_with(words.as_bytes()))
}

/// Waits until something is so; a minute is more than any machine needs.
fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    for _ in 0..6000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("waited in vain: {what}");
}

/// Arguments of an audit of a command.
fn audit<'a>(command: &'a str, out: &'a Path, more: &[&'a str]) -> Vec<&'a str> {
    let mut words = vec!["audit", "--command", command, "--out", text(out)];
    if !more.contains(&"--claim-epsilon") {
        words.extend(["--claim-epsilon", "1"]);
    }
    words.extend(more);
    words
}

fn done(output: &Output) -> (Option<i32>, String) {
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), String::from_utf8(output.stdout.clone()).unwrap())
}

#[test]
fn a_command_that_tells_its_world_is_refuted_and_anyone_can_recompute_it() {
    let room = room("evidence-refuted");
    let (data, canary, out) = (room.join("data.csv"), room.join("canary.csv"), room.join("out"));
    fs::write(&data, "name,age\nann,31\n\"bob, jr\",44\n").unwrap();
    fs::write(&canary, "name,age\ncanary,99\n").unwrap();
    // Placeholders inside words, quotes respected, no shell needed for the words themselves.
    let command = "sh -c 'echo noise; echo more >&2; wc -l < \"$1\" > \"$2\"' \"it's\" {data} {out}";
    let (junit, sarif) = (room.join("junit.xml"), room.join("report.sarif"));
    let files =
        ["--data", text(&data), "--canary", text(&canary), "--junit", text(&junit), "--sarif", text(&sarif)];
    let (code, said) = done(&veracity(&audit(
        command,
        &out,
        &[&files[..], &["--trials", "100", "--threshold", "split", "--json"]].concat(),
    )));
    let found = json(&said);
    assert_eq!((code, found["verdict"].as_str()), (Some(1), Some("refuted")), "{said}");
    assert_eq!((found["trials"].as_u64(), found["failures"].as_u64()), (Some(100), Some(0)));
    assert_eq!(found["subject"]["kind"], "command");
    let kept = ["certificate.json", "command.log", "looks.csv", "order.json", "report.html", "trials.csv"];
    assert_eq!(names(&out), kept);
    let log = fs::read_to_string(out.join("command.log")).unwrap();
    assert!(log.contains("noise\nmore\n") && log.matches("── trial").count() == 100, "{log}");
    // In the world with the canary the file has one line more.
    let trials = fs::read_to_string(out.join("trials.csv")).unwrap();
    assert!(trials.starts_with("trial,canary,world,score,failure,attempts\n"), "{trials}");
    let told = |line: &str| line.ends_with(",in,4.0,,1") || line.ends_with(",out,3.0,,1");
    assert!(trials.lines().skip(1).all(told), "{trials}");

    let xml = fs::read_to_string(&junit).unwrap();
    has(&xml, &["failures=\"1\"", "&lt; &quot;$1&quot;", "REFUTED"]);
    let sarif = json(&fs::read_to_string(&sarif).unwrap());
    assert_eq!(
        (&sarif["version"], &sarif["runs"][0]["results"][0]["level"]),
        (&"2.1.0".into(), &"error".into())
    );

    let certificate = out.join("certificate.json");
    let (code, said) = done(&veracity(&["verify", text(&certificate)]));
    assert_eq!(code, Some(0), "{said}");
    assert!(said.starts_with("valid: refuted, ε ≥ "), "{said}");
}

#[test]
fn a_certificate_that_was_touched_does_not_hold_and_says_where() {
    let room = room("evidence-touched");
    let out = room.join("out");
    done(&veracity(&audit(LEAKY, &out, &["--trials", "80", "--threshold", "split"])));
    let (certificate, trials) = (out.join("certificate.json"), out.join("trials.csv"));
    let (sealed, kept) = (fs::read_to_string(&certificate).unwrap(), fs::read_to_string(&trials).unwrap());
    let (bound, verdict) = (json(&sealed)["epsilon_lower"].to_string(), json(&sealed)["verdict"].to_string());
    assert_ne!(verdict, "\"refuted\"");
    for (from, to, named) in [
        (format!("\"epsilon_lower\": {bound}"), "\"epsilon_lower\": 9.5".to_owned(), "epsilon_lower"),
        (verdict.clone(), "\"refuted\"".into(), "verdict"),
        (verdict, "\"\\u001b[2J\\nconfirmed: not-refuted\"".into(), "verdict"),
        ("\"true_positives\": ".into(), "\"true_positives\": 1".into(), "counted"),
        ("\"failures\": 0".into(), "\"failures\": 1".into(), "failures"),
        ("\"trials\": 80".into(), "\"trials\": 78".into(), "order"),
        ("\"threshold\": \"split\"".into(), "\"threshold\": \"fixed:600.0\"".into(), "order"),
    ] {
        let touched = sealed.replace(&from, &to);
        assert_ne!(touched, sealed, "{from}");
        fs::write(&certificate, touched).unwrap();
        let (code, said) = done(&veracity(&["verify", text(&certificate)]));
        assert_eq!(code, Some(1), "{named}: {said}");
        assert!(said.starts_with(&format!("invalid: {named}, stated ")), "{named}: {said}");
        assert!(said.lines().count() == 1 && !said.contains('\u{1b}'), "{said}");
    }
    fs::write(&certificate, &sealed).unwrap();
    fs::write(&trials, kept.replacen(",in,", ",out,", 1)).unwrap();
    let (code, said) = done(&veracity(&["verify", text(&certificate), "--json"]));
    assert_eq!((code, json(&said)["checks"][0]["what"].as_str()), (Some(1), Some("trials_sha256")), "{said}");
    fs::remove_file(&trials).unwrap();
    assert!(refusal(&["verify", text(&certificate)]).contains("trials.csv is missing"));
}

/// 20 of 20: shards are killed at moments drawn from a seed, taken up again, put together; every bit is the same. The moments
/// lie within the time that half of the trials took, so that a fast machine is killed at work too.
#[test]
fn a_kill_at_any_moment_changes_no_bit() {
    let room = room("evidence-killed");
    let more = ["--trials", "60", "--jobs", "2", "--seed", "9"];
    let whole = room.join("whole");
    let began = Instant::now();
    done(&veracity(&audit(LEAKY, &whole, &more)));
    let longest = (began.elapsed().as_micros() as u64 / 2).clamp(1, 60_000);
    let read = |folder: &Path, name: &str| fs::read(folder.join(name)).unwrap();
    let mut draw = 0x2545_f491_4f6c_dd1d_u64;
    let mut killed = 0;
    for round in 0..20 {
        let shards = [room.join(format!("a{round}")), room.join(format!("b{round}"))];
        for (index, out) in shards.iter().enumerate() {
            let shard = format!("{index}/2");
            let words = audit(LEAKY, out, &[&more[..], &["--shard", &shard, "--resume"]].concat());
            for _ in 0..3 {
                let mut child = Command::new(env!("CARGO_BIN_EXE_veracity"))
                    .args(&words)
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                draw ^= draw << 13;
                draw ^= draw >> 7;
                draw ^= draw << 17;
                thread::sleep(Duration::from_micros(draw % longest));
                child.kill().unwrap();
                killed += u32::from(!child.wait().unwrap().success());
            }
            assert_eq!(done(&veracity(&words)).0, Some(0));
        }
        let merged = room.join(format!("m{round}"));
        let words = ["audit", "merge", text(&shards[0]), text(&shards[1]), "--out", text(&merged)];
        done(&veracity(&words));
        for name in ["trials.csv", "certificate.json", "order.json"] {
            assert_eq!(read(&merged, name), read(&whole, name), "{name} in round {round}");
        }
        assert_eq!(
            names(&merged),
            ["certificate.json", "looks.csv", "order.json", "report.html", "trials.csv"]
        );
    }
    assert!(killed >= 10, "only {killed} kills met a running audit");
}

#[test]
fn commands_that_fail_are_named_counted_and_too_many_stop_the_audit() {
    let room = room("evidence-failing");
    let sleeper = format!("sleep 987.{}", std::process::id());
    let hang = format!("sh -c '{sleeper} & wait' {{out}} {{world}}");
    for (name, command, reason) in [
        ("crash", "sh -c 'exit 3' {out} {world}", "ended with exit status: 3"),
        ("garbage", "sh -c 'echo high > $0' {out} {world}", "something else than one number"),
        ("two", "sh -c 'echo 1 2 > $0' {out} {world}", "something else than one number"),
        ("nan", "sh -c 'echo NaN > $0' {out} {world}", "not a number (NaN)"),
        ("empty", "sh -c ': > $0' {out} {world}", "empty score file"),
        ("silent", "true {out} {world}", "left no score file"),
        ("missing", "no-such-program-here {out} {world}", "cannot be started"),
        ("signal", "sh -c 'kill -9 $$' {out} {world}", "signal: 9"),
        // The shell's child outlives it unless the whole group is ended.
        ("hang", &hang, "took longer than 0.2 s"),
    ] {
        let out = room.join(name);
        let timeout = if name == "hang" { "200ms" } else { "60s" };
        let said =
            refusal(&audit(command, &out, &["--trials", "30", "--retries", "1", "--timeout", timeout]));
        assert!(
            said.contains(" without), more than the maximum of 3: ") && said.contains(reason),
            "{name}: {said}"
        );
        assert!(!out.join("certificate.json").exists() && !out.join("work").exists(), "{name}");
    }
    // A process that was killed takes a moment to go; one that was not sleeps for a quarter of an hour.
    wait_for("the children of commands that hung are gone", || !is_running(&sleeper));
    // A few failures are outcomes and are kept with their reason.
    let out = room.join("few");
    let command = "sh -c 'if [ $(( {seed} % 13 )) = 0 ]; then exit 7; fi; [ {world} = in ] && echo 1 > {out} || echo 0 > {out}'";
    let (_, said) = done(&veracity(&audit(
        command,
        &out,
        &["--trials", "100", "--max-failures", "30", "--threshold", "split", "--json"],
    )));
    let failures = json(&said)["failures"].as_u64().unwrap();
    let trials = fs::read_to_string(out.join("trials.csv")).unwrap();
    let named =
        trials.lines().filter(|line| line.ends_with("the command ended with exit status: 7,1")).count();
    assert!(failures > 0 && named as u64 == failures, "{trials}");
    let log = fs::read_to_string(out.join("command.log")).unwrap();
    assert_eq!(log.matches(": the command ended").count() as u64, failures);
}

/// Commands have groups of their own, so Ctrl-C reaches none of them by itself.
#[test]
#[cfg(target_os = "linux")] // Looks for processes in /proc.
fn an_audit_that_is_interrupted_leaves_no_process_and_no_failure() {
    let room = room("evidence-interrupted");
    for signal in ["-INT", "-TERM"] {
        let out = room.join(signal);
        let sleeper = format!("sleep 986{}.{}", signal.len(), std::process::id());
        // The first trials leave a score, the others a child that waits.
        let command = format!(
            "sh -c 'if [ -e {0}/go ]; then {sleeper} & wait; fi; echo 1 > {{out}}; : > {0}/go' {{world}}",
            text(&room)
        );
        let words = audit(&command, &out, &["--trials", "20", "--jobs", "2"]);
        let child = Command::new(env!("CARGO_BIN_EXE_veracity"))
            .args(&words)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        wait_for("a command runs", || is_running(&sleeper));
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert_eq!(ended.status.code(), Some(2), "{said}");
        assert!(
            said.starts_with("veracity: the audit was interrupted") && said.lines().count() == 1,
            "{said}"
        );
        wait_for("its children are gone", || !is_running(&sleeper));
        let kept = fs::read_to_string(out.join("trials.part")).unwrap();
        assert!(kept.lines().count() < 20 && !kept.contains("interrupted"), "{kept}");
        fs::remove_file(room.join("go")).unwrap();
    }
}

#[test]
fn another_order_is_refused_and_so_are_folders_that_cannot_be_written() {
    let room = room("evidence-order");
    let out = room.join("out");
    done(&veracity(&audit(LEAKY, &out, &["--trials", "20"])));
    let before = fs::read(out.join("certificate.json")).unwrap();
    assert!(refusal(&audit(LEAKY, &out, &["--trials", "20"])).contains("to resume the audit"));
    for (more, what) in [
        (&["--trials", "22"][..], "trials"),
        (&["--trials", "20", "--seed", "2"], "seed"),
        (&["--trials", "20", "--significance", "0.02"], "significance"),
        (&["--trials", "20", "--claim-epsilon", "2"], "claim"),
        (&["--trials", "20", "--threshold", "fixed:3"], "method"),
        (&["--trials", "20", "--timeout", "5s"], "subject"),
    ] {
        let said = refusal(&audit(LEAKY, &out, &[more, &["--resume"]].concat()));
        assert!(said.contains(&format!("an audit with a different {what}")), "{said}");
    }
    // Twenty trials cannot refute the claim, whatever they show.
    assert_eq!(done(&veracity(&audit(LEAKY, &out, &["--trials", "20", "--resume"]))).0, Some(3));
    assert_eq!(fs::read(out.join("certificate.json")).unwrap(), before);
    let merged = room.join("merged");
    let shard = room.join("shard");
    done(&veracity(&audit(LEAKY, &shard, &["--trials", "20", "--shard", "0/2"])));
    assert!(!shard.join("certificate.json").exists());
    let said = refusal(&["audit", "merge", text(&shard), "--out", text(&merged)]);
    assert!(said.contains("10 of 20 trials are missing, the first is 1") && !merged.exists(), "{said}");
    // A file where a folder should be.
    let file = room.join("file");
    fs::write(&file, "mine").unwrap();
    assert!(refusal(&audit(LEAKY, &file.join("out"), &["--trials", "20"])).contains("cannot create "));
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

#[test]
fn a_budget_fixes_the_number_of_trials_beforehand() {
    let room = room("evidence-budget");
    let out = room.join("out");
    let fixed = audit(LEAKY, &out, &["--trials", "20", "--json", "--jobs", "2"]);
    assert_eq!(json(&done(&veracity(&fixed)).1)["trials"].as_u64(), Some(20));
    // Taken up again for a time, the number stands as it was ordered.
    let again = audit(LEAKY, &out, &["--budget", "5m", "--json", "--jobs", "2", "--resume"]);
    assert_eq!(json(&done(&veracity(&again)).1)["trials"].as_u64(), Some(20));
    // The first trial takes longer than there is, whatever the machine.
    let hopeless = audit("sh -c 'sleep 0.2; echo 1 > {out}' {world}", &out, &["--budget", "100ms"]);
    assert!(refusal(&hopeless).starts_with("budget is 0.1 s"));
}

#[test]
fn recorded_scores_are_judged() {
    let room = room("evidence-scores");
    let (file, out) = (room.join("scores.csv"), room.join("out"));
    let rows: String = (0..400)
        .map(|i| if i % 2 == 0 { format!("in,{}\n", i + 300) } else { format!("out,{}\n", i % 250) })
        .collect();
    fs::write(&file, format!("world,score\n{rows}")).unwrap();
    let words = ["audit", "--scores", text(&file), "--claim-epsilon", "1", "--claim-delta", "0"];
    let (code, said) = done(&veracity(&words));
    assert_eq!(code, Some(1));
    assert!(said.starts_with("REFUTED: ε ≥ "), "{said}");
    let (_, said) = done(&veracity(&[&words[..], &["--out", text(&out), "--json"]].concat()));
    assert_eq!(json(&said)["subject"]["kind"], "scores");
    assert_eq!(done(&veracity(&["verify", text(&out.join("certificate.json"))])).0, Some(0));
}
