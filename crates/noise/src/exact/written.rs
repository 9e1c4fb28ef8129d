//! Attempts of samplers on every string of bits: what unit tests of this folder share.
//!
//! A sampler by rejection leaves much undecided at any depth, as every failure begins anew. One attempt does not, and its
//! law given success is that of the sampler.

use crate::{Bits, Ratio};
use veracity_testkit::{
    enumerate::{Enumeration, StringBits, enumerate},
    lattice::Law,
};

/// Strings of this many bits leave less than [`UNDECIDED`] of an attempt undecided: 0.002 for most, 0.03 for scales 3/2 and 7/3.
const DEPTH: u32 = 30;
const UNDECIDED: f64 = 0.035;

/// A string as this copy of the crate reads it.
pub(super) struct Written<'a>(&'a mut StringBits);

impl Bits for Written<'_> {
    fn bits(&mut self, count: u32) -> u64 {
        self.0.take(count)
    }
}

/// All attempts.
pub(super) fn attempts(mut attempt: impl FnMut(&mut Written) -> Option<i128>) -> Enumeration<Option<i128>> {
    let found = enumerate(DEPTH, |bits| attempt(&mut Written(bits)));
    assert!(found.undecided() < UNDECIDED, "{}", found.undecided());
    found
}

/// The attempts have the law of their scale, and of no scale that is wrong by 3/2 or 2/3.
pub(super) fn assert_attempts_fit(found: &Enumeration<Option<i128>>, scale: Ratio, formula: fn(f64) -> Law) {
    let fits = |law: Law| {
        (-60..=60).all(|x| {
            let (least, most) = found.probability_of_success_with(x);
            // Formulas in floats are good to 1e-14.
            let truth = law.mass(x);
            least <= truth * (1.0 + 1e-13) && truth <= most * (1.0 + 1e-13)
        })
    };
    let s = scale.as_f64();
    assert!(fits(formula(s)), "{scale:?}");
    assert!(!fits(formula(s * 1.5)) && !fits(formula(s / 1.5)), "{scale:?} could be another scale");
}
