//! The exponential mechanism, by exact rejection.

use super::{Choice, Chosen, Movement};
use veracity_core::{Count, Epsilon, Mechanism, Refusal};
use veracity_noise::{Bits, Distance, NoiseStream, Ratio, exact};

/// A candidate with probability proportional to exp(ε score/2Δ), or exp(ε score/Δ) where scores move together.
///
/// # Promise    The losses of any two candidates differ by at most ε (bounded range), so it is ε-differentially private
/// # Reference  [McSherryTalwar07]; [CesarRogers21] for the range
/// # Assumes    Adjacent datasets move each score by at most `sensitivity`, and in the way that `movement` says
pub fn exponential(
    scores: &[i64],
    sensitivity: Count,
    movement: Movement,
    epsilon: Epsilon,
    rng: &mut NoiseStream,
) -> Result<Chosen, Refusal> {
    let choice = Choice::new(scores, sensitivity, movement, epsilon)?;
    let declared = Distance::LInf(u128::from(sensitivity.get()));
    let said = rng.call("exponential", &choice.scores, declared, |scores, stream| {
        vec![choose(scores, u128::from(choice.widening), choice.multiplier, stream) as i128]
    });
    let score_error = choice.score_error();
    Ok(Chosen { index: said[0] as usize, score_error, mechanism: Mechanism::Exponential { epsilon } })
}

/// An index with probability proportional to exp(score/(`widening` × `multiplier`)).
///
/// A uniform candidate is kept with probability exp(−gap/…), where the gap is to the best score: no weight is ever a
/// float. It takes at most as many tries as there are candidates, on average; their number depends on the scores, so
/// whoever can time it learns something of them.
///
/// # Promise    Exact
/// # Assumes    At least one score; gaps and `widening` below 2^76
/// # Reference  [McSherryTalwar07]
pub(crate) fn choose(scores: &[i128], widening: u128, multiplier: Ratio, bits: &mut impl Bits) -> usize {
    let best = scores.iter().copied().max().unwrap_or(0);
    let denominator = widening * u128::from(multiplier.numerator());
    loop {
        // Below the number of scores, so the cast is exact.
        let candidate = exact::uniform_below(scores.len() as u128, bits) as usize;
        let gap = best.abs_diff(scores[candidate]) * u128::from(multiplier.denominator());
        if exact::bernoulli_exp(gap, denominator, bits) {
            return candidate;
        }
    }
}
