//! Which vector instructions noise is made with: the widest that the machine has, or fewer where someone wants to compare.
//!
//! The environment variable `VERACITY_VECTORS`, read once, is for measurements and tests: `avx2` keeps to AVX2 on a machine that
//! has AVX-512, `plain` does without vectors. Neither changes a bit of noise or of a model. Any other value is as none.

use pulp::Arch;
use std::sync::OnceLock;

/// The environment variable that asks for fewer instructions than there are.
pub const VARIABLE: &str = "VERACITY_VECTORS";

/// The most that is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Most {
    /// Whatever the machine has.
    All,
    /// No wider ones than those of AVX2.
    Avx2,
    /// None.
    Plain,
}

/// The most that this process wants.
#[inline]
pub fn most() -> Most {
    static MOST: OnceLock<Most> = OnceLock::new();
    *MOST.get_or_init(|| match std::env::var(VARIABLE).as_deref() {
        Ok("avx2") => Most::Avx2,
        Ok("plain") => Most::Plain,
        _ => Most::All,
    })
}

/// The widest instructions that the machine has and this process wants.
#[inline]
pub fn widest() -> Arch {
    limited(most())
}

/// The widest instructions that the machine has within some.
#[inline]
pub fn limited(most: Most) -> Arch {
    match (most, Arch::new()) {
        (Most::Plain, _) => Arch::Scalar,
        #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
        (Most::Avx2, Arch::V4(simd)) => Arch::V3(*simd),
        (_, widest) => widest,
    }
}
