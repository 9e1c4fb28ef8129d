//! Formats the setting that a calibration found.

use crate::claims::calibration::{Calibration, Solved};
use crate::claims::kinds::{KINDS, Kind};
use veracity_core::decimal;

/// Formats the setting for a mechanism of this kind, with the scale of its noise if a sensitivity was given.
pub fn setting(kind: &str, found: &Calibration, scale: Option<f64>) -> String {
    let kind = KINDS.iter().find(|known| known.name == kind);
    let noise = kind.and_then(Kind::noise).map_or("noise_multiplier", |flag| flag.field);
    // Noise relative to one contribution has an absolute scale where a sensitivity was given.
    let word = if kind.is_some_and(|kind| kind.has("scale")) { "scale" } else { "sigma" };
    let first = match found.solved {
        Solved::Noise(found) => format!("{} {}", noise.replace('_', " "), decimal::up(found.get(), 17)),
        Solved::Steps(steps) => format!("steps {}", steps.get()),
        Solved::SamplingRate(rate) => format!("sampling rate {}", decimal::down(rate.get(), 17)),
    };
    match scale {
        Some(scale) => format!("{first}, {word} {}", decimal::up(scale, 17)),
        None => first,
    }
}
