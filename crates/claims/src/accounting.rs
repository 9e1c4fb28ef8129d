//! One question, one answer: by the method that was chosen, or the tightest that certifies, which is named with the reason.

use crate::{Adjacency, Bracket, Delta, Epsilon, Finding, Method, Question, Refusal, Subject};
use std::time::{Duration, Instant};
use veracity_account::best::{Best, Prepared};

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
    /// Exact; where it does not answer, or not sharply, the tightest certified bound of all methods, and the answer says so.
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
    /// Why the answer is not exact's alone, where exact was tried first.
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
    answer(&Prepared::new(&subject.question()), target, choice)
}

/// The same of a question that was prepared.
pub(crate) fn answer(prepared: &Prepared, target: Target, choice: Choice) -> Result<Answer, Refusal> {
    let (epsilon, delta, method, fallback) = match target {
        Target::Delta(delta) => {
            let Best { finding, method, fallback } = match choice {
                Choice::Best => prepared.epsilon_at(delta)?,
                Choice::Only(method) => only(method, prepared.epsilon_by(method, delta)?),
            };
            refuse_infinite(&finding, delta, method)?;
            (finding, Finding::Bracket(Bracket::new(delta, delta)), method, fallback)
        }
        Target::Epsilon(epsilon) => {
            let Best { finding, method, fallback } = match choice {
                Choice::Best => prepared.delta_at(epsilon)?,
                Choice::Only(method) => only(method, prepared.delta_by(method, epsilon)?),
            };
            (Finding::Bracket(Bracket::new(epsilon, epsilon)), finding, method, fallback)
        }
    };
    let adjacency = prepared.question().adjacency;
    Ok(Answer { target, epsilon, delta, adjacency, method, fallback })
}

fn only<T>(method: Method, finding: Finding<T>) -> Best<T> {
    Best { finding, method, fallback: None }
}

/// An infinite ε protects nobody, so it is a refusal with a remedy and not an answer.
fn refuse_infinite(found: &Finding<Epsilon>, delta: Delta, method: Method) -> Result<(), Refusal> {
    if found.upper().is_none_or(|epsilon| epsilon.0.get().is_finite()) {
        return Ok(());
    }
    let remedy = if delta.get() == 0.0 { "delta > 0" } else { "a larger delta or another method" };
    let shown = veracity_core::decimal::nearest(delta.get(), 17);
    Err(Refusal::NotCertified(format!(
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
    let question: Question = subject.question();
    let rows: Vec<Row> = Method::ALL
        .into_iter()
        .map(|method| {
            let start = Instant::now();
            // Each method does its own work here, or its time would be another's.
            let outcome = answer(&Prepared::new(&question), target, Choice::Only(method));
            Row { method, outcome, took: start.elapsed() }
        })
        .collect();
    match rows.iter().find_map(|row| row.outcome.as_ref().err()) {
        Some(refusal) if rows.iter().all(|row| row.outcome.is_err()) => Err(refusal.clone()),
        _ => Ok(rows),
    }
}
