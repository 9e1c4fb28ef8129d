//! The promised precision, word by word: every cell of the uniforms against the real-number functions at its two ends.
//!
//! By default a stride, both ends and the seams are checked. With `VERACITY_EVERY_WORD=1` in the environment, all 2³² radius
//! words and all 2³⁰ angle words are; that run, of a few minutes, is the proof of the constants in [`crate::vector`].

use super::SCALE;
use super::kernel::{self, COS, FAR, LOG, NEAR, SIN};
use std::ops::Range;

const COMMON: Range<u64> = FAR as u64..(1 << 32) - NEAR as u64;
const ANGLES: Range<u64> = 0..1 << 30;

fn is_thorough() -> bool {
    std::env::var_os("VERACITY_EVERY_WORD").is_some()
}

/// The words of a range: all if thorough, else a stride and the neighbourhood of each seam.
fn words(range: Range<u64>, stride: usize, seams: &[u64]) -> Box<dyn Iterator<Item = u32>> {
    if is_thorough() {
        return Box::new(range.map(|word| word as u32));
    }
    let near_seams: Vec<u64> =
        seams.iter().flat_map(|seam| seam.saturating_sub(1 << 12)..seam + (1 << 12)).collect();
    let inside = range.clone();
    let kept = near_seams.into_iter().filter(move |word| inside.contains(word));
    Box::new(range.step_by(stride).chain(kept).map(|word| word as u32))
}

/// Distances between what a word gives and what it should give.
#[derive(Debug, Default)]
struct Worst {
    /// At the middle of the word's cell: the arithmetic alone.
    middle: f64,
    /// At either end of the cell, between which the true functions are monotone: whatever the further bits would have been.
    end: f64,
}

impl Worst {
    fn note(&mut self, given: f64, middle: f64, ends: [f64; 2]) {
        self.middle = self.middle.max((given - middle).abs());
        self.end = ends.iter().fold(self.end, |worst, end| worst.max((given - end).abs()));
    }

    /// Within a bound, and not far within: a slack promise would hide a worse kernel.
    fn just_keeps(&self, middle: f64, end: f64) -> bool {
        let just = |worst: f64, bound: f64| worst <= bound && worst >= 0.8 * bound;
        just(self.middle, middle) && just(self.end, end)
    }
}

/// The radius, in grid units, at u = halves·2⁻³³.
fn true_radius(halves: u64) -> f64 {
    let unit = 2f64.powi(-33);
    let log = if halves < 1 << 32 {
        (halves as f64 * unit).ln()
    } else {
        (-(((1u64 << 33) - halves) as f64 * unit)).ln_1p()
    };
    SCALE * (-2.0 * log).sqrt()
}

/// The common radius words, in grid units.
fn worst_radius(coefficients: &[f64; 4]) -> Worst {
    let exponent_seams = (21..32).map(|bit| 1u64 << bit);
    let root_seams = (0..11).map(|shift| 0xb504_f334u64 >> shift);
    let seams: Vec<u64> = exponent_seams.chain(root_seams).chain([COMMON.start, COMMON.end]).collect();
    let mut worst = Worst::default();
    for word in words(COMMON, 1009, &seams) {
        let halves = 2 * u64::from(word);
        let ends = [true_radius(halves), true_radius(halves + 2)];
        worst.note(kernel::radius(word, coefficients), true_radius(halves + 1), ends);
    }
    worst
}

/// The angle words.
fn worst_direction(cos: &[f64; 5], sin: &[f64; 5]) -> Worst {
    let mut worst = Worst::default();
    for word in words(ANGLES, 509, &[0, 1 << 29, 1 << 30]) {
        let (along, across) = kernel::direction(word, cos, sin);
        assert!(along <= 1.0 && across.abs() < 1.0);
        let first = f64::from(((word << 2) as i32) >> 2);
        let [start, middle, end] = [first, first + 0.5, first + 1.0]
            .map(|point| (point * 2f64.powi(-29) * std::f64::consts::FRAC_PI_4).sin_cos());
        worst.note(along, middle.1, [start.1, end.1]);
        worst.note(across, middle.0, [start.0, end.0]);
    }
    worst
}

/// The bounds in the module's table: at the middles, at the ends.
const RADIUS: (f64, f64) = (2.2e-6, 0.0645);
const DIRECTION: (f64, f64) = (1.75e-12, 7.4e-10);
/// The promise, without the last rounding to an integer: at the middles, at the ends.
const PROMISE: (f64, f64) = (1e-5, 0.07);

#[test]
fn every_radius_is_as_precise_as_promised() {
    let worst = worst_radius(&LOG);
    println!("radius: {worst:?}");
    assert!(worst.just_keeps(RADIUS.0, RADIUS.1), "{worst:?}");
}

#[test]
fn every_direction_is_as_precise_as_promised() {
    let worst = worst_direction(&COS, &SIN);
    println!("direction: {worst:?}");
    assert!(worst.just_keeps(DIRECTION.0, DIRECTION.1), "{worst:?}");
}

#[test]
fn the_parts_add_up_to_the_promise() {
    let largest = true_radius(2 * COMMON.start);
    let product = largest * f64::EPSILON;
    let whole = |radius: f64, direction: f64| radius + largest * direction + product;
    assert!(whole(RADIUS.0, DIRECTION.0) <= PROMISE.0);
    assert!(whole(RADIUS.1, DIRECTION.1) <= PROMISE.1);
}

#[test]
fn a_spoilt_coefficient_is_noticed() {
    if is_thorough() {
        return; // a stride shows it; there is nothing to prove
    }
    let spoil = |mut coefficients: [f64; 5]| {
        coefficients[0] *= 1.0 + 1e-8;
        coefficients
    };
    let [l0, l1, l2, l3] = LOG;
    assert!(worst_radius(&[l0 * (1.0 + 1e-8), l1, l2, l3]).middle > RADIUS.0);
    assert!(worst_direction(&spoil(COS), &SIN).middle > DIRECTION.0);
    assert!(worst_direction(&COS, &spoil(SIN)).middle > DIRECTION.0);
}

/// How much the integer after `k` differs in mass from the mean of its two neighbours, as a part of it: 0 for the normal law,
/// to 1e-11. Over common radii, for angles of a stride; `pair` makes the two normals of a radius and a direction.
fn unevenness(k: i32, pair: impl Fn(f64, (f64, f64)) -> (i32, i32)) -> f64 {
    let mut masses = [0f64; 3];
    for angle in (0..1u32 << 29).step_by(32_771) {
        let direction = kernel::direction(angle, &COS, &SIN);
        let along = |word| pair(kernel::radius(word, &LOG), direction).0;
        let across = |word| pair(kernel::radius(word, &LOG), direction).1;
        for (j, mass) in masses.iter_mut().enumerate() {
            let integer = k + j as i32;
            *mass += (words_reaching(integer, along) - words_reaching(integer + 1, along)) as f64;
            *mass += (words_reaching(integer, across) - words_reaching(integer + 1, across)) as f64;
        }
    }
    (2.0 * masses[1] / (masses[0] + masses[2]) - 1.0).abs()
}

/// The end of the common words whose normal is at least `k`; normals fall as words rise.
fn words_reaching(k: i32, normal: impl Fn(u32) -> i32) -> u64 {
    let (mut low, mut high) = (COMMON.start, COMMON.end);
    while low < high {
        let middle = low.midpoint(high);
        if normal(middle as u32) >= k { low = middle + 1 } else { high = middle }
    }
    low
}

#[test]
fn no_integer_is_preferred_to_its_neighbours() {
    let double = |r: f64, (x, y): (f64, f64)| (kernel::nearest(r * x), kernel::nearest(r * y));
    let single = |r: f64, (x, y): (f64, f64)| {
        (kernel::nearest(f64::from(r as f32 * x as f32)), kernel::nearest(f64::from(r as f32 * y as f32)))
    };
    for deviations in [0.3, 1.5, 2.5] {
        let k = (deviations * SCALE) as i32;
        let uneven = unevenness(k, double);
        println!("at {deviations}: {uneven:e} in double, {:e} in single precision", unevenness(k, single));
        assert!(uneven < 1e-4, "{uneven} at {deviations}");
    }
    // The twin: single precision, whose halves go to even integers.
    assert!(unevenness((1.5 * SCALE) as i32, single) > 0.1);
    assert!(unevenness((2.5 * SCALE) as i32, single) > 0.2);
}
