//! Lower bounds on ε from what an attack left behind: counts, guesses, or a file of scores.

use crate::subjects::recorded::shuffle_by_content;
use csv::{Reader, ReaderBuilder, StringRecord};
use std::{fs::File, path::Path};
use veracity_audit::bound::{FromCounts, Shown, sequential, trade_off};
pub use veracity_audit::{Counts, Scores, bound, power, threshold};
use veracity_core::Error;
use veracity_core::{Count, Delta, Significance};

/// One bound beside others.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name.
    pub bound: &'static str,
    /// Where its threshold comes from.
    pub threshold: &'static str,
    /// What it shows.
    pub shown: Shown,
}

/// All bounds of the same scores side by side. Each holds by itself, at the whole level: the best of them, picked after
/// looking, does not.
///
/// `fixed` is a threshold that was known before the trials; without one, bounds that need counts split the trials.
pub fn side_by_side(
    scores: &Scores,
    delta: Delta,
    fixed: Option<f64>,
    folds: Count,
    level: f64,
) -> Result<Vec<Row>, Error> {
    let spend = || Significance::new(level);
    let mut rows = Vec::new();
    let (first, name) =
        fixed.map_or((threshold::Choice::Split, "split"), |at| (threshold::Choice::Fixed(at), "fixed"));
    let mut add = |bound: FromCounts, choice, threshold| -> Result<(), Error> {
        // Without a δ a Gaussian mechanism has no finite ε to show.
        if bound == FromCounts::Gdp && delta.get() == 0.0 {
            return Ok(());
        }
        let chosen = threshold::bound(scores, choice, bound, delta, Count::ONE, spend()?)?;
        rows.push(Row { bound: bound.name(), threshold, shown: chosen.shown });
        Ok(())
    };
    for bound in FromCounts::ALL {
        add(bound, first, name)?;
    }
    for bound in [FromCounts::ClopperPearson, FromCounts::Gdp] {
        add(bound, threshold::Choice::Folds(folds), "folds")?;
        add(bound, threshold::Choice::Union, "union")?;
    }
    let uniform = trade_off::band(scores, trade_off::Kind::Uniform, spend()?).bound(delta, Count::ONE);
    rows.push(Row { bound: "uniform-band", threshold: "union", shown: uniform });
    rows.push(Row {
        bound: "sequential",
        threshold: "past trials",
        shown: sequential::epsilon_lower(scores, delta, spend()?)?,
    });
    Ok(rows)
}

/// Reads a CSV file with the columns `world` (in or out) and `score`, one trial a row. Scores come from the auditor's own
/// trials, not from anyone's data, so a bad row is refused by its number; a score that is no number is never dropped.
pub fn read_scores(path: &Path) -> Result<Scores, Error> {
    let refuse = |why: String| Error::file("file", path, why);
    let file = File::open(path).map_err(|error| Error::io("file", path, "a readable CSV file", error))?;
    let mut reader = ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
    let world = column(&mut reader, "world").map_err(&refuse)?;
    let score = column(&mut reader, "score").map_err(&refuse)?;
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    let mut row = StringRecord::new();
    loop {
        let line = reader.position().line();
        match reader.read_record(&mut row) {
            Ok(true) => {}
            Ok(false) => break,
            Err(_) => {
                return Err(refuse(format!(
                    "rows of the same length as the header, found none at line {line}"
                )));
            }
        }
        let line = row.position().map_or(line, csv::Position::line);
        let number = row.get(score).and_then(|cell| cell.parse::<f64>().ok()).filter(|score| !score.is_nan());
        let number =
            number.ok_or_else(|| refuse(format!("a number for every score, found none at line {line}")))?;
        match row.get(world).map(str::to_ascii_lowercase).as_deref() {
            Some("in") => inside.push(number),
            Some("out") => outside.push(number),
            _ => return Err(refuse(format!("world to be in or out, found neither at line {line}"))),
        }
    }
    if inside.is_empty() || outside.is_empty() {
        let (ins, outs) = (inside.len(), outside.len());
        return Err(refuse(format!("trials of both worlds, found {ins} in and {outs} out")));
    }
    // Files come sorted; a threshold that the first half chooses must not know the second.
    for scores in [&mut inside, &mut outside] {
        shuffle_by_content(scores, |score: &f64| score.to_bits().to_be_bytes().to_vec());
    }
    Ok(Scores::new(inside, outside)?)
}

fn column(reader: &mut Reader<File>, name: &str) -> Result<usize, String> {
    let header = reader.headers().map_err(|_| "a CSV file with a header".to_owned())?;
    let is_named = |cell: &str| cell.trim_start_matches('\u{feff}').eq_ignore_ascii_case(name);
    header
        .iter()
        .position(is_named)
        .ok_or_else(|| format!("a header with the columns world and score, found no {name}"))
}
