//! One question, one answer: by the method that was chosen, or the tightest that certifies, which is named with the reason.

use crate::best::{Best, Prepared, is_wide};
use crate::claims::{
    Adjacency, Bracket, Delta, Epsilon, Finding, Mechanism, Method, Question, Refusal, Subject,
};
use std::{
    fmt,
    time::{Duration, Instant},
};
use veracity_core::decimal;

/// Significant digits of an answer that is printed.
const DIGITS: usize = 6;
/// Parts of a composition that exact still answers in about a millisecond.
const FEW: usize = 8;

/// What is given; the other one is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Target {
    /// Asks for the ε at this δ.
    Delta(Delta),
    /// Asks for the δ at this ε.
    Epsilon(Epsilon),
}

impl Target {
    /// The one of δ and ε that is given; `mark` is what an interface writes before a name, such as `--`.
    ///
    /// # Errors
    /// Refuses both and neither of them, an infinite ε, and numbers out of range.
    pub fn given(mark: &str, delta: Option<f64>, epsilon: Option<f64>) -> Result<Target, Refusal> {
        match (delta, epsilon) {
            (Some(delta), None) => Ok(Target::Delta(Delta::new(delta)?)),
            (None, Some(epsilon)) if epsilon.is_infinite() => {
                Err(Refusal::out_of_range("epsilon", epsilon, "a finite number ≥ 0"))
            }
            (None, Some(epsilon)) => Ok(Target::Epsilon(Epsilon::new(epsilon)?)),
            (Some(_), Some(_)) => Err(Refusal::invalid(format!(
                "{mark}delta and {mark}epsilon are both given; give only one, and the other is computed"
            ))),
            (None, None) => Err(Refusal::invalid(format!(
                "{mark}delta is missing; give {mark}delta to compute epsilon, or {mark}epsilon to compute delta"
            ))),
        }
    }
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
        let (lower, upper) = (self.lower()?, self.upper()?);
        Some(if upper == 0.0 { 0.0 } else { (upper - lower) / upper })
    }

    /// The lower bound on what was asked, as a plain number, where there is one.
    pub fn lower(&self) -> Option<f64> {
        match self.target {
            Target::Delta(_) => Some(self.epsilon.lower()?.0.get()),
            Target::Epsilon(_) => Some(self.delta.lower()?.0.get()),
        }
    }

    /// The upper bound on what was asked, as a plain number; none if the method promises nothing.
    pub fn upper(&self) -> Option<f64> {
        match self.target {
            Target::Delta(_) => Some(self.epsilon.upper()?.0.get()),
            Target::Epsilon(_) => Some(self.delta.upper()?.0.get()),
        }
    }
}

/// Questions to the accountant in plain numbers, by the tightest method that certifies.
///
/// A [`Mechanism`] is asked under add-remove, per record; a [`Subject`] under its own adjacency.
///
/// # Examples
///
/// ```
/// use veracity_account::claims::{Accounting, Mechanism};
///
/// let run = Mechanism::dp_sgd(0.01, 1.0, 1000)?;
/// assert_eq!(run.epsilon(1e-5)?.to_string(), "epsilon ≤ 1.82824 at delta 1e-5 (add-remove; exact)");
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub trait Accounting {
    /// The ε at this δ.
    ///
    /// # Errors
    /// Refuses a δ outside [0, 1), and mechanisms that no method bounds.
    fn epsilon(&self, delta: f64) -> Result<Answer, Refusal>;

    /// The δ at this ε.
    ///
    /// # Errors
    /// Refuses a negative ε, and mechanisms that no method bounds.
    fn delta(&self, epsilon: f64) -> Result<Answer, Refusal>;
}

impl Accounting for Subject {
    fn epsilon(&self, delta: f64) -> Result<Answer, Refusal> {
        account(self, Target::Delta(Delta::new(delta)?), Choice::Best)
    }

    fn delta(&self, epsilon: f64) -> Result<Answer, Refusal> {
        account(self, Target::Epsilon(Epsilon::new(epsilon)?), Choice::Best)
    }
}

impl Accounting for Mechanism {
    fn epsilon(&self, delta: f64) -> Result<Answer, Refusal> {
        Subject::new(self.clone()).epsilon(delta)
    }

    fn delta(&self, epsilon: f64) -> Result<Answer, Refusal> {
        Subject::new(self.clone()).delta(epsilon)
    }
}

/// The bound that was asked for, rounded to its safe side, and the conditions under which it holds.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown =
            |bound: Option<f64>| bound.map_or("unknown".to_owned(), |bound| decimal::up(bound, DIGITS));
        let near = |value: f64| decimal::nearest(value, 17);
        let (asked, given) = match self.target {
            Target::Delta(delta) => ("epsilon", format!("delta {}", near(delta.get()))),
            Target::Epsilon(epsilon) => ("delta", format!("epsilon {}", near(epsilon.get()))),
        };
        let (adjacency, method) = (self.adjacency, self.method);
        write!(f, "{asked} ≤ {} at {given} ({adjacency}; {method})", shown(self.upper()))
    }
}

/// The ε at a δ, or the δ at an ε.
///
/// # Errors
/// Refuses what the chosen method, or for the best choice every method, cannot bound.
pub fn account(subject: &Subject, target: Target, choice: Choice) -> Result<Answer, Refusal> {
    answer(&Prepared::new(&subject.question()), target, choice)
}

/// The best answer, where exact finds it in about a millisecond; `None` where it may take longer.
pub fn account_quickly(subject: &Subject, target: Target) -> Option<Answer> {
    if !is_quick(&subject.mechanism) {
        return None;
    }
    let exact = account(subject, target, Choice::Only(Method::Exact)).ok()?;
    // The best of all methods would ask another one to narrow ends that are far apart.
    (!is_wide(exact.lower()?, exact.upper()?)).then_some(exact)
}

/// Whether exact has a formula for a mechanism, or an integral or two.
fn is_quick(mechanism: &Mechanism) -> bool {
    if let Mechanism::PoissonSampled { mechanism, .. } | Mechanism::Repeated { mechanism, .. } = mechanism {
        return is_quick(mechanism);
    }
    match mechanism.inside() {
        [] => matches!(mechanism, Mechanism::Gaussian { .. } | Mechanism::Laplace { .. }),
        parts => {
            matches!(mechanism, Mechanism::Composed(_)) && parts.len() <= FEW && parts.iter().all(is_quick)
        }
    }
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

/// An infinite ε is no protection, so it is a refusal with a remedy and not an answer.
fn refuse_infinite(found: &Finding<Epsilon>, delta: Delta, method: Method) -> Result<(), Refusal> {
    if found.upper().is_none_or(|epsilon| epsilon.0.get().is_finite()) {
        return Ok(());
    }
    let remedy = if delta.get() == 0.0 { "a delta > 0" } else { "a larger delta or another method" };
    let shown = veracity_core::decimal::nearest(delta.get(), 17);
    Err(Refusal::NotCertified(format!(
        "epsilon is infinite at delta {shown} by method {method}; use {remedy}"
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
///
/// # Errors
/// Refuses where no method has an answer.
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
