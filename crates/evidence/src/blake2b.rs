//! BLAKE2b without a key, as RFC 7693 has it: what minisign hashes files and secret keys by.

const START: [u64; 8] = [
    0x6a09_e667_f3bc_c908,
    0xbb67_ae85_84ca_a73b,
    0x3c6e_f372_fe94_f82b,
    0xa54f_f53a_5f1d_36f1,
    0x510e_527f_ade6_82d1,
    0x9b05_688c_2b3e_6c1f,
    0x1f83_d9ab_fb41_bd6b,
    0x5be0_cd19_137e_2179,
];
/// The order in which a round reads the words of a block; the last two rounds begin again.
const ORDER: [[usize; 16]; 10] = [
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
    [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
    [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
    [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
    [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
    [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
];
/// Which words of the state are mixed with one another: columns, then diagonals.
const MIXED: [[usize; 4]; 8] = [
    [0, 4, 8, 12],
    [1, 5, 9, 13],
    [2, 6, 10, 14],
    [3, 7, 11, 15],
    [0, 5, 10, 15],
    [1, 6, 11, 12],
    [2, 7, 8, 13],
    [3, 4, 9, 14],
];
const BLOCK: usize = 128;

/// The hash of some bytes, N bytes long, at most 64.
pub(crate) fn blake2b<const N: usize>(bytes: &[u8]) -> [u8; N] {
    const { assert!(N > 0 && N <= 64) }
    let mut hash = START;
    hash[0] ^= 0x0101_0000 ^ N as u64;
    // The last block is the only one that may be short; of no bytes it is empty.
    let last = bytes.len().saturating_sub(1) / BLOCK;
    for at in 0..=last {
        let end = bytes.len().min((at + 1) * BLOCK);
        let mut block = [0; BLOCK];
        block[..end - at * BLOCK].copy_from_slice(&bytes[at * BLOCK..end]);
        compress(&mut hash, &block, end as u128, at == last);
    }
    let words = hash.map(u64::to_le_bytes);
    let all = words.as_flattened();
    std::array::from_fn(|at| all[at])
}

fn compress(hash: &mut [u64; 8], block: &[u8; BLOCK], so_far: u128, is_last: bool) {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let mut state = [0; 16];
    state[..8].copy_from_slice(hash);
    state[8..].copy_from_slice(&START);
    state[12] ^= so_far as u64;
    state[13] ^= (so_far >> 64) as u64;
    if is_last {
        state[14] = !state[14];
    }
    for round in 0..12 {
        let order = ORDER[round % 10];
        for (at, [a, b, c, d]) in MIXED.into_iter().enumerate() {
            let mut half = |word: u64, turns: [u32; 2]| {
                state[a] = state[a].wrapping_add(state[b]).wrapping_add(word);
                state[d] = (state[d] ^ state[a]).rotate_right(turns[0]);
                state[c] = state[c].wrapping_add(state[d]);
                state[b] = (state[b] ^ state[c]).rotate_right(turns[1]);
            };
            half(words[order[2 * at]], [32, 24]);
            half(words[order[2 * at + 1]], [16, 63]);
        }
    }
    for (at, word) in hash.iter_mut().enumerate() {
        *word ^= state[at] ^ state[at + 8];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spelled(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Of RFC 7693, and of another implementation: Python's hashlib.
    #[test]
    fn hashes_are_those_of_others() {
        assert_eq!(
            spelled(&blake2b::<64>(b"abc")),
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923"
        );
        for (length, hash) in LENGTHS {
            let bytes: Vec<u8> = (0..*length).map(|at| (at * 7 % 251) as u8).collect();
            assert_eq!(&spelled(&blake2b::<32>(&bytes)), hash, "{length}");
        }
    }

    const LENGTHS: &[(usize, &str)] = &[
        (0, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"),
        (1, "03170a2e7597b7b7e3d84c05391d139a62b157e78786d8c082f29dcf4c111314"),
        (127, "1bb3d24376d0b5840955e640c6a8a4830cd69af0b7ad71a409d2a30c6a374abb"),
        (128, "9101ed0a248b57efc0c6070cfbf9cf316c182d125ad6191c1f7783c3d32b6346"),
        (129, "60f5e954d1a1775362ffd0762ed37bbe101ed5e88896dd793f1a889786fb3132"),
        (255, "9399bcd4acec0cc0e9dec7267671a6f2e65568dc917afb54791da24523a71b32"),
        (256, "45d503f4fc344944eeff959e1e2234c47884011023598cadbd934f08d4265016"),
        (257, "4ad285edc2490602fd02d61df8008d95887039bade83dae8a1e207ae1cac33ac"),
        (1000, "a494537cc57474059ebe7a7f7a76c03306551355abebb1967408ed04e7564fa9"),
    ];
}
