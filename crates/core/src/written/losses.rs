//! Privacy loss distributions in files: losses, their probabilities, and that of an infinite loss.

use super::{object, pairs};
use crate::LossMasses;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeStruct};

impl Serialize for LossMasses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (losses, probabilities): (Vec<f64>, Vec<f64>) = self.finite().iter().copied().unzip();
        let mut written = serializer.serialize_struct("LossMasses", 3)?;
        written.serialize_field("losses", &losses)?;
        written.serialize_field("probabilities", &probabilities)?;
        written.serialize_field("infinite", &self.infinite())?;
        written.end()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    losses: Vec<f64>,
    probabilities: Vec<f64>,
    infinite: f64,
}

/// What probabilities lack to 1 is added to that of an infinite loss, so a list that was read can have an ulp more of it than
/// the one that was written, and never less.
impl<'de> Deserialize<'de> for LossMasses {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { losses, probabilities, infinite } = object(deserializer, "losses")?;
        let pairs = pairs(losses, probabilities, ["losses", "probabilities"])?;
        LossMasses::new(pairs, infinite).map_err(de::Error::custom)
    }
}
