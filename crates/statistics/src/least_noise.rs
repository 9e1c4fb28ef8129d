//! On the way to the least noise within a budget: what releases, sessions and queries have in common.

use std::ops::RangeInclusive;
use veracity_account::claims::{Answer, Choice, Subject, Target, account};
use veracity_core::{Count, Delta, Epsilon, Mechanism, Refusal};
use veracity_mechanisms::NoiseKind;

/// The ε of an answer. Below, no noise that is drawn would do; above, it is vacuous, and its certificate takes minutes.
const RANGE: RangeInclusive<f64> = 1e-9..=1000.0;

/// Refuses an ε that is out of range, as `expected` says.
pub(crate) fn check_epsilon(epsilon: Epsilon, expected: &'static str) -> Result<(), Refusal> {
    match RANGE.contains(&epsilon.get()) {
        true => Ok(()),
        false => Err(Refusal::out_of_range("epsilon", epsilon, expected)),
    }
}

/// What a subject leaks, if that is certified to be within ε.
pub(crate) fn certified(
    subject: &Subject,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Option<Answer>, Refusal> {
    let answer = account(subject, Target::Delta(delta), Choice::Best)?;
    let is_within = answer.epsilon.upper().is_some_and(|spent| spent.0 <= epsilon);
    Ok(is_within.then_some(answer))
}

pub(crate) fn none_certified(epsilon: Epsilon) -> Refusal {
    Refusal::NotCertified(format!(
        "no noise could be certified to stay within epsilon {epsilon}; use a larger epsilon"
    ))
}

/// What is prepared with the kind of noise that is asked for, or with the one of the smaller error.
pub(crate) fn with_better_noise<T>(
    kind: Option<NoiseKind>,
    delta: Delta,
    prepare: impl Fn(NoiseKind) -> Result<T, Refusal>,
    error: impl Fn(&T) -> f64,
) -> Result<T, Refusal> {
    let kinds: &[NoiseKind] = match kind {
        Some(NoiseKind::Laplace) => &[NoiseKind::Laplace],
        // Gaussian noise has no finite ε at δ = 0.
        Some(NoiseKind::Gaussian) if delta.get() == 0.0 => {
            return Err(Refusal::out_of_range("delta", 0, "delta > 0 with Gaussian noise"));
        }
        Some(NoiseKind::Gaussian) => &[NoiseKind::Gaussian],
        None if delta.get() == 0.0 => &[NoiseKind::Laplace],
        None => &[NoiseKind::Laplace, NoiseKind::Gaussian],
    };
    let mut best: Option<T> = None;
    let mut refusal = Refusal::invalid("internal error: no type of noise was tried; please report this");
    for kind in kinds {
        match prepare(*kind) {
            Ok(found) if best.as_ref().is_none_or(|best| error(&found) < error(best)) => best = Some(found),
            Ok(_) => {}
            Err(why) => refusal = why,
        }
    }
    best.ok_or(refusal)
}

/// A mechanism for so many rows that one unit may have.
pub(crate) fn of_rows(mechanism: Mechanism, rows: Count) -> Mechanism {
    match rows {
        Count::ONE => mechanism,
        size => Mechanism::Group { size, mechanism: Box::new(mechanism) },
    }
}
