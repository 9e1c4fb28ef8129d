//! Writes claims of random questions and verifies each: `honest_claims [QUESTIONS] [SEED]`. Ends with 1 if one is not confirmed.

#[path = "../tests/questions/mod.rs"]
mod questions;

use questions::{Asked, Dice};
use std::{collections::BTreeMap, process::ExitCode, time::Instant};
use veracity::verify;

fn main() -> ExitCode {
    let mut given = std::env::args().skip(1).map(|word| word.parse().unwrap_or(0));
    let (many, seed) = (given.next().unwrap_or(2000), given.next().unwrap_or(1));
    let mut dice = Dice(seed);
    let (mut confirmed, mut failed, mut slowest) = (0, 0, 0.0f64);
    let mut refused: BTreeMap<String, usize> = BTreeMap::new();
    while confirmed + failed < many {
        let asked = Asked::draw(&mut dice);
        let claim = match asked.claim() {
            Ok((_, claim)) => claim,
            Err(refusal) => {
                let kind: String =
                    refusal.to_string().chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
                *refused.entry(kind).or_default() += 1;
                continue;
            }
        };
        let start = Instant::now();
        let outcome = claim.to_json().and_then(|text| verify(&text));
        slowest = slowest.max(start.elapsed().as_secs_f64());
        if outcome.as_ref().is_ok_and(|confirmation| confirmation.stands()) {
            confirmed += 1;
        } else {
            failed += 1;
            println!("not confirmed: {asked:?}\n  {:?}", outcome.map(|found| found.failure().cloned()));
        }
    }
    println!("{confirmed} confirmed, {failed} not, of {many} written; slowest verification {slowest:.2} s");
    for (why, times) in refused {
        println!("  no claim, {times} times: {why}");
    }
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
