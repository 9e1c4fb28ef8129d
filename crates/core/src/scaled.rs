//! A mechanism with another amount of noise: what an audit asks after.

use crate::{GdpMu, Mechanism, NoiseMultiplier, Refusal, Rho};

impl Mechanism {
    /// The same mechanism with `part` times its noise, in all of its parts.
    ///
    /// # Errors
    /// Refuses mechanisms without noise of a known scale, and noise that leaves the range of its kind.
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_core::{Count, Mechanism, NoiseMultiplier, SamplingRate};
    ///
    /// let plan = Mechanism::sampled_gaussian(SamplingRate::new(0.1)?, NoiseMultiplier::new(2.0)?, Count::new(50)?);
    /// let half = Mechanism::sampled_gaussian(SamplingRate::new(0.1)?, NoiseMultiplier::new(1.0)?, Count::new(50)?);
    /// assert_eq!(plan.with_noise(0.5)?, half);
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn with_noise(&self, part: f64) -> Result<Mechanism, Refusal> {
        let mut scaled = self.clone();
        scaled.scale_noise(part)?;
        Ok(scaled)
    }

    fn scale_noise(&mut self, part: f64) -> Result<(), Refusal> {
        if let Some((noise, power)) = self.noise_mut() {
            *noise = NoiseMultiplier::new(noise.get() * part.powi(power))?;
            return Ok(());
        }
        if let Some(inside) = self.inside_mut() {
            return inside.iter_mut().try_for_each(|mechanism| mechanism.scale_noise(part));
        }
        match self {
            // What they declare is the noise of a Gaussian, in other units.
            Mechanism::Gdp { mu } => *mu = GdpMu::new(mu.get() / part)?,
            Mechanism::Zcdp { rho } => *rho = Rho::new(rho.get() / (part * part))?,
            // No other kind has noise that can be scaled.
            other => {
                return Err(Refusal::no_theorem(
                    other.kind(),
                    "a part of its noise",
                    "use a mechanism whose noise has a scale",
                ));
            }
        }
        Ok(())
    }
}
