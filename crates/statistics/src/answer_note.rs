//! A question and its answer, as a claim notes them; and the moment when it was asked.

use veracity_account::claims::moment;
use veracity_account::claims::{AnswerNote, Parameters, Provenance};
use veracity_core::Error;
use veracity_core::files::since_1970;
use veracity_mechanisms::{Bins, Cell, Statistic};

/// Data of this name, asked now.
///
/// # Errors
/// Refuses a name that a claim cannot have.
pub fn provenance(dataset: &str) -> Result<Provenance, Error> {
    Ok(Provenance::at(dataset, now()?)?)
}

/// This moment, as claims write it.
pub(crate) fn now() -> Result<String, Error> {
    let since = since_1970()?;
    Ok(moment::written(since.as_secs(), since.subsec_nanos()))
}

/// What was asked of a column beside its name.
pub(crate) fn parameters(statistic: &Statistic) -> Option<Parameters> {
    let none = Parameters::default();
    Some(match statistic {
        Statistic::Count => return None,
        Statistic::Sum(bounds) | Statistic::Mean(bounds) | Statistic::Variance(bounds) => {
            Parameters { lower: Some(bounds.lower()), upper: Some(bounds.upper()), ..none }
        }
        Statistic::Quantile { bounds, rank, .. } => Parameters {
            lower: Some(bounds.lower()),
            upper: Some(bounds.upper()),
            rank: Some(f64::from(rank.below()) / f64::from(rank.whole())),
            ..none
        },
        Statistic::Histogram(Bins::Numeric { bounds, bins }) => {
            Parameters { lower: Some(bounds.lower()), upper: Some(bounds.upper()), bins: Some(*bins), ..none }
        }
        Statistic::Histogram(Bins::Categories(names)) => {
            Parameters { categories: Some(names.clone()), ..none }
        }
    })
}

/// The numbers of an answer.
pub(crate) fn answer(cells: &[Cell]) -> Vec<AnswerNote> {
    let note = |cell: &Cell| AnswerNote {
        bin: cell.label.clone(),
        value: cell.value,
        error_bar: cell.error_bar,
        rank_error: cell.rank_error,
    };
    cells.iter().map(note).collect()
}
