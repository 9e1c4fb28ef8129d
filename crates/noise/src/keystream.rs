//! ChaCha12 with as many blocks side by side as the vector unit has lanes: word i of all of them is one vector.
//!
//! The crate `chacha20` works on four blocks at a time, two to a vector, and so waits for its own results. It still derives the
//! keys, with 20 rounds, and tests hold these blocks against it, against another implementation and against published vectors.
//!
//! # Why twelve rounds
//!
//! Noise is as long as the model at every step, and keystream was half its time. The best attacks known reach seven rounds of
//! ChaCha and part of the eighth, with far more work and keystream than there is; twelve keep the margin that disk encryption
//! (Adiantum, on phones) and the standard generator of the crate `rand` rely on [Aumasson19]. Whoever sees noisy sums sees no word
//! of it. Keys are derived with twenty rounds all the same: that costs nothing.
//!
//! # Reference  [Bernstein08], in its original form: a 64-bit counter and a 64-bit nonce

use crate::vectors::widest;
use pulp::{Simd, WithSimd};

/// Words of a block.
pub(crate) const BLOCK_WORDS: usize = 16;
/// The most lanes of a vector.
pub(crate) const MOST_LANES: usize = 16;
/// Rounds of a block, two at a time.
const DOUBLE_ROUNDS: usize = 6;
/// "expand 32-byte k".
const CONSTANTS: [u32; 4] = [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574];

/// Writes the blocks of a key and nonce from number `first` on.
///
/// # Assumes  `words` holds whole blocks
pub(crate) fn blocks(key: &[u32; 8], nonce: u64, first: u64, words: &mut [u32]) {
    debug_assert!(words.len().is_multiple_of(BLOCK_WORDS));
    widest().dispatch(Blocks { key, nonce, first, words });
}

struct Blocks<'a> {
    key: &'a [u32; 8],
    nonce: u64,
    first: u64,
    words: &'a mut [u32],
}

impl WithSimd for Blocks<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let lanes = S::U32_LANES;
        let sources = sources(simd);
        let mut first = self.first;
        let mut groups = self.words.chunks_exact_mut(lanes * BLOCK_WORDS);
        for group in &mut groups {
            some_blocks(simd, self.key, self.nonce, first, &sources, group);
            first = first.wrapping_add(lanes as u64);
        }
        let rest = groups.into_remainder();
        if !rest.is_empty() {
            let mut group = [0; MOST_LANES * BLOCK_WORDS];
            some_blocks(simd, self.key, self.nonce, first, &sources, &mut group[..lanes * BLOCK_WORDS]);
            rest.copy_from_slice(&group[..rest.len()]);
            group.fill(0);
            zeroize::optimization_barrier(&group);
        }
    }
}

/// As many blocks as there are lanes.
#[inline(always)]
fn some_blocks<S: Simd>(
    simd: S,
    key: &[u32; 8],
    nonce: u64,
    first: u64,
    sources: &Sources,
    words: &mut [u32],
) {
    let state = side_by_side(simd, key, nonce, &numbered(first));
    lay_out(simd, &state, sources, words);
}

/// The numbers of blocks from the first on, a lane each. Lanes that are not there count too; nobody reads them.
#[inline(always)]
pub(crate) fn numbered(first: u64) -> [u64; MOST_LANES] {
    let mut numbers = [0; MOST_LANES];
    for (number, lane) in numbers.iter_mut().zip(0..) {
        *number = first.wrapping_add(lane);
    }
    numbers
}

/// As many blocks as there are lanes, a block to a lane: word i of all of them is vector i.
#[inline(always)]
pub(crate) fn side_by_side<S: Simd>(
    simd: S,
    key: &[u32; 8],
    nonce: u64,
    numbers: &[u64; MOST_LANES],
) -> [S::u32s; BLOCK_WORDS] {
    let lanes = S::U32_LANES;
    let mut counters = [[0; MOST_LANES]; 2];
    let [lows, highs] = &mut counters;
    for ((low, high), number) in lows.iter_mut().zip(highs).zip(numbers) {
        (*low, *high) = (*number as u32, (*number >> 32) as u32);
    }
    let start = |word: usize| match word {
        0..4 => simd.splat_u32s(CONSTANTS[word]),
        4..12 => simd.splat_u32s(key[word - 4]),
        12 | 13 => S::as_simd_u32s(&counters[word - 12][..lanes]).0[0],
        14 => simd.splat_u32s(nonce as u32),
        _ => simd.splat_u32s((nonce >> 32) as u32),
    };
    // Loops here and not `from_fn`: outside of this function there are no vectors.
    let mut state = [simd.splat_u32s(0); BLOCK_WORDS];
    for (word, value) in state.iter_mut().enumerate() {
        *value = start(word);
    }
    for _ in 0..DOUBLE_ROUNDS {
        quarter(simd, &mut state, [0, 4, 8, 12]);
        quarter(simd, &mut state, [1, 5, 9, 13]);
        quarter(simd, &mut state, [2, 6, 10, 14]);
        quarter(simd, &mut state, [3, 7, 11, 15]);
        quarter(simd, &mut state, [0, 5, 10, 15]);
        quarter(simd, &mut state, [1, 6, 11, 12]);
        quarter(simd, &mut state, [2, 7, 8, 13]);
        quarter(simd, &mut state, [3, 4, 9, 14]);
    }
    for (word, value) in state.iter_mut().enumerate() {
        *value = simd.add_u32s(*value, start(word));
    }
    state
}

/// Sixteen vectors turned: the words of a lane side by side, lane after lane.
#[inline(always)]
pub(crate) fn lay_out<S: Simd>(simd: S, state: &[S::u32s], sources: &Sources, words: &mut [u32]) {
    let fours = words.as_chunks_mut::<4>().0;
    for row in 0..4 {
        let four = [state[4 * row], state[4 * row + 1], state[4 * row + 2], state[4 * row + 3]];
        let turned = interleave(simd, four);
        let pieces: &[[u32; 4]] = pulp::bytemuck::cast_slice(&turned);
        for (piece, source) in pieces.iter().zip(sources.as_chunks::<4>().0) {
            fours[source[0] as usize * 4 + row] = *piece;
        }
    }
}

#[inline(always)]
fn quarter<S: Simd>(simd: S, state: &mut [S::u32s; BLOCK_WORDS], [a, b, c, d]: [usize; 4]) {
    state[a] = simd.add_u32s(state[a], state[b]);
    state[d] = rotate(simd, simd.xor_u32s(state[d], state[a]), 16);
    state[c] = simd.add_u32s(state[c], state[d]);
    state[b] = rotate(simd, simd.xor_u32s(state[b], state[c]), 12);
    state[a] = simd.add_u32s(state[a], state[b]);
    state[d] = rotate(simd, simd.xor_u32s(state[d], state[a]), 8);
    state[c] = simd.add_u32s(state[c], state[d]);
    state[b] = rotate(simd, simd.xor_u32s(state[b], state[c]), 7);
}

/// Each lane's bits rotated to the left.
#[inline(always)]
fn rotate<S: Simd>(simd: S, x: S::u32s, by: u32) -> S::u32s {
    let left = simd.wrapping_dyn_shl_u32s(x, simd.splat_u32s(by));
    simd.or_u32s(left, simd.wrapping_dyn_shr_u32s(x, simd.splat_u32s(32 - by)))
}

/// Four vectors turned so that the four words of one lane come side by side; the lanes in an order of the machine's own.
#[inline(always)]
fn interleave<S: Simd>(simd: S, [a, b, c, d]: [S::u32s; 4]) -> [S::u32s; 4] {
    let float = |x| simd.transmute_f32s_u32s(x);
    let [a, b, c, d] = simd.interleave_shfl_f32s([float(a), float(b), float(c), float(d)]);
    let whole = |x| simd.transmute_u32s_f32s(x);
    [whole(a), whole(b), whole(c), whole(d)]
}

/// Which lane each word of [`interleave`] comes from.
pub(crate) type Sources = [u32; 4 * MOST_LANES];

/// The lanes' own numbers, turned.
#[inline(always)]
pub(crate) fn sources<S: Simd>(simd: S) -> Sources {
    let lanes = S::U32_LANES;
    let mut numbers = [0; MOST_LANES];
    for (lane, number) in numbers.iter_mut().enumerate() {
        *number = lane as u32;
    }
    let numbers = S::as_simd_u32s(&numbers[..lanes]).0[0];
    let turned = interleave(simd, [numbers; 4]);
    let mut sources = [0; 4 * MOST_LANES];
    for at in 0..4 {
        S::as_mut_simd_u32s(&mut sources[at * lanes..][..lanes]).0[0] = turned[at];
    }
    sources
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::{Most, limited};
    use chacha20::{
        ChaCha12Rng,
        rand_core::{Rng, SeedableRng},
    };

    #[test]
    fn any_number_of_blocks_from_anywhere_is_what_the_crate_gives() {
        let seed: [u8; 32] = std::array::from_fn(|i| (37 * i + 11) as u8);
        let mut key = [0; 8];
        for (word, bytes) in key.iter_mut().zip(seed.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        // The counter carries into its upper half, and comes round at its end.
        for first in [0, 1, 7, (1 << 32) - 3, u64::MAX - 4] {
            for (count, nonce) in [(1, 0), (3, u64::MAX), (8, 1 << 40), (21, 5), (40, 77)] {
                let mut twin = ChaCha12Rng::from_seed(seed);
                twin.set_stream(nonce);
                twin.set_block_pos(first);
                let expected: Vec<u32> = (0..count * BLOCK_WORDS).map(|_| twin.next_u32()).collect();
                let mut found = vec![0; count * BLOCK_WORDS];
                blocks(&key, nonce, first, &mut found);
                assert!(found == expected, "{count} blocks from {first}");
                let plain = Blocks { key: &key, nonce, first, words: &mut found };
                plain.with_simd(pulp::Scalar);
                assert!(found == expected, "{count} blocks from {first}, one by one");
                for most in [Most::Avx2, Most::Plain] {
                    limited(most).dispatch(Blocks { key: &key, nonce, first, words: &mut found });
                    assert!(found == expected, "{count} blocks from {first}, {most:?}");
                    found.fill(0);
                }
            }
        }
    }
}
