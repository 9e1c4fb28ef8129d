//! Exact samplers on every string of bits they can read, up to a depth: no chance, no seed, no level.
//!
//! For each output the strings that lead to it give a lower bound on its probability, those that lead nowhere yet the
//! distance to an upper bound. Truth must lie between the two; a parameter wrong by 3/2 or 2/3 must not.

use std::collections::BTreeMap;
use veracity_noise::{
    Ratio,
    exact::{bernoulli, bernoulli_exp, discrete_gaussian, discrete_laplace, shuffle, uniform_below},
};
use veracity_testkit::{
    enumerate::{Enumeration, StringBits, enumerate},
    lattice::Law,
};

/// What formulas in floats may be off by, relatively.
const SLACK: f64 = 1e-13;

fn holds<T: Ord>(found: &Enumeration<T>, output: &T, truth: f64) -> bool {
    let (least, most) = found.probability(output);
    least <= truth * (1.0 + SLACK) && truth <= most * (1.0 + SLACK)
}

#[test]
fn uniform_numbers_are_uniform() {
    for bound in [1, 2, 3, 5, 6, 7, 8, 10, 100, 255, 257] {
        let found = enumerate(22, |bits| uniform_below(bound, bits));
        assert_eq!(found.masses.len() as u128, bound);
        // Every number has exactly the same mass, however much is undecided.
        let first = found.masses[&0];
        assert!(found.masses.values().all(|mass| *mass == first), "{bound}");
        assert!(found.undecided() < 0.25, "{bound}: {}", found.undecided());
    }
}

/// A bound above 2^64 takes two words: only the first strings can be seen, and they count up from below.
#[test]
fn long_uniform_numbers_are_read_to_the_top_bit() {
    struct Ones(u64);
    impl veracity_noise::Bits for Ones {
        fn bits(&mut self, count: u32) -> u64 {
            // All ones at first, then all zeros: the first candidate is the largest there is.
            let fill = if self.0 < 2 { u64::MAX } else { 0 };
            self.0 += 1;
            fill.checked_shr(64 - count).unwrap_or(0)
        }
    }
    let ones = || Ones(0);
    assert_eq!(uniform_below(1 << 100, &mut ones()), (1 << 100) - 1);
    assert_eq!(uniform_below(u128::MAX, &mut ones()), 0, "2^128 − 1 itself is out of bounds");
    assert_eq!(uniform_below(1 << 64, &mut ones()), (1 << 64) - 1);
    assert_eq!(uniform_below((1 << 64) + 1, &mut ones()), 0);
}

#[test]
fn every_order_of_a_shuffle_has_the_same_mass() {
    let found = enumerate(20, |bits| {
        let mut items = [0, 1, 2, 3];
        shuffle(&mut items, bits);
        items
    });
    assert_eq!(found.masses.len(), 24);
    // Four words of at most two bits: all but a rejected tail of threes is decided, and equally.
    let first = *found.masses.values().next().unwrap();
    assert!(found.masses.values().all(|mass| *mass == first));
    assert!(found.undecided() < 1e-4, "{}", found.undecided());
    // Twin: swapping with any place instead of those not yet settled favours some orders.
    let naive = enumerate(20, |bits| {
        let mut items = [0, 1, 2, 3];
        for i in 0..4 {
            items.swap(i, uniform_below(4, bits) as usize);
        }
        items
    });
    assert!(naive.masses.values().any(|mass| *mass != naive.masses[&[0, 1, 2, 3]]));
}

#[test]
fn coins_have_their_bias() {
    for (numerator, denominator) in
        [(0, 1), (1, 1), (1, 2), (1, 3), (2, 3), (5, 7), (3, 16), (1, 1000), (999, 1000)]
    {
        let found = enumerate(24, |bits| bernoulli(numerator, denominator, bits));
        let truth = numerator as f64 / denominator as f64;
        assert!(
            holds(&found, &true, truth) && holds(&found, &false, 1.0 - truth),
            "{numerator}/{denominator}"
        );
        // A comparison with a ratio leaves at most the one string that agrees with its digits.
        assert!(found.undecided <= 1, "{numerator}/{denominator}: {}", found.undecided);
        assert!(!holds(&found, &true, truth + 1e-6));
    }
    // A denominator of more than one word reads whole words; its first bits are those of the lower word.
    let found = enumerate(4, |bits| bernoulli(1 << 100, 1 << 100, bits));
    assert_eq!((found.masses.len(), found.undecided), (0, 16));
}

#[test]
fn coins_of_exponential_bias_have_their_bias() {
    let cases = [(0, 1), (1, 1000), (1, 3), (1, 2), (2, 3), (1, 1), (3, 2), (2, 1), (7, 2), (5, 1)];
    for (numerator, denominator) in cases {
        let found = enumerate(28, |bits| bernoulli_exp(numerator, denominator, bits));
        let x = numerator as f64 / denominator as f64;
        let (yes, no) = ((-x).exp(), -(-x).exp_m1());
        assert!(holds(&found, &true, yes) && holds(&found, &false, no), "exp(−{x}): {found:?}");
        assert!(found.undecided() < 0.02, "exp(−{x}): {}", found.undecided());
        // Twins: the exponents next to it.
        for wrong in [x * 1.5, x / 1.5] {
            assert!(x == 0.0 || x < 0.01 || !holds(&found, &true, (-wrong).exp()), "exp(−{wrong}) for {x}");
        }
    }
}

/// Strings of this many bits leave less than [`UNDECIDED`] of a law undecided, as every attempt that fails begins anew.
/// Unit tests beside the samplers enumerate single attempts, at more scales and with far less undecided.
const DEPTH: u32 = 24;
const UNDECIDED: f64 = 0.24;

type Sampler = fn(Ratio, &mut StringBits) -> i128;
type Formula = fn(f64) -> Law;
const LAPLACE: (Sampler, Formula) = (discrete_laplace, Law::laplace);
const GAUSSIAN: (Sampler, Formula) = (discrete_gaussian, Law::gaussian);

fn enumerated(
    (sampler, _): (Sampler, Formula),
    numerator: u64,
    denominator: u64,
) -> (f64, Enumeration<i128>) {
    let scale = Ratio::new(numerator, denominator).unwrap();
    let found = enumerate(DEPTH, |bits| sampler(scale, bits));
    assert!(found.undecided() < UNDECIDED, "{scale:?}: {}", found.undecided());
    (scale.as_f64(), found)
}

fn fits(found: &Enumeration<i128>, law: Law) -> bool {
    (-60..=60).all(|x| holds(found, &x, law.mass(x)))
}

#[test]
fn noise_has_the_law_of_its_formula() {
    for (law, numerator, denominator) in
        [(LAPLACE, 1, 2), (LAPLACE, 1, 1), (LAPLACE, 2, 1), (GAUSSIAN, 1, 1), (GAUSSIAN, 2, 1)]
    {
        let (scale, found) = enumerated(law, numerator, denominator);
        assert!(fits(&found, law.1(scale)), "{scale}");
        // Twins: other scales are seen to be wrong.
        assert!(!fits(&found, law.1(scale * 1.5)) && !fits(&found, law.1(scale / 1.5)), "{scale}");
        // And it is symmetric to the last string.
        let mirrored: BTreeMap<i128, u64> = found.masses.iter().map(|(x, mass)| (-x, *mass)).collect();
        assert_eq!(mirrored, found.masses, "{scale}");
    }
}

/// Whether outputs next to each other have probabilities within a factor e^ε, as far as the decided masses tell.
fn is_private(found: &Enumeration<i128>, epsilon: f64) -> bool {
    (-60..60).all(|x| {
        let (here, there) = (found.probability(&x), found.probability(&(x + 1)));
        let limit = epsilon.exp() * (1.0 + SLACK);
        here.0 <= limit * there.1 && there.0 <= limit * here.1
    })
}

/// The promise of integer Laplace noise, without its formula: answers that differ by 1 are told apart by at most ε.
#[test]
fn laplace_noise_is_private_at_one_over_its_scale_and_not_at_half_of_that() {
    for (numerator, denominator) in [(1, 2), (1, 1)] {
        let (scale, found) = enumerated(LAPLACE, numerator, denominator);
        assert!(is_private(&found, 1.0 / scale), "{scale}");
        assert!(!is_private(&found, 0.5 / scale), "{scale} would be more private than it is");
    }
}
