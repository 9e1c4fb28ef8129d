//! Box–Muller on keystream as the vectors of x86 make it, before its words are put in order: they are turned once, as normals.
//!
//! As many blocks are made as there are lanes; word i of all of them is one vector. A group takes two blocks, radii and then angles,
//! so two lanes side by side are a radius word and its angle word: a pair fills the 64 bits of one `f64`. This is the arithmetic
//! of [`super::kernel`], fused, with whole numbers put into mantissas instead of being converted, powers of two in the constants, and
//! signs flipped before numbers are rounded. Pairs in doubt are the same or nearly; what they become is the same.

use super::kernel::{
    ANGLE, COS, GROUP, GROUP_WORDS, HALF, LANES, LOG, RADIUS, ROOT_BITS, ROUNDER, SIN, TWO_SQUARED_UNITS,
    Transform,
};
use super::rare;
use crate::{
    Stream,
    keystream::{self, BLOCK_WORDS, MOST_LANES, Sources},
    stream::{CONTINUATIONS, Continuation, wipe},
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
const BATCH: usize = 512;
/// The most normals of a bundle.
const BUNDLE: usize = MOST_LANES * BLOCK_WORDS;
/// The most vectors of a batch: of eight lanes.
const VECTORS: usize = BATCH / 8;
/// Vectors whose radii are made together.
const TOGETHER: usize = 4;

impl<V: Pairs> WithSimd for Bundles<'_, V> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let Bundles { simd, out, stream } = self;
        let Some(first) = stream.take_blocks(2 * out.len().div_ceil(GROUP)) else { return false };
        let bundle = V::U32_LANES * BLOCK_WORDS;
        let (sources, constants) = (keystream::sources(simd), Constants::new(simd));
        let mut scratch = Scratch::new(out.len());
        let mut unresolved = Unresolved::new(stream, first);
        let whole = out.len() / bundle * bundle;
        for start in (0..whole).step_by(BATCH) {
            let end = (start + BATCH).min(whole);
            some_bundles(simd, &constants, &mut unresolved, start, &sources, &mut scratch, &mut out[..end]);
        }
        if whole < out.len() {
            some_groups(simd, &mut unresolved, whole, &sources, &mut scratch, out);
        }
        unresolved.resolve(simd, &sources, out);
        true
    }
}

/// Keystream of a batch and normals before they are in order. Wiped when dropped: left on the stack, they would undo the noise.
struct Scratch {
    words: [u32; BATCH],
    normals: [u32; BATCH],
    /// Of the largest batch.
    used: usize,
}

impl Scratch {
    #[inline(always)]
    fn new(normals: usize) -> Scratch {
        let used = normals.next_multiple_of(BUNDLE).min(BATCH);
        Scratch { words: [0; BATCH], normals: [0; BATCH], used }
    }
}

impl Drop for Scratch {
    #[inline(always)]
    fn drop(&mut self) {
        wipe(&mut self.words[..self.used]);
        wipe(&mut self.normals[..self.used]);
    }
}

/// The normals of whole bundles, from number `start` to the end of `out`.
#[inline(always)]
fn some_bundles<S: Pairs>(
    simd: S,
    constants: &Constants<S>,
    unresolved: &mut Unresolved<'_>,
    start: usize,
    sources: &Sources,
    scratch: &mut Scratch,
    out: &mut [i32],
) {
    let (lanes, bundle, count) = (S::U32_LANES, S::U32_LANES * BLOCK_WORDS, out.len() - start);
    let (key, nonce) = unresolved.stream.key();
    let words = &mut scratch.words[..count];
    for (at, words) in words.chunks_exact_mut(bundle).enumerate() {
        let first = unresolved.block(start + at * bundle);
        let state = keystream::side_by_side(simd, key, nonce, &keystream::numbered(first));
        S::as_mut_simd_u32s(words).0.copy_from_slice(&state);
    }
    let mut doubts = [0; VECTORS];
    let normals = &mut scratch.normals[..count];
    let from = S::as_simd_u32s(words).0.as_chunks::<TOGETHER>().0;
    let to = S::as_mut_simd_u32s(normals).0.as_chunks_mut::<TOGETHER>().0;
    // Radii are begun before those in hand are used: a quotient and a root take longer than all else.
    let mut radii = some_radii(simd, constants, &from[0]);
    for (at, (normals, doubts)) in to.iter_mut().zip(doubts.as_chunks_mut::<TOGETHER>().0).enumerate() {
        let next = some_radii(simd, constants, &from[(at + 1).min(from.len() - 1)]);
        some_pairs(simd, constants, &from[at], &radii, normals, doubts);
        radii = next;
    }
    for (normals, out) in normals.chunks_exact(bundle).zip(out[start..].chunks_exact_mut(bundle)) {
        keystream::lay_out(simd, S::as_simd_u32s(normals).0, sources, bytemuck::cast_slice_mut(out));
    }
    // Vector i of a bundle has lane i of as many groups as it has pairs.
    for (eight, doubts) in doubts.as_chunks::<8>().0.iter().enumerate() {
        if u64::from_ne_bytes(*doubts) == 0 {
            continue;
        }
        for (vector, doubts) in (8 * eight..).zip(*doubts) {
            let mut doubts = doubts;
            while doubts != 0 {
                let pair = doubts.trailing_zeros() as usize;
                doubts &= doubts - 1;
                let number = start + vector / BLOCK_WORDS * bundle + GROUP * pair + vector % BLOCK_WORDS;
                let at = vector * lanes + 2 * pair;
                let pair = Pair { number, radius: words[at], angle: words[at + 1] };
                unresolved.note(simd, sources, pair, out);
            }
        }
    }
}

/// The normals of the groups that fill no bundle, from number `start` on.
#[inline(always)]
fn some_groups<S: Pairs>(
    simd: S,
    unresolved: &mut Unresolved<'_>,
    start: usize,
    sources: &Sources,
    scratch: &mut Scratch,
    out: &mut [i32],
) {
    let (key, nonce) = unresolved.stream.key();
    let count = out.len() - start;
    let own = 2 * count.div_ceil(GROUP);
    // Lanes that are left over continue pairs in doubt.
    let mut numbers = keystream::numbered(unresolved.block(start));
    let beside = unresolved.ask(&mut numbers[own..S::U32_LANES]);
    let state = keystream::side_by_side(simd, key, nonce, &numbers);
    let words = &mut scratch.words[..S::U32_LANES * BLOCK_WORDS];
    keystream::lay_out(simd, &state, sources, words);
    let (words, others) = words.split_at(own * BLOCK_WORDS);
    unresolved.hear(beside, others.as_chunks().0, out);
    let normals: &mut [i32] = bytemuck::cast_slice_mut(&mut scratch.normals[..words.len()]);
    let mut doubts = [0; BUNDLE / GROUP];
    Transform { words, out: normals, doubts: &mut doubts }.plainly();
    out[start..].copy_from_slice(&normals[..count]);
    for (at, doubts) in doubts.into_iter().enumerate() {
        let mut doubts = doubts;
        while doubts != 0 {
            let lane = doubts.trailing_zeros() as usize;
            doubts &= doubts - 1;
            let place = at * GROUP_WORDS + lane;
            let pair = Pair { number: start + place, radius: words[place], angle: words[place + LANES] };
            unresolved.note(simd, sources, pair, out);
        }
    }
}

/// Pairs in doubt, until there are as many as lanes: what continues them is made side by side.
struct Unresolved<'a> {
    stream: &'a Stream,
    /// The number of the block with which the call begins.
    first: u64,
    pairs: [Pair; MOST_LANES],
    count: usize,
}

/// The number of its first normal in the call, and its words.
#[derive(Clone, Copy, Default)]
struct Pair {
    number: usize,
    radius: u32,
    angle: u32,
}

impl<'a> Unresolved<'a> {
    #[inline(always)]
    fn new(stream: &'a Stream, first: u64) -> Unresolved<'a> {
        Unresolved { stream, first, pairs: [Pair::default(); MOST_LANES], count: 0 }
    }

    /// The number of the block in which a group begins, by the number of its first normal: as many words as normals.
    #[inline(always)]
    fn block(&self, number: usize) -> u64 {
        self.first.wrapping_add((number / BLOCK_WORDS) as u64)
    }

    #[inline(always)]
    fn note<S: Simd>(&mut self, simd: S, sources: &Sources, pair: Pair, out: &mut [i32]) {
        if self.count == S::U32_LANES {
            self.resolve(simd, sources, out);
        }
        self.pairs[self.count] = pair;
        self.count += 1;
    }

    /// Puts all pairs in place.
    #[inline(always)]
    fn resolve<S: Simd>(&mut self, simd: S, sources: &Sources, out: &mut [i32]) {
        if self.count == 0 {
            return;
        }
        let (key, nonce) = self.stream.key();
        let (mut numbers, mut words) = ([0; MOST_LANES], [0; BUNDLE]);
        let asked = self.ask(&mut numbers[..S::U32_LANES]);
        let state = keystream::side_by_side(simd, key, nonce, &numbers);
        keystream::lay_out(simd, &state, sources, &mut words[..S::U32_LANES * BLOCK_WORDS]);
        self.hear(asked, words.as_chunks().0, out);
        wipe(&mut words);
    }

    /// Writes the numbers of the blocks that continue pairs, as far as there is room; for how many.
    #[inline(always)]
    fn ask(&self, numbers: &mut [u64]) -> usize {
        for (number, pair) in numbers.iter_mut().zip(&self.pairs[..self.count]) {
            let position = self.first.wrapping_mul(BLOCK_WORDS as u64).wrapping_add(pair.number as u64);
            *number = CONTINUATIONS | position;
        }
        numbers.len().min(self.count)
    }

    /// Puts the pairs in place that were asked for, by their blocks.
    #[inline(always)]
    fn hear(&mut self, asked: usize, blocks: &[[u32; BLOCK_WORDS]], out: &mut [i32]) {
        for (pair, block) in self.pairs[..asked].iter().zip(blocks) {
            let (x, y) = rare::pair(pair.radius, pair.angle, Continuation::new(block));
            for (number, normal) in [(pair.number, x), (pair.number + LANES, y)] {
                // The last group may be wanted in part.
                if let Some(place) = out.get_mut(number) {
                    *place = normal;
                }
            }
        }
        self.pairs.copy_within(asked..self.count, 0);
        self.count -= asked;
    }
}

impl Drop for Unresolved<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        self.pairs = [Pair::default(); MOST_LANES];
        zeroize::optimization_barrier(&self.pairs);
    }
}

/// Radii, and minus how far their pairs may be from the truth, times the radius.
struct Radii<V: Simd> {
    r: [V::f64s; TOGETHER],
    doubt: [V::f64s; TOGETHER],
}

/// The radii of pairs of words, a radius below an angle.
#[inline(always)]
fn some_radii<S: Pairs>(simd: S, constants: &Constants<S>, words: &[S::u32s; TOGETHER]) -> Radii<S> {
    let zero = simd.splat_f64s(0.0);
    let mut radii = Radii { r: [zero; TOGETHER], doubt: [zero; TOGETHER] };
    for (at, words) in words.iter().enumerate() {
        let (s, exponent, power) = quotient(simd, constants, bytemuck::cast(*words));
        let squared = squared(simd, constants, s, exponent);
        radii.r[at] = simd.sqrt_f64s(squared);
        let of_radius = simd.mul_f64s(power, constants.minus_radius);
        radii.doubt[at] = simd.mul_add_f64s(squared, constants.minus_angle, of_radius);
    }
    radii
}

/// The pairs of normals, and which of them are in doubt.
#[inline(always)]
fn some_pairs<S: Pairs>(
    simd: S,
    constants: &Constants<S>,
    words: &[S::u32s; TOGETHER],
    radii: &Radii<S>,
    normals: &mut [S::u32s; TOGETHER],
    doubts: &mut [u8; TOGETHER],
) {
    for (at, words) in words.iter().enumerate() {
        let (along, across) = direction(simd, constants, bytemuck::cast(*words));
        let (pairs, off) = place(simd, constants, bytemuck::cast(*words), radii.r[at], along, across);
        normals[at] = bytemuck::cast(pairs);
        let room = simd.sub_f64s(constants.half, off);
        doubts[at] = simd.signs(simd.mul_add_f64s(room, radii.r[at], radii.doubt[at]));
    }
}

/// The constants of the transform, each in a vector of its own in memory: an operation takes them from there.
struct Constants<V: Simd> {
    /// −2⁴¹ times 2 and the coefficients of the logarithm.
    log: [V::f64s; 5],
    cos: [V::f64s; 5],
    sin: [V::f64s; 5],
    one: V::f64s,
    half: V::f64s,
    rounder: V::f64s,
    minus_angle: V::f64s,
    minus_radius: V::f64s,
    ln_2: V::f64s,
}

impl<V: Simd> Constants<V> {
    #[inline(always)]
    fn new(simd: V) -> Constants<V> {
        // Hidden from the compiler, which else fetches each into a register before every use.
        let number = |x: f64| simd.splat_f64s(std::hint::black_box(x));
        let of_log = |x: f64| number(-TWO_SQUARED_UNITS * x);
        let [l0, l1, l2, l3] = LOG;
        let [c0, c1, c2, c3, c4] = COS;
        let [s0, s1, s2, s3, s4] = SIN;
        Constants {
            log: [of_log(2.0), of_log(l0), of_log(l1), of_log(l2), of_log(l3)],
            cos: [number(c0), number(c1), number(c2), number(c3), number(c4)],
            sin: [number(s0), number(s1), number(s2), number(s3), number(s4)],
            one: number(1.0),
            half: number(HALF),
            rounder: number(ROUNDER),
            minus_angle: number(-ANGLE),
            minus_radius: number(-RADIUS),
            ln_2: number(std::f64::consts::LN_2 * TWO_SQUARED_UNITS),
        }
    }
}

/// Of the radius words: s, by which the logarithm of the fraction is found; that of the power of two, less than 0 and in the unit
/// of squares; and the power by which u comes to its fraction.
#[inline(always)]
fn quotient<S: Pairs>(simd: S, constants: &Constants<S>, words: S::u64s) -> (S::f64s, S::f64s, S::f64s) {
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
    let mantissa = simd.splat_u64s((1 << 52) - 1);
    let fraction = simd.and_u64s(counted, mantissa);
    let power = float(simd.sub_u64s(simd.splat_u64s((1023 + 64) << 52), simd.xor_u64s(counted, fraction)));
    let root = simd.splat_u64s(((ROOT_BITS - (32 << 20)) as u64) << 32);
    let fraction = float(simd.add_u64s(fraction, root));
    // t = fraction − 1 is exact, so 2 + t is fraction + 1, rounded once.
    let s = simd.div_f64s(simd.sub_f64s(fraction, constants.one), simd.add_f64s(fraction, constants.one));
    (s, simd.mul_f64s(minus_exponent, constants.ln_2), power)
}

/// −2⁴¹ ln u. The factor 2⁴¹ is in all constants.
#[inline(always)]
fn squared<S: Pairs>(simd: S, constants: &Constants<S>, s: S::f64s, minus_exponent: S::f64s) -> S::f64s {
    let z = simd.mul_f64s(s, s);
    let [two, l0, l1, l2, l3] = constants.log;
    let series = simd.mul_add_f64s(z, l3, l2);
    let series = simd.mul_add_f64s(z, series, l1);
    let series = simd.mul_add_f64s(z, series, l0);
    let series = simd.mul_add_f64s(z, series, two);
    simd.mul_add_f64s(s, series, minus_exponent)
}

/// Cosine and sine of the angle words.
#[inline(always)]
fn direction<S: Pairs>(simd: S, constants: &Constants<S>, words: S::u64s) -> (S::f64s, S::f64s) {
    let number = |x: f64| simd.splat_f64s(x);
    let add = |a, b, c| simd.mul_add_f64s(a, b, c);
    // The mantissa of 2²¹ counts in 2⁻³¹; its upper bit is the sign, the lowest but one the half.
    let middle = simd.splat_u64s(TWO_21.to_bits() | 0x8000_0002);
    let angle = simd.xor_u64s(simd.four_times(simd.upper(words)), middle);
    let h = simd.sub_f64s(simd.transmute_f64s_u64s(angle), number(TWO_21 + 1.0));
    let z = simd.mul_f64s(h, h);
    let [c0, c1, c2, c3, c4] = constants.cos;
    let [s0, s1, s2, s3, s4] = constants.sin;
    let along = add(z, c4, c3);
    let across = add(z, s4, s3);
    let along = add(z, along, c2);
    let across = add(z, across, s2);
    let along = add(z, along, c1);
    let across = add(z, across, s1);
    let along = add(z, along, c0);
    let across = simd.mul_f64s(h, add(z, across, s0));
    (add(z, along, constants.one), across)
}

/// The two normals, rounded and reflected, and how far the farther one is from its integer.
#[inline(always)]
fn place<S: Pairs>(
    simd: S,
    constants: &Constants<S>,
    words: S::u64s,
    r: S::f64s,
    along: S::f64s,
    across: S::f64s,
) -> (S::u64s, S::f64s) {
    let bits = |float| simd.transmute_u64s_f64s(float);
    let rounder = constants.rounder;
    // Bit 31 of the angle word is that of the sign.
    let sign = simd.and_u64s(words, simd.splat_u64s(1 << 63));
    let x = simd.transmute_f64s_u64s(simd.xor_u64s(bits(simd.mul_f64s(r, along)), sign));
    let y = simd.mul_f64s(r, across);
    let (rounded_x, rounded_y) = (simd.add_f64s(x, rounder), simd.add_f64s(y, rounder));
    let off = simd.farther(x, y, rounder);
    (simd.swap(simd.join(bits(rounded_x), bits(rounded_y)), words), off)
}

const TWO_52: f64 = (1u64 << 52) as f64;
const TWO_21: f64 = (1u64 << 21) as f64;

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
    /// How far the farther of two numbers is from its integer, even at ties, by means of what rounds them.
    fn farther(self, x: Self::f64s, y: Self::f64s, rounder: Self::f64s) -> Self::f64s;
    /// The signs, a bit each.
    fn signs(self, x: Self::f64s) -> u8;
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
    fn farther(self, x: Self::f64s, y: Self::f64s, rounder: Self::f64s) -> Self::f64s {
        let x = self.sub_f64s(x, self.sub_f64s(self.add_f64s(x, rounder), rounder));
        let y = self.sub_f64s(y, self.sub_f64s(self.add_f64s(y, rounder), rounder));
        self.max_f64s(self.abs_f64s(x), self.abs_f64s(y))
    }

    #[inline(always)]
    fn signs(self, x: Self::f64s) -> u8 {
        self.avx._mm256_movemask_pd(bytemuck::cast(x)) as u8
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
    fn farther(self, x: Self::f64s, y: Self::f64s, _: Self::f64s) -> Self::f64s {
        /// To the nearest integer, without exceptions.
        const NEAREST: i32 = 8;
        /// The larger of the absolute values.
        const LARGER: i32 = 0b1011;
        let x = self.avx512dq._mm512_reduce_pd::<NEAREST>(bytemuck::cast(x));
        let y = self.avx512dq._mm512_reduce_pd::<NEAREST>(bytemuck::cast(y));
        bytemuck::cast(self.avx512dq._mm512_range_pd::<LARGER>(x, y))
    }

    #[inline(always)]
    fn signs(self, x: Self::f64s) -> u8 {
        self.avx512dq._mm512_movepi64_mask(bytemuck::cast(x))
    }
}
