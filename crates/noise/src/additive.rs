//! Integer noise that is added to an answer.

use crate::{Distance, NoiseStream, Ratio, exact};

/// Which noise, on the integer scale of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Noise {
    /// P(x) ∝ exp(−|x|/scale).
    Laplace {
        /// The scale.
        scale: Ratio,
    },
    /// P(x) ∝ exp(−x²/2σ²).
    Gaussian {
        /// The parameter σ.
        sigma: Ratio,
    },
}

impl Noise {
    /// Adds independent noise to every number of an answer that moves by at most `declared` between adjacent datasets.
    ///
    /// # Promise  The noise is exact; sums stop at the ends of 128 bits, a function of the noisy value alone
    ///
    /// # Examples
    ///
    /// ```
    /// use veracity_noise::{Distance, Entropy, Key, Noise, NoiseStream, Purpose, Ratio};
    ///
    /// // A histogram: one person moves one bin by 1, so the squared distance is 1.
    /// let noise = Noise::Gaussian { sigma: Ratio::new(5, 2)? };
    /// let add = |bins: &[i128]| {
    ///     let stream = Entropy::seeded(7).stream(Purpose::Noise, Key::default());
    ///     noise.add("bins", bins, Distance::L2Squared(1), &mut NoiseStream::new(stream))
    /// };
    /// let (one, other) = (add(&[10, 20, 30]), add(&[10, 21, 30]));
    /// // The same seed draws the same noise: it is added, and never depends on the answer.
    /// assert_eq!(other, [one[0], one[1] + 1, one[2]]);
    /// # Ok::<(), veracity_core::Refusal>(())
    /// ```
    pub fn add(
        self,
        place: &'static str,
        answer: &[i128],
        declared: Distance,
        rng: &mut NoiseStream,
    ) -> Vec<i128> {
        rng.call(place, answer, declared, |answer, stream| {
            answer
                .iter()
                .map(|value| {
                    value.saturating_add(match self {
                        Noise::Laplace { scale } => exact::discrete_laplace(scale, stream),
                        Noise::Gaussian { sigma } => exact::discrete_gaussian(sigma, stream),
                    })
                })
                .collect()
        })
    }
}
