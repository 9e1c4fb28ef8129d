//! Box–Muller on keystream as the vectors of x86 make it, before its words are put in order: they are turned once, as normals.
//!
//! As many blocks are made as there are lanes; word i of all of them is one vector. A group takes two blocks, radii and then angles,
//! so two lanes side by side are a radius word and its angle word: a pair fills the 64 bits of one `f64`. These are the operations
//! of [`super::kernel`] in their order, but for exact ones that are done otherwise: whole numbers become floats by being put into a
//! mantissa and not by conversions, powers of two are multiplied into constants, and a sign is flipped before a number is rounded
//! and not after. So every normal has the same bits, and a test says so.
//!
//! Quotients and roots take long; four vectors go through each part together, so that others are at work while they wait.

use super::kernel::{self, COS, FAR, GROUP, LANES, LOG, NEAR, ROOT_BITS, ROUNDER, SIN, TWO_SQUARED_UNITS};
use super::rare;
use crate::{
    Stream,
    keystream::{self, BLOCK_WORDS, MOST_LANES, Sources},
    stream::wipe,
};
use pulp::{
    Arch, Simd, WithSimd, bytemuck,
    x86::{V3, V4},
};

/// Draws the normals of `out`, if that can be done here: whether it was.
pub(super) fn fill(arch: Arch, out: &mut [i32], stream: &mut Stream) -> bool {
    match arch {
        Arch::V4(simd) => Simd::vectorize(simd, Bundles { simd, out, stream }),
        Arch::V3(simd) => Simd::vectorize(simd, Bundles { simd, out, stream }),
        _ => false,
    }
}

struct Bundles<'a, V> {
    simd: V,
    out: &'a mut [i32],
    stream: &'a mut Stream,
}

/// Normals that are made together: whole bundles of any width.
const BATCH: usize = 1024;
/// The most normals of a bundle.
const BUNDLE: usize = MOST_LANES * BLOCK_WORDS;
/// Vectors that go through Box and Muller's transform together.
const TOGETHER: usize = 4;

impl<V: Pairs> WithSimd for Bundles<'_, V> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Bundles { simd, out, stream } = self;
        let Some(mut first) = stream.take_blocks(2 * out.len().div_ceil(GROUP)) else { return false };
        let stream = &*stream;
        let bundle = V::U32_LANES * BLOCK_WORDS;
        let sources = keystream::sources(simd);
        let mut words = [0; BATCH];
        let used = out.len().next_multiple_of(bundle).min(BATCH);
        let (whole, rest) = out.split_at_mut(out.len() / bundle * bundle);
        for out in whole.chunks_mut(BATCH) {
            some_bundles(simd, stream, first, &sources, &mut words[..out.len()], out);
            first = first.wrapping_add((out.len() / BLOCK_WORDS) as u64);
        }
        if !rest.is_empty() {
            // A bundle of which only some is wanted.
            let mut last = [0; BUNDLE];
            some_bundles(simd, stream, first, &sources, &mut words[..bundle], &mut last[..bundle]);
            rest.copy_from_slice(&last[..rest.len()]);
            last.fill(0);
            zeroize::optimization_barrier(&last);
        }
        // What is left on the stack would undo the noise.
        words[..used].fill(0);
        zeroize::optimization_barrier(&words);
        true
    }
}

/// The normals of whole bundles from a block on, by way of `words`.
#[inline(always)]
fn some_bundles<S: Pairs>(
    simd: S,
    stream: &Stream,
    first: u64,
    sources: &Sources,
    words: &mut [u32],
    out: &mut [i32],
) {
    let (lanes, bundle) = (S::U32_LANES, S::U32_LANES * BLOCK_WORDS);
    let (key, nonce) = stream.key();
    let block = |at: usize| first.wrapping_add((at * lanes) as u64);
    for (at, words) in words.chunks_exact_mut(bundle).enumerate() {
        let state = keystream::side_by_side(simd, key, nonce, block(at));
        S::as_mut_simd_u32s(words).0.copy_from_slice(&state);
    }
    let mut rare = 0u64;
    for (at, words) in S::as_mut_simd_u32s(words).0.as_chunks_mut::<TOGETHER>().0.iter_mut().enumerate() {
        rare |= u64::from(transform(simd, words)) << (at * TOGETHER / BLOCK_WORDS);
    }
    for (at, (words, out)) in words.chunks_exact(bundle).zip(out.chunks_exact_mut(bundle)).enumerate() {
        keystream::lay_out(simd, S::as_simd_u32s(words).0, sources, bytemuck::cast_slice_mut(out));
        if rare >> at & 1 != 0 {
            replace_rare(stream, block(at), out);
        }
    }
}

/// Replaces pairs of words, a radius below an angle, by pairs of normals; whether there are rare radii among them.
#[inline(always)]
fn transform<S: Pairs>(simd: S, words: &mut [S::u32s; TOGETHER]) -> bool {
    let mut least = simd.splat_u32s(u32::MAX);
    for word in &*words {
        least = simd.least(least, simd.add_u32s(*word, simd.splat_u32s(NEAR)));
    }
    let zero = simd.splat_f64s(0.0);
    let (mut quotients, mut exponents, mut radii) = ([zero; TOGETHER], [zero; TOGETHER], [zero; TOGETHER]);
    let (mut along, mut across) = ([zero; TOGETHER], [zero; TOGETHER]);
    // Loops over indices: outside of this function, where closures would be, there are no vectors.
    for at in 0..TOGETHER {
        (quotients[at], exponents[at]) = quotient(simd, bytemuck::cast(words[at]));
    }
    for at in 0..TOGETHER {
        radii[at] = radius(simd, quotients[at], exponents[at]);
    }
    for at in 0..TOGETHER {
        (along[at], across[at]) = direction(simd, bytemuck::cast(words[at]));
    }
    for at in 0..TOGETHER {
        let pairs = place(simd, bytemuck::cast(words[at]), radii[at], along[at], across[at]);
        words[at] = bytemuck::cast(pairs);
    }
    let least: &[u32] = bytemuck::cast_slice(std::slice::from_ref(&least));
    least.iter().step_by(2).fold(u32::MAX, |least, lane| least.min(*lane)) < FAR + NEAR
}

/// Of the radius words: s, by which the logarithm of the fraction is found, and that of the power of two, less than 0 and in the unit
/// of squares.
#[inline(always)]
fn quotient<S: Pairs>(simd: S, words: S::u64s) -> (S::f64s, S::f64s) {
    let number = |x: f64| simd.splat_f64s(x);
    let float = |bits| simd.transmute_f64s_u64s(bits);
    let two_52 = simd.splat_u64s(TWO_52.to_bits());
    // word + ½
    let u = simd.sub_f64s(float(simd.with_upper(words, two_52)), number(TWO_52 - 0.5));
    // The exponent counted from √½ and 64 more, so that it is positive, above the fraction.
    let root = simd.splat_u64s(((ROOT_BITS - (64 << 20)) as u64) << 32);
    let counted = simd.sub_u64s(simd.transmute_u64s_f64s(u), root);
    let exponent = float(simd.or_u64s(simd.leading(counted), two_52));
    let minus_exponent = simd.sub_f64s(number(TWO_52 + 64.0), exponent);
    let fraction = simd.and_u64s(counted, simd.splat_u64s((1 << 52) - 1));
    let root = simd.splat_u64s(((ROOT_BITS - (32 << 20)) as u64) << 32);
    let fraction = float(simd.add_u64s(fraction, root));
    // t = fraction − 1 is exact, so 2 + t is fraction + 1, rounded once.
    let s = simd.div_f64s(simd.sub_f64s(fraction, number(1.0)), simd.add_f64s(fraction, number(1.0)));
    (s, simd.mul_f64s(minus_exponent, number(std::f64::consts::LN_2 * TWO_SQUARED_UNITS)))
}

/// 2²⁰·√(−2 ln u). The factor 2⁴¹ is in all constants: a power of two changes no rounding.
#[inline(always)]
fn radius<S: Pairs>(simd: S, s: S::f64s, minus_exponent: S::f64s) -> S::f64s {
    let number = |x: f64| simd.splat_f64s(TWO_SQUARED_UNITS * x);
    let z = simd.mul_f64s(s, s);
    let [l0, l1, l2, l3] = LOG;
    let series = simd.add_f64s(number(l2), simd.mul_f64s(z, number(l3)));
    let series = simd.add_f64s(number(l1), simd.mul_f64s(z, series));
    let series = simd.add_f64s(number(l0), simd.mul_f64s(z, series));
    let log = simd.mul_f64s(s, simd.add_f64s(number(2.0), simd.mul_f64s(z, series)));
    simd.sqrt_f64s(simd.sub_f64s(minus_exponent, log))
}

/// Cosine and sine of the angle words.
#[inline(always)]
fn direction<S: Pairs>(simd: S, words: S::u64s) -> (S::f64s, S::f64s) {
    let number = |x: f64| simd.splat_f64s(x);
    let (add, mul) = (|a, b| simd.add_f64s(a, b), |a, b| simd.mul_f64s(a, b));
    // The mantissa of 2²¹ counts in 2⁻³¹; its upper bit is the sign, the lowest but one the half.
    let middle = simd.splat_u64s(TWO_21.to_bits() | 0x8000_0002);
    let angle = simd.xor_u64s(simd.four_times(simd.upper(words)), middle);
    let h = simd.sub_f64s(simd.transmute_f64s_u64s(angle), number(TWO_21 + 1.0));
    let z = mul(h, h);
    let [c0, c1, c2, c3, c4] = COS;
    let [s0, s1, s2, s3, s4] = SIN;
    let along = add(number(c3), mul(z, number(c4)));
    let across = add(number(s3), mul(z, number(s4)));
    let along = add(number(c2), mul(z, along));
    let across = add(number(s2), mul(z, across));
    let along = add(number(c1), mul(z, along));
    let across = add(number(s1), mul(z, across));
    let along = add(number(c0), mul(z, along));
    let across = mul(h, add(number(s0), mul(z, across)));
    (add(number(1.0), mul(z, along)), across)
}

/// The two normals, rounded and reflected.
#[inline(always)]
fn place<S: Pairs>(simd: S, words: S::u64s, r: S::f64s, along: S::f64s, across: S::f64s) -> S::u64s {
    let bits = |float| simd.transmute_u64s_f64s(float);
    let rounder = simd.splat_f64s(ROUNDER);
    // Bit 31 of the angle word is that of the sign.
    let sign = simd.and_u64s(words, simd.splat_u64s(1 << 63));
    let along = simd.transmute_f64s_u64s(simd.xor_u64s(bits(simd.mul_f64s(r, along)), sign));
    let along = bits(simd.add_f64s(along, rounder));
    let across = bits(simd.add_f64s(simd.mul_f64s(r, across), rounder));
    simd.swap(simd.join(along, across), words)
}

const TWO_52: f64 = (1u64 << 52) as f64;
const TWO_21: f64 = (1u64 << 21) as f64;

/// Continues the rare radii of a bundle that has some, and puts their pairs in place. Its words are made anew.
#[cold]
fn replace_rare(stream: &Stream, first: u64, out: &mut [i32]) {
    let mut words = [0; BUNDLE];
    let words = &mut words[..out.len()];
    let (key, nonce) = stream.key();
    keystream::blocks(key, nonce, first, words);
    for (at, (words, normals)) in
        words.chunks_exact(2 * LANES).zip(out.chunks_exact_mut(2 * LANES)).enumerate()
    {
        for lane in (0..LANES).filter(|lane| kernel::is_rare(words[*lane])) {
            let position =
                first.wrapping_mul(BLOCK_WORDS as u64).wrapping_add((2 * LANES * at + lane) as u64);
            let pair = rare::pair(words[lane], stream.continuation(position), words[LANES + lane]);
            (normals[lane], normals[LANES + lane]) = pair;
        }
    }
    wipe(words);
}

/// What a vector must be able to do besides.
trait Pairs: Simd {
    /// The upper half of each 64 bits, moved down.
    fn upper(self, x: Self::u64s) -> Self::u64s;
    /// The upper twelve of each 64 bits, moved down.
    fn leading(self, x: Self::u64s) -> Self::u64s;
    /// Each 32 bits times four.
    fn four_times(self, x: Self::u64s) -> Self::u64s;
    /// The lower half of each 64 bits of `low`, and above it that of `high`.
    fn join(self, low: Self::u64s, high: Self::u64s) -> Self::u64s;
    /// The lower half of each 64 bits, and the upper half of `upper`.
    fn with_upper(self, x: Self::u64s, upper: Self::u64s) -> Self::u64s;
    /// The halves of each 64 bits exchanged where bit 62 of `by` is set.
    fn swap(self, x: Self::u64s, by: Self::u64s) -> Self::u64s;
    /// The lesser of each 32 bits.
    fn least(self, a: Self::u32s, b: Self::u32s) -> Self::u32s;
}

impl Pairs for V3 {
    #[inline(always)]
    fn upper(self, x: Self::u64s) -> Self::u64s {
        self.shr_const_u64x4::<32>(x)
    }

    #[inline(always)]
    fn leading(self, x: Self::u64s) -> Self::u64s {
        self.shr_const_u64x4::<52>(x)
    }

    #[inline(always)]
    fn four_times(self, x: Self::u64s) -> Self::u64s {
        bytemuck::cast(self.avx2._mm256_slli_epi32::<2>(bytemuck::cast(x)))
    }

    #[inline(always)]
    fn join(self, low: Self::u64s, high: Self::u64s) -> Self::u64s {
        self.with_upper(low, self.shl_const_u64x4::<32>(high))
    }

    #[inline(always)]
    fn with_upper(self, x: Self::u64s, upper: Self::u64s) -> Self::u64s {
        bytemuck::cast(self.avx2._mm256_blend_epi32::<0b1010_1010>(bytemuck::cast(x), bytemuck::cast(upper)))
    }

    #[inline(always)]
    fn swap(self, x: Self::u64s, by: Self::u64s) -> Self::u64s {
        let swapped = self.avx2._mm256_shuffle_epi32::<0b1011_0001>(bytemuck::cast(x));
        let by = self.shl_const_u64x4::<1>(by);
        bytemuck::cast(self.avx._mm256_blendv_pd(
            bytemuck::cast(x),
            bytemuck::cast(swapped),
            bytemuck::cast(by),
        ))
    }

    #[inline(always)]
    fn least(self, a: Self::u32s, b: Self::u32s) -> Self::u32s {
        self.min_u32x8(a, b)
    }
}

impl Pairs for V4 {
    #[inline(always)]
    fn upper(self, x: Self::u64s) -> Self::u64s {
        bytemuck::cast(self.avx512f._mm512_srli_epi64::<32>(bytemuck::cast(x)))
    }

    #[inline(always)]
    fn leading(self, x: Self::u64s) -> Self::u64s {
        bytemuck::cast(self.avx512f._mm512_srli_epi64::<52>(bytemuck::cast(x)))
    }

    #[inline(always)]
    fn four_times(self, x: Self::u64s) -> Self::u64s {
        bytemuck::cast(self.avx512f._mm512_slli_epi32::<2>(bytemuck::cast(x)))
    }

    #[inline(always)]
    fn join(self, low: Self::u64s, high: Self::u64s) -> Self::u64s {
        self.with_upper(low, bytemuck::cast(self.avx512f._mm512_slli_epi64::<32>(bytemuck::cast(high))))
    }

    #[inline(always)]
    fn with_upper(self, x: Self::u64s, upper: Self::u64s) -> Self::u64s {
        let odd = 0b1010_1010_1010_1010;
        bytemuck::cast(self.avx512f._mm512_mask_blend_epi32(odd, bytemuck::cast(x), bytemuck::cast(upper)))
    }

    #[inline(always)]
    fn swap(self, x: Self::u64s, by: Self::u64s) -> Self::u64s {
        let bit = self.splat_u64s(1 << 62);
        let where_set = self.avx512f._mm512_test_epi64_mask(bytemuck::cast(by), bytemuck::cast(bit));
        let x = bytemuck::cast(x);
        bytemuck::cast(self.avx512f._mm512_mask_rol_epi64::<32>(x, where_set, x))
    }

    #[inline(always)]
    fn least(self, a: Self::u32s, b: Self::u32s) -> Self::u32s {
        self.min_u32x16(a, b)
    }
}
