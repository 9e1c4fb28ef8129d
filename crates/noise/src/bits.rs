//! Where samplers get their bits from: a stream in earnest, a written-out string in tests that enumerate them all.

/// A source of independent fair bits.
///
/// # Examples
///
/// A source of its own, for a test that knows every bit:
///
/// ```
/// use veracity_noise::{Bits, exact};
///
/// struct Written(Vec<u64>);
/// impl Bits for Written {
///     fn bits(&mut self, count: u32) -> u64 {
///         self.0.remove(0) & ((1u64 << count) - 1)
///     }
/// }
/// // Two bits make a number from 0 to 3; a 3 is thrown away.
/// assert_eq!(exact::uniform_below(3, &mut Written(vec![3, 3, 2])), 2);
/// ```
pub trait Bits {
    /// The next `count` bits, `count` ≤ 64, as the low bits of a word whose other bits are zero.
    fn bits(&mut self, count: u32) -> u64;
}
