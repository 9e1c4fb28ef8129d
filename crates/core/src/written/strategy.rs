//! Strategy matrices and participations in files.

use super::object;
use crate::{Coefficients, Count, Participation, SamplingRate, Strategy, TriangularMatrix};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Both directions by one table: the names of fields are those of files.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenStrategy {
    Tree { steps: Count },
    Banded { steps: Count, coefficients: Vec<f64> },
    Rows { rows: Vec<Vec<f64>> },
}

impl Serialize for Strategy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match self {
            Strategy::Tree { steps } => WrittenStrategy::Tree { steps: *steps },
            Strategy::Banded { steps, coefficients } => {
                WrittenStrategy::Banded { steps: *steps, coefficients: coefficients.get().to_vec() }
            }
            Strategy::Written(matrix) => WrittenStrategy::Rows { rows: matrix.rows().to_vec() },
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Strategy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match object(deserializer, "a strategy")? {
            WrittenStrategy::Tree { steps } => Strategy::Tree { steps },
            WrittenStrategy::Banded { steps, coefficients } => Strategy::Banded {
                steps,
                coefficients: Coefficients::new(coefficients).map_err(de::Error::custom)?,
            },
            WrittenStrategy::Rows { rows } => {
                Strategy::Written(TriangularMatrix::new(rows).map_err(de::Error::custom)?)
            }
        })
    }
}

// `Once` has braces, since serde lets a variant without them pass with fields that nobody knows.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum WrittenParticipation {
    Once {},
    Separated { times: Count, separation: Count },
    CyclicPoisson { groups: Count, rate: SamplingRate },
}

impl Serialize for Participation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match *self {
            Participation::Once => WrittenParticipation::Once {},
            Participation::Separated { times, separation } => {
                WrittenParticipation::Separated { times, separation }
            }
            Participation::CyclicPoisson { groups, rate } => {
                WrittenParticipation::CyclicPoisson { groups, rate }
            }
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Participation {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match object(deserializer, "a participation")? {
            WrittenParticipation::Once {} => Participation::Once,
            WrittenParticipation::Separated { times, separation } => {
                Participation::Separated { times, separation }
            }
            WrittenParticipation::CyclicPoisson { groups, rate } => {
                Participation::CyclicPoisson { groups, rate }
            }
        })
    }
}
