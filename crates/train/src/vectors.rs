//! Vector instructions for what is not a matrix product: chosen at run time, and the same ones wherever there is AVX2.
//!
//! The order of additions follows from the width of the vectors. AVX-512 would be wider, and its models would have other bits
//! than those of most machines; so only noise, whose bits are the same for any width, makes use of it.

use pulp::{Arch, WithSimd};

/// Does some work with the widest vectors up to those of AVX2.
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
