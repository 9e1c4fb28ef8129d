//! Box–Muller on 16 pairs at a time: a radius word and an angle word become two normals in units of 2⁻²⁰.
//!
//! Each function here is written for one lane, without branches, from + − × ÷ √ on `f64`, integer operations and bit casts.
//! All of these are exact or correctly rounded, and nothing is fused, so a lane gives the same bits whether the compiler
//! runs 1, 2, 4 or 8 of them at a time.
//!
//! Why not `f32`, which is twice as fast: beyond one standard deviation its own lattice is an eighth or a quarter of a unit,
//! so that halves, which go to even integers, have an eighth or a quarter of the mass. Even integers would then be up to
//! 5/3 times as frequent as odd ones. Each draw would still be within a unit of the true one, and yet the parities of a
//! million coordinates would tell adjacent datasets apart.
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

/// Radius words below this have a radius beyond 3.9, where 32 bits of the uniform are too few.
pub(super) const FAR: u32 = 1 << 21;
/// Radius words whose complement is below this have a radius below 0.0055, where 32 bits are again too few.
pub(super) const NEAR: u32 = 1 << 16;

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

/// Whether 32 bits do not determine this radius well enough.
#[inline(always)]
pub(super) fn is_rare(radius_word: u32) -> bool {
    radius_word.wrapping_add(NEAR) < FAR + NEAR
}

/// 2²⁰·√(−2 ln u) for u = (word + ½)·2⁻³².
///
/// Coefficients are arguments here and below so that a test can spoil them; they are constants to the compiler.
#[inline(always)]
pub(super) fn radius(word: u32, coefficients: &[f64; 4]) -> f64 {
    // Vector units convert signed integers; 2³¹ is given back together with the half, exactly.
    let u = f64::from((word ^ (1 << 31)) as i32) + 2_147_483_648.5;
    let exponent = ((u.to_bits() >> 32) as i32 - ROOT_BITS) >> 20;
    let fraction = f64::from_bits(u.to_bits().wrapping_sub(((32 + i64::from(exponent)) as u64) << 52));
    let minus_log_u =
        f64::from(-exponent) * std::f64::consts::LN_2 - log_of_one_plus(fraction - 1.0, coefficients);
    (minus_log_u * TWO_SQUARED_UNITS).sqrt()
}

/// ln(1 + t) on √½ ≤ 1 + t ≤ √2, as 2 artanh(s) with s = t/(2+t).
#[inline(always)]
fn log_of_one_plus(t: f64, coefficients: &[f64; 4]) -> f64 {
    let [l0, l1, l2, l3] = *coefficients;
    let s = t / (2.0 + t);
    let z = s * s;
    s * (2.0 + z * (l0 + z * (l1 + z * (l2 + z * l3))))
}

/// Cosine and sine of the angle that the low 30 bits give, (f + ½)·2⁻³⁰·π/2 with −2²⁹ ≤ f < 2²⁹.
#[inline(always)]
pub(super) fn direction(word: u32, cos: &[f64; 5], sin: &[f64; 5]) -> (f64, f64) {
    let [c0, c1, c2, c3, c4] = *cos;
    let [s0, s1, s2, s3, s4] = *sin;
    // Bit 1 is the half: the middle of the cell, exactly.
    let h = f64::from(((word << 2) | 2) as i32) * (1.0 / (1u64 << 31) as f64);
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

/// Turns whole groups of words into whole groups of normals, the first of each pair before the second ones.
///
/// Its answer has bit g set where group g, of at most 32, has rare radii. Their normals are not to be used.
pub(super) struct Transform<'a> {
    pub words: &'a [u32],
    pub out: &'a mut [i32],
}

impl WithSimd for Transform<'_> {
    type Output = u32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> u32 {
        self.plainly()
    }
}

impl Transform<'_> {
    /// The work itself, for whatever instructions the caller was compiled with.
    #[inline(always)]
    pub fn plainly(self) -> u32 {
        let mut rare = 0;
        let groups = self.words.as_chunks::<GROUP_WORDS>().0.iter().zip(self.out.as_chunks_mut::<GROUP>().0);
        for (index, (words, normals)) in groups.enumerate() {
            rare |= u32::from(group(words, normals)) << index;
        }
        rare
    }
}

#[inline(always)]
fn group(words: &[u32; GROUP_WORDS], normals: &mut [i32; GROUP]) -> bool {
    let mut any_rare = false;
    for lane in 0..LANES {
        let (radius_word, angle_word) = (words[lane], words[LANES + lane]);
        let r = radius(radius_word, &LOG);
        let (along, across) = direction(angle_word, &COS, &SIN);
        (normals[lane], normals[LANES + lane]) = reflect(angle_word, nearest(r * along), nearest(r * across));
        any_rare |= is_rare(radius_word);
    }
    any_rare
}
