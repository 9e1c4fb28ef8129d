//! Mixtures of Gaussians that are a mechanism here: one record, or a group of them, in Poisson batches.

use super::convert::{gaussian, refused};
use crate::{Count, Mechanism, Refusal, SamplingRate, spec::quotient_below};

/// How far a chance may be from the binomial one, relatively: floats that came from other floats.
const NEAR: f64 = 1e-9;

/// Shifts 0, c, 2c, … with binomial chances are a group of records; one shift alone is a Gaussian. Nothing else is known here.
pub(super) fn mechanism(
    standard_deviation: f64,
    sensitivities: &[f64],
    chances: &[f64],
) -> Result<Option<Mechanism>, Refusal> {
    let name = "MixtureOfGaussiansDpEvent";
    if sensitivities.len() != chances.len() || sensitivities.is_empty() {
        return Err(refused(name, "has lists of different lengths, expected a chance for each sensitivity"));
    }
    if sensitivities.iter().all(|shift| *shift == 0.0) {
        return Ok(None);
    }
    let unit = sensitivities[0];
    if sensitivities.len() == 1 && chances == [1.0] {
        return gaussian(quotient_below(standard_deviation, unit)).map(Some);
    }
    let size = sensitivities.len() - 1;
    let step = sensitivities.get(1).copied().unwrap_or(0.0);
    let even = sensitivities.iter().enumerate().all(|(i, shift)| *shift == i as f64 * step);
    let Some(rate) = binomial_rate(chances).filter(|_| even && step > 0.0) else {
        let why = "is no group of records in Poisson batches: expected sensitivities 0, c, 2c, … with binomial chances; put a \
                   PoissonSampledDpEvent, or its losses as a distribution in a plan";
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

/// The rate of which these are the binomial chances.
fn binomial_rate(chances: &[f64]) -> Option<f64> {
    let size = chances.len() - 1;
    if size == 0 || !(chances[0] > 0.0 && chances[1] > 0.0) {
        return None;
    }
    // Of one record the chance is written down; of more, p₁/p₀ = k q/(1 − q).
    let odds = chances[1] / chances[0] / size as f64;
    let rate = if size == 1 { chances[1] } else { odds / (1.0 + odds) };
    let mut expected = (1.0 - rate).powi(i32::try_from(size).ok()?);
    for (i, chance) in chances.iter().enumerate() {
        if !((chance - expected).abs() <= NEAR * expected) {
            return None;
        }
        expected *= rate / (1.0 - rate) * (size - i) as f64 / (i + 1) as f64;
    }
    Some(rate)
}
