//! Numbers and names in files. A number is written as it is, and read through its constructor.

use crate::{
    Adjacency, Buckets, ClipNorm, Count, Delta, Epsilon, GdpMu, NoiseMultiplier, PrivacyUnit, Probability,
    Refusal, Rho, SamplingRate, Sensitivity,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// A number that a file can hold: JSON has neither infinities nor NaN, and would write them as `null`.
fn finite(x: f64) -> Result<f64, Refusal> {
    if x.is_finite() {
        Ok(x)
    } else {
        Err(Refusal::out_of_range("number", x, "a finite number, because JSON has no others"))
    }
}

macro_rules! plain_number {
    ($($type:ident),*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_f64(finite(self.get()).map_err(ser::Error::custom)?)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let x = finite(f64::deserialize(deserializer)?);
                x.and_then($type::new).map_err(de::Error::custom)
            }
        }
    )*};
}

// Significance is left out: it is spent once, and a file can be read twice.
plain_number!(Epsilon, Delta, NoiseMultiplier, SamplingRate, ClipNorm, Sensitivity, Rho, GdpMu, Probability);

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.get())
    }
}

/// People may write `1000000` or `1e6`.
impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        whole(deserializer, Count::MOST).and_then(|n| Count::new(n).map_err(de::Error::custom))
    }
}

impl Serialize for Buckets {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.get())
    }
}

impl<'de> Deserialize<'de> for Buckets {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let k = whole(deserializer, u64::from(u32::MAX))?;
        let k = u32::try_from(k).map_err(de::Error::custom)?;
        Buckets::new(k).map_err(de::Error::custom)
    }
}

/// An integer from 0 to `most`, which is below 2^53: floats of such size are exact.
fn whole<'de, D: Deserializer<'de>>(deserializer: D, most: u64) -> Result<u64, D::Error> {
    if !deserializer.is_human_readable() {
        return u64::deserialize(deserializer);
    }
    let x = f64::deserialize(deserializer)?;
    if x.fract() == 0.0 && (0.0..=most as f64).contains(&x) {
        return Ok(x as u64);
    }
    Err(de::Error::custom(format!("number is {x:e}, expected an integer from 0 to {most}")))
}

impl Serialize for Adjacency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Adjacency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for PrivacyUnit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for PrivacyUnit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PrivacyUnit::new(&String::deserialize(deserializer)?).map_err(de::Error::custom)
    }
}
