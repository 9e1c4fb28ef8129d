//! From events to mechanisms. `None` is an event that leaks nothing.

use super::{Counts, Event, Shape, mixture};
use crate::claims::{
    Count, Delta, Epsilon, Mechanism, NoiseMultiplier, Probability, Refusal, SamplingRate,
    plan::MOST_MECHANISMS,
    spec::{Whole, quotient_below},
};
use veracity_core::{Buckets, Participation, Rho, Runs, Strategy};

/// What an event does to the data, or a refusal that names it and what would work.
pub(super) fn mechanism(event: &Event) -> Result<Option<Mechanism>, Refusal> {
    Ok(Some(match event {
        Event::NoOp {} => return Ok(None),
        Event::NonPrivate {} => {
            return Err(refused("NonPrivateDpEvent", "leaks everything: epsilon is infinite"));
        }
        Event::Unsupported {} => {
            return Err(refused(
                "UnsupportedDpEvent",
                "does not say what was done; replace it by the event of the mechanism",
            ));
        }
        Event::WithReplacement { .. } => {
            let why = "is not supported; sample without replacement, or use Poisson sampling";
            return Err(refused("SampledWithReplacementDpEvent", why));
        }
        Event::Gaussian { noise_multiplier } => gaussian(*noise_multiplier)?,
        Event::Laplace { noise_multiplier } => {
            Mechanism::Laplace { noise_multiplier: NoiseMultiplier::new(*noise_multiplier)? }
        }
        Event::DiscreteLaplace { noise_parameter, sensitivity } => Mechanism::DiscreteLaplace {
            // A scale that is rounded down is less noise than was said: the safe side.
            scale: NoiseMultiplier::new(quotient_below(1.0, *noise_parameter))?,
            sensitivity: Whole(*sensitivity).count("sensitivity")?,
        },
        Event::DiscreteGaussian { sigma, sensitivity, dimension } => {
            discrete_gaussian(*sigma, *sensitivity, *dimension)?
        }
        Event::RandomizedResponse { noise_parameter, num_buckets } => {
            return randomized_response(*noise_parameter, *num_buckets);
        }
        Event::Exponential { epsilon } => Mechanism::Exponential { epsilon: finite(*epsilon)? },
        // All that is proved of it for any scores.
        Event::PermuteAndFlip { epsilon } => Mechanism::Pure { epsilon: finite(*epsilon)? },
        Event::EpsilonDelta { epsilon, delta } => {
            Mechanism::Approximate { epsilon: finite(*epsilon)?, delta: Delta::new(*delta)? }
        }
        Event::Zcdp { rho, xi } if *xi == 0.0 => Mechanism::Zcdp { rho: Rho::new(*rho)? },
        Event::Zcdp { .. } => {
            let why = "with xi above 0 is not supported; declare the rdp curve xi + rho × order in a plan";
            return Err(refused("ZCDpEvent", why));
        }
        Event::SelfComposed { event, count } => return repeated(event, *count),
        Event::Composed { events } => return composed(events),
        Event::PoissonSampled { sampling_probability, event } => {
            return poisson(*sampling_probability, event);
        }
        Event::WithoutReplacement { source_dataset_size, sample_size, event } => {
            let Some(inner) = mechanism(event)? else { return Ok(None) };
            Mechanism::FixedSizeSampled {
                batch: Whole(*sample_size).count("sample_size")?,
                population: Whole(*source_dataset_size).count("source_dataset_size")?,
                mechanism: Box::new(inner),
            }
        }
        Event::Truncated { dataset_size, sampling_probability, truncated_batch_size, noise_multiplier } => {
            Mechanism::TruncatedPoissonSampled {
                rate: SamplingRate::new(*sampling_probability)?,
                most: Whole(*truncated_batch_size).count("truncated_batch_size")?,
                population: Whole(*dataset_size).count("dataset_size")?,
                mechanism: Box::new(gaussian(*noise_multiplier)?),
            }
        }
        Event::Mixture { standard_deviation, sensitivities, sampling_probs } => {
            return mixture::mechanism(*standard_deviation, sensitivities, sampling_probs);
        }
        Event::Tree { noise_multiplier, step_counts } => tree(*noise_multiplier, step_counts)?,
        Event::RepeatAndSelect { event, mean, shape } => {
            let Some(run) = mechanism(event)? else { return Ok(None) };
            Mechanism::BestOf { runs: runs(*mean, shape)?, mechanism: Box::new(run) }
        }
    }))
}

pub(super) fn refused(class: &str, why: &str) -> Refusal {
    Refusal::Invalid(format!("events: {class} {why}"))
}

pub(super) fn gaussian(noise_multiplier: f64) -> Result<Mechanism, Refusal> {
    Ok(Mechanism::Gaussian { noise_multiplier: NoiseMultiplier::new(noise_multiplier)? })
}

fn finite(epsilon: f64) -> Result<Epsilon, Refusal> {
    Epsilon::new(epsilon)
}

/// One answer on the integers; of vectors only the concentrated bound is known.
fn discrete_gaussian(sigma: f64, sensitivity: f64, dimension: Option<f64>) -> Result<Mechanism, Refusal> {
    if dimension != Some(1.0) {
        let why = "needs dimension 1; for vectors, use a ZCDpEvent with rho = sensitivity² / (2 sigma²)";
        return Err(refused("DiscreteGaussianDpEvent", why));
    }
    Ok(Mechanism::DiscreteGaussian {
        sigma: NoiseMultiplier::new(sigma)?,
        sensitivity: Whole(sensitivity).count("sensitivity")?,
    })
}

fn randomized_response(noise_parameter: f64, num_buckets: f64) -> Result<Option<Mechanism>, Refusal> {
    if num_buckets == 1.0 {
        return Ok(None);
    }
    let many = Whole(num_buckets).count("num_buckets")?.get();
    let many = u32::try_from(many)
        .map_err(|_| Refusal::out_of_range("num_buckets", num_buckets, "an integer below 2^32"))?;
    let noise = Probability::new(noise_parameter).ok().filter(|noise| noise.get() > 0.0);
    let noise = noise.ok_or_else(|| {
        Refusal::out_of_range("noise_parameter", noise_parameter, "0 < noise_parameter ≤ 1")
    })?;
    Ok(Some(Mechanism::RandomizedResponse { buckets: Buckets::new(many)?, noise }))
}

fn repeated(event: &Event, count: f64) -> Result<Option<Mechanism>, Refusal> {
    if count == 0.0 {
        return Ok(None);
    }
    let times = Whole(count).count("count")?;
    Ok(mechanism(event)?.map(|inner| inner.repeated(times)))
}

/// Equal adjacent events are merged: a ledger lists every step of a training run on its own.
fn composed(events: &[Event]) -> Result<Option<Mechanism>, Refusal> {
    let mut runs: Vec<(Mechanism, u64)> = Vec::new();
    for event in events {
        let Some(next) = mechanism(event)? else { continue };
        match runs.last_mut() {
            Some((last, times)) if *last == next => *times += 1,
            _ => runs.push((next, 1)),
        }
    }
    if runs.len() > MOST_MECHANISMS {
        return Err(Refusal::out_of_range("different events in a row", runs.len(), "at most 1000"));
    }
    let mut parts = runs
        .into_iter()
        .map(|(one, times)| Ok(one.repeated(Count::new(times)?)))
        .collect::<Result<Vec<_>, Refusal>>()?;
    Ok(match parts.len() {
        0 | 1 => parts.pop(),
        _ => Some(Mechanism::Composed(parts)),
    })
}

pub(super) fn poisson(rate: f64, event: &Event) -> Result<Option<Mechanism>, Refusal> {
    match mechanism(event)? {
        Some(inner) if rate != 0.0 => {
            Ok(Some(Mechanism::PoissonSampled { rate: SamplingRate::new(rate)?, mechanism: Box::new(inner) }))
        }
        _ => Ok(None),
    }
}

/// A record is in one step of one tree. The largest has the most levels, so it is the worst.
fn tree(noise_multiplier: f64, step_counts: &Counts) -> Result<Mechanism, Refusal> {
    let steps = match step_counts {
        Counts::One(steps) => *steps,
        Counts::Many(many) => many.iter().copied().fold(0.0, f64::max),
    };
    let all = match step_counts {
        Counts::One(steps) => std::slice::from_ref(steps),
        Counts::Many(many) => many.as_slice(),
    };
    for one in all {
        Whole(*one).count("step_counts")?;
    }
    Ok(Mechanism::Matrix {
        strategy: Strategy::Tree { steps: Whole(steps).count("step_counts")? },
        participation: Participation::Once,
        noise_multiplier: NoiseMultiplier::new(noise_multiplier)?,
    })
}

fn runs(mean: f64, shape: &Shape) -> Result<Runs, Refusal> {
    match shape {
        Shape::Number(shape) => Runs::negative_binomial(mean, *shape),
        Shape::Word(word) if matches!(word.as_str(), "inf" | "Infinity") => Runs::poisson(mean),
        Shape::Word(_) => Err(Refusal::out_of_range("shape", "a word", "a number, or \"inf\"")),
    }
}
