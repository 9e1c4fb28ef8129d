//! Certificates that somebody changed, and sealed again so that every hash holds: what is found, and what is said not to be known.

use crate::door::{has, json, refusal, room, text, veracity, words};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

/// Keys of minisign for these tests alone, made by another implementation: secret and public, and the public one of another pair.
const SECRET: &str = "RWQAAEIyAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAdmVyYWNpdHm5sazLMg0LZvBg6QUuvI6R+Qc/auYZZpnTxrOW8+HKl+TquU7eHvcZCPMIEDxa/Xj7mnWIPlwFe8HARE16SZKWXE0Kk+osznv6KFeAFrK1aOhNLgyV4JpdYxJUHrxhuFI=";
const PUBLIC: &str = "RWR2ZXJhY2l0eeTquU7eHvcZCPMIEDxa/Xj7mnWIPlwFe8HARE16SZKW";
const ANOTHERS: &str = "RWRhbm90aGVyMRfwVdcKkHujpvPRmeAchxe1oJ1CVxgyKFaXgeUrpeLz";

const MECHANISM: &str = "--mechanism gaussian --noise-multiplier 1 --trials 200";

/// An audit on disk.
fn audited(room: &Path, name: &str, line: &str) -> PathBuf {
    let out = room.join(name);
    let output = veracity(&[&["audit"][..], &words(line), &["--out", text(&out)]].concat());
    assert!(out.join("certificate.json").exists(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

/// The exit code and what is said.
fn verified(folder: &Path, more: &str) -> (Option<i32>, String) {
    let output = veracity(&[&["verify", text(&folder.join("certificate.json"))][..], &words(more)].concat());
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    (output.status.code(), String::from_utf8(output.stdout).unwrap())
}

/// Changes a file of JSON.
fn changed(folder: &Path, name: &str, change: &dyn Fn(&mut Value)) {
    let path = folder.join(name);
    let mut value = json(&fs::read_to_string(&path).unwrap());
    change(&mut value);
    fs::write(path, serde_json::to_string_pretty(&value).unwrap() + "\n").unwrap();
}

/// Changes order and certificate alike, so that they agree.
fn forged(room: &Path, name: &str, line: &str, change: &dyn Fn(&mut Value)) -> PathBuf {
    let folder = audited(room, name, line);
    changed(&folder, "order.json", change);
    changed(&folder, "certificate.json", change);
    folder
}

/// Changes trials and order, and lets the tool itself seal them again: a merge of one share.
fn resealed(
    room: &Path,
    of: &Path,
    change: &dyn Fn(&mut Value),
    rows: &dyn Fn(Vec<String>) -> Vec<String>,
) -> PathBuf {
    fs::remove_file(of.join("certificate.json")).unwrap();
    changed(of, "order.json", change);
    let kept = fs::read_to_string(of.join("trials.csv")).unwrap();
    let mut lines = kept.lines().map(str::to_owned);
    let header = lines.next().unwrap();
    let rows = rows(lines.collect());
    fs::write(of.join("trials.csv"), format!("{header}\n{}\n", rows.join("\n"))).unwrap();
    let out = room.join("resealed");
    let output = veracity(&["audit", "merge", text(of), "--out", text(&out)]);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

/// A row with another score; the world stays.
fn scored(row: &str, score: impl Fn(bool) -> f64) -> String {
    let cells: Vec<&str> = row.split(',').collect();
    let score = format!("{:?}", score(cells[2] == "in"));
    [cells[0], cells[1], cells[2], &score, cells[4], cells[5]].join(",")
}

#[test]
fn what_was_not_touched_is_confirmed_and_says_what_nobody_can_know() {
    let room = room("forged-honest");
    let folder = audited(&room, "out", MECHANISM);
    let (code, said) = verified(&folder, "");
    assert_eq!(code, Some(0), "{said}");
    for unknown in ["were really run", "fixed before", "discarded"] {
        let told = said.lines().any(|line| line.starts_with("not known: ") && line.contains(unknown));
        assert!(told, "{unknown}: {said}");
    }
    let told = json(&verified(&folder, "--json").1);
    assert_eq!(told["unknown"].as_array().unwrap().len(), said.matches("not known: ").count());
}

#[test]
fn a_proof_or_a_word_that_does_not_follow_is_found() {
    let room = room("forged-words");
    type Change = dyn Fn(&mut Value);
    let changes: [(&str, &Change); 11] = [
        ("proved", &|file| file["proved"] = json!(file["proved"].as_f64().unwrap() * 0.5)),
        ("proved", &|file| file["proved"] = json!(file["proved"].as_f64().unwrap() * 2.0)),
        ("proved", &|file| file["proved"] = json!(file["proved"].as_f64().unwrap() * (1.0 + 1e-9))),
        ("proved", &|file| file["proved"] = Value::Null),
        ("subject.description", &|file| file["subject"]["description"] = json!("gaussian, of another")),
        ("subject.attack", &|file| file["subject"]["attack"] = json!("nothing at all")),
        ("subject.access", &|file| file["subject"]["access"] = json!("black box")),
        ("subject.settings", &|file| file["subject"]["settings"]["noise_added"] = json!("1")),
        ("subject.settings.by", &|file| file["subject"]["settings"]["by"] = json!("the best of auditors")),
        ("claim.mechanism", &|file| file["claim"]["mechanism"] = Value::Null),
        ("subject.kind", &|file| file["subject"]["kind"] = json!("hearsay")),
    ];
    for (at, (what, change)) in changes.into_iter().enumerate() {
        let folder = forged(&room, &at.to_string(), MECHANISM, change);
        let (code, said) = verified(&folder, "");
        assert_eq!(code, Some(1), "{what}: {said}");
        assert!(said.lines().count() == 1 && said.starts_with("invalid: "), "{what}: {said}");
        let checks = json(&verified(&folder, "--json").1)["checks"].clone();
        let fails = |check: &Value| check["what"] == what && check["holds"] == false;
        assert!(checks.as_array().unwrap().iter().any(fails), "{what}: {checks:#}");
    }
}

/// A canary of four records, bounded as if it were one: what is shown would be four times too much.
#[test]
fn a_group_that_is_too_small_is_found() {
    let room = room("forged-group");
    let line = "--attack blank --copies 4 --trials 20";
    let small: &dyn Fn(&mut Value) = &|file| file["method"]["group_size"] = json!(1);
    let folder = audited(&room, "out", line);
    assert_eq!(verified(&folder, "").0, Some(0));
    let forged = resealed(&room, &folder, small, &|rows| rows);
    let (code, said) = verified(&forged, "");
    assert!(code == Some(1) && said.starts_with("invalid: method, stated "), "{said}");
}

#[test]
fn an_order_that_is_gone_or_another_is_found() {
    let room = room("forged-order");
    let folder = audited(&room, "out", MECHANISM);
    let kept = fs::read(folder.join("order.json")).unwrap();
    fs::remove_file(folder.join("order.json")).unwrap();
    let (code, said) = verified(&folder, "");
    assert!(code == Some(1) && said.starts_with("invalid: order, stated "), "{said}");
    // A method that suits the scores better, chosen after they were seen.
    fs::write(folder.join("order.json"), kept).unwrap();
    changed(&folder, "order.json", &|file| file["method"]["threshold"] = json!("fixed:0.5"));
    let said = refusal(&["audit", "merge", text(&folder), "--out", text(&room.join("merged"))]);
    assert!(said.contains("a different method") && !room.join("merged").exists(), "{said}");
    let said = refusal(&["audit", "merge", text(&folder), "--out", text(&folder)]);
    assert!(said.contains("a different method"), "{said}");
    fs::write(folder.join("certificate.json"), "{}").unwrap();
    refusal(&["audit", "merge", text(&folder), "--out", text(&room.join("merged"))]);
}

/// Worlds are drawn by trial, so that those of other numbers do not fit.
#[test]
fn trials_that_were_dropped_and_numbered_anew_do_not_fit_their_worlds() {
    let room = room("forged-dropped");
    let folder = audited(&room, "out", MECHANISM);
    fs::remove_file(folder.join("certificate.json")).unwrap();
    changed(&folder, "order.json", &|file| {
        file["trials"] = json!(180);
        file["max_failures"] = json!(18);
    });
    let kept = fs::read_to_string(folder.join("trials.csv")).unwrap();
    let left = kept.lines().skip(1).enumerate().filter(|(at, _)| at % 10 != 3).map(|(_, row)| row);
    let anew = left.enumerate().map(|(at, row)| format!("{at},{}\n", row.split_once(',').unwrap().1));
    let header = kept.lines().next().unwrap();
    fs::write(folder.join("trials.csv"), format!("{header}\n{}", anew.collect::<String>())).unwrap();
    let said = refusal(&["audit", "merge", text(&folder), "--out", text(&room.join("merged"))]);
    assert!(said.contains("is in the wrong world; these are not the trials of this order"), "{said}");
}

/// Scores that nobody ever saw, sealed like any others: recomputing confirms them, and running a few again does not.
#[test]
fn invented_trials_are_found_by_running_some_again() {
    let room = room("forged-invented");
    let folder = audited(&room, "out", MECHANISM);
    let (code, said) = verified(&folder, "--rerun 25");
    assert_eq!(code, Some(0), "{said}");
    has(&said, &["re-ran 25 randomly chosen trials", "probability 0.928"]);
    assert!(said.contains("not known: whether the other 175 trials were really run"), "{said}");
    let (_, said) = verified(&folder, "--rerun 1e6");
    assert!(said.contains("re-ran 200 randomly") && !said.contains("trials were really run"), "{said}");
    let invented = resealed(&room, &folder, &|_| (), &|rows| {
        rows.iter().map(|row| scored(row, |is_in| if is_in { 5.0 } else { -5.0 })).collect()
    });
    let (code, said) = verified(&invented, "");
    assert!(code == Some(0) && said.starts_with("valid: refuted"), "{said}");
    has(&said, &["not known: whether the 200 trials were really run: none was repeated"]);
    let (code, said) = verified(&invented, "--rerun 1");
    assert!(code == Some(1) && said.starts_with("invalid: trial ") && said.lines().count() == 1, "{said}");
    assert!(said.contains("5.0; found a score of "), "{said}");
}

/// Trials may be chosen so that their worlds fit their new numbers; their scores do not.
#[test]
fn trials_that_were_picked_to_fit_are_found_by_running_some_again() {
    let room = room("forged-picked");
    let folder = audited(&room, "out", MECHANISM);
    let picked = resealed(
        &room,
        &folder,
        &|file| {
            file["trials"] = json!(60);
            file["max_failures"] = json!(6);
        },
        &|rows| {
            // Of the later trials, the next that has the world that is due.
            let mut left = rows[60..].iter();
            let due = rows[..60].iter();
            due.map(|row| {
                let cells: Vec<&str> = row.split(',').collect();
                let world = format!(",{},", cells[2]);
                let taken = left.find(|other| other.contains(&world)).unwrap();
                format!("{},{}", cells[0], taken.split_once(',').unwrap().1)
            })
            .collect()
        },
    );
    assert_eq!(verified(&picked, "").0, Some(0));
    let (code, said) = verified(&picked, "--rerun 2");
    assert!(code == Some(1) && said.starts_with("invalid: trial "), "{said}");
}

/// A plan for records of two columns, in a folder of its own.
fn plan(room: &Path) -> PathBuf {
    let rows: String =
        (0..60).map(|at| format!("{},{},{}\n", at % 7, at % 11, ["no", "yes"][at % 2])).collect();
    fs::write(room.join("records.csv"), format!("x,y,class\n{rows}")).unwrap();
    let path = room.join("plan.toml");
    let text = "[data]\nformat = \"csv\"\npath = \"records.csv\"\nlabel = \"class\"\nclasses = [\"no\", \"yes\"]\n\
                [[data.column]]\nname = \"x\"\nbounds = [0, 7]\n[[data.column]]\nname = \"y\"\nbounds = [0, 11]\n\
                [[model.layer]]\nkind = \"linear\"\noutputs = 2\n\
                [training]\nbatch_size = 20\nsteps = 3\nlearning_rate = 0.5\n[privacy]\nepsilon = 2\ndelta = 1e-5\n";
    fs::write(&path, text).unwrap();
    path
}

/// What certificates hold of a plan is JSON, reads back as the same plan, and names no file.
#[test]
fn trainings_are_run_again_from_their_certificate_where_their_records_are_known() {
    let room = room("forged-trainings");
    for (name, line) in [
        ("white", "--trials 20 --canaries 3"),
        ("last", "--attack mislabelled --score loss --worst-case-start --trials 20"),
        ("one", "--one-run --canaries 40"),
    ] {
        let folder = audited(&room, name, line);
        let (code, said) = verified(&folder, "--rerun 3");
        assert_eq!(code, Some(0), "{name}: {said}");
        assert!(!said.contains("the records are not available here"), "{said}");
        let settings =
            &json(&fs::read_to_string(folder.join("certificate.json")).unwrap())["subject"]["settings"];
        assert_eq!(settings["plan"]["data"]["format"], "digits");
        if name == "white" {
            assert_eq!(settings["attack"], json!({"kind": "white-box", "canaries": 3, "copies": 1}));
        }
    }
    let plan = plan(&room);
    let folder = audited(&room, "own", &format!("{} --trials 20 --canaries 2", text(&plan)));
    let kept = fs::read_to_string(folder.join("certificate.json")).unwrap();
    assert!(!kept.contains("records.csv") && !kept.contains("\\\""), "{kept}");
    let (code, said) = verified(&folder, "");
    assert!(
        code == Some(0) && said.contains("the stated records: the records are not available here"),
        "{said}"
    );
    let certificate = folder.join("certificate.json");
    let said = refusal(&["verify", text(&certificate), "--rerun", "3"]);
    assert!(said.contains("does not contain the path of the records"), "{said}");
    let given = format!("--rerun 3 --plan {}", text(&plan));
    let (code, said) = verified(&folder, &given);
    assert!(code == Some(0) && !said.contains("the records are not available here"), "{said}");
    // Other records than those that were audited.
    let rows = fs::read_to_string(room.join("records.csv")).unwrap();
    fs::write(room.join("records.csv"), rows.replacen("0,0,no", "1,0,no", 1)).unwrap();
    let (code, said) = verified(&folder, &given);
    assert!(
        code == Some(1) && said.starts_with("invalid: subject.settings.records_sha256, stated "),
        "{said}"
    );
    // A certificate that would have a file of its reader's opened.
    let change: &dyn Fn(&mut Value) =
        &|file| file["subject"]["settings"]["plan"]["data"]["path"] = json!("/etc/hosts");
    changed(&folder, "order.json", change);
    changed(&folder, "certificate.json", change);
    let (code, said) = verified(&folder, "");
    assert!(code == Some(1) && said.contains("not in the form that veracity writes"), "{said}");
}

#[test]
fn what_is_not_ours_is_not_run_again() {
    let room = room("forged-elsewhere");
    let scores = room.join("scores.csv");
    let rows: String = (0..40).map(|at| format!("{},{at}\n", ["in", "out"][at % 2])).collect();
    fs::write(&scores, format!("world,score\n{rows}")).unwrap();
    let folder = audited(&room, "scores", &format!("--scores {} --claim-epsilon 1", text(&scores)));
    let (code, said) = verified(&folder, "");
    assert_eq!(code, Some(0), "{said}");
    has(&said, &["not known: what was run: the scores were recorded elsewhere"]);
    let said = refusal(&["verify", text(&folder.join("certificate.json")), "--rerun", "3"]);
    assert_eq!(said, "trials cannot be repeated: the scores were recorded elsewhere");
    // Nothing is proved of a claim without a mechanism.
    let change: &dyn Fn(&mut Value) = &|file| file["proved"] = json!(0.5);
    changed(&folder, "order.json", change);
    changed(&folder, "certificate.json", change);
    let (code, said) = verified(&folder, "");
    assert!(code == Some(1) && said.starts_with("invalid: proved, stated 0.5; found nothing"), "{said}");
    let said = refusal(&["verify", text(&room), "--rerun", "3"]);
    assert!(said.contains("expected a certificate.json"), "{said}");
}

#[test]
fn a_signature_is_of_one_certificate_and_one_key() {
    let room = room("forged-signed");
    let at = |name: &str, key: &str| {
        let path = room.join(name);
        fs::write(&path, format!("untrusted comment: for tests\n{key}\n")).unwrap();
        text(&path).to_owned()
    };
    let (secret, public, anothers) = (at("a.key", SECRET), at("a.pub", PUBLIC), at("b.pub", ANOTHERS));
    let signed = audited(&room, "signed", &format!("{MECHANISM} --sign {secret}"));
    let plain = audited(&room, "plain", MECHANISM);
    let (code, said) = verified(&signed, &format!("--key {public}"));
    assert!(code == Some(0) && !said.contains("who wrote it"), "{said}");
    assert!(verified(&signed, "").1.contains("not known: who wrote it"));
    let fails = |folder: &Path, key: &str, why: &str| {
        let (code, said) = verified(folder, &format!("--key {key}"));
        assert_eq!((code, said.lines().count()), (Some(1), 1), "{said}");
        assert_eq!(said, format!("invalid: signature, stated of this key; found {why}\n"));
    };
    fails(&plain, &public, "no certificate.json.minisig next to it");
    fails(&signed, &anothers, "of another key");
    // The same audit signed again is the same to the byte.
    let again = audited(&room, "again", &format!("{MECHANISM} --sign {secret}"));
    let read = |folder: &Path| fs::read(folder.join("certificate.json.minisig")).unwrap();
    assert_eq!(read(&signed), read(&again));
    // A byte that changes nothing but the text.
    let kept = fs::read_to_string(again.join("certificate.json")).unwrap();
    fs::write(again.join("certificate.json"), format!("{kept}\n")).unwrap();
    assert_eq!(verified(&again, "").0, Some(0));
    fails(&again, &public, "not of this certificate by this key");
    fs::write(again.join("certificate.json.minisig"), "hello\n").unwrap();
    fails(&again, &public, "not a signature of minisign");
    // Shares are signed when they are put together.
    let merged = room.join("merged");
    let output = veracity(&["audit", "merge", text(&plain), "--out", text(&merged), "--sign", &secret]);
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(read(&merged), read(&signed));
    // Keys that are none, or that a password protects: told before a trial is run.
    let protected = at("protected.key", &SECRET.replacen("RWQAAEIy", "RWRTY0Iy", 1));
    let line = |key: &str| format!("audit {MECHANISM} --out {} --sign {key}", text(&room.join("none")));
    assert!(refusal(&words(&line(&protected))).contains("a key without a password"));
    assert!(refusal(&words(&line(&public))).contains("expected a secret key of minisign"));
    assert!(!room.join("none").exists());
    let said = refusal(&words(&format!("audit {MECHANISM} --sign {secret}")));
    assert!(said.contains("needs an output folder for the certificate"), "{said}");
    let said = refusal(&["verify", text(&signed.join("certificate.json")), "--key", &secret]);
    assert!(said.contains("expected a public key of minisign"), "{said}");
}

/// A retry that never was turns a refuted claim into one of which nothing is said; a rerun finds it, and the verdict names its basis.
#[test]
fn an_invented_retry_is_found_by_a_rerun() {
    let room = room("forged-retry");
    let honest =
        audited(&room, "a", "--mechanism gaussian --noise-multiplier 1 --noise-added 0.25 --trials 400");
    assert!(verified(&honest, "").1.starts_with("valid: refuted"));
    let retried = |mut rows: Vec<String>| {
        rows[0] = format!("{}2", rows[0].strip_suffix('1').unwrap());
        rows
    };
    let forged = resealed(&room, &honest, &|order| order["retries"] = 1.into(), &retried);
    let (code, said) = verified(&forged, "");
    assert!(code == Some(0) && said.starts_with("valid: inconclusive"), "{said}");
    assert!(
        said.contains(
            "assumed: if-retries-tell-nothing, so the claim is not refuted, although these trials violate the claimed curve"
        ),
        "{said}"
    );
    let (code, said) = verified(&forged, "--rerun 400");
    assert_eq!(code, Some(1), "{said}");
    has(&said, &["failed at first, and was retried; found runs without a failure"]);
}
