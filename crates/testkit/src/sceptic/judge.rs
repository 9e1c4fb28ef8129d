//! The judge: an answer against the truth where there is a road to it, and against laws that need no truth.
//!
//! ε(δ) is never inverted here. A lower end l is false where δ(l) is surely below the δ asked, an upper end u where δ(u)
//! is surely above it.

use super::double_double::Dd;
use super::questions::{Asked, Wanted};
use super::roads::{PATIENCE, Roads};
use super::truth::Truth;
use veracity_core::{Adjacency, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, SamplingRate};

/// What an accountant says.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// The truth lies between these.
    Between(f64, f64),
    /// The truth is at most this.
    AtMost(f64),
    /// No answer, and why.
    Refused(String),
}

impl Answer {
    /// The lower end; nothing is claimed by 0.
    pub fn lower(&self) -> f64 {
        if let Answer::Between(lower, _) = self { *lower } else { 0.0 }
    }

    /// The upper end, where there is an answer.
    pub fn upper(&self) -> Option<f64> {
        match self {
            Answer::Between(_, upper) | Answer::AtMost(upper) => Some(*upper),
            Answer::Refused(_) => None,
        }
    }
}

/// What became of an answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Verdict {
    /// What is false about it, a line each. Empty is good.
    pub misses: Vec<String>,
    /// Whether both ends were held against the truth, and not against laws alone.
    pub measured: bool,
    /// Whether they were held against a truth of two digits or more, but not of eight.
    pub roughly: bool,
}

/// Judges one answer.
pub fn judge(asked: &Asked, answer: &Answer) -> Verdict {
    judge_patiently(asked, answer, PATIENCE)
}

/// Judges one answer, with another patience for its truth.
pub fn judge_patiently(asked: &Asked, answer: &Answer, patience: f64) -> Verdict {
    let mut verdict = Verdict::default();
    let Some(upper) = answer.upper() else { return verdict };
    let lower = answer.lower();
    if !(lower >= 0.0 && lower <= upper) {
        verdict.misses.push(format!("ends are not in order: {lower:e} and {upper:e}"));
        return verdict;
    }
    if has_no_answer(&asked.mechanism, asked.adjacency) {
        verdict
            .misses
            .push("answered, though no promise covers a record that moves between parts".to_owned());
        return verdict;
    }
    let Some(roads) = Roads::of(&asked.mechanism, asked.adjacency) else { return verdict };
    let roads = roads.patient(patience);
    let known = match asked.wanted {
        Wanted::EpsilonAt(0.0) => judge_pure(&roads, lower, upper, &mut verdict),
        Wanted::EpsilonAt(delta) => judge_epsilon(&roads, delta, lower, upper, &mut verdict),
        Wanted::DeltaAt(epsilon) => judge_delta(&roads, epsilon, lower, upper, &mut verdict),
    };
    verdict.measured = known.is_sharp();
    verdict.roughly = known.is_rough() && !known.is_sharp();
    verdict
}

/// Promises for replaced records say nothing of a record that leaves one part and enters another.
fn has_no_answer(mechanism: &Mechanism, adjacency: Adjacency) -> bool {
    let Mechanism::Parallel(parts) = mechanism else { return false };
    let promised = |part: &Mechanism| matches!(part, Mechanism::Pure { .. } | Mechanism::Approximate { .. });
    adjacency == Adjacency::ReplaceOne && parts.len() > 1 && parts.iter().any(promised)
}

/// ε at δ = 0 is the largest loss. As the others, it hands back the widest truth that was needed.
fn judge_pure(roads: &Roads, lower: f64, upper: f64, verdict: &mut Verdict) -> Truth {
    let largest = roads.largest();
    let slack = largest.abs() * Dd::new(1e-28);
    if Dd::new(upper) < largest - slack {
        verdict.misses.push(format!("upper {upper:e} is below the largest loss {:e}", largest.hi));
    }
    if Dd::new(lower) > largest + slack {
        verdict.misses.push(format!("lower {lower:e} is above the largest loss {:e}", largest.hi));
    }
    Truth::NOTHING
}

fn judge_epsilon(roads: &Roads, delta: f64, lower: f64, upper: f64, verdict: &mut Verdict) -> Truth {
    let mut widest = roads.held(upper);
    if widest.is_above(delta) {
        let at = widest.describe();
        verdict.misses.push(format!("upper {upper:e} is false: delta there is at least {at}"));
    }
    if lower > 0.0 {
        let truth = roads.held(lower);
        if truth.is_below(delta) {
            let at = truth.describe();
            verdict.misses.push(format!("lower {lower:e} is false: delta there is at most {at}"));
        }
        if truth.width() > widest.width() {
            widest = truth;
        }
    }
    widest
}

fn judge_delta(roads: &Roads, epsilon: f64, lower: f64, upper: f64, verdict: &mut Verdict) -> Truth {
    let truth = roads.held(epsilon);
    if lower > 0.0 && truth.is_below(lower) {
        verdict.misses.push(format!("lower {lower:e} is above the truth {}", truth.describe()));
    }
    if truth.is_above(upper) || upper == 0.0 && truth.log_low.hi > f64::NEG_INFINITY {
        verdict.misses.push(format!("upper {upper:e} is below the truth {}", truth.describe()));
    }
    truth
}

/// A question whose true answer is not larger: less often, sampled less, with more noise, or asked at a larger δ or ε.
pub fn more_private(asked: &Asked, choice: usize) -> Option<Asked> {
    let mut less = asked.clone();
    match choice % 4 {
        0 => less.mechanism = fewer(&asked.mechanism)?,
        1 => less.mechanism = rarer(&asked.mechanism)?,
        2 => less.mechanism = noisier(&asked.mechanism)?,
        _ => {
            less.wanted = match asked.wanted {
                Wanted::EpsilonAt(delta) => Wanted::EpsilonAt(Delta::new(delta * 1.000_01).ok()?.get()),
                Wanted::DeltaAt(epsilon) => Wanted::DeltaAt(Epsilon::new(epsilon * 1.000_01).ok()?.get()),
            };
        }
    }
    Some(less)
}

fn fewer(mechanism: &Mechanism) -> Option<Mechanism> {
    match mechanism {
        Mechanism::Repeated { times, mechanism } => {
            let less = Count::new(times.get() - (times.get() / 100_000).max(1)).ok()?;
            Some((**mechanism).clone().repeated(less))
        }
        Mechanism::Composed(parts) if parts.len() > 1 => Some(Mechanism::Composed(parts[1..].to_vec())),
        _ => None,
    }
}

fn rarer(mechanism: &Mechanism) -> Option<Mechanism> {
    match mechanism {
        Mechanism::Repeated { times, mechanism } => Some(rarer(mechanism)?.repeated(*times)),
        Mechanism::PoissonSampled { rate, mechanism } => Some(Mechanism::PoissonSampled {
            rate: SamplingRate::new(rate.get() * 0.999_99).ok()?,
            mechanism: mechanism.clone(),
        }),
        _ => None,
    }
}

/// Only noise that more noise of its kind makes of less: integer noise does not qualify.
fn noisier(mechanism: &Mechanism) -> Option<Mechanism> {
    match mechanism {
        Mechanism::Repeated { times, mechanism } => Some(noisier(mechanism)?.repeated(*times)),
        Mechanism::PoissonSampled { rate, mechanism } => {
            Some(Mechanism::PoissonSampled { rate: *rate, mechanism: Box::new(noisier(mechanism)?) })
        }
        Mechanism::Gaussian { noise_multiplier } => Some(Mechanism::Gaussian {
            noise_multiplier: NoiseMultiplier::new(noise_multiplier.get() * 1.000_01).ok()?,
        }),
        Mechanism::Laplace { noise_multiplier } => Some(Mechanism::Laplace {
            noise_multiplier: NoiseMultiplier::new(noise_multiplier.get() * 1.000_01).ok()?,
        }),
        _ => None,
    }
}

/// What is false about two answers, the first of which must not be larger.
pub fn judge_order(less: &Answer, more: &Answer) -> Option<String> {
    let upper = more.upper()?;
    (less.lower() > upper).then(|| {
        format!(
            "more private, yet its lower end {:e} is above the upper end {upper:e} of the other",
            less.lower()
        )
    })
}

/// The same question asked the other way round: δ at the upper end found for ε must be able to be the δ asked, or less;
/// and at the lower end, or more.
pub fn turned_round(asked: &Asked, answer: &Answer, choice: usize) -> Option<Asked> {
    let Wanted::EpsilonAt(delta) = asked.wanted else { return None };
    let end = if choice.is_multiple_of(2) { answer.upper()? } else { answer.lower() };
    (delta > 0.0 && end > 0.0).then(|| Asked { wanted: Wanted::DeltaAt(end), ..asked.clone() })
}

/// What is false about an answer to the question turned round.
pub fn judge_round(asked: &Asked, first: &Answer, choice: usize, second: &Answer) -> Option<String> {
    let Wanted::EpsilonAt(delta) = asked.wanted else { return None };
    let upper = second.upper()?;
    if choice.is_multiple_of(2) && second.lower() > delta {
        return Some(format!(
            "delta at its own upper end {:?} is at least {:e}",
            first.upper(),
            second.lower()
        ));
    }
    (!choice.is_multiple_of(2) && upper < delta)
        .then(|| format!("delta at its own lower end {:e} is at most {upper:e}", first.lower()))
}
