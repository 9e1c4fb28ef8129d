//! Gaussian noise for long vectors: hundreds of millions of integers a second on one core, K = round(2²⁰·Z).
//!
//! Blocks of ChaCha12 keystream become pairs of uniforms (a radius word and an angle word of 32 bits each), those become
//! normals by the transform of Box and Muller, and those are rounded to the public grid of spacing 2⁻²⁰ (about a millionth
//! of the standard deviation). [`Grid`] then puts a vector and its noise on one grid of the wanted scale.
//!
//! # Why integers
//!
//! A caller who wants standard deviation σ takes the grid γ = σ·2⁻²⁰, rounds the clean value to an integer multiple qγ, adds
//! K and multiplies by γ. Since round(q + 2²⁰Z) = q + round(2²⁰Z) for every integer q, the result is exactly a
//! post-processing of the continuous Gaussian mechanism on the rounded value. The addition is one of integers and therefore
//! exact; the grid depends on σ alone; no low bit of the sum tells what was added to what.
//!
//! # Precision
//!
//! Let U be real uniforms of which a word gives the first 32 bits, and Z the real-number Box–Muller function of them, which is exactly
//! normal. Then K is the integer nearest to 2²⁰Z: not one near it, and not only in law. Most words leave no doubt which that is,
//! whatever bits would follow. Where they do, one pair in 145, 128 further bits are drawn; where `f64` is too coarse even then, one pair in
//! 42 000, arithmetic of twice the precision decides. What is left is the chance that 192 bits do not decide, or that such
//! arithmetic is too coarse: together below 2⁻⁶⁷ for a pair, so n normals are within n·2⁻⁶⁸ in total variation of n rounded normals.
//!
//! A pair is certain if none of its two numbers can have crossed a half (`kernel::margin`). In units of 2⁻²⁰:
//!
//! | how far a number may be from the truth | at most | how known |
//! |---|---|---|
//! | its radius, by the bits not drawn | 2⁷/(r·u), told by the power of two of u | all radius words, at both ends of each cell |
//! | its direction, by the bits not drawn | 7.4e-10·r | all angle words, at both ends of each cell |
//! | arithmetic, fused or not | 2e-5 | all words, at the middle of each cell |
//!
//! The proof by enumeration is a test: `VERACITY_EVERY_WORD=1 cargo test --release -p veracity-noise vector::precision`.
//!
//! Nearness alone would not do for privacy. 64 bits for a pair, rounded as they are, are within some thousandths of a unit of a normal
//! pair; but each pair of integers has only some millions or thousands of words, more or fewer than its share, and beyond four standard deviations
//! some have none. Whoever knows both candidates for a sum could count them. Pairs within 3.85 standard deviations alone would tell 3e-8
//! nats each, which is several for a network of 200 000 parameters over a thousand steps. And a sampler that prefers even integers betrays
//! the parity of what it hides. What K is here leaves neither. Where no distance at all is acceptable, [`crate::exact`] has none.
//!
//! # The same bits everywhere
//!
//! The nearest integer is one number, however it is found. So one state of a stream gives the same integers on any machine, whatever
//! its vector instructions and however they round. The time of a call depends on its length and on how many pairs were in doubt, never
//! on the data.

#[cfg(target_arch = "x86_64")]
mod bundle;
mod exactly;
mod grid;
mod kernel;
#[cfg(test)]
mod precision;
mod rare;

pub use grid::Grid;

use crate::{Stream, stream::wipe, vectors::widest};
use kernel::{GROUP, GROUP_WORDS, LANES, Transform};
use pulp::Arch;

/// The unit of a normal is 2 to the minus this.
pub const UNIT_BITS: u32 = 20;
const SCALE: f64 = (1u64 << UNIT_BITS) as f64;

/// A block is what is drawn and transformed at once, on the stack; 32 groups, so that a word can flag them.
const BLOCK: usize = 32 * GROUP;
const BLOCK_WORDS: usize = 32 * GROUP_WORDS;

/// Fills `out` with independent K = round(2²⁰·Z), Z standard normal.
///
/// Every 32 integers begun take 32 words of 32 bits, 16 radii and 16 angles. A pair in doubt is continued by bits that belong to
/// its place in the stream, and are not taken from those that follow. So the integers of any place can be drawn by themselves, and
/// a call of length n gives the same start as a longer one, but for the second half of its last group.
///
/// # Promise    K is within 2⁻⁶⁸ in total variation of round(2²⁰·Z); |K| < 11.6·2²⁰
/// # Reference  \[BoxMuller58\]
/// # Assumes    The keystream is uniform
/// # Numerics   See the [module](self)
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose, vector};
///
/// let mut noise = vec![0; 100_000];
/// vector::fill(&mut noise, &mut Entropy::seeded(5).stream(Purpose::Noise, Key::default()));
/// let unit = f64::from(1 << vector::UNIT_BITS);
/// let variance = noise.iter().map(|&k| (f64::from(k) / unit).powi(2)).sum::<f64>() / 100_000.0;
/// assert!((variance - 1.0).abs() < 0.02);
/// ```
pub fn fill(out: &mut [i32], stream: &mut Stream) {
    fill_on(widest(), out, stream);
}

/// As [`fill`], but for those before number `first`: a part of a vector, drawn by itself.
///
/// # Assumes  Nothing was drawn from the stream, and `first` is a multiple of 32 below 2⁶²
///
/// # Examples
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose, vector};
///
/// let stream = || Entropy::seeded(5).stream(Purpose::Noise, Key::default());
/// let (mut whole, mut part) = ([0; 100], [0; 36]);
/// vector::fill(&mut whole, &mut stream());
/// vector::fill_from(64, &mut part, &mut stream());
/// assert_eq!(part, whole[64..]);
/// ```
pub fn fill_from(first: usize, out: &mut [i32], stream: &mut Stream) {
    assert!(first.is_multiple_of(GROUP), "parts begin with a group");
    // Beyond, bits that continue a pair would be those of another.
    assert!((first as u64) < 1 << 62, "there are no parts so far out");
    assert!(stream.position() == 0 && stream.take_blocks(first / LANES).is_some(), "the stream is fresh");
    fill(out, stream);
}

fn fill_on(arch: Arch, out: &mut [i32], stream: &mut Stream) {
    #[cfg(target_arch = "x86_64")]
    if bundle::fill(arch, out, stream) {
        return;
    }
    fill_by(out, stream, |work| arch.dispatch(work));
}

fn fill_by(out: &mut [i32], stream: &mut Stream, transform: impl Fn(Transform<'_>)) {
    let mut drawn = Words::new(out.len());
    for block in out.chunks_mut(BLOCK) {
        let first = stream.position();
        let words = drawn.draw(block.len(), stream);
        let (whole, part) = block.split_at_mut(block.len() / GROUP * GROUP);
        let (words, last) = words.split_at(whole.len());
        normals(words, whole, first, stream, &transform);
        if !part.is_empty() {
            let mut group = [0; GROUP];
            normals(last, &mut group, first + whole.len() as u64, stream, &transform);
            part.copy_from_slice(&group[..part.len()]);
            group.fill(0);
            zeroize::optimization_barrier(&group);
        }
    }
}

/// The words of a block. They are wiped when dropped: left on the stack, they would undo the noise.
struct Words {
    words: [u32; BLOCK_WORDS],
    /// Of the largest block.
    used: usize,
}

impl Words {
    /// For so many normals in all.
    fn new(normals: usize) -> Words {
        let used = normals.min(BLOCK).div_ceil(GROUP) * GROUP_WORDS;
        Words { words: [0; BLOCK_WORDS], used }
    }

    /// The words of a block of at most [`BLOCK`] normals, of whole groups.
    fn draw(&mut self, normals: usize, stream: &mut Stream) -> &[u32] {
        let words = &mut self.words[..normals.div_ceil(GROUP) * GROUP_WORDS];
        stream.fill_words(words);
        words
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        wipe(&mut self.words[..self.used]);
    }
}

/// The normals of whole groups of words, of which the first is at position `first` of the stream.
#[inline(always)]
fn normals(words: &[u32], out: &mut [i32], first: u64, stream: &Stream, transform: impl Fn(Transform<'_>)) {
    let mut doubts = [0; BLOCK / GROUP];
    let doubts = &mut doubts[..words.len() / GROUP_WORDS];
    transform(Transform { words, out, doubts });
    for (at, doubts) in doubts.iter().enumerate().filter(|(_, doubts)| **doubts != 0) {
        let words = &words[at * GROUP_WORDS..][..GROUP_WORDS];
        resolve(*doubts, words, &mut out[at * GROUP..][..GROUP], first + (at * GROUP_WORDS) as u64, stream);
    }
}

/// Continues every pair of a group that is in doubt, and puts it in place.
#[cold]
fn resolve(mut doubts: u16, words: &[u32], normals: &mut [i32], first: u64, stream: &Stream) {
    while doubts != 0 {
        let lane = doubts.trailing_zeros() as usize;
        doubts &= doubts - 1;
        let more = stream.continuation(first + lane as u64);
        (normals[lane], normals[LANES + lane]) = rare::pair(words[lane], words[LANES + lane], more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Bits, Entropy, Key, Purpose,
        stream::Continuation,
        vectors::{Most, limited},
    };

    fn stream(seed: u64) -> Stream {
        Entropy::seeded(seed).stream(Purpose::Noise, Key::default())
    }

    #[test]
    fn vector_instructions_do_not_change_a_bit() {
        for length in [0, 1, 31, 32, 33, 1000, 1023, 1024, 1025, 5000, 300_000] {
            let (mut fast, mut plain) = (vec![0; length], vec![0; length]);
            let (mut one, mut two) = (stream(7), stream(7));
            fill(&mut fast, &mut one);
            fill_by(&mut plain, &mut two, |work| work.plainly());
            assert!(fast == plain, "length {length}");
            assert_eq!(one.word(), two.word(), "length {length}");
            for most in [Most::All, Most::Avx2, Most::Plain] {
                // From a place within a block, too.
                for skipped in [0, 5, 128] {
                    let (mut one, mut two) = (stream(7), stream(7));
                    (0..skipped).for_each(|_| assert_eq!(one.bits(32), two.bits(32)));
                    fill_on(limited(most), &mut fast, &mut one);
                    fill_by(&mut plain, &mut two, |work| work.plainly());
                    assert!(fast == plain, "length {length}, {most:?}, after {skipped}");
                    assert_eq!(one.word(), two.word(), "length {length}, {most:?}, after {skipped}");
                }
            }
        }
    }

    /// The documented order of bytes, read by hand, with every pair made from all of its 192 bits.
    fn slow_fill(out: &mut [i32], stream: &mut Stream, pair: impl Fn(u32, u32, Continuation) -> (i32, i32)) {
        let mut bytes = vec![0; out.len().div_ceil(32) * 128];
        stream.fill(&mut bytes);
        let words: Vec<u32> =
            bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        for (group, (words, normals)) in words.chunks(32).zip(out.chunks_mut(32)).enumerate() {
            for lane in 0..16 {
                let more = stream.continuation((32 * group + lane) as u64);
                let (x, y) = pair(words[lane], words[16 + lane], more);
                for (place, value) in [(lane, x), (16 + lane, y)] {
                    if let Some(normal) = normals.get_mut(place) {
                        *normal = value;
                    }
                }
            }
        }
    }

    #[test]
    fn every_pair_is_what_all_of_its_bits_give() {
        for length in [5, 1024, 2_000_003] {
            let (mut fast, mut slow) = (vec![0; length], vec![0; length]);
            let (mut one, mut two) = (stream(11), stream(11));
            fill(&mut fast, &mut one);
            slow_fill(&mut slow, &mut two, rare::pair);
            assert!(fast == slow, "length {length}");
            assert_eq!(one.word(), two.word(), "length {length}");
        }
    }

    #[test]
    fn every_pair_is_what_twice_the_precision_gives() {
        let length = 100_003;
        let (mut fast, mut slow) = (vec![0; length], vec![0; length]);
        fill(&mut fast, &mut stream(13));
        slow_fill(&mut slow, &mut stream(13), |radius, angle, more| {
            let (along, across) = exactly::pair(radius, angle, more);
            kernel::reflect(angle, along, across)
        });
        assert!(fast == slow);
        // The twin: words as they are, in `f64`, are off by one where bits that were not drawn decide.
        let mut coarse = vec![0; length];
        slow_fill(&mut coarse, &mut stream(13), |radius, angle, _| {
            let r = kernel::radius(kernel::radius_middle(radius), &kernel::LOG).r;
            let (along, across) = kernel::direction(kernel::angle_middle(angle), &kernel::COS, &kernel::SIN);
            kernel::reflect(angle, kernel::nearest(r * along), kernel::nearest(r * across))
        });
        let others = coarse.iter().zip(&slow).filter(|(a, b)| a != b).count();
        assert!((20..400).contains(&others), "{others}");
    }

    /// Not a truth but a promise: a machine or compiler that gives another sum would break every recorded run.
    #[test]
    fn the_bits_are_pinned() {
        let mut sum = 0u64;
        let mut add = |k: i32| sum = (sum ^ u64::from(k as u32)).wrapping_mul(0x0000_0100_0000_01b3);
        let mut state = 1u64;
        for _ in 0..100 {
            let mut words = [0; BLOCK_WORDS];
            for word in words.as_chunks_mut::<2>().0 {
                // A linear congruence with good high bits: what matters here is that it is the same everywhere.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let mixed = state ^ (state >> 29);
                *word = [mixed as u32, (mixed >> 32) as u32];
            }
            for pair in words.as_chunks::<2>().0 {
                let more = Continuation { radius: state, angle: !state };
                let (x, y) = rare::pair(pair[0], pair[1], more);
                [x, y].into_iter().for_each(&mut add);
            }
        }
        assert_eq!(sum, 8_104_609_161_500_265_087);
    }

    /// As the test above, with the keystream and rare radii: what every machine draws for a seed.
    #[test]
    fn the_noise_of_a_seed_is_pinned() {
        let mut noise = vec![0; 100_003];
        fill(&mut noise, &mut stream(7));
        let sum = noise
            .iter()
            .fold(0u64, |sum, k| (sum ^ u64::from(*k as u32)).wrapping_mul(0x0000_0100_0000_01b3));
        assert_eq!(sum, 10_485_377_629_803_005_356);
    }

    #[test]
    fn a_longer_call_repeats_a_shorter_one_and_calls_in_parts_are_one_call() {
        let mut whole = vec![0; 9000];
        fill(&mut whole, &mut stream(3));
        for length in [1, 16, 2048 + 100, 8999] {
            let mut short = vec![0; length];
            fill(&mut short, &mut stream(3));
            assert_eq!(short, whole[..length]);
        }
        let mut parts = vec![0; 8992];
        let mut stream = stream(3);
        parts.chunks_mut(32 * 7).for_each(|part| fill(part, &mut stream));
        assert_eq!(parts, whole[..8992]);
    }

    #[test]
    #[should_panic(expected = "so far out")]
    fn a_part_whose_continuations_are_those_of_another_is_none() {
        fill_from(1 << 62, &mut [0; 32], &mut stream(3));
    }
}
