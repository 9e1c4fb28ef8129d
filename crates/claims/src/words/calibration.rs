//! A setting that was looked for, in words.

use crate::calibration::{Calibration, Solved};
use veracity_core::decimal;

/// What was found for a mechanism of this kind; with the scale of its noise, where a sensitivity was given.
pub fn setting(kind: &str, found: &Calibration, scale: Option<f64>) -> String {
    let word = if kind.ends_with("laplace") { "scale" } else { "sigma" };
    let first = match found.solved {
        Solved::Noise(noise) if kind.starts_with("discrete") => {
            format!("{word} {}", decimal::up(noise.get(), 17))
        }
        Solved::Noise(noise) => format!("noise multiplier {}", decimal::up(noise.get(), 17)),
        Solved::Steps(steps) => format!("steps {}", steps.get()),
        Solved::SamplingRate(rate) => format!("sampling rate {}", decimal::down(rate.get(), 17)),
    };
    match scale {
        Some(scale) => format!("{first}, {word} {}", decimal::up(scale, 17)),
        None => first,
    }
}
