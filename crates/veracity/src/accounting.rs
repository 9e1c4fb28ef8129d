//! One question, one answer: picks the method, falls back where a theorem is missing, and says so.

use crate::{Adjacency, Bracket, Delta, Epsilon, Finding, Method, Question, Refusal, Subject};
use std::time::{Duration, Instant};

/// What is given; the other one is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// Asks for the ε at this δ.
    Delta(Delta),
    /// Asks for the δ at this ε.
    Epsilon(Epsilon),
}

/// Which method answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Exact; where it has no theorem, Rényi divergences or basic composition, and the answer says so.
    Best,
    /// This one, or a refusal.
    Only(Method),
}

/// What is known of ε and δ. The one that was given is exact.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What was given.
    pub target: Target,
    /// The ε.
    pub epsilon: Finding<Epsilon>,
    /// The δ.
    pub delta: Finding<Delta>,
    /// The adjacency it holds under.
    pub adjacency: Adjacency,
    /// The method that found it.
    pub method: Method,
    /// Why exact was not used, where it was tried first.
    pub fallback: Option<Refusal>,
}

impl Answer {
    /// How far apart the two bounds of what was asked are, relative to the upper one.
    pub fn relative_width(&self) -> Option<f64> {
        let (lower, upper) = match self.target {
            Target::Delta(_) => (self.epsilon.lower()?.0.get(), self.epsilon.upper()?.0.get()),
            Target::Epsilon(_) => (self.delta.lower()?.0.get(), self.delta.upper()?.0.get()),
        };
        Some(if upper == 0.0 { 0.0 } else { (upper - lower) / upper })
    }
}

/// The ε at a δ, or the δ at an ε.
pub fn account(subject: &Subject, target: Target, choice: Choice) -> Result<Answer, Refusal> {
    let question = subject.question();
    let method = match choice {
        Choice::Only(method) => return ask(&question, target, method),
        Choice::Best => Method::Exact,
    };
    match ask(&question, target, method) {
        // What none can do is best explained by the first.
        Err(refusal @ Refusal::NoTheorem { .. }) => match without_exact(&question, target) {
            Some(answer) => Ok(Answer { fallback: Some(refusal), ..answer }),
            None => Err(refusal),
        },
        answer => answer,
    }
}

/// The best upper bound where exact has no theorem: Rényi divergences, or the plain sum of what parts declare.
pub(crate) fn without_exact(question: &Question, target: Target) -> Option<Answer> {
    let bound = |answer: &Answer| match target {
        Target::Delta(_) => answer.epsilon.upper().map_or(f64::INFINITY, |upper| upper.0.get()),
        Target::Epsilon(_) => answer.delta.upper().map_or(f64::INFINITY, |upper| upper.0.get()),
    };
    [Method::Rdp, Method::Basic]
        .into_iter()
        .filter_map(|method| ask(question, target, method).ok())
        .min_by(|one, other| bound(one).total_cmp(&bound(other)))
}

fn ask(question: &Question, target: Target, method: Method) -> Result<Answer, Refusal> {
    let (epsilon, delta) = match target {
        Target::Delta(delta) => {
            let found = veracity_account::epsilon_at(question, delta, method)?;
            refuse_infinite(&found, delta, method)?;
            (found, Finding::Bracket(Bracket::new(delta, delta)))
        }
        Target::Epsilon(epsilon) => {
            let found = veracity_account::delta_at(question, epsilon, method)?;
            (Finding::Bracket(Bracket::new(epsilon, epsilon)), found)
        }
    };
    Ok(Answer { target, epsilon, delta, adjacency: question.adjacency, method, fallback: None })
}

/// An infinite ε protects nobody, so it is a refusal with a remedy and not an answer.
fn refuse_infinite(found: &Finding<Epsilon>, delta: Delta, method: Method) -> Result<(), Refusal> {
    if found.upper().is_none_or(|epsilon| epsilon.0.get().is_finite()) {
        return Ok(());
    }
    let remedy = if delta.get() == 0.0 { "delta > 0" } else { "a larger delta or another method" };
    let shown = veracity_report::decimal::nearest(delta.get(), 17);
    Err(Refusal::NoAnswer(format!(
        "delta is {shown}, where epsilon is infinite by {method}, expected {remedy}"
    )))
}

/// What one method said and how long it took.
#[derive(Debug, Clone)]
pub struct Row {
    /// The method.
    pub method: Method,
    /// Its answer, or why it has none.
    pub outcome: Result<Answer, Refusal>,
    /// The time it took.
    pub took: Duration,
}

/// Every method on the same question. Fails only when none of them has an answer.
pub fn compare(subject: &Subject, target: Target) -> Result<Vec<Row>, Refusal> {
    let question = subject.question();
    let rows: Vec<Row> = Method::ALL
        .into_iter()
        .map(|method| {
            let start = Instant::now();
            let outcome = ask(&question, target, method);
            Row { method, outcome, took: start.elapsed() }
        })
        .collect();
    match rows.iter().find_map(|row| row.outcome.as_ref().err()) {
        Some(refusal) if rows.iter().all(|row| row.outcome.is_err()) => Err(refusal.clone()),
        _ => Ok(rows),
    }
}
