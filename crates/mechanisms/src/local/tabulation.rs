//! A pool of hash functions by simple tabulation: any three values are hashed uniformly and independently.

use veracity_noise::{Bits, Entropy, Key, Purpose};

/// A value is cut into this many digits …
const DIGITS: usize = 4;
/// … of this many bits, which covers the largest domain.
const DIGIT_BITS: u32 = 5;

/// Functions from values below 2^20 to 16 bits, each a table of random numbers for each digit, combined by exclusive or.
///
/// # Reference  [PatrascuThorup12] (three-independence of simple tabulation)
/// # Assumes    The tables are as good as random: they are a ChaCha12 keystream of a public seed that was drawn before, and
///   independently of, the data
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pool {
    tables: Vec<[[u16; 1 << DIGIT_BITS]; DIGITS]>,
}

impl Pool {
    pub(crate) fn new(functions: u32, seed: u64) -> Pool {
        let mut stream = Entropy::seeded(seed).stream(Purpose::Split, Key::default());
        let mut draw = || std::array::from_fn(|_| std::array::from_fn(|_| stream.bits(16) as u16));
        Pool { tables: (0..functions).map(|_| draw()).collect() }
    }

    /// The hash of a value under a function.
    #[inline]
    pub(crate) fn hash(&self, function: u32, value: u32) -> u16 {
        let tables = &self.tables[function as usize];
        let mask = (1 << DIGIT_BITS) - 1;
        (0..DIGITS).fold(0, |hash, digit| {
            hash ^ tables[digit][(value >> (DIGIT_BITS * digit as u32) & mask) as usize]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_spread_evenly_in_threes() {
        // Of three values' low bits, all eight patterns are equally likely over functions; also for values that differ in one
        // digit only, and for those whose digits cancel in pairs. 4096 functions, mean 512, deviation 21.2.
        let pool = Pool::new(4096, 12);
        for values in [[0, 1, 2], [0, 1, 33], [5, 1 << 19, 77], [1, 32, 33]] {
            let mut seen = [0; 8];
            for function in 0..4096 {
                let pattern = values.map(|value| usize::from(pool.hash(function, value) & 1));
                seen[pattern[0] << 2 | pattern[1] << 1 | pattern[2]] += 1;
            }
            // scipy 1.17: scipy.stats.chi2.isf(1e-6, 7)
            let statistic: f64 = seen.iter().map(|&n: &i32| (f64::from(n) - 512.0).powi(2) / 512.0).sum();
            assert!(statistic < 40.52, "{values:?}: {seen:?}");
        }
        // Four whose digits cancel are not independent: their hashes cancel too. Hence three, and not more.
        assert!((0..4096).all(|f| [0, 1, 32, 33].iter().fold(0, |x, v| x ^ pool.hash(f, *v)) == 0));
    }

    #[test]
    fn a_seed_names_its_pool() {
        assert_eq!(Pool::new(3, 12), Pool::new(3, 12));
        assert_ne!(Pool::new(3, 12), Pool::new(3, 13));
        // A longer pool begins as a shorter one.
        assert_eq!(Pool::new(5, 12).hash(2, 999), Pool::new(3, 12).hash(2, 999));
    }
}
