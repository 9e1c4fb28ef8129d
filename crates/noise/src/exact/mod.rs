//! Exact samplers of integers with rational parameters: no floating point decides an output.
//!
//! Each is one file: a uniform number, a coin of a given bias, integer Laplace and integer Gaussian noise. The last two
//! end in a fair sign.

mod bernoulli;
mod cell;
mod gaussian;
mod laplace;
mod uniform;
#[cfg(test)]
mod written;

use crate::Bits;

pub use bernoulli::{bernoulli, bernoulli_exp, two_over_e};
pub use gaussian::discrete_gaussian;
pub use laplace::discrete_laplace;
pub use uniform::{shuffle, uniform_below};

/// A magnitude with a fair sign. Zero has one sign only, or it would come up twice as often.
#[inline]
fn signed(magnitude: u128, bits: &mut impl Bits) -> Option<i128> {
    let negative = bits.bits(1) == 1;
    // A cell far enough out for 127 bits would take longer to reach than any machine lasts.
    let magnitude = i128::try_from(magnitude).expect("fewer than 2^64 cells of width at most 2^48");
    match (negative, magnitude) {
        (true, 0) => None,
        (true, _) => Some(-magnitude),
        (false, _) => Some(magnitude),
    }
}
