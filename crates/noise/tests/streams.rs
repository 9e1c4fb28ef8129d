//! Streams: what their keys promise, for ever and on any machine.

use veracity_noise::{Bits, Entropy, Key, Origin, Purpose, RootAside, Stream};

const PURPOSES: [Purpose; 10] = [
    Purpose::Batch,
    Purpose::Noise,
    Purpose::Init,
    Purpose::Canary,
    Purpose::Split,
    Purpose::Report,
    Purpose::Attack,
    Purpose::Preprocess,
    Purpose::Checkpoint,
    Purpose::Persons,
];

fn seeded(seed: u64, purpose: Purpose, key: Key) -> Stream {
    Entropy::seeded(seed).stream(purpose, key)
}

fn words(mut stream: Stream) -> [u64; 4] {
    [(); 4].map(|()| stream.word())
}

/// ChaCha as its specification writes it: 64-bit counter, 64-bit nonce, one block, so many rounds.
fn chacha_block(rounds: usize, key: [u8; 32], counter: u64, nonce: u64) -> [u8; 64] {
    let mut state = [0u32; 16];
    state[..4].copy_from_slice(&[0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574]);
    for (word, bytes) in state[4..12].iter_mut().zip(key.as_chunks::<4>().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    state[12..].copy_from_slice(&[
        counter as u32,
        (counter >> 32) as u32,
        nonce as u32,
        (nonce >> 32) as u32,
    ]);
    let mut mixed = state;
    for _ in 0..rounds / 2 {
        for [a, b, c, d] in [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15]] {
            quarter_round(&mut mixed, a, b, c, d);
        }
        for [a, b, c, d] in [[0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] {
            quarter_round(&mut mixed, a, b, c, d);
        }
    }
    let mut block = [0; 64];
    for (i, bytes) in block.chunks_exact_mut(4).enumerate() {
        bytes.copy_from_slice(&mixed[i].wrapping_add(state[i]).to_le_bytes());
    }
    block
}

fn quarter_round(x: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize) {
    for (shift_d, shift_b) in [(16, 12), (8, 7)] {
        x[a] = x[a].wrapping_add(x[b]);
        x[d] = (x[d] ^ x[a]).rotate_left(shift_d);
        x[c] = x[c].wrapping_add(x[d]);
        x[b] = (x[b] ^ x[c]).rotate_left(shift_b);
    }
}

/// The first block of the zero key: RFC 8439, appendix A.1, test vector 1, for 20 rounds; draft-strombergson-chacha-test-vectors-01,
/// TC1 with 256 bits, for 12.
#[test]
fn the_slow_twin_is_chacha() {
    let block = chacha_block(20, [0; 32], 0, 0);
    assert_eq!(block[..8], [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
    assert_eq!(block[56..], [0xc3, 0x87, 0xb6, 0x69, 0xb2, 0xee, 0x65, 0x86]);
    let block = chacha_block(12, [0; 32], 0, 0);
    assert_eq!(block[..8], [0x9b, 0xf4, 0x9a, 0x6a, 0x07, 0x55, 0xf9, 0x53]);
    assert_eq!(block[56..], [0x61, 0x0b, 0xe8, 0x2f, 0x41, 0x13, 0x26, 0xbe]);
}

/// The whole way from a seed to a stream, written out a second time.
#[test]
fn a_stream_is_chacha12_under_a_chain_of_keys_by_chacha20() {
    for (seed, code, purpose, key) in [
        (1, 2, Purpose::Noise, Key::default()),
        (u64::MAX, 6, Purpose::Report, Key { run: 3, trial: 1 << 40, step: u64::MAX }),
    ] {
        let mut chained = [0; 32];
        chained[..8].copy_from_slice(&u64::to_le_bytes(seed));
        chained[8..].copy_from_slice(b"veracity.seeded.entropy1");
        for label in [code, key.run, key.trial] {
            chained = chacha_block(20, chained, 0, label)[..32].try_into().unwrap();
        }
        let mut stream = seeded(seed, purpose, key);
        // Past the blocks that are made at once.
        for counter in 0..20 {
            let block = chacha_block(12, chained, counter, key.step);
            for bytes in block.chunks_exact(8) {
                assert_eq!(
                    stream.word(),
                    u64::from_le_bytes(bytes.try_into().unwrap()),
                    "{purpose:?} {counter}"
                );
            }
        }
    }
}

/// These words are a promise: a release of a program may not change what a seed means.
///
/// The key of the stream by OpenSSL 3.0, in bash, from which the twin above makes its words:
/// k=0100000000000000$(printf veracity.seeded.entropy1 | od -An -tx1 | tr -d ' \n')
/// for label in 02 00 00; do k=$(head -c 32 /dev/zero |
///   openssl enc -chacha20 -K $k -iv 0000000000000000${label}00000000000000 | od -An -tx1 | tr -d ' \n'); done; echo $k
#[test]
fn a_seed_means_the_same_for_ever() {
    let key = [
        0x3f, 0x16, 0xee, 0x34, 0xd3, 0x05, 0x67, 0x5e, 0x30, 0xe9, 0xf9, 0x38, 0x5b, 0x02, 0x49, 0x51, 0x58,
        0xcc, 0x19, 0x49, 0x36, 0x07, 0xeb, 0xd6, 0xca, 0x86, 0x11, 0x0e, 0xc6, 0x4e, 0xea, 0xf1,
    ];
    let block = chacha_block(12, key, 0, 0);
    let by_twin: Vec<u64> =
        block[..32].chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect();
    let found = words(seeded(1, Purpose::Noise, Key::default()));
    assert_eq!(found, by_twin[..]);
    assert_eq!(
        found,
        [0xaee0_a2ad_5317_660c, 0xf7b9_c399_1f11_087e, 0xfb14_461a_91e2_9c69, 0xfe29_ae2a_1eb3_0f19]
    );
}

#[test]
fn the_same_key_gives_the_same_bits_in_any_order() {
    let entropy = Entropy::seeded(7);
    let keys = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (5, 6, 7)];
    let draw = |(run, trial, step)| words(entropy.stream(Purpose::Noise, Key { run, trial, step }));
    let forth: Vec<_> = keys.into_iter().map(draw).collect();
    let back: Vec<_> = keys.into_iter().rev().map(draw).collect();
    assert!(forth.iter().eq(back.iter().rev()));
    let family = entropy.family(Purpose::Noise, 5, 6);
    assert_eq!(words(family.stream(7)), forth[4]);
}

#[test]
fn no_two_keys_share_a_stream() {
    let mut seen = Vec::new();
    for purpose in PURPOSES {
        for key in 0..27 {
            let key = Key { run: key / 9, trial: key / 3 % 3, step: key % 3 };
            seen.push(words(seeded(7, purpose, key)));
            seen.push(words(seeded(8, purpose, key)));
        }
    }
    let all = seen.len();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all);
}

#[test]
fn pieces_of_any_size_are_the_words() {
    for sizes in [&[1][..], &[7], &[64], &[63, 1], &[0, 13, 64, 3, 31], &[64, 1, 64]] {
        let (mut whole, mut pieces) =
            (seeded(3, Purpose::Batch, Key::default()), seeded(3, Purpose::Batch, Key::default()));
        let expected: Vec<bool> = (0..64).flat_map(|_| bits_of(whole.word(), 64)).collect();
        let mut found = Vec::new();
        for size in sizes.iter().cycle() {
            if found.len() + 64 > expected.len() {
                break;
            }
            let piece = pieces.bits(*size);
            assert!(*size == 64 || piece >> size == 0, "bits past the {size} asked for");
            found.extend(bits_of(piece, *size));
        }
        assert!(found.len() > 3000 && found[..] == expected[..found.len()], "{sizes:?}");
    }
}

fn bits_of(word: u64, count: u32) -> impl Iterator<Item = bool> {
    (0..count).map(move |i| word >> i & 1 == 1)
}

#[test]
fn bytes_are_the_words() {
    let (mut words, mut bytes) =
        (seeded(3, Purpose::Init, Key::default()), seeded(3, Purpose::Init, Key::default()));
    let mut filled = [0; 800];
    bytes.fill(&mut filled);
    for chunk in filled.chunks_exact(8) {
        assert_eq!(words.word(), u64::from_le_bytes(chunk.try_into().unwrap()));
    }
}

#[test]
fn entropy_of_the_system_never_repeats() {
    let mut seen: Vec<[u64; 4]> =
        (0..100).map(|_| words(Entropy::system().unwrap().stream(Purpose::Noise, Key::default()))).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 100);
    // Within one entropy, a key does.
    let entropy = Entropy::system().unwrap();
    let draw = || words(entropy.stream(Purpose::Noise, Key::default()));
    assert_eq!(draw(), draw());
}

#[test]
fn only_the_system_is_fit_for_release() {
    let system = Entropy::system().unwrap();
    assert!(system.origin() == Origin::System && system.origin().is_releasable());
    assert_eq!(system.stream(Purpose::Noise, Key::default()).origin(), Origin::System);
    assert!(!seeded(1, Purpose::Noise, Key::default()).origin().is_releasable());
}

/// What is printed of a secret is the same whatever the secret is.
#[test]
fn debug_prints_no_key() {
    let print = |seed| {
        let entropy = Entropy::seeded(seed);
        let family = entropy.family(Purpose::Noise, seed, seed);
        let mut stream = family.stream(seed);
        stream.bits(5);
        format!("{entropy:?} {family:?} {stream:?}")
    };
    assert_eq!(print(1), print(0x0123_4567_89ab_cdef));
    assert!(print(1).contains("Seeded") && !print(1).contains(|c: char| c.is_ascii_digit()));
}

/// A root that was laid aside has the same streams again, is still fit for release, and shows nothing of itself.
#[test]
fn a_root_that_was_laid_aside_has_the_same_streams() {
    let entropy = Entropy::system().unwrap();
    let aside = entropy.lay_aside().unwrap();
    let mut bytes = Vec::new();
    aside.write(&mut bytes).unwrap();
    assert_eq!(bytes.len(), 32);
    let again = Entropy::resume(&RootAside::read(&mut &bytes[..]).unwrap());
    assert_eq!(again.origin(), Origin::System);
    for purpose in PURPOSES {
        let key = Key { run: 1, trial: 2, step: 3 };
        assert_eq!(words(entropy.stream(purpose, key)), words(again.stream(purpose, key)));
    }
    assert_eq!(format!("{aside:?}"), "RootAside { .. }");
    // A file that was wiped or cut off holds no root, and a seed is not laid aside.
    assert!(RootAside::read(&mut &[0; 32][..]).is_err() && RootAside::read(&mut &bytes[..31]).is_err());
    assert!(Entropy::seeded(1).lay_aside().is_err());
}
