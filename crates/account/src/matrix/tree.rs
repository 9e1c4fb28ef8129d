//! Trees: each step is in one block of every length, so what a record moves is counted, not measured.

use super::{pattern::Pattern, sensitivity::Square};
use veracity_core::Count;
use veracity_core::numerics::twofold::Twofold;

/// The longest pattern that is walked through step by step.
const LONGEST_WALK: u64 = 1 << 20;

/// Σ n² over the blocks of the tree, n being how many of a record's steps lie in the block.
///
/// # Promise    At most: a block of length s holds at most ⌈s/b⌉ steps that are b apart, and squares add up to most when as
/// few blocks as possible are full. Exact where steps 0, b, 2b, … come to the same, as they do for b a power of two
/// # Reference  [KairouzEtAl21] Appendix D for one step: as many blocks as the tree has levels, ⌊log₂ T⌋ + 1
/// # Numerics   Whole numbers; exact below 2^106
pub(super) fn square(steps: Count, pattern: Pattern) -> Square {
    let steps = steps.get();
    let lengths = || (0..=steps.ilog2()).map(|level| 1u64 << level);
    let most: u128 = lengths().map(|length| most_in_level(steps, length, pattern)).sum();
    let bound = whole(most);
    if pattern.separation.is_power_of_two() {
        return Square::Exact(bound);
    }
    if pattern.times <= LONGEST_WALK {
        let packed: u128 = lengths().map(|length| packed_in_level(steps, length, pattern)).sum();
        if packed == most {
            return Square::Exact(bound);
        }
    }
    Square::AtMost(bound)
}

/// No pattern has a larger Σ n² over the complete blocks of one length.
fn most_in_level(steps: u64, length: u64, pattern: Pattern) -> u128 {
    let covered = steps / length * length;
    let full = length.div_ceil(pattern.separation).min(pattern.times);
    let all = covered.div_ceil(pattern.separation).min(pattern.times);
    let (blocks, rest) = (u128::from(all / full), u128::from(all % full));
    blocks * u128::from(full) * u128::from(full) + rest * rest
}

/// The same for the steps 0, b, 2b, …
fn packed_in_level(steps: u64, length: u64, pattern: Pattern) -> u128 {
    let covered = steps / length * length;
    let (mut sum, mut block, mut inside) = (0u128, 0, 0u128);
    for i in 0..pattern.times {
        let step = i * pattern.separation;
        if step >= covered {
            break;
        }
        if step / length != block {
            sum += inside * inside;
            (block, inside) = (step / length, 0);
        }
        inside += 1;
    }
    sum + inside * inside
}

/// A whole number in two floats: 53 bits and the rest.
fn whole(n: u128) -> Twofold {
    let high = n >> 53;
    Twofold::from(high as f64 * 2f64.powi(53)).plus(Twofold::from((n - (high << 53)) as f64))
}
