//! The nouns as they stand in files, with feature `serde`: plain numbers, names, and objects that say their `kind`.
//!
//! Whatever is read passes through the constructor that checks it, so no file makes an invalid value. What could not be read
//! again is not written: numbers that are not finite, and mechanisms that are nested too deep.

mod losses;
mod mechanism;
mod quantities;
mod strategy;

use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use std::{fmt, marker::PhantomData};

/// Reads `T` from an object with named fields and from nothing else; by itself, serde takes lists of values for it too.
fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
    expected: &'static str,
) -> Result<T, D::Error> {
    deserializer.deserialize_map(Object { expected, read: PhantomData })
}

struct Object<T> {
    expected: &'static str,
    read: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, as an object with named fields", self.expected)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// Pairs from two lists of one length.
fn pairs<E: de::Error>(
    first: Vec<f64>,
    second: Vec<f64>,
    [one, other]: [&str; 2],
) -> Result<Vec<(f64, f64)>, E> {
    if first.len() == second.len() {
        return Ok(first.into_iter().zip(second).collect());
    }
    let (n, m) = (first.len(), second.len());
    Err(E::custom(format!("there are {n} {one} and {m} {other}, expected as many {other} as {one}")))
}
