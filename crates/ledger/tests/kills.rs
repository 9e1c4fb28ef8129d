//! Clients killed at random moments, and clients that race for the last of a budget.

#![cfg(unix)] // Clients are killed by a signal.
#![allow(clippy::unwrap_used)]

mod door;

use door::{Dice, Folder, is_long, job, named, numbers, pure, recover, start, sums};
use std::{
    io::{BufRead, BufReader, Read, Write},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};
use veracity_account::filter::{Budget, Filter, Kind};
use veracity_core::{Adjacency, Delta, Epsilon, ErrorKind};
use veracity_ledger::{Ledger, Request, Reserved};

/// What the client does, when this program was started as one.
#[test]
fn client() {
    let Some((job, path)) = job() else { return };
    let mut out = std::io::stdout();
    let mut tell = |line: String| writeln!(out, "\n{line}").and_then(|()| out.flush()).unwrap();
    match job.as_str() {
        // Until someone kills it.
        "release" => {
            let ledger = Ledger::open(&path).unwrap();
            for round in 0.. {
                let id = format!("{}-{round}", std::process::id());
                let Reserved::New(reservation) = ledger.reserve(named(&id, pure(0.125))).unwrap() else {
                    panic!("a new id is known")
                };
                tell(format!("released {}", reservation.entry()));
                ledger.commit(reservation, "{\"answer\":1}").unwrap();
            }
        }
        // All at once, when the others are there.
        "race" => {
            let ledger = Ledger::open(&path).unwrap();
            tell("here".into());
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

#[test]
fn a_killed_client_released_no_more_than_is_recorded() {
    let folder = Folder::new("kills");
    let path = folder.file("l");
    drop(Ledger::create(&path, sums(1e9)).unwrap());
    let kills = if is_long() { 1000 } else { 30 };
    let mut dice = Dice(16);
    let (mut released, mut slowest) = (0, Duration::ZERO);
    for _ in 0..kills {
        let mut child = start("release", &path).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        // From its first charge on, at any moment of the next few.
        let mut said = Vec::new();
        while !said.ends_with(b"\n") || numbers(&said, "released ").is_empty() {
            assert!(out.read_until(b'\n', &mut said).unwrap() > 0, "the client ended by itself");
        }
        thread::sleep(Duration::from_micros(dice.below(20_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        out.read_to_end(&mut said).unwrap();
        // A line that was cut off while it was written tells nothing.
        let whole = said.iter().rposition(|byte| *byte == b'\n').unwrap();
        let told = numbers(&said[..whole], "released ");
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

#[test]
fn racing_clients_get_exactly_what_fits() {
    let folder = Folder::new("race");
    let path = folder.file("l");
    let (clients, requests) = if is_long() { (64, 200) } else { (8, 25) };
    // Half of what they will ask for, and a little that fits nobody.
    let epsilon = 0.125 * f64::from(clients * requests) / 2.0 + 0.1;
    drop(Ledger::create(&path, sums(epsilon)).unwrap());
    let fits = {
        let budget = Budget { epsilon: Epsilon::new(epsilon).unwrap(), delta: Delta::ZERO };
        let mut filter =
            Filter::new(Kind::Basic { each: Delta::ZERO }, budget, Adjacency::AddRemove).unwrap();
        (0..).take_while(|_| filter.charge(&pure(0.125)).is_ok()).count() as u64
    };
    let children: Vec<_> = (0..clients)
        .map(|_| {
            let mut command = start("race", &path);
            command.env("LEDGER_ROUNDS", requests.to_string());
            let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
            let mut out = BufReader::new(child.stdout.take().unwrap());
            let mut line = String::new();
            while !line.contains("here") {
                assert!(out.read_line(&mut line).unwrap() > 0, "a client did not open the ledger");
            }
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
