//! Answers a file of benchmark questions in this process and prints one JSON object per question, then one for memory.
//!
//! `cargo run --release -p veracity-account --example bench_questions -- questions.csv`; columns are named in the file.

use std::time::{Duration, Instant};
use veracity_account::{Method, Question, calibrate, epsilon_at};
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal, SamplingRate};

/// Repeats end after this long, but not before the third.
const PATIENCE: Duration = Duration::from_millis(500);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which file of questions?")?;
    let file = std::fs::read_to_string(path)?;
    for line in file.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let name = cells[0];
        match timed(|| answer(&cells)) {
            Ok(((lower, upper), milliseconds)) => println!(
                r#"{{"name": "{name}", "lower": {lower}, "upper": {upper}, "milliseconds": {milliseconds}}}"#
            ),
            Err(refusal) => println!(r#"{{"name": "{name}", "failure": "{refusal}"}}"#),
        }
    }
    println!(r#"{{"peak_kib": {}}}"#, peak_kib());
    Ok(())
}

/// The answer and the median time of several askings.
fn timed<T>(ask: impl Fn() -> Result<T, Refusal>) -> Result<(T, f64), Refusal> {
    let begun = Instant::now();
    let mut times = Vec::new();
    loop {
        let start = Instant::now();
        let answer = ask()?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if times.len() >= 3 && begun.elapsed() > PATIENCE {
            times.sort_by(f64::total_cmp);
            return Ok((answer, times[times.len() / 2]));
        }
    }
}

/// Lower and upper end of ε, or the calibrated noise twice.
fn answer(cells: &[&str]) -> Result<(f64, f64), Refusal> {
    let [_, kind, rate, noise, times, delta, epsilon] = *cells else {
        return Err(Refusal::NoAnswer("a question has seven columns".to_owned()));
    };
    let times = Count::new(times.parse().unwrap_or(0))?;
    let delta = Delta::new(number(delta))?;
    let rate = SamplingRate::new(if rate.is_empty() { 1.0 } else { number(rate) })?;
    let family = |noise_multiplier| match kind {
        "laplace" => Mechanism::Laplace { noise_multiplier }.repeated(times),
        "gaussian" => Mechanism::Gaussian { noise_multiplier }.repeated(times),
        _ => Mechanism::dp_sgd(rate, noise_multiplier, times),
    };
    let adjacency = Adjacency::AddRemove;
    if epsilon.is_empty() {
        let mechanism = family(NoiseMultiplier::new(number(noise))?);
        let finding = epsilon_at(&Question { mechanism, adjacency }, delta, Method::Exact)?;
        let lower = finding.lower().map_or(f64::NAN, |bound| bound.0.get());
        let upper = finding.upper().map_or(f64::NAN, |bound| bound.0.get());
        return Ok((lower, upper));
    }
    let noise = calibrate::noise(&family, adjacency, Epsilon::new(number(epsilon))?, delta)?;
    Ok((noise.get(), noise.get()))
}

/// What is no number is refused where it is used.
fn number(cell: &str) -> f64 {
    cell.parse().unwrap_or(f64::NAN)
}

/// The largest resident size of this process so far; zero where the system does not say.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().split(' ').next()?.parse().ok()).unwrap_or(0)
}
