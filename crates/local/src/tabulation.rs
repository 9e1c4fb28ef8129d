//! A pool of hash functions by simple tabulation: any three values are hashed uniformly and independently.

use veracity_noise::{Bits, Entropy, Key, Purpose};

/// A value is cut into this many digits …
const DIGITS: usize = 4;
/// … of this many bits, which covers the largest domain.
const DIGIT_BITS: u32 = 5;

/// Functions from values below 2^20 to 16 bits, each a table of random numbers for each digit, combined by exclusive or.
///
/// # Reference  [PatrascuThorup12] (three-independence of simple tabulation)
/// # Assumes    The tables are as good as random: they are a ChaCha20 keystream of a public seed that was drawn before, and
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
