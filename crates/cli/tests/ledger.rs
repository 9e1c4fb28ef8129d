//! A budget in a file, from the command line: charged once, never overdrawn, and checked.

use crate::door::{did, json, room, run};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The code and the one line of a command that does not.
fn refused(folder: &Path, line: &str) -> (Option<i32>, String) {
    let output = run(folder, line);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.stdout.len(), said.lines().count()), (0, 1), "{line}: {said}");
    (output.status.code(), said)
}

fn furnished(name: &str) -> PathBuf {
    let room = room(name);
    let people = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/people.csv");
    fs::copy(people, room.join("people.csv")).unwrap();
    room
}

fn shown(room: &Path) -> Value {
    json(&did(room, "ledger show l --json"))
}

#[test]
fn a_release_is_charged_once_and_over_budget_is_exit_code_1() {
    let room = furnished("ledger-release");
    did(&room, "ledger create l --epsilon 1 --dataset people.csv");
    let line = "release count people.csv --epsilon 0.75 --ledger l --request-id one --json";
    let first = json(&did(&room, line));
    assert_eq!(json(&did(&room, line)), first);
    let after = shown(&room);
    assert_eq!(after["entries"], 1);
    let (spent, left) =
        (after["spent"]["epsilon"].as_f64().unwrap(), after["remaining"]["epsilon"].as_f64().unwrap());
    assert!(spent > 0.74 && spent + left <= 1.0 && left > 0.24, "{spent} {left}");
    // As many claims as were charged.
    let claims = || {
        fs::read_dir(&room)
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|ending| ending == "json"))
            .count()
    };
    assert_eq!(claims(), 1);

    let (code, said) = refused(&room, "release count people.csv --epsilon 0.5 --ledger l --request-id two");
    assert_eq!(code, Some(1));
    assert!(said.contains("over budget"), "{said}");
    let (code, said) = refused(&room, "release count people.csv --epsilon 0.5 --ledger l --json");
    assert_eq!((code, json(&said)["kind"].as_str().unwrap()), (Some(1), "over-budget"));
    assert_eq!((shown(&room), claims()), (after, 1));

    // The same id for another question; other data; another unit; a file that is not there: nothing is charged.
    for line in [
        "release count people.csv --epsilon 0.1 --ledger l --request-id one",
        "release count people.csv --epsilon 0.1 --ledger l --dataset other",
        "release count people.csv --epsilon 0.1 --ledger l --person city",
        "release count nobody.csv --epsilon 0.1 --ledger l",
        "release mean people.csv --column height --lower 0 --upper 9 --epsilon 0.1 --ledger l",
        "release count people.csv --epsilon 0.1 --ledger nowhere",
        "release count people.csv --epsilon 0.1 --ledger people.csv",
        "release count people.csv --epsilon 0.1 --ledger l --seed 1",
        "release count people.csv --epsilon 0.1 --request-id one",
    ] {
        assert_eq!(refused(&room, line).0, Some(2), "{line}");
    }
    assert_eq!(shown(&room)["entries"], 1);
}

#[test]
fn a_training_is_charged_before_its_first_step_and_once() {
    let room = furnished("ledger-train");
    let plan = "[data]\nformat = 'digits'\n[[model.layer]]\nkind = 'linear'\noutputs = 10\n[training]\nbatch_size = 256\nsteps = 3\n\
                learning_rate = 1\n[privacy]\nnoise_multiplier = 8\ndelta = 1e-5\n";
    fs::write(room.join("plan.toml"), plan).unwrap();
    did(&room, "ledger create l --epsilon 5 --delta 1e-5");
    let line = "train plan.toml --out model --ledger l --request-id spring";
    did(&room, line);
    assert!(did(&room, line).contains("not charged again"));
    assert!(did(&room, &format!("{line} --resume")).contains("not charged again"));
    assert_eq!((shown(&room)["entries"].clone(), shown(&room)["answered"].clone()), (1.into(), 1.into()));
    let entry = json(&did(&room, "ledger export l"));
    // It is charged as it is, and by the earlier default as a pair that covers it.
    assert_eq!((entry["what"].as_str(), entry["charged_as"].is_null()), (Some("training"), true));
    did(&room, "ledger create earlier --epsilon 5 --delta 1e-5 --rule gaussian --reserve 1e-6");
    did(&room, "train plan.toml --out again --ledger earlier");
    let entry = json(&did(&room, "ledger export earlier"));
    assert_eq!(entry["charged_as"]["kind"].as_str(), Some("approximate"));

    // Without room for it, nothing is trained.
    did(&room, "ledger create small --epsilon 0.01 --delta 1e-5");
    let (code, _) = refused(&room, "train plan.toml --out other --ledger small");
    assert_eq!((code, room.join("other").exists()), (Some(1), false));
}

#[test]
fn a_ledger_is_verified_exported_and_drawn() {
    let room = furnished("ledger-verify");
    did(&room, "ledger create l --epsilon 2 --delta 1e-6 --analyst ada:1 --analyst bob:1.5");
    let head = shown(&room)["head"].as_str().unwrap().to_owned();
    did(&room, "release count people.csv --epsilon 0.3 --delta 1e-7 --ledger l --analyst ada");
    assert!(did(&room, "ledger verify l").starts_with("valid"));
    let verified = json(&did(&room, &format!("ledger verify l --head {head} --json")));
    assert_eq!((verified["verdict"].as_str(), verified["noted_at"].as_u64()), (Some("confirmed"), Some(0)));
    let output = run(&room, &format!("ledger verify l --head {}", "0".repeat(64)));
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("invalid"));
    assert_eq!(refused(&room, "ledger verify l --head 12").0, Some(2));
    assert!(did(&room, "ledger history l").contains("ada"));
    did(&room, "ledger export l --out entries.csv");
    assert_eq!(fs::read_to_string(room.join("entries.csv")).unwrap().lines().count(), 2);
    did(&room, "ledger plot l --out spent.svg");
    did(&room, "ledger plot l --out spent.png");
    assert!(fs::read_to_string(room.join("spent.svg")).unwrap().contains("mu squared"));
}

/// A dry run says what a request costs of the year, and writes nothing to the ledger.
#[test]
fn a_dry_run_says_what_is_left_for_such_requests() {
    let room = furnished("ledger-dry-run");
    did(&room, "ledger create l --epsilon 1 --delta 1e-6");
    let before = fs::read(room.join("l")).unwrap();
    let ask = "release count people.csv --epsilon 0.3 --ledger l --request-id a";
    let words = did(&room, &format!("{ask} --dry-run"));
    assert!(words.contains("ledger: costs 30% of what is left of l; 3 such requests fit"), "{words}");
    let small = json(&did(&room, "release count people.csv --epsilon 0.05 --ledger l --dry-run --json"));
    let fits = small["ledger"]["requests_that_fit"].as_u64().unwrap();
    assert!((20..=25).contains(&fits), "{small}");
    assert_eq!(fs::read(room.join("l")).unwrap(), before);
    // As many fit as it said.
    for _ in 0..2 {
        did(&room, "release count people.csv --epsilon 0.3 --ledger l --claim claims/");
    }
    let words = did(&room, &format!("{ask} --dry-run"));
    assert!(words.contains("1 such request fits"), "{words}");
    did(&room, ask);
    assert!(did(&room, &format!("{ask} --dry-run")).contains("costs nothing of l"));
    let (code, said) = refused(&room, "release count people.csv --epsilon 0.3 --ledger l --dry-run");
    assert!(code == Some(1) && said.contains("over budget"), "{said}");
    assert_eq!(shown(&room)["entries"], 3);
}

#[test]
fn a_product_of_slots_is_a_budget() {
    let room = furnished("ledger-terms");
    did(
        &room,
        "ledger create l --epsilon 2 --delta 1e-6 --rule product --mu 0.2 --reserve 1e-7 --slot pure:0.1:10",
    );
    assert_eq!(shown(&room)["remaining"]["slots"][0], 10);
    assert_eq!(refused(&room, "ledger create l --epsilon 1").0, Some(2));
}

/// A claim that cannot be written is noticed before the release is charged, as it is for a query.
#[test]
fn a_claim_without_a_place_costs_nothing() {
    let room = furnished("ledger-places");
    did(&room, "ledger create l --epsilon 1 --dataset people.csv");
    fs::write(room.join("taken.json"), "mine").unwrap();
    fs::write(room.join("file"), "").unwrap();
    for place in ["taken.json", "nowhere/claim.json", "file/claim.json"] {
        let line = format!("release count people.csv --epsilon 0.5 --ledger l --claim {place}");
        let (code, said) = refused(&room, &line);
        assert!(
            code == Some(2) && (said.contains("claim is ") || said.contains("cannot write claim ")),
            "{place}: {said}"
        );
        assert_eq!(shown(&room)["entries"], 0, "{place}");
    }
    // A disk without room for a claim, where this machine lets us mount one.
    let disk = room.join("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4k", "none"]).arg(&disk).output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("NOT TESTED: this machine does not let the test mount a tmpfs");
        return;
    }
    fs::write(disk.join("full"), [0u8; 4096]).unwrap();
    let (code, said) =
        refused(&room, "release count people.csv --epsilon 0.5 --ledger l --claim disk/claim.json");
    let left = fs::read_dir(&disk).unwrap().count();
    let _ = Command::new("umount").arg(&disk).status();
    assert!(code == Some(2) && said.contains("it takes about 17 kB"), "{said}");
    assert_eq!((&shown(&room)["entries"], left), (&0.into(), 1));
}

/// What can be refused without a charge is: nothing is charged, no folder is made, and no claim is written.
#[test]
fn what_fails_before_data_are_needed_costs_nothing() {
    let room = furnished("ledger-free-refusals");
    did(&room, "ledger create l --epsilon 9 --delta 1e-5");
    fs::write(
        room.join("catalog.toml"),
        "[tables.people]\npath = 'gone.csv'\nperson = 'city'\nrows_per_group = 1\n",
    )
    .unwrap();
    fs::write(room.join("nobody.toml"), plan("path = 'gone.csv'\nformat = 'csv'\nlabel = 'a'", 10)).unwrap();
    fs::write(room.join("plan.toml"), plan("format = 'digits'", 10)).unwrap();
    fs::write(room.join("file"), "").unwrap();
    for line in [
        "release count gone.csv --epsilon 0.1 --ledger l --request-id r",
        "release mean people.csv --column gone --lower 0 --upper 9 --epsilon 0.1 --ledger l --request-id r",
        "query SELECT·COUNT(*)·FROM·people --catalog catalog.toml --epsilon 1 --ledger l --request-id q",
        "train nobody.toml --out model --ledger l --request-id t",
        "train plan.toml --out file --ledger l --request-id t",
        "train plan.toml --out model --ledger l --request-id t --resume",
    ] {
        let words = line.split_whitespace().map(|word| word.replace('·', " "));
        let output =
            Command::new(env!("CARGO_BIN_EXE_veracity")).args(words).current_dir(&room).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{line}: {said}");
        assert_eq!(shown(&room)["entries"], 0, "{line}");
        assert!(!room.join("model").exists(), "{line}");
    }
}

/// A row that cannot be read is found after the charge, as its refusal may depend on data: it stays charged, and its id is not answered.
#[test]
fn a_release_that_fails_at_the_data_stays_charged_and_its_id_is_refused() {
    let room = furnished("ledger-late-failure");
    did(&room, "ledger create l --epsilon 1");
    fs::write(room.join("odd.csv"), "height\n1\n2\n\"3\n").unwrap();
    let line = "release count odd.csv --column height --epsilon 0.5 --ledger l --request-id r";
    assert_eq!(refused(&room, line).0, Some(2));
    assert_eq!((&shown(&room)["entries"], &shown(&room)["answered"]), (&1.into(), &0.into()));
    fs::write(room.join("odd.csv"), "height\n1\n2\n3\n").unwrap();
    let (code, said) = refused(&room, line);
    assert!(code == Some(2) && said.contains("abandoned request, which stays charged"), "{said}");
    assert_eq!(shown(&room)["entries"], 1);
}

/// A file of records is read once: a pipe gives them only once.
#[test]
#[cfg(unix)]
fn a_training_that_is_paid_reads_its_records_once() {
    let room = furnished("ledger-one-reading");
    did(&room, "ledger create l --epsilon 9 --delta 1e-5");
    let columns = "format = 'csv'\npath = 'pipe.csv'\nlabel = 'class'\nclasses = ['a', 'b']\n[[data.column]]\nname = 'x'\nbounds = [0, 1]";
    fs::write(room.join("plan.toml"), plan(columns, 2)).unwrap();
    assert!(Command::new("mkfifo").arg(room.join("pipe.csv")).status().unwrap().success());
    let text = "x,class\n".to_owned() + &"0.5,a\n0.25,b\n".repeat(300);
    let writer = std::thread::spawn({
        let pipe = room.join("pipe.csv");
        // Once: whoever opened the pipe again would wait for a writer.
        move || fs::write(pipe, text)
    });
    let output = Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_veracity"), "train", "plan.toml", "--out", "model", "--ledger", "l"])
        .current_dir(&room)
        .output()
        .unwrap();
    let (said, why) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{:?}: {why}", output.status);
    writer.join().unwrap().unwrap();
    assert!(said.contains("from 600 records"), "{said}");
    assert_eq!(shown(&room)["answered"], 1);
}

/// A training on such data.
fn plan(data: &str, outputs: usize) -> String {
    format!(
        "[data]\n{data}\n[[model.layer]]\nkind = 'linear'\noutputs = {outputs}\n[training]\nbatch_size = 64\nsteps = 3\n\
         learning_rate = 1\n[privacy]\nnoise_multiplier = 8\ndelta = 1e-5\n"
    )
}
