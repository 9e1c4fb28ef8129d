//! Coins: of a rational bias, and of bias e^−x for a rational x.

use super::uniform_below;
use crate::Bits;

/// True with probability `numerator`/`denominator`.
///
/// # Promise  Exact
/// # Assumes  0 ≤ `numerator` ≤ `denominator`, `denominator` ≥ 1
#[inline]
pub fn bernoulli(numerator: u128, denominator: u128, bits: &mut impl Bits) -> bool {
    uniform_below(denominator, bits) < numerator
}

/// True with probability exp(−`numerator`/`denominator`).
///
/// # Promise    Exact
/// # Reference  [CanonneKamathSteinke20] Algorithm 1
/// # Assumes    `denominator` ≥ 1
pub fn bernoulli_exp(numerator: u128, denominator: u128, bits: &mut impl Bits) -> bool {
    let (whole, rest) = (numerator / denominator, numerator % denominator);
    // A product of independent coins: e^−whole is as many coins of bias 1/e.
    for _ in 0..whole {
        if !bernoulli_exp_below_one(1, 1, bits) {
            return false;
        }
    }
    bernoulli_exp_below_one(rest, denominator, bits)
}

/// True with probability exp(−x) for x = `numerator`/`denominator` ≤ 1: the first k for which a coin of bias x/k fails is
/// odd with that probability.
fn bernoulli_exp_below_one(numerator: u128, denominator: u128, bits: &mut impl Bits) -> bool {
    let mut k = 1;
    // x/k as two coins, so that no product overflows.
    while bernoulli(numerator, denominator, bits) && bernoulli(1, k, bits) {
        k += 1;
    }
    k % 2 == 1
}
