//! Clients killed at random moments, and clients that race for the last of a budget.

#![cfg(unix)] // Clients are killed by a signal.

use crate::door::{
    Folder, budget, is_long, job, named, new, numbers, piped, pure, read_until, recover, start, sums, tell,
};
use std::{
    io::Read,
    path::Path,
    thread,
    time::{Duration, Instant},
};
use veracity_account::filter::{Filter, Kind};
use veracity_core::{Adjacency, Delta, ErrorKind};
use veracity_ledger::{Ledger, Request};
use veracity_testkit::short::Dice;

/// What the client does, when this program was started as one.
#[test]
fn client() {
    let Some((job, path)) = job() else { return };
    match job.as_str() {
        // Until someone kills it.
        "release" => {
            let ledger = Ledger::open(&path).unwrap();
            for round in 0.. {
                let id = format!("{}-{round}", std::process::id());
                let reservation = new(ledger.reserve(named(&id, pure(0.125))));
                tell(format!("released {}", reservation.entry()));
                ledger.commit(reservation, "{\"answer\":1}").unwrap();
            }
        }
        // All at once, when the others are there.
        "race" => {
            let ledger = Ledger::open(&path).unwrap();
            tell("here");
            while !path.with_extension("go").exists() {
                thread::sleep(Duration::from_millis(1));
            }
            let requests: u64 = std::env::var("LEDGER_ROUNDS").unwrap().parse().unwrap();
            let mut granted = 0;
            for _ in 0..requests {
                match ledger.reserve(Request::new(pure(0.125), "racing")) {
                    Ok(_) => granted += 1,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::OverBudget, "{error}"),
                }
            }
            tell(format!("granted {granted}"));
        }
        other => panic!("no such job: {other}"),
    }
}

/// Kills a client that releases without end, at any moment of its first charges; the entries that it released.
fn killed(path: &Path, dice: &mut Dice) -> Vec<u64> {
    let (mut child, mut out) = piped(start(module_path!(), "release", path));
    let mut said = read_until(&mut out, "released ").into_bytes();
    thread::sleep(Duration::from_micros(dice.below(20_000)));
    child.kill().unwrap();
    child.wait().unwrap();
    out.read_to_end(&mut said).unwrap();
    // A line that was cut off while it was written says nothing.
    let whole = said.iter().rposition(|byte| *byte == b'\n').unwrap();
    numbers(&said[..whole], "released ")
}

#[test]
fn a_killed_client_released_no_more_than_is_recorded() {
    let folder = Folder::new("kills");
    let path = folder.file("l");
    drop(Ledger::create(&path, sums(1e9)).unwrap());
    let kills = if is_long() { 1000 } else { 30 };
    let mut dice = Dice::new(16);
    let (mut released, mut slowest) = (0, Duration::ZERO);
    for _ in 0..kills {
        let told = killed(&path, &mut dice);
        released += told.len();
        let begun = Instant::now();
        let ledger = Ledger::open(&path).unwrap();
        let _ = ledger.status().unwrap();
        slowest = slowest.max(begun.elapsed());
        drop(ledger);
        recover(&path, &told);
    }
    let begun = Instant::now();
    let recorded = recover(&path, &[]);
    println!(
        "{kills} kills: {released} told, {recorded} recorded; slowest open and status {:.3} s, open and verify of all {:.3} s",
        slowest.as_secs_f64(),
        begun.elapsed().as_secs_f64()
    );
    assert!(recorded as usize >= released && released >= kills);
}

/// The file alone, copied after a kill without whatever lies beside it, has all that was released, or is refused because it was
/// copied in the middle of a commit. No copy that opens has less.
#[test]
fn a_copy_of_the_file_alone_after_a_kill_has_what_was_released() {
    let folder = Folder::new("copied-kills");
    let (path, alone) = (folder.file("l"), folder.file("alone/l"));
    std::fs::create_dir(folder.file("alone")).unwrap();
    drop(Ledger::create(&path, sums(1e9)).unwrap());
    let kills = if is_long() { 1000 } else { 60 };
    let mut dice = Dice::new(11);
    let (mut released, mut refused) = (Vec::new(), 0);
    for _ in 0..kills {
        released.extend(killed(&path, &mut dice));
        std::fs::copy(&path, &alone).unwrap();
        match Ledger::open(&alone).and_then(|copy| Ok((copy.status()?, copy.history()?))) {
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::File, "{error}");
                refused += 1;
            }
            Ok((status, entries)) => {
                let last = *released.last().unwrap();
                let is_recorded = entries.iter().any(|entry| entry.number == last);
                assert!(is_recorded && status.reserved as usize >= released.len(), "{last}: {status:?}");
            }
        }
    }
    let recorded = recover(&path, &released);
    println!("{kills} kills: {} released, {recorded} recorded, {refused} copies refused", released.len());
    assert!(recorded as usize >= released.len() && refused < kills / 2);
}

#[test]
fn racing_clients_get_exactly_what_fits() {
    let folder = Folder::new("race");
    let path = folder.file("l");
    let (clients, requests) = if is_long() { (64, 200) } else { (8, 25) };
    // Half of what they will ask for, and a little that fits nobody.
    let epsilon = 0.125 * f64::from(clients * requests) / 2.0 + 0.1;
    drop(Ledger::create(&path, sums(epsilon)).unwrap());
    let kind = Kind::Basic { each: Delta::ZERO };
    let mut filter = Filter::new(kind, budget(epsilon, 0.0), Adjacency::AddRemove).unwrap();
    let fits = (0..).take_while(|_| filter.charge(&pure(0.125)).is_ok()).count() as u64;
    let children: Vec<_> = (0..clients)
        .map(|_| {
            let mut command = start(module_path!(), "race", &path);
            command.env("LEDGER_ROUNDS", requests.to_string());
            let (child, mut out) = piped(command);
            read_until(&mut out, "here");
            (child, out)
        })
        .collect();
    let begun = Instant::now();
    std::fs::write(path.with_extension("go"), "").unwrap();
    let mut granted = 0;
    for (mut child, mut out) in children {
        let mut said = Vec::new();
        out.read_to_end(&mut said).unwrap();
        assert!(child.wait().unwrap().success(), "a client failed");
        granted += numbers(&said, "granted ")[0];
    }
    println!(
        "{clients} clients × {requests} requests: {granted} granted of {fits} that fit, {:.1} s",
        begun.elapsed().as_secs_f64()
    );
    assert_eq!(granted, fits);
    assert_eq!(recover(&path, &[]), fits);
    let ledger = Ledger::open(&path).unwrap();
    assert_eq!(ledger.reserve(Request::new(pure(0.125), "late")).unwrap_err().kind(), ErrorKind::OverBudget);
}
