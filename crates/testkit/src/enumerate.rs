//! Every string of random bits that a sampler can read, one after the other: exact probabilities without a formula.
//!
//! A sampler that stops after c bits takes 2^−c of the probability, whatever follows. So the strings are gone through in
//! order, each run skipping all strings that begin with the bits it has read, and each output collects its mass.

use std::collections::BTreeMap;
use veracity_noise::Bits;

/// What a sampler does with all strings of some length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Enumeration<T> {
    /// The length of the strings.
    pub depth: u32,
    /// The number of strings that lead to each output, out of 2^depth.
    pub masses: BTreeMap<T, u64>,
    /// The number of strings after which the sampler wants more bits.
    pub undecided: u64,
}

/// Runs a sampler on all strings of `depth` ≤ 62 bits.
///
/// # Assumes  The sampler is a function of the bits alone, and needs finitely many of them with probability 1
pub fn enumerate<T: Ord>(depth: u32, mut sampler: impl FnMut(&mut StringBits) -> T) -> Enumeration<T> {
    assert!(depth <= 62, "masses are counted in one word");
    let mut masses = BTreeMap::new();
    let (mut undecided, mut string) = (0, 0);
    while string < 1 << depth {
        let mut bits = StringBits::new(string, depth);
        let output = sampler(&mut bits);
        // All strings that share the bits read, of which this is the first.
        let mass = 1 << (depth - bits.read);
        if bits.ran_out {
            undecided += mass;
        } else {
            *masses.entry(output).or_default() += mass;
        }
        string += mass;
    }
    Enumeration { depth, masses, undecided }
}

impl<T: Ord> Enumeration<T> {
    /// The probability of an output lies between these: what is decided for it, and that with all that is undecided.
    ///
    /// # Numerics  Each end is off by at most one rounding; exact for depths up to 52
    pub fn probability(&self, output: &T) -> (f64, f64) {
        let decided = self.masses.get(output).copied().unwrap_or_default();
        let whole = (1u64 << self.depth) as f64;
        (decided as f64 / whole, (decided + self.undecided) as f64 / whole)
    }

    /// The probability that is undecided.
    pub fn undecided(&self) -> f64 {
        self.undecided as f64 / (1u64 << self.depth) as f64
    }
}

impl<T: Ord> Enumeration<Option<T>> {
    /// The probability of an output, given that there is one, lies between these. That is the law of a sampler which makes
    /// the enumerated attempt again and again until it succeeds: attempts are independent and alike.
    pub fn probability_of_success_with(&self, output: T) -> (f64, f64) {
        let decided = self.masses.get(&Some(output)).copied().unwrap_or_default();
        let failures = self.masses.get(&None).copied().unwrap_or_default();
        // The least if all that is undecided succeeds with another output, the most if with this one.
        let successes = ((1u64 << self.depth) - failures) as f64;
        (decided as f64 / successes, (decided + self.undecided) as f64 / successes)
    }
}

/// A written-out string of bits.
///
/// Past its end come pseudo-random bits, so that any sampler comes to an end; what it then says is thrown away. That costs
/// less than a panic for every string that is too short, and needs no panic hook.
#[derive(Debug)]
pub struct StringBits {
    /// What is left of the string, its next bit highest.
    rest: u64,
    depth: u32,
    read: u32,
    ran_out: bool,
    /// The state of the bits past the end.
    past: u64,
}

impl StringBits {
    /// The lowest `depth` bits of `string`, the highest of them first.
    fn new(string: u64, depth: u32) -> StringBits {
        let rest = string.checked_shl(64 - depth).unwrap_or(0);
        StringBits { rest, depth, read: 0, ran_out: false, past: 0 }
    }

    /// The next word of splitmix64.
    fn past_the_end(&mut self) -> u64 {
        self.past = self.past.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.past;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

impl StringBits {
    /// The next `count` ≤ 64 bits, as [`Bits::bits`] gives them. Unit tests of the crate that owns that trait see another
    /// copy of it, and wrap this.
    #[inline]
    pub fn take(&mut self, count: u32) -> u64 {
        if count == 0 {
            return 0;
        }
        self.ran_out |= count > self.depth - self.read;
        if self.ran_out {
            return self.past_the_end() >> (64 - count);
        }
        // The first bit of the string is the lowest of the word, so that the pieces do not matter.
        let taken = self.rest.reverse_bits() & (u64::MAX >> (64 - count));
        self.rest = self.rest.checked_shl(count).unwrap_or(0);
        self.read += count;
        taken
    }
}

impl Bits for StringBits {
    #[inline]
    fn bits(&mut self, count: u32) -> u64 {
        self.take(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_string_counts_once() {
        let found = enumerate(10, |bits| bits.bits(10));
        assert_eq!(found.masses.len(), 1024);
        assert!(found.masses.values().all(|mass| *mass == 1) && found.undecided == 0);
        // Nothing read: one run has it all.
        assert_eq!(enumerate(62, |_| 7).masses, BTreeMap::from([(7, 1 << 62)]));
    }

    #[test]
    fn pieces_do_not_matter() {
        let whole = enumerate(12, |bits| bits.bits(9));
        let pieces =
            enumerate(12, |bits| bits.bits(2) | bits.bits(0) | bits.bits(6) << 2 | bits.bits(1) << 8);
        assert_eq!(whole, pieces);
    }

    #[test]
    fn a_die_of_three_by_rejection_is_decided_up_to_two_misses() {
        let die = |bits: &mut StringBits| {
            loop {
                let side = bits.bits(2);
                if side < 3 {
                    return side;
                }
            }
        };
        let found = enumerate(5, die);
        // 1/4 + 1/16 of 32 strings each; 2 strings begin with two misses, and a fifth bit cannot help them.
        assert_eq!(found.masses, BTreeMap::from([(0, 10), (1, 10), (2, 10)]));
        assert_eq!((found.undecided, found.undecided()), (2, 1.0 / 16.0));
        assert_eq!(found.probability(&1), (10.0 / 32.0, 12.0 / 32.0));
        let attempt = enumerate(5, |bits| Some(bits.bits(2)).filter(|side| *side < 3));
        assert_eq!(attempt.probability_of_success_with(1), (1.0 / 3.0, 1.0 / 3.0));
        // Twin: a die that forgets to reject is seen to be unfair.
        let unfair = enumerate(5, |bits| bits.bits(2) % 3);
        assert_eq!(unfair.masses, BTreeMap::from([(0, 16), (1, 8), (2, 8)]));
    }
}
