//! Asks the accountant random questions and holds every answer against independent roads.
//!
//!     cargo run --release -p veracity-account --example sceptic -- --questions 20000 --seed 1
//!     cargo run --release -p veracity-account --example sceptic -- --seed 1 --only 1234
//!     cargo run --release -p veracity-account --example sceptic -- --questions 500 --method pld --kind laplace
//!
//! `--patience 1e8` lets a truth take ten seconds instead of a tenth, for rare jumps.
//! `--truths` asks nobody and prints each world of each question, with its truth, for another tool to check.
//!
//! Misses come first, each with its question; then a table per kind. Exit code 1 where there are misses.

#[path = "../tests/sceptic/ask.rs"]
mod ask;

use ask::answer;
use std::process::ExitCode;
use veracity_account::Method;
use veracity_testkit::sceptic::{
    judge::{Answer, judge},
    questions::{Asked, Wanted, question, question_of},
    roads::{PATIENCE, Roads},
    tally::{Tally, reproduce},
};

fn option(name: &str) -> Option<String> {
    let mut words = std::env::args().skip_while(|word| word != name);
    words.next()?;
    words.next()
}

fn main() -> ExitCode {
    let number =
        |name: &str, default: u64| option(name).map_or(default, |word| word.parse().expect("a whole number"));
    let method = option("--method").map_or(Method::Exact, |name| name.parse().expect("a method"));
    let (seed, start) = (number("--seed", 1), number("--from", 0));
    if let Some(index) = option("--only") {
        let index = index.parse().expect("a whole number");
        let asked =
            option("--kind").map_or_else(|| question(seed, index), |kind| question_of(&kind, seed, index));
        let said = answer(&asked, method);
        println!("{}\n{said:?}\n{:?}", reproduce(&asked), judge(&asked, &said));
        return ExitCode::SUCCESS;
    }
    let patience = option("--patience").map_or(PATIENCE, |word| word.parse().expect("a number"));
    if std::env::args().any(|word| word == "--truths") {
        let questions = number("--questions", 40);
        for index in start..start + questions {
            let asked = option("--kind")
                .map_or_else(|| question(seed, index), |kind| question_of(&kind, seed, index));
            truths(&asked, &answer(&asked, method), patience);
        }
        return ExitCode::SUCCESS;
    }
    let mut tally = Tally { patience, ..Tally::default() };
    let kind = option("--kind");
    let mut index = start;
    let mut told = 0;
    while tally.asked() < number("--questions", 20_000) as usize {
        let accountant = |asked: &Asked| answer(asked, method);
        match &kind {
            Some(kind) => tally.ask_kind(kind, seed, index, &accountant),
            None => tally.ask(seed, index, &accountant),
        }
        for miss in &tally.misses[told..] {
            println!("MISS {miss}");
        }
        told = tally.misses.len();
        index += 1;
    }
    println!("{tally}");
    let (roughly, none) = tally.not_measured();
    println!(
        "{} asked, {} measured, {roughly} roughly, {none} without a truth, {} misses",
        tally.asked(),
        tally.measured(),
        tally.misses.len()
    );
    if tally.misses.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the truths that an answer is held against: at the ε asked, or at its upper end.
fn truths(asked: &Asked, said: &Answer, patience: f64) {
    let Some(roads) = Roads::of(&asked.mechanism, asked.adjacency) else { return };
    let epsilon = match asked.wanted {
        Wanted::DeltaAt(epsilon) => Some(epsilon),
        Wanted::EpsilonAt(_) => said.upper(),
    };
    let Some(epsilon) = epsilon.filter(|epsilon| epsilon.is_finite()) else { return };
    for (world, truth) in roads.patient(patience).each(epsilon) {
        let Some(truth) = truth else { continue };
        println!("{:?} epsilon {epsilon:e} low {:?} high {:?}", world.uses, truth.log_low, truth.log_high);
    }
}
