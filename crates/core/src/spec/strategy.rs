//! Strategy matrices and participations as they are written in files.

use super::Whole;
use crate::{Coefficients, Participation, Refusal, SamplingRate, Strategy, TriangularMatrix};
use serde::{Deserialize, Serialize};

/// A strategy matrix as written.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // Each field is named as in core's Strategy, which documents it.
pub enum StrategySpec {
    Tree { steps: Whole },
    Banded { steps: Whole, coefficients: Vec<f64> },
    Rows { rows: Vec<Vec<f64>> },
}

/// A participation as written.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
#[allow(missing_docs)] // Each field is named as in core's Participation, which documents it.
pub enum ParticipationSpec {
    Once {},
    Separated { times: Whole, separation: Whole },
    CyclicPoisson { groups: Whole, rate: f64 },
}

impl TryFrom<&StrategySpec> for Strategy {
    type Error = Refusal;

    fn try_from(spec: &StrategySpec) -> Result<Strategy, Refusal> {
        Ok(match spec {
            StrategySpec::Tree { steps } => Strategy::Tree { steps: steps.count("steps")? },
            StrategySpec::Banded { steps, coefficients } => Strategy::Banded {
                steps: steps.count("steps")?,
                coefficients: Coefficients::new(coefficients.clone())?,
            },
            StrategySpec::Rows { rows } => Strategy::Written(TriangularMatrix::new(rows.clone())?),
        })
    }
}

impl From<&Strategy> for StrategySpec {
    fn from(strategy: &Strategy) -> StrategySpec {
        match strategy {
            Strategy::Tree { steps } => StrategySpec::Tree { steps: (*steps).into() },
            Strategy::Banded { steps, coefficients } => {
                StrategySpec::Banded { steps: (*steps).into(), coefficients: coefficients.get().to_vec() }
            }
            Strategy::Written(matrix) => StrategySpec::Rows { rows: matrix.rows().to_vec() },
        }
    }
}

impl TryFrom<&ParticipationSpec> for Participation {
    type Error = Refusal;

    fn try_from(spec: &ParticipationSpec) -> Result<Participation, Refusal> {
        Ok(match spec {
            ParticipationSpec::Once {} => Participation::Once,
            ParticipationSpec::Separated { times, separation } => Participation::Separated {
                times: times.count("times")?,
                separation: separation.count("separation")?,
            },
            ParticipationSpec::CyclicPoisson { groups, rate } => Participation::CyclicPoisson {
                groups: groups.count("groups")?,
                rate: SamplingRate::new(*rate)?,
            },
        })
    }
}

impl From<Participation> for ParticipationSpec {
    fn from(participation: Participation) -> ParticipationSpec {
        match participation {
            Participation::Once => ParticipationSpec::Once {},
            Participation::Separated { times, separation } => {
                ParticipationSpec::Separated { times: times.into(), separation: separation.into() }
            }
            Participation::CyclicPoisson { groups, rate } => {
                ParticipationSpec::CyclicPoisson { groups: groups.into(), rate: rate.get() }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A field that nobody reads would be a promise that nobody keeps: `times` here is for another kind.
    #[test]
    fn a_stray_field_beside_once_is_refused() {
        let read = serde_json::from_str::<ParticipationSpec>;
        assert!(read(r#"{"kind":"once"}"#).is_ok());
        assert!(read(r#"{"kind":"once","times":5}"#).is_err());
    }
}
