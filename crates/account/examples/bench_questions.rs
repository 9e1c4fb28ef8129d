//! Answers a file of benchmark questions in this process and prints one JSON object per question, then one for memory.
//!
//! `cargo run --release -p veracity-account --example bench_questions -- questions.csv`; columns are named in the file.

use std::time::{Duration, Instant};
use veracity_account::{Method, Question, best, calibrate, epsilon_at};
use veracity_core::{
    Adjacency, Coefficients, Count, Delta, Epsilon, Finding, Mechanism, NoiseMultiplier, Participation,
    Refusal, SamplingRate, Strategy,
};

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
    let [_, kind, rate, noise, times, delta, epsilon, more @ ..] = cells else {
        return Err(Refusal::NotCertified("a question has seven columns, or eight".to_owned()));
    };
    let times = count(times)?;
    let delta = Delta::new(number(delta))?;
    if let [size] = more {
        let (mechanism, adjacency) = further(kind, rate, NoiseMultiplier::new(number(noise))?, count(size)?)?;
        let question = Question { mechanism: mechanism.repeated(times), adjacency };
        return Ok(ends(&best::epsilon_at(&question, delta)?.finding));
    }
    let rate = SamplingRate::new(if rate.is_empty() { 1.0 } else { number(rate) })?;
    let family = |noise_multiplier| match *kind {
        "laplace" => Mechanism::Laplace { noise_multiplier }.repeated(times),
        "gaussian" => Mechanism::Gaussian { noise_multiplier }.repeated(times),
        _ => Mechanism::sampled_gaussian(rate, noise_multiplier, times),
    };
    let adjacency = Adjacency::AddRemove;
    if epsilon.is_empty() {
        let mechanism = family(NoiseMultiplier::new(number(noise))?);
        return Ok(ends(&epsilon_at(&Question { mechanism, adjacency }, delta, Method::Exact)?));
    }
    let noise = calibrate::noise(&family, adjacency, Epsilon::new(number(epsilon))?, delta)?;
    Ok((noise.get(), noise.get()))
}

/// The kinds of the second file, with the adjacency that the peer accounts for. `size` means what the file says.
fn further(
    kind: &str,
    rate: &str,
    noise_multiplier: NoiseMultiplier,
    size: Count,
) -> Result<(Mechanism, Adjacency), Refusal> {
    let gaussian = Box::new(Mechanism::Gaussian { noise_multiplier });
    let matrix = |strategy, participation| Mechanism::Matrix { strategy, participation, noise_multiplier };
    // Steps of every banded question.
    let steps = Count::new(1000)?;
    Ok(match kind {
        "group" => {
            let once =
                Mechanism::sampled_gaussian(SamplingRate::new(number(rate))?, noise_multiplier, Count::ONE);
            (Mechanism::Group { size, mechanism: Box::new(once) }, Adjacency::AddRemove)
        }
        "tree" => (matrix(Strategy::Tree { steps: size }, Participation::Once), Adjacency::ZeroOut),
        "fixed-size" => {
            let batch = count(rate)?;
            (
                Mechanism::FixedSizeSampled { batch, population: size, mechanism: gaussian },
                Adjacency::ReplaceOne,
            )
        }
        "banded-cyclic" => {
            let participation =
                Participation::CyclicPoisson { groups: size, rate: SamplingRate::new(number(rate))? };
            (matrix(square_root(steps, size)?, participation), Adjacency::AddRemove)
        }
        "banded-separated" => {
            let participation = Participation::Separated { times: count(rate)?, separation: size };
            (matrix(square_root(steps, size)?, participation), Adjacency::AddRemove)
        }
        "allocation" => {
            (Mechanism::RandomAllocation { batches: size, mechanism: gaussian }, Adjacency::AddRemove)
        }
        _ => return Err(Refusal::NotCertified(format!("no kind is called {kind}"))),
    })
}

/// The square root of running sums, C(2k, k)/4^k, cut off after `bands`.
fn square_root(steps: Count, bands: Count) -> Result<Strategy, Refusal> {
    let mut coefficients = vec![1.0];
    for k in 1..bands.get() {
        let k = k as f64;
        coefficients.push(coefficients[coefficients.len() - 1] * (k - 0.5) / k);
    }
    Ok(Strategy::Banded { steps, coefficients: Coefficients::new(coefficients)? })
}

/// Both ends, as far as they are known.
fn ends(finding: &Finding<Epsilon>) -> (f64, f64) {
    let lower = finding.lower().map_or(f64::NAN, |bound| bound.0.get());
    let upper = finding.upper().map_or(f64::NAN, |bound| bound.0.get());
    (lower, upper)
}

fn count(cell: &str) -> Result<Count, Refusal> {
    Count::new(cell.parse().unwrap_or(0))
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
