//! The exponential mechanism, by exact rejection.

use veracity_noise::{Bits, Ratio, exact};

/// An index with probability proportional to exp(score/(`widening` × `multiplier`)).
///
/// A uniform candidate is kept with probability exp(−gap/…), where the gap is to the best score: no weight is ever a
/// float. It takes at most as many tries as there are candidates, on average; the number of tries depends on the scores.
///
/// # Promise    Exact
/// # Assumes    At least one score; gaps below 2^76, `widening` below 2^76
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
