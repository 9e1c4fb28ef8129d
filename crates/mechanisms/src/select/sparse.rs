//! The sparse vector technique: many questions, of which only those answered "above" are paid for.

use super::{MISS, Movement, OUTWARD, checked_multiplier};
use crate::tail;
use std::fmt;
use veracity_core::{Count, Epsilon, Mechanism, Refusal};
use veracity_noise::{Distance, Noise, NoiseStream, Ratio, exact};

/// Which side of the threshold a query seems to be on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// At or above it.
    Above,
    /// Below it.
    Below,
}

/// Answers whether queries reach a threshold, until a given number of them did.
///
/// The threshold gets integer Laplace noise once, of scale Δ/ε₁; each query of scale 2cΔ/ε₂ for c hits (cΔ/ε₂ where queries
/// move together). ε₁ + ε₂ = ε, split as 1 : (2c)^⅔ or 1 : c^⅔, which makes the comparison sharpest.
///
/// # Promise    ε-differentially private however many queries are asked, each chosen from the answers before it. Between
/// adjacent datasets, move the threshold's noise by Δ and that of each hit by 2Δ, a bijection of integers: no answer
/// changes, and the probability changes by at most e^{ε₁} e^{c 2Δ ε₂/2cΔ}. Where all queries rise, Δ for each is enough;
/// where all fall, the threshold stays and Δ for each hit is enough
/// # Reference  \[LyuSuLi17\], without numeric answers
/// # Assumes    Adjacent datasets move each query by at most the sensitivity, and in the way that the movement says
///
/// # Examples
///
/// Which day first had a thousand visitors, give or take the margin:
///
/// ```
/// use veracity_core::{Count, Epsilon};
/// use veracity_noise::{Entropy, Key, NoiseStream, Purpose};
/// use veracity_mechanisms::{Movement, Side, SparseVector};
///
/// let mut rng = NoiseStream::new(Entropy::seeded(1).stream(Purpose::Noise, Key::default()));
/// let (one, epsilon) = (Count::ONE, Epsilon::new(1.0)?);
/// let mut sparse = SparseVector::new(1_000, one, Movement::Together, one, epsilon, &mut rng)?;
/// let visitors = [120, 310, 250, 4_000, 90];
/// let said: Vec<Side> = visitors.iter().map_while(|&day| sparse.ask(day, &mut rng)).collect();
/// assert!(sparse.margin(Count::new(5)?) < 100.0);
/// // One hit was paid for. Whatever comes after it has no answer.
/// assert_eq!(said, [Side::Below, Side::Below, Side::Below, Side::Above]);
/// # Ok::<(), veracity_core::Refusal>(())
/// ```
pub struct SparseVector {
    /// Secret: the threshold with its noise.
    threshold: i128,
    sensitivity: Count,
    hits_left: u64,
    threshold_scale: Ratio,
    query_scale: Ratio,
    epsilon: Epsilon,
}

impl SparseVector {
    /// Draws the threshold's noise.
    ///
    /// # Errors
    /// Refuses an ε out of range.
    pub fn new(
        threshold: i64,
        sensitivity: Count,
        movement: Movement,
        hits: Count,
        epsilon: Epsilon,
        rng: &mut NoiseStream,
    ) -> Result<SparseVector, Refusal> {
        let multiplier = checked_multiplier(epsilon)?.as_f64();
        let widening = movement.span() as f64 * hits.as_f64();
        let share = widening.powf(2.0 / 3.0); // ε₂/ε₁
        let whole = 1.0 + share;
        let delta = sensitivity.as_f64();
        let threshold_scale = Ratio::at_least(delta * multiplier * whole * OUTWARD)?;
        let query_scale = Ratio::at_least(delta * multiplier * widening * (whole / share) * OUTWARD)?;
        // The threshold itself is public and does not move; the noisy one must not be told.
        let (noise, fixed) = (Noise::Laplace { scale: threshold_scale }, Distance::L1(0));
        let noisy = noise.add("sparse vector: threshold", &[i128::from(threshold)], fixed, rng)[0];
        let hits_left = hits.get();
        Ok(SparseVector { threshold: noisy, sensitivity, hits_left, threshold_scale, query_scale, epsilon })
    }

    /// Whether the next query reaches the threshold; nothing, once all hits are spent.
    pub fn ask(&mut self, query: i64, rng: &mut NoiseStream) -> Option<Side> {
        if self.hits_left == 0 {
            return None;
        }
        let (threshold, scale) = (self.threshold, self.query_scale);
        let declared = Distance::LInf(u128::from(self.sensitivity.get()));
        let said = rng.call("sparse vector: query", &[i128::from(query)], declared, |query, stream| {
            let noisy = query[0].saturating_add(exact::discrete_laplace(scale, stream));
            vec![i128::from(noisy >= threshold)]
        });
        if said[0] == 1 {
            self.hits_left -= 1;
            Some(Side::Above)
        } else {
            Some(Side::Below)
        }
    }

    /// How many hits may still come.
    pub fn hits_left(&self) -> u64 {
        self.hits_left
    }

    /// With chance at least 95 %, of this many queries none that is said to be above lies lower than this below the
    /// threshold, and none that is said to be below lies this or more above it.
    pub fn margin(&self, queries: Count) -> f64 {
        tail::half_width(Noise::Laplace { scale: self.threshold_scale }, MISS / 2.0)
            + tail::half_width(Noise::Laplace { scale: self.query_scale }, MISS / 2.0 / queries.as_f64())
    }

    /// What the accountant reads.
    pub fn mechanism(&self) -> Mechanism {
        Mechanism::Pure { epsilon: self.epsilon }
    }
}

/// Without the noisy threshold: who has seen it needs no more answers.
impl fmt::Debug for SparseVector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SparseVector")
            .field("hits_left", &self.hits_left)
            .field("epsilon", &self.epsilon)
            .finish_non_exhaustive()
    }
}
