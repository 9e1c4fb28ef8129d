//! How often a mechanism is run before the best result is published.

use crate::Refusal;

/// The law of a random number of runs, drawn before the first and kept secret.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Runs {
    /// Poisson; with no run at all nothing is published.
    Poisson {
        /// Its mean.
        mean: f64,
    },
    /// Negative binomial of this shape, conditioned on at least one run. Shape 1 is geometric, shape 0 logarithmic.
    NegativeBinomial {
        /// The mean after conditioning, above 1.
        mean: f64,
        /// The shape η, above −1.
        shape: f64,
    },
}

impl Runs {
    /// Poisson with a positive mean.
    pub fn poisson(mean: f64) -> Result<Runs, Refusal> {
        if mean > 0.0 && mean.is_finite() {
            Ok(Runs::Poisson { mean })
        } else {
            Err(Refusal::out_of_range("mean runs", mean, "a finite number > 0"))
        }
    }

    /// Truncated negative binomial.
    pub fn negative_binomial(mean: f64, shape: f64) -> Result<Runs, Refusal> {
        if !(mean > 1.0 && mean.is_finite()) {
            return Err(Refusal::out_of_range("mean runs", mean, "a finite number > 1"));
        }
        if !(shape > -1.0 && shape.is_finite()) {
            return Err(Refusal::out_of_range("shape", shape, "a finite number > -1"));
        }
        Ok(Runs::NegativeBinomial { mean, shape })
    }
}
