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
