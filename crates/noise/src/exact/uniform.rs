//! Uniform whole numbers, by rejection.

use crate::Bits;

/// A uniform number from 0 to `bound` − 1.
///
/// # Promise  Exactly uniform
/// # Assumes  `bound` ≥ 1
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose, exact::uniform_below};
///
/// let mut stream = Entropy::seeded(5).stream(Purpose::Split, Key::default());
/// let mut seen = [0; 6];
/// for _ in 0..6_000 {
///     seen[uniform_below(6, &mut stream) as usize] += 1;
/// }
/// assert!(seen.iter().all(|&count: &i32| (count - 1_000).abs() < 150));
/// ```
#[inline]
pub fn uniform_below(bound: u128, bits: &mut impl Bits) -> u128 {
    debug_assert!(bound >= 1);
    match u64::try_from(bound) {
        Ok(bound) => u128::from(uniform_below_word(bound, bits)),
        Err(_) => uniform_below_wide(bound, bits),
    }
}

/// A uniform number from 0 to `bound` − 1, in one word.
#[inline]
pub(super) fn uniform_below_word(bound: u64, bits: &mut impl Bits) -> u64 {
    let width = 64 - (bound - 1).leading_zeros();
    loop {
        let candidate = bits.bits(width);
        if candidate < bound {
            return candidate;
        }
    }
}

fn uniform_below_wide(bound: u128, bits: &mut impl Bits) -> u128 {
    let width = 128 - (bound - 1).leading_zeros();
    loop {
        // A bound of 2^64 has a width of 64, so the upper part may be empty.
        let candidate = u128::from(bits.bits(64)) | u128::from(bits.bits(width - 64)) << 64;
        if candidate < bound {
            return candidate;
        }
    }
}

/// Puts `items` into a uniformly random order.
///
/// # Promise  Every order has the same probability, exactly
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose, exact::shuffle};
///
/// let mut records: Vec<u32> = (0..100).collect();
/// shuffle(&mut records, &mut Entropy::seeded(5).stream(Purpose::Split, Key::default()));
/// assert!(!records.is_sorted());
/// records.sort();
/// assert_eq!(records, (0..100).collect::<Vec<_>>());
/// ```
pub fn shuffle<T>(items: &mut [T], bits: &mut impl Bits) {
    for last in (1..items.len()).rev() {
        // The index is at most `last`, so the cast is exact.
        items.swap(last, uniform_below(last as u128 + 1, bits) as usize);
    }
}
