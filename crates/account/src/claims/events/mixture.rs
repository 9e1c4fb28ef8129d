//! Mixtures of Gaussians that are a mechanism here: one record, or a group of them, in Poisson batches.

use super::convert::{gaussian, refused};
use crate::claims::{Count, Mechanism, Refusal, SamplingRate, spec::quotient_below};

/// How far a chance may be from the binomial one, relatively: floats that came from other floats.
const NEAR: f64 = 1e-9;

/// Shifts 0, c, 2c, … with binomial probabilities are a group of records; one shift alone is a Gaussian. Nothing else is known here.
pub(super) fn mechanism(
    standard_deviation: f64,
    sensitivities: &[f64],
    probabilities: &[f64],
) -> Result<Option<Mechanism>, Refusal> {
    let name = "MixtureOfGaussiansDpEvent";
    if sensitivities.len() != probabilities.len() || sensitivities.is_empty() {
        return Err(refused(name, "has lists of different lengths; give one probability per sensitivity"));
    }
    if sensitivities.iter().all(|shift| *shift == 0.0) {
        return Ok(None);
    }
    let unit = sensitivities[0];
    if sensitivities.len() == 1 && probabilities == [1.0] {
        return gaussian(quotient_below(standard_deviation, unit)).map(Some);
    }
    let size = sensitivities.len() - 1;
    let step = sensitivities.get(1).copied().unwrap_or(0.0);
    let even = sensitivities.iter().enumerate().all(|(i, shift)| *shift == i as f64 * step);
    let Some(rate) = binomial_rate(probabilities).filter(|_| even && step > 0.0) else {
        let why = "is supported only for a group of records in Poisson batches (sensitivities 0, c, 2c, … with binomial \
                   probabilities); use a PoissonSampledDpEvent, or list its losses in a plan";
        return Err(refused(name, why));
    };
    let sampled = Mechanism::PoissonSampled {
        rate: SamplingRate::new(rate)?,
        mechanism: Box::new(gaussian(quotient_below(standard_deviation, step))?),
    };
    let size = Count::new(size as u64)?;
    Ok(Some(if size == Count::ONE {
        sampled
    } else {
        Mechanism::Group { size, mechanism: Box::new(sampled) }
    }))
}

/// The rate of which these are the binomial probabilities.
fn binomial_rate(probabilities: &[f64]) -> Option<f64> {
    let size = probabilities.len() - 1;
    if size == 0 || !(probabilities[0] > 0.0 && probabilities[1] > 0.0) {
        return None;
    }
    // Of one record the chance is written down; of more, p₁/p₀ = k q/(1 − q).
    let odds = probabilities[1] / probabilities[0] / size as f64;
    let rate = if size == 1 { probabilities[1] } else { odds / (1.0 + odds) };
    let mut expected = (1.0 - rate).powi(i32::try_from(size).ok()?);
    for (i, probability) in probabilities.iter().enumerate() {
        if !((probability - expected).abs() <= NEAR * expected) {
            return None;
        }
        expected *= rate / (1.0 - rate) * (size - i) as f64 / (i + 1) as f64;
    }
    Some(rate)
}
