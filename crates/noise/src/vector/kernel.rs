//! Box–Muller on 16 pairs at a time: a radius word and an angle word become two normals in units of 2⁻²⁰, where that is certain.
//!
//! Each function here is written for one lane, without branches, from + − × ÷ √ on `f64`, integer operations and bit casts, so that
//! the compiler can run several of them at a time. No bit depends on how: a pair whose rounding is in doubt is not used.
//!
//! Why not `f32`, which is twice as fast: its own lattice is an eighth or a quarter of a unit beyond one standard deviation, so
//! nearly every pair would be in doubt.
//!
//! Coefficients are least-maximum fits, found by iteratively reweighted least squares (numpy: multiply the weights by the
//! absolute error and refit, 400 times, at 2000 Chebyshev nodes in z). What they are worth, arithmetic included, is measured
//! on every word; see [`crate::vector`].

use pulp::{Simd, WithSimd};

/// Pairs in a group.
pub(super) const LANES: usize = 16;
/// Normals in a group.
pub(super) const GROUP: usize = 2 * LANES;
/// Random words in a group: radius words, then angle words.
pub(super) const GROUP_WORDS: usize = 2 * LANES;

/// (2 artanh(s) − 2s)/s ≈ z·Σ Lᵢzⁱ with z = s², on z ≤ (√2−1)²/(√2+1)²; error 4.8e-12 relative to 2.
pub(super) const LOG: [f64; 4] =
    [0.666_666_656_454_560_9, 0.400_003_351_909_272_6, 0.285_373_085_399_015_6, 0.235_821_513_334_605_24];
/// cos(πh/4) − 1 ≈ z·Σ Cᵢzⁱ with z = h² ≤ 1; error 6.2e-14.
pub(super) const COS: [f64; 5] = [
    -0.308_425_137_531_236_57,
    0.015_854_344_204_021_41,
    -0.000_325_991_703_621_145_16,
    3.590_491_804_886_236e-6,
    -2.427_448_258_658_715_5e-8,
];
/// sin(πh/4) ≈ h·Σ Sᵢzⁱ with z = h² ≤ 1; error 1.7e-12.
pub(super) const SIN: [f64; 5] = [
    0.785_398_163_378_806_4,
    -0.080_745_511_815_163_7,
    0.002_490_392_478_859_163,
    -3.657_141_768_663_873e-5,
    3.085_634_264_354_257e-7,
];

/// The upper half of a number near √½·2³². Exponents are counted from it, so that fractions lie in [√½, √2).
pub(super) const ROOT_BITS: i32 = 0x3fe6_a09e + (32 << 20);
/// 2·2⁴⁰: the factor 2 of −2 ln u, and the square of the 2²⁰ units.
pub(super) const TWO_SQUARED_UNITS: f64 = (1u64 << 41) as f64;
/// Adding it leaves a number below 2³¹ rounded to an integer, even at ties, in the low 32 bits.
pub(super) const ROUNDER: f64 = 6_755_399_441_055_744.0; // 1.5·2⁵²

/// A pair is certain where (HALF − m)·r ≥ ANGLE·r² + RADIUS/u: m is how far the farther of the two is from its integer, and the right
/// side is r times how far both may be from the truth, as long as nothing is known beyond 32 bits. HALF leaves a millionth for products.
pub(super) const HALF: f64 = 0.499_999;
/// Half a cell of the angle, 2⁻³¹·π/2, and a little.
pub(super) const ANGLE: f64 = 7.4e-10;
/// Half a cell of the radius, times r and u, is 2⁷; √2 of it, and a little, since u is known by its power of two.
pub(super) const RADIUS: f64 = 183.5;

/// The middle of a radius word's cell, times 2³².
#[inline(always)]
pub(super) fn radius_middle(word: u32) -> f64 {
    // Vector units convert signed integers; 2³¹ is given back together with the half, exactly.
    f64::from((word ^ (1 << 31)) as i32) + 2_147_483_648.5
}

/// The middle of the cell that the low 30 bits of an angle word name: h of the angle hπ/4, −1 < h < 1.
#[inline(always)]
pub(super) fn angle_middle(word: u32) -> f64 {
    // Bit 1 is the half: the middle of the cell, exactly.
    f64::from(((word << 2) | 2) as i32) * (1.0 / (1u64 << 31) as f64)
}

/// 2²⁰·√(−2 ln u), and what doubt is told by.
#[derive(Clone, Copy)]
pub(super) struct Radius {
    pub r: f64,
    pub squared: f64,
    /// The power of two by which u is at least √½ and less than √2.
    pub power: f64,
}

/// The radius of u = `scaled`·2⁻³².
///
/// Coefficients are arguments here and below so that a test can spoil them; they are constants to the compiler.
#[inline(always)]
pub(super) fn radius(scaled: f64, coefficients: &[f64; 4]) -> Radius {
    let exponent = ((scaled.to_bits() >> 32) as i32 - ROOT_BITS) >> 20;
    let fraction = f64::from_bits(scaled.to_bits().wrapping_sub(((32 + i64::from(exponent)) as u64) << 52));
    let minus_log_u =
        f64::from(-exponent) * std::f64::consts::LN_2 - log_of_one_plus(fraction - 1.0, coefficients);
    let squared = minus_log_u * TWO_SQUARED_UNITS;
    Radius { r: squared.sqrt(), squared, power: f64::from_bits(((1023 - i64::from(exponent)) as u64) << 52) }
}

/// ln(1 + t) on √½ ≤ 1 + t ≤ √2, as 2 artanh(s) with s = t/(2+t).
#[inline(always)]
fn log_of_one_plus(t: f64, coefficients: &[f64; 4]) -> f64 {
    let [l0, l1, l2, l3] = *coefficients;
    let s = t / (2.0 + t);
    let z = s * s;
    s * (2.0 + z * (l0 + z * (l1 + z * (l2 + z * l3))))
}

/// Cosine and sine of the angle hπ/4.
#[inline(always)]
pub(super) fn direction(h: f64, cos: &[f64; 5], sin: &[f64; 5]) -> (f64, f64) {
    let [c0, c1, c2, c3, c4] = *cos;
    let [s0, s1, s2, s3, s4] = *sin;
    let z = h * h;
    let along = 1.0 + z * (c0 + z * (c1 + z * (c2 + z * (c3 + z * c4))));
    let across = h * (s0 + z * (s1 + z * (s2 + z * (s3 + z * s4))));
    (along, across)
}

/// From a quarter of the circle to all of it: bit 31 chooses the sign of the first number, bit 30 whether the two change
/// places. These are reflections, which keep the uniform law; and rounding to the nearest integer commutes with them.
#[inline(always)]
pub(super) fn reflect(word: u32, along: i32, across: i32) -> (i32, i32) {
    let negative = (word as i32) >> 31;
    let along = (along ^ negative).wrapping_sub(negative);
    if word & (1 << 30) == 0 { (along, across) } else { (across, along) }
}

/// The nearest integer, even at ties, of a number below 2³¹.
#[inline(always)]
pub(super) fn nearest(x: f64) -> i32 {
    (x + ROUNDER).to_bits() as u32 as i32
}

/// How far a number below 2³¹ is from the nearest integer.
#[inline(always)]
pub(super) fn off_integer(x: f64) -> f64 {
    (x - ((x + ROUNDER) - ROUNDER)).abs()
}

/// What is left between a pair and the nearest doubt, times r: below 0 the pair is in doubt.
#[inline(always)]
pub(super) fn margin(radius: Radius, x: f64, y: f64) -> f64 {
    let (x, y) = (off_integer(x), off_integer(y));
    let farther = if x > y { x } else { y };
    (HALF - farther) * radius.r - (ANGLE * radius.squared + RADIUS * radius.power)
}

/// Turns whole groups of words into whole groups of normals, the first of each pair before the second ones, and notes for each
/// group the lanes in doubt, whose normals are not to be used.
pub(super) struct Transform<'a> {
    pub words: &'a [u32],
    pub out: &'a mut [i32],
    pub doubts: &'a mut [u16],
}

impl WithSimd for Transform<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.plainly();
    }
}

impl Transform<'_> {
    /// The work itself, for whatever instructions the caller was compiled with.
    #[inline(always)]
    pub fn plainly(self) {
        let groups = self.words.as_chunks::<GROUP_WORDS>().0.iter().zip(self.out.as_chunks_mut::<GROUP>().0);
        for ((words, normals), doubts) in groups.zip(self.doubts) {
            *doubts = group(words, normals);
        }
    }
}

#[inline(always)]
fn group(words: &[u32; GROUP_WORDS], normals: &mut [i32; GROUP]) -> u16 {
    let mut margins = [0.0; LANES];
    for lane in 0..LANES {
        let (radius_word, angle_word) = (words[lane], words[LANES + lane]);
        let radius = radius(radius_middle(radius_word), &LOG);
        let (along, across) = direction(angle_middle(angle_word), &COS, &SIN);
        let (x, y) = (radius.r * along, radius.r * across);
        (normals[lane], normals[LANES + lane]) = reflect(angle_word, nearest(x), nearest(y));
        margins[lane] = margin(radius, x, y);
    }
    // A sign is set in one group of ten; a margin that is no number would have none.
    let signs = margins.iter().fold(0, |all, margin| all | margin.to_bits() >> 63);
    if signs == 0 { 0 } else { (0..LANES).fold(0, |all, lane| all | u16::from(margins[lane] < 0.0) << lane) }
}
