//! A method as it stands in a file and on the command line, and the method it stands for.

use super::MethodNote;
use veracity_audit::{Choice, Method};
use veracity_core::{Count, Refusal};

/// The threshold of a test that bets: what it has seen so far chooses.
pub(crate) const PAST: &str = "past";

impl MethodNote {
    /// The note of a method.
    pub fn of(method: Method) -> MethodNote {
        let (threshold, group) = match method {
            Method::Threshold { choice, group } => (spell(choice), group),
            Method::Gaussian { choice } => (spell(choice), Count::ONE),
            Method::ManyCanaries { guessed: None } => ("split".to_owned(), Count::ONE),
            Method::ManyCanaries { guessed: Some(part) } => (format!("ends:{part:?}"), Count::ONE),
            Method::ManyRuns { guessed } => (format!("{PAST}:{guessed:?}"), Count::ONE),
            Method::Sequential { group } => (PAST.to_owned(), group),
        };
        MethodNote { bound: method.name().to_owned(), threshold, group_size: group.get() }
    }

    /// The method, checked.
    pub fn method(&self) -> Result<Method, Refusal> {
        let group = Count::new(self.group_size)?;
        if group != Count::ONE && !["clopper-pearson", "sequential"].contains(&self.bound.as_str()) {
            return Err(Refusal::no_theorem(
                &self.bound,
                "a group of records",
                "use clopper-pearson or sequential",
            ));
        }
        match self.bound.as_str() {
            "clopper-pearson" => Ok(Method::Threshold { choice: read(&self.threshold)?, group }),
            "gdp" => Ok(Method::Gaussian { choice: read(&self.threshold)? }),
            "one-run" => Ok(Method::ManyCanaries { guessed: guessed(&self.threshold)? }),
            "many-runs" => Ok(Method::ManyRuns { guessed: past(&self.threshold)? }),
            "sequential" if self.threshold == PAST => Ok(Method::Sequential { group }),
            "sequential" => {
                Err(Refusal::out_of_range("threshold", clean(&self.threshold), "past with sequential"))
            }
            _ => {
                let known = "clopper-pearson, sequential, gdp, one-run or many-runs";
                Err(Refusal::out_of_range("bound", clean(&self.bound), known))
            }
        }
    }
}

fn spell(choice: Choice) -> String {
    match choice {
        Choice::Fixed(at) => format!("fixed:{at:?}"),
        Choice::Split => "split".to_owned(),
        Choice::Folds(folds) => format!("folds:{}", folds.get()),
        Choice::Union => "union".to_owned(),
    }
}

fn read(text: &str) -> Result<Choice, Refusal> {
    let fixed = text.strip_prefix("fixed:").and_then(|at| at.parse::<f64>().ok()).filter(|at| !at.is_nan());
    let folds = text.strip_prefix("folds:").and_then(|folds| folds.parse().ok());
    match (text, fixed, folds) {
        ("split", ..) => Ok(Choice::Split),
        ("union", ..) => Ok(Choice::Union),
        (_, Some(at), _) => Ok(Choice::Fixed(at)),
        (_, _, Some(2..=100)) => Ok(Choice::Folds(Count::new(folds.unwrap_or(2))?)),
        _ => Err(Refusal::out_of_range(
            "threshold",
            clean(text),
            "fixed:X, split, folds:K with 2 ≤ K ≤ 100, or union",
        )),
    }
}

fn guessed(text: &str) -> Result<Option<f64>, Refusal> {
    let part = text.strip_prefix("ends:").and_then(|part| part.parse().ok());
    match (text, part.filter(|part| *part > 0.0 && *part <= 1.0)) {
        ("split", _) => Ok(None),
        (_, Some(part)) => Ok(Some(part)),
        _ => Err(Refusal::out_of_range(
            "threshold",
            clean(text),
            "split or ends:PART with one-run, 0 < PART ≤ 1",
        )),
    }
}

fn past(text: &str) -> Result<f64, Refusal> {
    let part = text.strip_prefix("past:").and_then(|part| part.parse().ok());
    part.filter(|part| *part > 0.0 && *part <= 1.0).ok_or_else(|| {
        Refusal::out_of_range("threshold", clean(text), "past:PART with many-runs, 0 < PART ≤ 1")
    })
}

fn clean(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(60).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_reads_back_as_itself() {
        let group = Count::new(3).unwrap();
        for method in [
            Method::Threshold { choice: Choice::Split, group },
            Method::Threshold { choice: Choice::Fixed(-1.25e-7), group: Count::ONE },
            Method::Threshold { choice: Choice::Folds(group), group },
            Method::Gaussian { choice: Choice::Fixed(f64::INFINITY) },
            Method::Gaussian { choice: Choice::Union },
            Method::ManyCanaries { guessed: None },
            Method::ManyCanaries { guessed: Some(0.1) },
            Method::ManyRuns { guessed: 0.005 },
            Method::Sequential { group },
        ] {
            assert_eq!(MethodNote::of(method).method(), Ok(method));
        }
        let note = |bound: &str, threshold: &str, group_size| MethodNote {
            bound: bound.into(),
            threshold: threshold.into(),
            group_size,
        };
        for bad in [
            note("clopper", "split", 1),
            note("clopper-pearson", "fixed:NaN", 1),
            note("clopper-pearson", "best", 1),
            note("clopper-pearson", "folds:1", 1),
            note("clopper-pearson", "split", 0),
            note("gdp", "split", 2),
            note("one-run", "fixed:1", 1),
            note("one-run", "ends:0", 1),
            note("one-run", "ends:1.1", 1),
            note("one-run", "ends:NaN", 1),
            note("sequential", "split", 1),
            note("many-runs", "split", 1),
            note("many-runs", "past:0", 1),
            note("many-runs", "past:0.1", 2),
        ] {
            assert!(bad.method().is_err(), "{bad:?}");
        }
    }
}
