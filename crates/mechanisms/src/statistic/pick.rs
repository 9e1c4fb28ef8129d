//! The exponential mechanism as a statistic uses it: one choice among public candidates by whole-number scores.

use super::MISS;
use crate::{
    Draw, Part,
    select::{PairWeights, choose, choose_pair},
};
use veracity_core::{Count, Epsilon, Mechanism, Refusal};
use veracity_noise::{Distance, NoiseStream, Ratio};

/// One choice: a candidate with probability proportional to its weight times exp(ε score/2Δ).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Pick {
    place: &'static str,
    /// How far adjacent datasets move a score.
    sensitivity: Count,
    /// 1/ε.
    multiplier: Ratio,
    epsilon: Epsilon,
}

impl Pick {
    /// A choice of ε = 1/`multiplier`, or a little less.
    pub(crate) fn new(place: &'static str, sensitivity: Count, multiplier: f64) -> Result<Pick, Refusal> {
        let multiplier = Ratio::at_least(multiplier)?;
        // The next float up covers the rounding of the division.
        let epsilon = Epsilon::new((1.0 / multiplier.as_f64()).next_up())?;
        Ok(Pick { place, sensitivity, multiplier, epsilon })
    }

    /// The place of a candidate among its scores.
    ///
    /// # Promise  Exact; the losses of any two candidates differ by at most ε, since weights that are known without the
    /// data cancel in them
    /// # Assumes  Adjacent datasets move every score by at most the sensitivity; scores below 2^75
    pub(crate) fn choose(
        &self,
        scores: &[i128],
        weight: impl Fn(usize) -> u64,
        rng: &mut NoiseStream,
    ) -> usize {
        let moved = u128::from(self.sensitivity.get());
        let chosen = rng.call(self.place, scores, Distance::LInf(moved), |scores, stream| {
            vec![choose(scores, weight, 2 * moved, self.multiplier, stream) as i128]
        });
        // A place in a slice, so the cast is exact.
        chosen[0] as usize
    }

    /// Two places, the lower first, with probability proportional to their weight times exp(−ε/2Δ × the larger
    /// of their distances). `distances` has those of all places as lower ends, then those as upper ends.
    ///
    /// # Promise  Exact; the losses of any two pairs differ by at most ε, as for one place: a maximum moves by no more than what it is of
    /// # Assumes  Adjacent datasets move every distance by at most the sensitivity; distances below 2^75
    pub(crate) fn choose_pair(
        &self,
        distances: &[i128],
        weights: &impl PairWeights,
        rng: &mut NoiseStream,
    ) -> (usize, usize) {
        let moved = u128::from(self.sensitivity.get());
        let chosen = rng.call(self.place, distances, Distance::LInf(moved), |distances, stream| {
            let ends = distances.split_at(distances.len() / 2);
            let (l, u) = choose_pair(ends, weights, 2 * moved, self.multiplier, stream);
            vec![l as i128, u as i128]
        });
        // Places in a slice, so the casts are exact.
        let (l, u) = (chosen[0] as usize, chosen[1] as usize);
        (l.min(u), l.max(u))
    }

    /// How far a distance can grow before the probability falls by a factor e.
    pub(crate) fn scale(&self) -> f64 {
        2.0 * self.sensitivity.as_f64() * self.multiplier.as_f64()
    }

    /// How far below the best score the choice is at most, with chance 95 %, where all weights together are `candidates`
    /// times the least: those that are (2Δ/ε) ln(candidates/miss) worse have e^{−ln(candidates/miss)} of their weight left,
    /// and the best has all of its own.
    ///
    /// # Reference  [McSherryTalwar07]; [DworkRoth14] Theorem 3.11
    pub(crate) fn score_error(&self, candidates: f64) -> f64 {
        2.0 * self.sensitivity.as_f64() * self.multiplier.as_f64() * (candidates / MISS).ln() * OUTWARD
    }

    /// What is public about it, where candidates are `granularity` apart.
    pub(crate) fn part(&self, granularity: f64) -> Part {
        Part {
            place: self.place,
            granularity,
            sensitivity: self.sensitivity,
            draw: Draw::Chosen { epsilon: self.epsilon },
        }
    }

    /// What the accountant reads.
    pub(crate) fn mechanism(&self) -> Mechanism {
        Mechanism::Exponential { epsilon: self.epsilon }
    }
}

/// Covers the few roundings of a bound.
const OUTWARD: f64 = 1.0 + 16.0 * f64::EPSILON;
