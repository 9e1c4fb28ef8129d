//! Privacy loss distributions as they are written in files.

use crate::{LossDistribution, LossMasses, Refusal};
use serde::{Deserialize, Serialize};

/// Losses, their probabilities, and the probability of an infinite loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LossesSpec {
    /// Finite losses by rising size.
    pub losses: Vec<f64>,
    /// The probability of each, with the record in the first dataset.
    pub probabilities: Vec<f64>,
    /// The probability of an infinite loss.
    #[serde(default)]
    pub infinite: f64,
}

impl TryFrom<&LossesSpec> for LossMasses {
    type Error = Refusal;

    fn try_from(spec: &LossesSpec) -> Result<LossMasses, Refusal> {
        if spec.losses.len() != spec.probabilities.len() {
            let lengths =
                format!("{} losses and {} probabilities", spec.losses.len(), spec.probabilities.len());
            return Err(Refusal::out_of_range("losses", lengths, "as many probabilities as losses"));
        }
        let pairs = spec.losses.iter().copied().zip(spec.probabilities.iter().copied());
        LossMasses::new(pairs.collect(), spec.infinite)
    }
}

impl From<&LossMasses> for LossesSpec {
    fn from(masses: &LossMasses) -> LossesSpec {
        let (losses, probabilities) = masses.finite().iter().copied().unzip();
        LossesSpec { losses, probabilities, infinite: masses.infinite() }
    }
}

/// A distribution for one order of the datasets, or for each.
pub(super) fn distribution(
    first: &LossesSpec,
    second: Option<&LossesSpec>,
) -> Result<LossDistribution, Refusal> {
    let second = second.map(LossMasses::try_from).transpose()?;
    LossDistribution::new(LossMasses::try_from(first)?, second)
}
