//! Where samplers get their bits from: a stream in earnest, a written-out string in tests that enumerate them all.

/// A source of independent fair bits.
pub trait Bits {
    /// The next `count` bits, `count` ≤ 64, as the low bits of a word whose other bits are zero.
    fn bits(&mut self, count: u32) -> u64;
}
