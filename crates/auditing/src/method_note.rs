//! A method as it stands in a file and on the command line, and the method it stands for.

use super::{Case, MethodNote};
use veracity_audit::{
    Choice, Method, RunGuesses,
    bound::{one_per_run::End, sequential::Rounds},
};
use veracity_core::printable;
use veracity_core::{Count, Refusal};

/// The bound of a test that bets.
const SEQUENTIAL: &str = "sequential";
/// The part of the canaries that is guessed beyond thresholds from earlier runs, where nobody says.
const USUAL_PART: f64 = 0.05;
/// The threshold of a test that bets on each trial: the trials before it choose.
pub(crate) const PAST: &str = "past";
/// The same for bets on pairs of recorded scores.
pub(crate) const PAST_PAIRS: &str = "past-pairs";

/// The method that is asked for, in the words of files and of the command line; what is `None` is the usual one of the case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MethodRequest {
    /// The bound, such as `clopper-pearson`.
    pub bound: Option<String>,
    /// How its threshold is chosen, such as `split`.
    pub threshold: Option<String>,
    /// How many records of the claim the canary is.
    pub group: Option<Count>,
}

impl Case {
    /// The method that is asked for, with what it leaves open.
    ///
    /// # Errors
    /// A bound or a threshold that there is none of, or that do not go with each other.
    pub fn method(&self, request: &MethodRequest, significance: f64) -> Result<Method, Refusal> {
        let usual = MethodNote::of(self.usual_method(significance)?);
        let bound = match (&request.bound, &request.threshold) {
            (Some(bound), _) => bound.clone(),
            // A threshold of one's own is counted at, not bet on.
            (None, Some(_)) if usual.bound == SEQUENTIAL => "clopper-pearson".to_owned(),
            (None, _) => usual.bound.clone(),
        };
        // The usual threshold is that of the usual bound.
        let threshold = match (&request.threshold, bound.as_str()) {
            (Some(threshold), _) => threshold.clone(),
            (None, bound) if bound == usual.bound => usual.threshold,
            (None, SEQUENTIAL) => MethodNote::of(self.sequential()).threshold,
            (None, "many-runs") => format!("{PAST}:{USUAL_PART}"),
            (None, _) => "split".to_owned(),
        };
        let group_size = request.group.unwrap_or(self.group).get();
        MethodNote { bound, threshold, group_size }.method()
    }
}

impl MethodNote {
    /// The note of a method.
    pub fn of(method: Method) -> MethodNote {
        let (threshold, group) = match method {
            Method::Threshold { choice, group } => (spell(choice), group),
            Method::Gaussian { choice } => (spell(choice), Count::ONE),
            Method::ManyCanaries { guessed: None } => ("split".to_owned(), Count::ONE),
            Method::ManyCanaries { guessed: Some(part) } => (format!("ends:{part:?}"), Count::ONE),
            Method::ManyRuns { guessed, rule } => (format!("{}:{guessed:?}", spell_rule(rule)), Count::ONE),
            Method::Sequential { group, rounds: Rounds::Trials } => (PAST.to_owned(), group),
            Method::Sequential { group, rounds: Rounds::Pairs } => (PAST_PAIRS.to_owned(), group),
        };
        MethodNote { bound: method.name().to_owned(), threshold, group_size: group.get() }
    }

    /// The method, checked.
    ///
    /// # Errors
    /// Words that name no method.
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
            "many-runs" => many_runs(&self.threshold),
            SEQUENTIAL => match self.threshold.as_str() {
                PAST => Ok(Method::Sequential { group, rounds: Rounds::Trials }),
                PAST_PAIRS => Ok(Method::Sequential { group, rounds: Rounds::Pairs }),
                other => {
                    let known = "past with sequential, or past-pairs for recorded scores";
                    Err(Refusal::out_of_range("threshold", clean(other), known))
                }
            },
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

/// Rules for the guesses of many runs, as they are spelled before the part.
const RULES: [RunGuesses; 3] =
    [RunGuesses::Past, RunGuesses::One(End::Highest), RunGuesses::One(End::Lowest)];

fn spell_rule(rule: RunGuesses) -> &'static str {
    match rule {
        RunGuesses::Past => PAST,
        RunGuesses::One(End::Highest) => "highest",
        RunGuesses::One(End::Lowest) => "lowest",
    }
}

fn many_runs(text: &str) -> Result<Method, Refusal> {
    let known = |(rule, part): (&str, &str)| {
        let rule = RULES.into_iter().find(|known| spell_rule(*known) == rule)?;
        let guessed = part.parse().ok().filter(|part| *part > 0.0 && *part <= 1.0)?;
        Some(Method::ManyRuns { guessed, rule })
    };
    text.split_once(':').and_then(known).ok_or_else(|| {
        let range = "past:PART, highest:PART or lowest:PART with many-runs, 0 < PART ≤ 1";
        Refusal::out_of_range("threshold", clean(text), range)
    })
}

fn clean(word: &str) -> String {
    printable(word, 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use veracity_core::{Adjacency, Claim, Delta, Epsilon, Upper};

    #[test]
    fn what_is_left_open_of_a_method_goes_with_the_rest() {
        let group = Count::new(3).unwrap();
        let claim = Claim {
            epsilon: Upper(Epsilon::ZERO),
            delta: Delta::new(1e-5).unwrap(),
            adjacency: Adjacency::AddRemove,
        };
        let case = Case::of_brought_scores("", Default::default(), claim, group, 1, group);
        let note = |bound: Option<&str>, threshold: Option<&str>| {
            let words = |word: Option<&str>| word.map(str::to_owned);
            let group = (bound == Some("many-runs")).then_some(Count::ONE);
            let request = MethodRequest { bound: words(bound), threshold: words(threshold), group };
            let MethodNote { bound, threshold, group_size } =
                MethodNote::of(case.method(&request, 0.01).unwrap());
            (bound + " " + &threshold, group_size)
        };
        let all = [
            (note(None, None), "sequential past", 3),
            (note(None, Some("folds:4")), "clopper-pearson folds:4", 3),
            (note(Some("clopper-pearson"), None), "clopper-pearson split", 3),
            (note(Some("sequential"), None), "sequential past", 3),
            (note(Some("many-runs"), None), "many-runs past:0.05", 1),
            (note(Some("many-runs"), Some("highest:0.1")), "many-runs highest:0.1", 1),
        ];
        for ((found, group), expected, size) in all {
            assert_eq!((found.as_str(), group), (expected, size));
        }
    }

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
            Method::ManyRuns { guessed: 0.005, rule: RunGuesses::Past },
            Method::ManyRuns { guessed: 0.005, rule: RunGuesses::One(End::Highest) },
            Method::ManyRuns { guessed: 1.0, rule: RunGuesses::One(End::Lowest) },
            Method::Sequential { group, rounds: Rounds::Trials },
            Method::Sequential { group, rounds: Rounds::Pairs },
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
            note("many-runs", "highest", 1),
            note("many-runs", "highest:NaN", 1),
            note("many-runs", "lowest:1.5", 1),
        ] {
            assert!(bad.method().is_err(), "{bad:?}");
        }
    }
}
