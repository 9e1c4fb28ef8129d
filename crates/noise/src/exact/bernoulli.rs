//! Coins: of a rational bias, and of bias e^−x for a rational x.
//!
//! A coin of bias e^−x is von Neumann's: let the first stage k at which a coin of bias x/k fails be K. Then
//! P(K > k) = x^k/k!, and K is odd with probability 1 − x + x²/2 − … = e^−x.

use super::uniform_below;
use crate::Bits;

/// Bits read at a time when a uniform number is compared with a ratio: few, as one piece nearly always decides.
const PIECE: u32 = 4;

/// The largest denominator of a coin in one word: times 2^[`PIECE`] it still fits.
const COIN_MOST: u64 = 1 << 59;

/// True with probability `numerator`/`denominator`.
///
/// # Promise  Exact
/// # Assumes  0 ≤ `numerator` ≤ `denominator`, `denominator` ≥ 1
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose, exact::bernoulli};
///
/// let mut stream = Entropy::seeded(5).stream(Purpose::Batch, Key::default());
/// // A Poisson batch of rate 1/4.
/// let batch = (0..10_000).filter(|_| bernoulli(1, 4, &mut stream)).count();
/// assert!(batch.abs_diff(2_500) < 200);
/// assert!(bernoulli(1, 1, &mut stream) && !bernoulli(0, 1, &mut stream));
/// ```
#[inline]
pub fn bernoulli(numerator: u128, denominator: u128, bits: &mut impl Bits) -> bool {
    debug_assert!(numerator <= denominator && denominator >= 1);
    if denominator <= u128::from(COIN_MOST) {
        // The numerator is no larger, so both casts are exact.
        coin(numerator as u64, denominator as u64, bits)
    } else {
        uniform_below(denominator, bits) < numerator
    }
}

/// True with probability exp(−`numerator`/`denominator`).
///
/// # Promise    Exact
/// # Reference  \[CanonneKamathSteinke20\] Algorithm 1
/// # Assumes    `denominator` ≥ 1
pub fn bernoulli_exp(numerator: u128, denominator: u128, bits: &mut impl Bits) -> bool {
    debug_assert!(denominator >= 1);
    let (whole, rest) = (numerator / denominator, numerator % denominator);
    // A product of independent coins: e^−whole is as many coins of bias 1/e.
    for _ in 0..whole {
        if !one_over_e(bits) {
            return false;
        }
    }
    first_failure_is_odd(bits, |bits| bernoulli(rest, denominator, bits))
}

/// True with probability exp(−`a`/`n`), for `a` ≤ `n` ≤ [`COIN_MOST`].
#[inline]
pub(super) fn coin_exp(a: u64, n: u64, bits: &mut impl Bits) -> bool {
    first_failure_is_odd(bits, |bits| coin(a, n, bits))
}

/// True with probability exp(−`a`²/2`n`²), for `a` ≤ `n` ≤ [`COIN_MOST`]: with x = `a`/`n`, stage k has bias x²/2k, as three
/// coins.
#[inline]
pub(super) fn coin_exp_half_square(a: u64, n: u64, bits: &mut impl Bits) -> bool {
    let mut k = 1;
    while coin(1, 2 * k, bits) && coin(a, n, bits) && coin(a, n, bits) {
        k += 1;
    }
    k % 2 == 1
}

/// True with probability 1/e = 5.886…/16, by comparison with a uniform number whose first four bits nearly always decide.
///
/// If they are 5, what is left to compare is 16/e − 5 = 16/2! − 16/3! + 16/4! − … − 5 = 1 − 2/15 + 16/6! − 16/7! + …, the
/// probability that the first failure of coins of bias 2/15, 1/6, 1/7, … is at an odd place.
#[inline]
pub(super) fn one_over_e(bits: &mut impl Bits) -> bool {
    match bits.bits(4) {
        0..5 => true,
        5 => one_over_e_rest(bits),
        _ => false,
    }
}

#[cold]
fn one_over_e_rest(bits: &mut impl Bits) -> bool {
    if !coin(2, 15, bits) {
        return true;
    }
    let mut k = 6;
    while coin(1, k, bits) {
        k += 1;
    }
    k % 2 == 1
}

/// True with probability 2/e: K is odd given that stage 2, whose bias is 1/2, did not fail.
///
/// # Promise  Exact
#[inline]
pub fn two_over_e(bits: &mut impl Bits) -> bool {
    let mut k = 3;
    while coin(1, k, bits) {
        k += 1;
    }
    k % 2 == 1
}

/// Whether the first stage k to fail is odd, where stage k passes if a coin of bias 1/k and one of bias x do.
#[inline]
fn first_failure_is_odd<B: Bits>(bits: &mut B, mut x: impl FnMut(&mut B) -> bool) -> bool {
    let mut k = 1;
    while (k == 1 || coin(1, k, bits)) && x(bits) {
        k += 1;
    }
    k % 2 == 1
}

/// True with probability `a`/`n`, for `a` ≤ `n` ≤ [`COIN_MOST`]: whether a uniform real number lies below the ratio.
///
/// The number is read in pieces. Let the first be b, so that 2^w u lies between b and b + 1. If 2^w a − b n ≥ n, u is below
/// a/n whatever follows; if it is ≤ 0, above; otherwise the rest of u, again uniform, is compared with (2^w a − b n)/n.
#[inline]
pub(super) fn coin(mut a: u64, n: u64, bits: &mut impl Bits) -> bool {
    // What is certain takes no bit; a fair coin, the most frequent stage, takes one.
    if a == 0 || a == n {
        return a == n;
    }
    if 2 * a == n {
        return bits.bits(1) == 0;
    }
    loop {
        let (scaled, below) = (a << PIECE, bits.bits(PIECE) * n);
        if scaled <= below {
            return false;
        }
        a = scaled - below;
        if a >= n {
            return true;
        }
    }
}
