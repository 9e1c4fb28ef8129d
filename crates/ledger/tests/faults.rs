//! Faults at every call to the operating system in turn: whatever fails, and whenever the process or the power dies, the ledger opens
//! again, its chain holds, and what a client was told it may release is recorded.
//!
//! A small library (`faults.c`, built here by the C compiler that SQLite needs anyway) is loaded before the C library into a client,
//! which is this test program started again.

#![cfg(target_os = "linux")] // Libraries are loaded before others by LD_PRELOAD.

use crate::door::{Folder, is_long, job, named, numbers, pure, recover, start, sums, tell};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};
use veracity_ledger::{Ledger, Request, Reserved};

/// What the client does, when this program was started as one.
#[test]
fn client() {
    let Some((job, path)) = job() else { return };
    let ledger = match job.as_str() {
        "create" => Ledger::create(&path, sums(1e6)),
        _ => Ledger::open(&path),
    };
    let Ok(ledger) = ledger else { return tell("refused to open") };
    tell("opened");
    let rounds = if job == "fill" { std::env::var("LEDGER_ROUNDS").unwrap().parse().unwrap() } else { 3 };
    for round in 0..rounds {
        let request = match job.as_str() {
            "fill" => Request::new(pure(0.125), "filling"),
            _ => named(&format!("{}-{round}", std::process::id()), pure(0.125)),
        };
        match ledger.reserve(request) {
            Ok(Reserved::New(reservation)) => {
                if job != "fill" {
                    tell(format!("released {}", reservation.entry()));
                    if ledger.commit(reservation, "{\"answer\":1}").is_ok() {
                        tell(format!("answered {round}"));
                    }
                }
            }
            Ok(Reserved::Known { .. }) => panic!("a new id is known"),
            Err(error) => {
                let line = error.to_string();
                assert!(!line.contains('\n'), "{line}");
                tell(format!("failed: {line}"));
            }
        }
    }
}

/// A new ledger in a folder of its own, and the library in another.
fn faulty_ledger(name: &str, budget: f64) -> (Folder, PathBuf, Folder, PathBuf) {
    let (outside, inside) = (Folder::new(&format!("shim-{name}")), Folder::new(&format!("fault-{name}")));
    let (library, path) = (shim(&outside), inside.file("l"));
    drop(Ledger::create(&path, sums(budget)).unwrap());
    (outside, library, inside, path)
}

/// The library, built into a folder.
fn shim(folder: &Folder) -> PathBuf {
    let library = folder.file("faults.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/faults.c");
    let built = Command::new("cc")
        .args(["-O1", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source)
        .arg("-ldl")
        .output();
    let built = built.expect("the tests of faults need a C compiler, as the bundled SQLite does");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

/// A client of the ledger at `path` with a fault.
fn faulty(library: &Path, job: &str, path: &Path, kind: &str, at: u64) -> Command {
    let mut command = start(module_path!(), job, path);
    command
        .env("LD_PRELOAD", library)
        .env("LEDGER_FAULT_KIND", kind)
        .env("LEDGER_FAULT_AT", at.to_string())
        .env("LEDGER_FAULT_UNDER", path.parent().unwrap().file_name().unwrap());
    command
}

fn was_hit(output: &Output) -> bool {
    String::from_utf8_lossy(&output.stderr).contains("fault hit")
}

/// A client that dies by itself has panicked.
fn must_not_panic(output: &Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("panicked"), "{said}");
}

/// The same fault at the first call, the second, … until none is hit; how many were.
fn at_every_call(kind: &str) -> u64 {
    let (_outside, library, _inside, path) = faulty_ledger(kind, 1e6);
    let mut charged = 0;
    for at in 1.. {
        let output = faulty(&library, "open", &path, kind, at).output().unwrap();
        must_not_panic(&output);
        let told = numbers(&output.stdout, "released ");
        let recorded = recover(&path, &told);
        assert!(recorded >= charged + told.len() as u64, "{kind} {at}: {recorded} of {charged} and {told:?}");
        charged = recorded;
        if !was_hit(&output) {
            assert_eq!(told.len(), 3, "{kind} {at}");
            assert!(at > 20, "only {at} calls were seen");
            return at;
        }
    }
    unreachable!("faults end")
}

/// Kinds that leave the process alive, and kinds that end it.
#[test]
fn whatever_call_fails_the_record_covers_what_was_released() {
    let kinds: &[&str] = if is_long() { &["eio", "enospc", "full", "short"] } else { &["eio", "short"] };
    for kind in kinds {
        println!("{kind}: at each of {} calls", at_every_call(kind) - 1);
    }
}

#[test]
fn whenever_the_process_dies_the_record_covers_what_was_released() {
    for kind in if is_long() { &["kill", "after"][..] } else { &["after"] } {
        println!("{kind}: at each of {} calls", at_every_call(kind) - 1);
    }
}

#[test]
fn whenever_the_power_fails_the_record_covers_what_was_released() {
    println!("power: at each of {} calls", at_every_call("power") - 1);
}

/// The twin: were nothing forced to disk, a power failure would lose charges, and this test would see it.
#[test]
fn without_forcing_to_disk_charges_would_be_lost() {
    let (_outside, library, inside, path) = faulty_ledger("twin", 1e6);
    let mut lost = 0;
    for at in 1.. {
        let output = faulty(&library, "open", &path, "unsafe-power", at).output().unwrap();
        let told = numbers(&output.stdout, "released ");
        let recorded = Ledger::open(&path).and_then(|ledger| ledger.history()).map_or(0, |entries| {
            told.iter().filter(|number| entries.iter().any(|entry| entry.number == **number)).count()
        });
        lost += told.len() - recorded;
        if !was_hit(&output) {
            break;
        }
        // Each from the same beginning.
        fs::remove_file(&path).unwrap();
        let _ = fs::remove_file(inside.file("l-journal"));
        drop(Ledger::create(&path, sums(1e6)).unwrap());
    }
    assert!(lost > 0);
}

/// A creation that fails or dies leaves nothing, or a whole ledger.
#[test]
fn a_ledger_is_made_whole_or_not_at_all() {
    let outside = Folder::new("shim-create");
    let library = shim(&outside);
    let kinds: &[&str] =
        if is_long() { &["eio", "full", "short", "kill", "after", "power"] } else { &["eio", "kill"] };
    for kind in kinds {
        for at in 1.. {
            let inside = Folder::new(&format!("create-{kind}"));
            let path = inside.file("l");
            let output = faulty(&library, "create", &path, kind, at).output().unwrap();
            must_not_panic(&output);
            let told = numbers(&output.stdout, "released ");
            if path.exists() {
                recover(&path, &told);
            } else {
                assert!(told.is_empty());
                drop(Ledger::create(&path, sums(1.0)).unwrap());
            }
            if !was_hit(&output) {
                assert_eq!(told.len(), 3);
                println!("create, {kind}: at each of {} calls", at - 1);
                break;
            }
        }
    }
}

/// A charge by a new handle checks the whole chain, and a charge by one that has checked it does not: a process that opens and
/// charges three times reads each page once or twice.
#[test]
fn a_long_ledger_is_read_once_however_many_charges_follow() {
    let (_outside, library, _inside, path) = faulty_ledger("long", 1e9);
    let rounds = if is_long() { 100_000 } else { 2_000 };
    let before = std::time::Instant::now();
    let mut filling = faulty(&library, "fill", &path, "nosync", 0);
    assert!(filling.env("LEDGER_ROUNDS", rounds.to_string()).status().unwrap().success());
    println!("{rounds} charges without forcing to disk: {:.1} s", before.elapsed().as_secs_f64());
    let before = std::time::Instant::now();
    let output = faulty(&library, "open", &path, "count", 0).output().unwrap();
    println!("open and three charges with answers, process and all: {:.3} s", before.elapsed().as_secs_f64());
    assert_eq!(numbers(&output.stdout, "released ").len(), 3);
    let (calls, reads) = (numbers(&output.stderr, "calls "), numbers(&output.stderr, "reads "));
    println!("{} calls, {} of them read", calls[0], reads[0]);
    let pages = fs::metadata(&path).unwrap().len() / 4096;
    assert!(reads[0] > 0 && reads[0] < 2 * pages + 200, "{reads:?} of {pages} pages");
    let ledger = Ledger::open(&path).unwrap();
    let steps: [(&str, &dyn Fn() -> bool); 3] = [
        ("one charge", &|| ledger.reserve(Request::new(pure(0.125), "one more")).is_ok()),
        ("status", &|| ledger.status().unwrap().reserved == rounds + 4),
        ("verify", &|| ledger.verify(None).unwrap().holds()),
    ];
    for (name, step) in steps {
        let before = std::time::Instant::now();
        assert!(step(), "{name}");
        println!("{name}: {:.4} s", before.elapsed().as_secs_f64());
    }
}
