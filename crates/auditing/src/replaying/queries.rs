//! A query replayed on neighbours of a column.

use super::{DeclaredNoise, NoiseLaw, Pair, Replays, Trace, TraceCall, compare, examine};
use veracity_core::{Adjacency, Error, Refusal, Significance};
use veracity_mechanisms::{Column, Design, Draw, NoiseKind};
use veracity_noise::{Entropy, Key, NoiseStream, Purpose, Stream, Tape};

/// Rows that are changed.
const ROWS: usize = 5;

/// Replays a release on columns that differ from this one by a row, under the adjacency of its question, and tests its noise.
///
/// # Errors
/// A column that the design does not read.
pub fn release(
    design: &Design,
    column: &Column,
    seed: u64,
    significance: Significance,
) -> Result<Replays, Error> {
    let stream = || Entropy::seeded(seed).stream(Purpose::Noise, Key::default());
    let (tape, run) = record(design, column, NoiseStream::recording(stream()))?;
    let mut pairs = Vec::new();
    for (neighbour, other) in neighbours(column, design.question().adjacency) {
        let replayed = replay(design, &other, &tape, &run, stream())?;
        let done = replayed.replayed.fault.is_some();
        pairs.push(Pair { neighbour, ..replayed });
        if done {
            break;
        }
    }
    let what = format!("{} of {} rows", design.question().statistic.name(), column.rows());
    Ok(Replays::new(what, pairs, vec![examine(&run, significance)]))
}

fn replay(design: &Design, other: &Column, tape: &Tape, run: &Trace, stream: Stream) -> Result<Pair, Error> {
    let (_, again) = record(design, other, NoiseStream::replaying(tape.clone(), stream))?;
    Ok(Pair { neighbour: String::new(), replayed: compare(run, &again)? })
}

/// Every noise call, and the answers, which nothing but those calls may move.
fn record(design: &Design, column: &Column, mut rng: NoiseStream) -> Result<(Tape, Trace), Error> {
    let release = design.release(column, &mut rng)?;
    let tape = rng.into_tape().unwrap_or_default();
    let published = release.cells.iter().flat_map(|cell| [cell.value, cell.error_bar]).collect();
    let trace = Trace::from(&tape).declaring(|call| declared(design, call))?;
    Ok((tape, trace.and(TraceCall::published("answers", published))))
}

/// The noise that a call of the design must have: that of its multiplier, which the accountant reads, not what the sampler
/// says of itself. Choices add none.
fn declared(design: &Design, call: &TraceCall) -> Result<Option<DeclaredNoise>, Refusal> {
    let Some(part) = design.parts().iter().find(|part| part.place == call.place()) else { return Ok(None) };
    let Draw::Added(_) = part.draw else { return Ok(None) };
    let law = match design.kind() {
        NoiseKind::Laplace => NoiseLaw::DiscreteLaplace,
        NoiseKind::Gaussian => NoiseLaw::DiscreteGaussian,
    };
    DeclaredNoise::new(law, design.multiplier().get() * part.sensitivity.as_f64(), None).map(Some)
}

fn neighbours(column: &Column, adjacency: Adjacency) -> Vec<(String, Column)> {
    let rows = column.rows();
    let positions = (0..ROWS.min(rows)).map(|at| at * rows / ROWS.min(rows));
    let mut found = Vec::new();
    for row in positions {
        match adjacency {
            Adjacency::AddRemove => found.push((format!("row {row} removed"), without(column, row))),
            Adjacency::ZeroOut => found.push((format!("row {row} blanked"), replaced(column, row, None))),
            Adjacency::ReplaceOne => {
                for (name, value) in STRANGERS {
                    let by = Some(value);
                    found.push((format!("row {row} replaced by {name}"), replaced(column, row, by)));
                }
            }
        }
    }
    if adjacency == Adjacency::AddRemove {
        for (name, value) in STRANGERS {
            found.push((format!("{name} added"), with(column, value)));
        }
    }
    found
}

/// Values that may lie anywhere; a text column gets them written out.
const STRANGERS: [(&str, f64); 3] =
    [("zero", 0.0), ("a huge value", 1e300), ("a huge negative value", -1e300)];

fn without(column: &Column, row: usize) -> Column {
    let keep = |at: &usize| *at != row;
    match column {
        Column::Numbers(values) => {
            Column::Numbers((0..values.len()).filter(keep).map(|at| values[at]).collect())
        }
        Column::Texts(values) => {
            Column::Texts((0..values.len()).filter(keep).map(|at| values[at].clone()).collect())
        }
    }
}

fn replaced(column: &Column, row: usize, by: Option<f64>) -> Column {
    let mut column = column.clone();
    match &mut column {
        Column::Numbers(values) => values[row] = by.unwrap_or(f64::NAN),
        Column::Texts(values) => values[row] = by.map(|value| value.to_string()),
    }
    column
}

fn with(column: &Column, value: f64) -> Column {
    let mut column = column.clone();
    match &mut column {
        Column::Numbers(values) => values.push(value),
        Column::Texts(values) => values.push(Some(value.to_string())),
    }
    column
}
