//! Vector instructions, chosen at run time, and the same ones wherever there is AVX2.
//!
//! The order of additions follows from the width of the vectors. AVX-512 would be wider, and its models would have other bits
//! than those of most machines; so only noise, whose bits are the same for any width, makes use of it.

use pulp::{Arch, Simd, WithSimd};

/// Runs plain code that is compiled for the widest vectors up to those of AVX2.
///
/// The closure must be `#[inline(always)]`, like everything hot that it calls: outside of the caller there are no vectors.
#[inline(always)]
pub(crate) fn vectorize<T>(work: impl FnOnce() -> T) -> T {
    dispatch(Plain(work))
}

struct Plain<F>(F);

impl<T, F: FnOnce() -> T> WithSimd for Plain<F> {
    type Output = T;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> T {
        (self.0)()
    }
}

/// Runs work that names its vectors, with the widest ones up to those of AVX2.
#[inline(always)]
pub(crate) fn dispatch<W: WithSimd>(work: W) -> W::Output {
    match Arch::new() {
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        Arch::V4(simd) => pulp::Simd::vectorize(*simd, work),
        narrower => narrower.dispatch(work),
    }
}

/// The vectors of AVX2, where there are some.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn avx2() -> Option<pulp::x86::V3> {
    match Arch::new() {
        Arch::V4(simd) => Some(*simd),
        Arch::V3(simd) => Some(simd),
        _ => None,
    }
}

/// Numbers for tests of fast paths, and what they are compared by.
#[cfg(test)]
pub(crate) mod test_numbers {
    /// Numbers from −1 to 1 that look random.
    pub(crate) fn numbers(count: usize, salt: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + salt * 104_729) % 2003) as f32 / 1001.0 - 1.0).collect()
    }

    pub(crate) fn have_same_bits(a: &[f32], b: &[f32]) -> bool {
        a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
    }
}
