//! Traces as files: a line of JSON for each noise call, as docs/trace.md has it.

use super::{DeclaredNoise, Pair, Replays, Trace, TraceCall, compare, examine};
use serde::Deserialize;
use std::{
    fs::File,
    io::{BufRead, BufReader, Read},
    path::Path,
};
use veracity_core::{Error, Refusal, Significance};

/// The longest trace that is read: two of them are held in memory.
const MOST_BYTES: u64 = 1 << 30;

/// One line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    place: String,
    norm: String,
    sensitivity: f64,
    input: Vec<f64>,
    output: Vec<f64>,
    noise: Option<NoiseLine>,
}

/// What a line says of its noise.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct NoiseLine {
    kind: String,
    scale: f64,
    grid: Option<f64>,
}

/// Reads a trace. A refusal names the line and never a number on it.
///
/// # Errors
/// A file that cannot be read, or a line that is no noise call.
pub fn read_trace(path: &Path) -> Result<Trace, Error> {
    let unreadable =
        |error: std::io::Error| Error::invalid(format!("trace {} cannot be read ({error})", path.display()));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.len() > MOST_BYTES {
        return Err(Error::invalid(format!("trace {} is larger than 1 GiB, the maximum", path.display())));
    }
    let mut calls = Vec::new();
    // A pipe has no length to look at first.
    for (number, line) in BufReader::new(file.take(MOST_BYTES)).lines().enumerate() {
        let line = line.map_err(unreadable)?;
        if !line.trim().is_empty() {
            calls.push(call(&line).map_err(|why| at_line(path, number + 1, &why))?);
        }
    }
    if calls.is_empty() {
        return Err(Error::invalid(format!(
            "trace {} is empty; it needs one line per noise call",
            path.display()
        )));
    }
    Ok(Trace::new(calls))
}

fn call(line: &str) -> Result<TraceCall, String> {
    let not_a_call = |_| "not a noise call, expected place, norm, sensitivity, input and output".to_owned();
    let line: Line = serde_json::from_str(line).map_err(not_a_call)?;
    checked(line).map_err(|refusal| refusal.to_string())
}

fn checked(line: Line) -> Result<TraceCall, Refusal> {
    let call = TraceCall::new(&line.place, line.norm.parse()?, line.sensitivity, line.input, line.output)?;
    match line.noise {
        Some(noise) => call.with_noise(DeclaredNoise::new(noise.kind.parse()?, noise.scale, noise.grid)?),
        None => Ok(call),
    }
}

fn at_line(path: &Path, number: usize, why: &str) -> Error {
    Error::invalid(format!("trace {} line {number}: {why}", path.display()))
}

/// Compares a recorded run with its replay on an adjacent dataset, and tests the noise of the first, where it is declared.
///
/// # Errors
/// Files that cannot be read, or traces that cannot be compared.
pub fn traces(run: &Path, replay: &Path, significance: Significance) -> Result<Replays, Error> {
    let recorded = read_trace(run)?;
    let replayed = compare(&recorded, &read_trace(replay)?)?;
    let pair = Pair { neighbour: format!("replay {}", replay.display()), replayed };
    let noise = examine(&recorded, significance);
    Ok(Replays::new(format!("trace {}", run.display()), vec![pair], vec![noise]))
}
