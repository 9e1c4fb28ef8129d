//! The power of an audit, before and after it runs: power is part of a verdict.

use crate::{
    AuditProtocol, AuditResult, Method,
    claim::{Curves, as_declared},
};
use veracity_audit::{Declared, power};
use veracity_core::{Count, Error, Probability, Refusal, Significance, Verdict};

/// The probability at which the power of an audit is stated.
pub const CHANCE: f64 = 0.9;

/// The power of a number of trials with an optimal attack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Power {
    /// Noise below this multiple of the declared level is detected; none if not even an eighth of it is.
    pub detects_noise_below: Option<f64>,
    /// With this probability.
    pub probability: f64,
}

/// What the trials of an audit are planned to catch, known before the first of them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AuditPlan {
    /// Nothing that can be stated: no noise is claimed, hardly any of it need be there, or the trials are those that fit into a time.
    Unstated,
    /// Noise below this part of the declared, by an ideal attack, with probability [`CHANCE`].
    Catches(f64),
    /// Less than they must.
    InsufficientPower(InsufficientPower),
}

/// A plan that does not catch what it must.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InsufficientPower {
    /// The trials that were planned.
    pub trials: u64,
    /// The part of the declared noise that must be caught.
    pub require: f64,
    /// About how many trials catch it.
    pub needed: u64,
}

/// What the trials of an audit are planned to catch, and whether that is what they must.
pub(crate) fn plan(protocol: &AuditProtocol, curves: Option<&Curves>) -> Result<AuditPlan, Error> {
    let (method, canaries) = (protocol.method.method()?, Count::new(u64::from(protocol.canaries))?);
    let observations = Count::new(protocol.trials.saturating_mul(canaries.get()).max(1))?;
    let power = power_of(as_declared(curves), method, (observations, canaries), protocol.significance)?;
    let below = power.and_then(|power| power.detects_noise_below);
    match (protocol.require, below) {
        (Some(part), below) if below.is_none_or(|below| below < part) => {
            let needed = needed_trials(protocol, curves, part)?;
            // Both searches stop within a few percent: what is needed is more than what there is.
            let more = protocol.trials + protocol.trials / 20 + 1;
            let (trials, needed) = (protocol.trials, needed.get().max(more));
            Ok(AuditPlan::InsufficientPower(InsufficientPower { trials, require: part, needed }))
        }
        (_, Some(below)) => Ok(AuditPlan::Catches(below)),
        (_, None) => Ok(AuditPlan::Unstated),
    }
}

/// What so many observations catch, so many of which are of one run; none where the claim has no noise.
pub(crate) fn power_of(
    declared: Option<&dyn Declared>,
    method: Method,
    seen: (Count, Count),
    significance: f64,
) -> Result<Option<Power>, Refusal> {
    let Some(declared) = declared.filter(|declared| declared.has_noise()) else { return Ok(None) };
    // What takes the mechanism for a Gaussian catches nothing.
    let detects_noise_below = match method {
        Method::Gaussian { .. } => None,
        Method::Threshold { .. }
        | Method::ManyCanaries { .. }
        | Method::ManyRuns { .. }
        | Method::Sequential { .. } => {
            let level = Significance::new(significance)?;
            power::caught(method, seen, declared, Probability::new(CHANCE)?, level)?
        }
    };
    Ok(Some(Power { detects_noise_below, probability: CHANCE }))
}

/// How many trials catch this part of the declared noise.
fn needed_trials(protocol: &AuditProtocol, curves: Option<&Curves>, part: f64) -> Result<Count, Error> {
    let curves = curves.filter(|curves| curves.has_noise()).ok_or_else(without_noise)?;
    let level = Significance::new(protocol.significance)?;
    let (method, canaries) = (protocol.method.method()?, Count::new(u64::from(protocol.canaries))?);
    let observations =
        power::needed_for_noise(method, canaries, part, curves, Probability::new(CHANCE)?, level)?;
    Ok(Count::new(observations.get().div_ceil(canaries.get()))?)
}

/// Where no noise is claimed, no part of it can be missing.
pub(crate) fn without_noise() -> Refusal {
    Refusal::invalid("require needs a claimed mechanism whose noise has a scale")
}

/// Takes back a verdict that the audit was not able to give: the part of the noise that must be caught was not within its reach, or its
/// attack is too weak to see it.
///
/// Where the trials still allow 1/R times the declared noise, a subject with R times its noise would have looked like an honest one.
pub(crate) fn must_meet(audited: &mut AuditResult, require: Option<f64>) {
    let (Some(part), Verdict::NotRefuted { shown, ceiling }) = (require, audited.verdict) else { return };
    let planned =
        audited.power.and_then(|power| power.detects_noise_below).is_some_and(|below| below >= part);
    let limit = audited.against.and_then(|against| against.noise_at_most);
    if !planned || !limit.is_some_and(|limit| limit * part <= 1.0) {
        audited.verdict = Verdict::CannotTell { shown, ceiling };
    }
}
