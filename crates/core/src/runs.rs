//! How often a mechanism is run before the best result is published.

use crate::Refusal;

/// The law of a random number of runs, drawn before the first and kept secret.
///
/// # Examples
///
/// Tuning by the best of about ten runs, the number of which is drawn from a geometric law:
///
/// ```
/// use veracity_core::{Count, Mechanism, NoiseMultiplier, Runs, SamplingRate};
///
/// let run = Mechanism::sampled_gaussian(SamplingRate::new(0.01)?, NoiseMultiplier::new(2.0)?, Count::new(1_000)?);
/// let runs = Runs::negative_binomial(10.0, 1.0)?;
/// assert_eq!(Mechanism::BestOf { runs, mechanism: Box::new(run) }.kind(), "best-of");
/// // Conditioned on at least one run, the mean cannot be 1 or less.
/// assert!(Runs::negative_binomial(1.0, 1.0).is_err());
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
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
    ///
    /// # Errors
    /// Refuses a mean that is not positive and finite.
    pub fn poisson(mean: f64) -> Result<Runs, Refusal> {
        if mean > 0.0 && mean.is_finite() {
            Ok(Runs::Poisson { mean })
        } else {
            Err(Refusal::out_of_range("mean runs", mean, "a finite number > 0"))
        }
    }

    /// Truncated negative binomial.
    ///
    /// # Errors
    /// Refuses a mean of at most 1, a shape of at most −1, and numbers that are not finite.
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
