//! The promised precision, word by word: every cell of the uniforms against the real-number functions at its two ends.
//!
//! By default a stride and the seams are checked. With `VERACITY_EVERY_WORD=1` in the environment, all 2³² radius
//! words and all 2³⁰ angle words are; that run, of a few minutes, is the proof of the constants in [`crate::vector`].

use super::kernel::{self, ANGLE, COS, HALF, LOG, RADIUS, Radius, SIN};
use super::{SCALE, rare};
use std::ops::Range;

const RADII: Range<u64> = 0..1 << 32;
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

/// How far what a word gives is from the real-number function, as parts of what is promised.
#[derive(Debug, Default)]
struct Worst {
    /// At the middle of the word's cell: the arithmetic alone.
    middle: f64,
    /// At either end of the cell, between which the true functions are monotone: whatever the further bits would have been.
    end: f64,
}

impl Worst {
    fn note(&mut self, given: f64, middle: (f64, f64), ends: ([f64; 2], f64)) {
        self.middle = self.middle.max((given - middle.0).abs() / middle.1);
        self.end = ends.0.iter().fold(self.end, |worst, end| worst.max((given - end).abs() / ends.1));
    }

    /// Within the promises, and not far within: slack ones would hide a worse kernel.
    fn just_keeps(&self) -> bool {
        let just = |worst: f64| (0.8..=1.0).contains(&worst);
        just(self.middle) && just(self.end)
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

/// The arithmetic of `kernel`, and that of `bundle`.
#[derive(Clone, Copy)]
enum Arithmetic {
    Rounded,
    Fused,
}

fn radius(word: u32, log: &[f64; 4], arithmetic: Arithmetic) -> Radius {
    let rounded = kernel::radius(kernel::radius_middle(word), log);
    match arithmetic {
        Arithmetic::Rounded => rounded,
        Arithmetic::Fused => {
            let fraction = kernel::radius_middle(word) * 2f64.powi(-32) * rounded.power;
            let s = (fraction - 1.0) / (fraction + 1.0);
            let z = s * s;
            let series = log.iter().rev().copied().reduce(|sum, l| z.mul_add(sum, l)).unwrap();
            let two = z.mul_add(series, 2.0);
            let log_of_power = rounded.power.log2() * std::f64::consts::LN_2;
            let squared = SCALE * SCALE * 2.0 * (-s).mul_add(two, log_of_power);
            Radius { r: squared.sqrt(), squared, power: rounded.power }
        }
    }
}

fn direction(word: u32, cos: &[f64; 5], sin: &[f64; 5], arithmetic: Arithmetic) -> (f64, f64) {
    let h = kernel::angle_middle(word);
    match arithmetic {
        Arithmetic::Rounded => kernel::direction(h, cos, sin),
        Arithmetic::Fused => {
            let z = h * h;
            let series =
                |terms: &[f64; 5]| terms.iter().rev().copied().reduce(|sum, c| z.mul_add(sum, c)).unwrap();
            (z.mul_add(series(cos), 1.0), h * series(sin))
        }
    }
}

/// What arithmetic may add to a radius, in grid units, and to a direction.
const ARITHMETIC: (f64, f64) = (2.2e-6, 1.75e-12);

/// The radius words that are not in doubt whatever their angle.
fn worst_radius(log: &[f64; 4], arithmetic: Arithmetic) -> Worst {
    let exponent_seams = (18..32).map(|bit| 1u64 << bit);
    let root_seams = (0..14).map(|shift| 0xb504_f334u64 >> shift);
    let seams: Vec<u64> = exponent_seams.chain(root_seams).chain([RADII.end]).collect();
    let mut worst = Worst::default();
    for word in words(RADII, 1009, &seams) {
        let found = radius(word, log, arithmetic);
        if kernel::margin(found, 0.0, 0.0) >= 0.0 {
            let halves = 2 * u64::from(word);
            let ends = [true_radius(halves), true_radius(halves + 2)];
            let doubt = RADIUS * found.power / found.r;
            worst.note(found.r, (true_radius(halves + 1), ARITHMETIC.0), (ends, doubt));
        }
    }
    worst
}

/// The angle words.
fn worst_direction(cos: &[f64; 5], sin: &[f64; 5], arithmetic: Arithmetic) -> Worst {
    let mut worst = Worst::default();
    for word in words(ANGLES, 509, &[0, 1 << 29, 1 << 30]) {
        let (along, across) = direction(word, cos, sin, arithmetic);
        assert!(along <= 1.0 && across.abs() < 1.0);
        let first = f64::from(((word << 2) as i32) >> 2);
        let [start, middle, end] = [first, first + 0.5, first + 1.0]
            .map(|point| (point * 2f64.powi(-29) * std::f64::consts::FRAC_PI_4).sin_cos());
        worst.note(along, (middle.1, ARITHMETIC.1), ([start.1, end.1], ANGLE));
        worst.note(across, (middle.0, ARITHMETIC.1), ([start.0, end.0], ANGLE));
    }
    worst
}

#[test]
fn no_radius_is_farther_off_than_its_doubt() {
    for arithmetic in [Arithmetic::Rounded, Arithmetic::Fused] {
        let worst = worst_radius(&LOG, arithmetic);
        println!("radius: {worst:?}");
        assert!(worst.just_keeps(), "{worst:?}");
    }
}

#[test]
fn no_direction_is_farther_off_than_its_doubt() {
    for arithmetic in [Arithmetic::Rounded, Arithmetic::Fused] {
        let worst = worst_direction(&COS, &SIN, arithmetic);
        println!("direction: {worst:?}");
        assert!(worst.just_keeps(), "{worst:?}");
    }
}

/// |rc − RC| ≤ |r − R| + R·|c − C| + the rounding of the product: the doubt, with what is left of HALF for all that it leaves out.
#[test]
fn the_parts_add_up_to_the_doubt() {
    let mut largest = 0f64;
    for word in (0..1u64 << 32).step_by(4099).map(|word| word as u32).chain(1 << 17..1 << 20) {
        let found = radius(word, &LOG, Arithmetic::Rounded);
        if kernel::margin(found, 0.0, 0.0) >= 0.0 {
            let of_radius = RADIUS * found.power / found.r;
            let whole = of_radius + (found.r + of_radius) * ANGLE + found.r * f64::EPSILON;
            let doubt = (ANGLE * found.squared + RADIUS * found.power) / found.r;
            largest = largest.max(whole - doubt);
        }
    }
    assert!(largest > 0.0 && largest < 0.5 - HALF, "{largest}");
}

/// Where a pair is continued, `rare` relies on arithmetic alone.
#[test]
fn arithmetic_is_within_what_a_continued_pair_allows() {
    assert!(ARITHMETIC.0 < rare::ARITHMETIC.0);
    assert!(ARITHMETIC.1 + f64::EPSILON < rare::ARITHMETIC.1);
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
    assert!(worst_radius(&[l0 * (1.0 + 1e-8), l1, l2, l3], Arithmetic::Rounded).middle > 1.0);
    assert!(worst_direction(&spoil(COS), &SIN, Arithmetic::Rounded).middle > 1.0);
    assert!(worst_direction(&COS, &spoil(SIN), Arithmetic::Rounded).middle > 1.0);
}

/// The words of a pair alone, without what continues them, are too few for its law: an attacker who counts them tells cells apart.
#[test]
fn words_alone_would_betray_the_sum() {
    let off_its_share = |k: [i32; 2]| {
        let corner = |j: usize, end: f64| f64::from(k[j]) + end;
        let unit = std::f64::consts::FRAC_PI_2 * 2f64.powi(-30);
        let first = (corner(1, -0.5) / corner(0, 0.5)).atan() / unit;
        let last = (corner(1, 0.5) / corner(0, -0.5)).atan() / unit;
        let mut count = 0;
        for angle in first.floor() as u32 - 1..=last.ceil() as u32 + 1 {
            let (along, across) = direction(angle, &COS, &SIN, Arithmetic::Rounded);
            let radius = |word| radius(word, &LOG, Arithmetic::Rounded).r;
            let is_past = |j: usize, by: i32, word| {
                kernel::nearest(radius(word) * if j == 0 { along } else { across }) >= k[j] + by
            };
            let reach = |j, by| words_until(|word| is_past(j, by, word));
            // Normals fall as words rise.
            let (inner, outer) = (reach(0, 0).min(reach(1, 0)), reach(0, 1).max(reach(1, 1)));
            count += inner.saturating_sub(outer);
        }
        let squared = k.iter().map(|k| (f64::from(*k) / SCALE).powi(2)).sum::<f64>();
        // One quarter of the circle has 2⁶² words.
        let share = 2f64.powi(64 - 40) * (-squared / 2.0).exp() / (2.0 * std::f64::consts::PI);
        (count as f64 / share - 1.0).abs()
    };
    // What it tells of a pair, in nats, to whoever knows two candidates: the mean of the square, by the law of the radius, up to 3.85.
    // Farther out there are cells without words, and it has no end.
    let (width, cells) = (0.1, 100);
    let leak = (1..39).map(|at| {
        let radius = width * f64::from(at);
        let squares = (0..cells).map(|i| {
            // Spread over an eighth of the circle, by the golden ratio.
            let part = (f64::from(cells * at + i) * 0.618_033_988_749_895).fract();
            let (sin, cos) = (0.001 + 0.784 * part).sin_cos();
            off_its_share([cos, sin].map(|part| (SCALE * radius * part) as i32 + i)).powi(2)
        });
        let weight = width * radius * (-radius * radius / 2.0).exp();
        weight * squares.sum::<f64>() / f64::from(cells)
    });
    let leak = leak.sum::<f64>();
    println!("words alone would leak {leak:e} nats per pair");
    assert!((3e-9..3e-7).contains(&leak), "{leak:e}");
}

/// How much the integer after `k` differs in mass from the mean of its two neighbours, as a part of it: 0 for the normal law,
/// to 1e-11. For angles of a stride; `pair` makes the two normals of a radius and a direction.
fn unevenness(k: i32, pair: impl Fn(f64, (f64, f64)) -> (i32, i32)) -> f64 {
    let mut masses = [0f64; 3];
    for angle in (0..1u32 << 29).step_by(32_771) {
        let direction = direction(angle, &COS, &SIN, Arithmetic::Rounded);
        let radius = |word| radius(word, &LOG, Arithmetic::Rounded).r;
        let (along, across) =
            (|word| pair(radius(word), direction).0, |word| pair(radius(word), direction).1);
        for (j, mass) in masses.iter_mut().enumerate() {
            let integer = k + j as i32;
            *mass += (words_reaching(integer, along) - words_reaching(integer + 1, along)) as f64;
            *mass += (words_reaching(integer, across) - words_reaching(integer + 1, across)) as f64;
        }
    }
    (2.0 * masses[1] / (masses[0] + masses[2]) - 1.0).abs()
}

/// The end of the words whose normal is at least `k`; normals fall as words rise.
fn words_reaching(k: i32, normal: impl Fn(u32) -> i32) -> u64 {
    words_until(|word| normal(word) >= k)
}

/// The end of the words for which something holds, if it ends once.
fn words_until(holds: impl Fn(u32) -> bool) -> u64 {
    let (mut low, mut high) = (RADII.start, RADII.end);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle as u32) { low = middle + 1 } else { high = middle }
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
