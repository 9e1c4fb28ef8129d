//! What an audit would catch, before and after it is run: power is part of a verdict.

use crate::{Audited, Case, Method};
use veracity_audit::{Declared, power};
use veracity_core::{Count, Error, Probability, Refusal, Significance, Verdict};

/// The chance with which an audit is said to catch something.
pub const CHANCE: f64 = 0.9;

/// What so many trials catch, by an attacker who tells the worlds apart as well as the claimed mechanism lets anyone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Caught {
    /// Noise below this part of what is declared is caught; none where not even an eighth of it is.
    pub noise_below: Option<f64>,
    /// With this chance.
    pub chance: f64,
}

/// What so many trials of a case would catch; none where its claim has no noise.
pub fn caught(case: &Case, method: Method, trials: u64, significance: f64) -> Result<Option<Caught>, Error> {
    let curves = case.claim.curves();
    let declared = curves.as_ref().map(|curves| curves as &dyn Declared);
    let observations = Count::new(trials.saturating_mul(u64::from(case.canaries)).max(1))?;
    Ok(caught_by(declared, method, (observations, Count::new(u64::from(case.canaries))?), significance)?)
}

/// The same by what was seen: how many observations, and how many of them are of one run.
pub(crate) fn caught_by(
    declared: Option<&dyn Declared>,
    method: Method,
    seen: (Count, Count),
    significance: f64,
) -> Result<Option<Caught>, Refusal> {
    let Some(declared) = declared.filter(|declared| declared.has_noise()) else { return Ok(None) };
    // What takes the mechanism for a Gaussian catches nothing.
    let noise_below = match method {
        Method::Gaussian { .. } => None,
        Method::Threshold { .. }
        | Method::ManyCanaries { .. }
        | Method::ManyRuns { .. }
        | Method::Sequential { .. } => {
            let level = Significance::new(significance)?;
            power::caught(method, seen, declared, Probability::new(CHANCE)?, level)?
        }
    };
    Ok(Some(Caught { noise_below, chance: CHANCE }))
}

/// How many trials of a case catch this part of the declared noise.
pub fn needed_trials(case: &Case, method: Method, part: f64, significance: f64) -> Result<Count, Error> {
    let Some(curves) = case.claim.curves().filter(Declared::has_noise) else {
        return Err(without_noise().into());
    };
    let level = Significance::new(significance)?;
    let canaries = Count::new(u64::from(case.canaries))?;
    let observations =
        power::needed_for_noise(method, canaries, part, &curves, Probability::new(CHANCE)?, level)?;
    Ok(Count::new(observations.get().div_ceil(u64::from(case.canaries)))?)
}

/// Where no noise is claimed, no part of it can be missing.
pub(crate) fn without_noise() -> Refusal {
    Refusal::invalid(
        "require is given for a claim without noise, expected a claimed mechanism whose noise has a scale",
    )
}

/// Takes back a verdict that the audit was not able to give: the part of the noise that must be caught was not within its reach, or its
/// attack is too weak to see it.
///
/// Where the trials still allow 1/R times the declared noise, a subject with R times its noise would have looked like an honest one.
pub(crate) fn must_meet(audited: &mut Audited, require: Option<f64>) {
    let (Some(part), Verdict::NotRefuted { shown, ceiling }) = (require, audited.verdict) else { return };
    let planned = audited.caught.and_then(|caught| caught.noise_below).is_some_and(|below| below >= part);
    let limit = audited.against.and_then(|against| against.noise_at_most);
    if !planned || !limit.is_some_and(|limit| limit * part <= 1.0) {
        audited.verdict = Verdict::CannotTell { shown, ceiling };
    }
}
