//! Lower bounds on ε from what an attack left behind: counts, guesses, or a file of scores.

use crate::subjects::recorded;
use std::path::Path;
use veracity_audit::bound::{FromCounts, LowerBound, sequential, trade_off};
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
    pub shown: LowerBound,
}

/// All bounds of the same scores side by side. Each holds by itself, at the whole level: the best of them, picked after
/// looking, does not.
///
/// `fixed` is a threshold that was known before the trials; without one, bounds that need counts split the trials.
///
/// # Errors
/// Scores of one world alone.
pub fn side_by_side(
    scores: &Scores,
    delta: Delta,
    fixed: Option<f64>,
    folds: Count,
    significance: Significance,
) -> Result<Vec<Row>, Error> {
    let mut rows = Vec::new();
    let (first, name) =
        fixed.map_or((threshold::Choice::Split, "split"), |at| (threshold::Choice::Fixed(at), "fixed"));
    let mut add = |bound: FromCounts, choice, threshold| -> Result<(), Error> {
        // Without a δ a Gaussian mechanism has no finite ε to show.
        if bound == FromCounts::Gdp && delta.get() == 0.0 {
            return Ok(());
        }
        let chosen = threshold::bound(scores, choice, bound, delta, Count::ONE, significance.for_another())?;
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
    let uniform = trade_off::band(scores, trade_off::Kind::Uniform, significance.for_another())
        .bound(delta, Count::ONE);
    rows.push(Row { bound: "uniform-band", threshold: "union", shown: uniform });
    rows.push(Row {
        bound: "sequential",
        threshold: "past pairs",
        shown: sequential::epsilon_lower(scores, delta, significance.for_another())?,
    });
    Ok(rows)
}

/// Reads recorded scores as an audit of them does, in the same order. Every trial must have a score: only an audit knows what a
/// failure says.
///
/// # Errors
/// A file that cannot be read, or a trial without a score.
pub fn read_scores(path: &Path) -> Result<Scores, Error> {
    let seen = recorded::read(path)?.trials.observations();
    let refuse = |why: String| Err(Error::file("scores", path, why));
    let Some(trials) = seen.iter().map(|told| Some((told.world, told.score?))).collect::<Option<Vec<_>>>()
    else {
        return refuse("a number for every score; only an audit of the file counts failed trials".to_owned());
    };
    let scores = Scores::in_order(trials)?;
    let (ins, outs) = (scores.inside().len(), scores.outside().len());
    if ins == 0 || outs == 0 {
        return refuse(format!("trials of both worlds, found {ins} in and {outs} out"));
    }
    Ok(scores)
}
