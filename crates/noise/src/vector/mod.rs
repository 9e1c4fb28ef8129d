//! Gaussian noise for long vectors: hundreds of millions of integers a second on one core, K = round(2²⁰·Z).
//!
//! Blocks of ChaCha20 keystream become pairs of uniforms (a radius word and an angle word of 32 bits each), those become
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
//! Let U be the real uniforms whose leading bits are drawn, and Z the real-number Box–Muller function of U, which is exactly
//! normal. Then |K − 2²⁰Z| ≤ ½ + 0.07 always: ½ because K is an integer, 0.07 for all else. In units of 2⁻²⁰:
//!
//! | part | arithmetic | and the bits not drawn | how known |
//! |---|---|---|---|
//! | radius | 2.2e-6 | 0.0645 | all words, at the middle and both ends of each cell |
//! | direction, times 3.906·2²⁰ | 7.2e-6 | 0.0031 | all words, at the middle and both ends of each cell |
//! | their product | 1e-9 | 1e-9 | an ulp below 2²² |
//!
//! So |K/2²⁰ − Z| < 5.5e-7, half a grid step and a little, and all of the arithmetic is within 1e-5 steps: that is why 2⁻²⁰ is
//! the grid. Words whose 32 bits say too little, one radius in 1986 (beyond 3.9 and below 0.0055), are continued by 64
//! further bits. These reach 11.59 standard deviations; the bound holds for all but a part 2⁻⁷⁸ of pairs, beyond 10.3.
//! The proof by enumeration is a test: `VERACITY_EVERY_WORD=1 cargo test -p veracity-noise vector::precision`.
//!
//! Nearness alone would not do for privacy: a sampler that is within a step of the truth but prefers even integers betrays
//! the parity of what it hides, once there are many coordinates. What counts is how far P(K = k) is from the normal law's
//! own, relatively: over d coordinates, a relative error η costs of the order of dη² in divergence. Summed over all 2³⁰ angle
//! words (each with the true radii and directions of its words), η is at most 1e-8 at integers near 0.01, 0.5 and 1 standard
//! deviations, 3e-8 at 2, 1.2e-7 at 3, and at 3.8, where hardly a draw falls, 2e-5. These are measurements at a few integers,
//! not a proof for all of them; a test compares neighbouring integers on a stride of angles. Guarantees are computed for Z;
//! where no distance from it is acceptable, [`crate::exact`] has none.
//!
//! # The same bits everywhere
//!
//! Only correctly rounded operations are used and none is fused, so one state of a stream gives the same integers on any
//! machine with IEEE arithmetic, whatever its vector instructions. The time of a call depends on its length and on how many
//! radii were rare, never on the data.

#[cfg(target_arch = "x86_64")]
mod bundle;
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
/// Every 32 integers begun take 32 words of 32 bits, 16 radii and 16 angles. A rare radius is continued by 64 bits that belong to
/// its place in the stream, and are not taken from those that follow. So the integers of any place can be drawn by themselves, and
/// a call of length n gives the same start as a longer one, but for the second half of its last group.
///
/// # Promise    |K − 2²⁰Z| ≤ 0.57, but for a part 2⁻⁷⁸ of pairs; |K| < 11.6·2²⁰
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
/// # Assumes  Nothing was drawn from the stream, and `first` is a multiple of 32
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

fn fill_by(out: &mut [i32], stream: &mut Stream, transform: impl Fn(Transform<'_>) -> u32) {
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
fn normals(
    words: &[u32],
    out: &mut [i32],
    first: u64,
    stream: &Stream,
    transform: impl Fn(Transform<'_>) -> u32,
) {
    let rare = transform(Transform { words, out });
    if rare != 0 {
        replace_rare(rare, words, out, first, stream);
    }
}

/// Continues every rare radius, and puts its pair in place.
#[cold]
fn replace_rare(mut flagged: u32, words: &[u32], out: &mut [i32], first: u64, stream: &Stream) {
    while flagged != 0 {
        let group = flagged.trailing_zeros() as usize;
        flagged &= flagged - 1;
        let words = &words[group * GROUP_WORDS..][..GROUP_WORDS];
        let normals = &mut out[group * GROUP..][..GROUP];
        for lane in 0..LANES {
            if kernel::is_rare(words[lane]) {
                let more = stream.continuation(first + (group * GROUP_WORDS + lane) as u64);
                let pair = rare::pair(words[lane], more, words[LANES + lane]);
                (normals[lane], normals[LANES + lane]) = pair;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Bits, Entropy, Key, Purpose,
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

    /// The documented order of bytes, read by hand, with every pair made by the slow `f64` twin.
    fn slow_fill(out: &mut [i32], stream: &mut Stream) {
        let mut bytes = vec![0; out.len().div_ceil(32) * 128];
        stream.fill(&mut bytes);
        let words: Vec<u32> =
            bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        for (group, (words, normals)) in words.chunks(32).zip(out.chunks_mut(32)).enumerate() {
            for lane in 0..16 {
                let near = u64::from(words[lane]) + (1 << 16) >= 1 << 32;
                let rare = near || words[lane] < 1 << 21;
                // A common radius lies in the middle of its cell.
                let place = (32 * group + lane) as u64;
                let continuation = if rare { stream.continuation(place) } else { 1 << 63 };
                let (x, y) = rare::pair(words[lane], continuation, words[16 + lane]);
                for (place, value) in [(lane, x), (16 + lane, y)] {
                    if let Some(normal) = normals.get_mut(place) {
                        *normal = value;
                    }
                }
            }
        }
    }

    #[test]
    fn the_slow_twin_agrees_but_where_a_half_is_near() {
        for length in [5, 1024, 2_000_003] {
            let (mut fast, mut slow) = (vec![0; length], vec![0; length]);
            let (mut one, mut two) = (stream(11), stream(11));
            fill(&mut fast, &mut one);
            slow_fill(&mut slow, &mut two);
            let other: Vec<u32> =
                fast.iter().zip(&slow).map(|(a, b)| a.abs_diff(*b)).filter(|by| *by > 0).collect();
            // Arithmetic within 1e-5 units crosses a half once in 50 000 draws at the most.
            assert!(other.iter().all(|by| *by == 1), "{other:?}");
            assert!(other.len() <= length / 50_000, "{} of {length}", other.len());
            assert_eq!(one.word(), two.word(), "length {length}");
        }
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
            let mut out = [0; BLOCK];
            Arch::new().dispatch(Transform { words: &words, out: &mut out });
            out.into_iter().for_each(&mut add);
            let (x, y) = rare::pair(state as u32 % kernel::FAR, state, (state >> 32) as u32);
            [x, y].into_iter().for_each(&mut add);
        }
        assert_eq!(sum, 14_396_732_800_859_314_801);
    }

    /// As the test above, with the keystream and rare radii: what every machine draws for a seed.
    #[test]
    fn the_noise_of_a_seed_is_pinned() {
        let mut noise = vec![0; 100_003];
        fill(&mut noise, &mut stream(7));
        let sum = noise
            .iter()
            .fold(0u64, |sum, k| (sum ^ u64::from(*k as u32)).wrapping_mul(0x0000_0100_0000_01b3));
        assert_eq!(sum, 5_723_856_115_942_740_906);
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
}
