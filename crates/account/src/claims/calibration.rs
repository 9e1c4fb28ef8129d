//! From a budget to a setting: the least noise, the most steps or the largest sampling rate, rounded to the safe side
//! so that the digits that are printed are the digits that were certified.

use crate::claims::{
    Answer, Choice, Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Refusal, SamplingRate, Subject,
    Target, account,
};
use crate::{calibrate, claims::kinds::KINDS, matrix::sensitivity};
use std::str::FromStr;
use veracity_core::decimal;
use veracity_core::{Coefficients, Participation, Strategy};

/// Digits that a calibrated number is rounded to.
const DIGITS: usize = 9;

/// What is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Solve {
    /// The least noise multiplier.
    Noise,
    /// The most steps.
    Steps,
    /// The largest sampling rate.
    SamplingRate,
}

impl FromStr for Solve {
    type Err = Refusal;

    fn from_str(name: &str) -> Result<Self, Refusal> {
        match name {
            "noise" => Ok(Solve::Noise),
            "steps" => Ok(Solve::Steps),
            "sampling-rate" => Ok(Solve::SamplingRate),
            _ => Err(Refusal::out_of_range("solve", name, "noise, steps or sampling-rate")),
        }
    }
}

/// What was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Solved {
    /// The least noise multiplier, rounded up.
    Noise(NoiseMultiplier),
    /// The most steps.
    Steps(Count),
    /// The largest sampling rate, rounded down.
    SamplingRate(SamplingRate),
}

/// A setting that keeps within the budget, and the certified answer it gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Calibration {
    /// What was found.
    pub solved: Solved,
    /// The subject with what was found in its place.
    pub subject: Subject,
    /// What it leaks.
    pub answer: Answer,
}

/// Solves for one number of `template`; whatever stands in its place there is ignored.
///
/// # Errors
/// Refuses a mechanism without the number that is solved for, and a budget that no value of it meets.
pub fn solve(
    template: &Subject,
    solve: Solve,
    epsilon: Epsilon,
    delta: Delta,
) -> Result<Calibration, Refusal> {
    match solve {
        Solve::Noise => noise(template, epsilon, delta),
        Solve::Steps => steps(template, epsilon, delta),
        Solve::SamplingRate => sampling_rate(template, epsilon, delta),
    }
}

fn noise(template: &Subject, epsilon: Epsilon, delta: Delta) -> Result<Calibration, Refusal> {
    let mechanism = &template.mechanism;
    if mechanism.at_noise(NoiseMultiplier::new(1.0)?).is_none() {
        let kinds = KINDS.iter().filter(|kind| kind.noise().is_some()).map(|kind| kind.name);
        return Err(Refusal::Invalid(format!(
            "kind is {}, but only these kinds can be solved for noise: {}",
            mechanism.kind(),
            kinds.collect::<Vec<_>>().join(", ")
        )));
    }
    let family = |noise| mechanism.at_noise(noise).unwrap_or_else(|| mechanism.clone());
    let brief = condensed(mechanism)?;
    let briefly = |noise| brief.at_noise(noise).unwrap_or_else(|| brief.clone());
    let found = calibrate::noise(&briefly, template.adjacency, epsilon, delta)?;
    let rounded = decimal::raise(found.get(), DIGITS);
    let attempts = [NoiseMultiplier::new(rounded).unwrap_or(found), found];
    first_within(attempts, epsilon, delta, |noise| {
        (Solved::Noise(noise), Subject { mechanism: family(noise), ..template.clone() })
    })
}

fn steps(template: &Subject, epsilon: Epsilon, delta: Delta) -> Result<Calibration, Refusal> {
    let found = calibrate::steps(&template.mechanism, template.adjacency, epsilon, delta)?;
    first_within([found], epsilon, delta, |steps| {
        let mechanism = template.mechanism.clone().repeated(steps);
        (Solved::Steps(steps), Subject { mechanism, ..template.clone() })
    })
}

fn sampling_rate(template: &Subject, epsilon: Epsilon, delta: Delta) -> Result<Calibration, Refusal> {
    let mechanism = &template.mechanism;
    if with_rate(mechanism, SamplingRate::new(1.0)?).is_none() {
        return Err(Refusal::out_of_range(
            "kind",
            mechanism.kind(),
            "dp-sgd, or matrix with cyclic Poisson sampling, to solve for the sampling rate",
        ));
    }
    let family = |rate| with_rate(mechanism, rate).unwrap_or_else(|| mechanism.clone());
    let found = calibrate::sampling_rate(&family, template.adjacency, epsilon, delta)?;
    let rounded = decimal::lower(found.get(), DIGITS);
    let attempts = [SamplingRate::new(rounded).unwrap_or(found), found];
    first_within(attempts, epsilon, delta, |rate| {
        (Solved::SamplingRate(rate), Subject { mechanism: family(rate), ..template.clone() })
    })
}

/// The first attempt whose certified ε is within the budget: what is printed has been accounted for as printed.
fn first_within<T>(
    attempts: impl IntoIterator<Item = T>,
    epsilon: Epsilon,
    delta: Delta,
    setting: impl Fn(T) -> (Solved, Subject),
) -> Result<Calibration, Refusal> {
    for attempt in attempts {
        let (solved, subject) = setting(attempt);
        let answer = account(&subject, Target::Delta(delta), Choice::Best)?;
        if answer.epsilon.upper().is_some_and(|upper| upper.0 <= epsilon) {
            return Ok(Calibration { solved, subject, answer });
        }
    }
    Err(Refusal::OverBudget(format!(
        "no setting is certified to satisfy epsilon {epsilon}; use a larger epsilon"
    )))
}

/// A mechanism that leaks as much at any noise, with every strategy matrix as the one number that it moves: a search looks
/// at it many times, and the number does not depend on the noise.
fn condensed(mechanism: &Mechanism) -> Result<Mechanism, Refusal> {
    if let Mechanism::Matrix {
        strategy,
        participation: participation @ (Participation::Once | Participation::Separated { .. }),
        noise_multiplier,
    } = mechanism
    {
        let moved = sensitivity(strategy, *participation)?.upper();
        let alone = Strategy::Banded { steps: Count::ONE, coefficients: Coefficients::new(vec![moved])? };
        return Ok(Mechanism::Matrix {
            strategy: alone,
            participation: Participation::Once,
            noise_multiplier: *noise_multiplier,
        });
    }
    if let Mechanism::Repeated { .. } | Mechanism::Group { .. } = mechanism {
        let mut refusal = None;
        let inside = |inside: &Mechanism| condensed(inside).map_err(|why| refusal = Some(why)).ok();
        let changed = mechanism.with_inside(inside);
        return refusal.map_or(Ok(changed.unwrap_or_else(|| mechanism.clone())), Err);
    }
    Ok(mechanism.clone())
}

/// The mechanism at another sampling rate, where it is sampled.
fn with_rate(mechanism: &Mechanism, rate: SamplingRate) -> Option<Mechanism> {
    match mechanism {
        Mechanism::PoissonSampled { mechanism, .. } => {
            Some(Mechanism::PoissonSampled { rate, mechanism: mechanism.clone() })
        }
        Mechanism::Matrix {
            strategy,
            participation: Participation::CyclicPoisson { groups, .. },
            noise_multiplier,
        } => Some(Mechanism::Matrix {
            strategy: strategy.clone(),
            participation: Participation::CyclicPoisson { groups: *groups, rate },
            noise_multiplier: *noise_multiplier,
        }),
        Mechanism::Repeated { .. } | Mechanism::Group { .. } => {
            mechanism.with_inside(|inside| with_rate(inside, rate))
        }
        // Whatever else is sampled is not sampled at a rate, or not at one that may be searched for.
        _ => None,
    }
}
