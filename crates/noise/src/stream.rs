//! One stream of random bits: a ChaCha20 keystream, read by words or by few bits at a time.

use crate::{Bits, Origin, entropy::fresh_root, fork};
use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use std::fmt;
use zeroize::Zeroize;

/// A stream of random bits. It cannot be copied, printed or saved; the keystream is wiped when it is dropped.
///
/// A stream of system entropy that finds itself in a forked child takes a fresh key before it draws, so that child and
/// parent differ. A seeded stream repeats itself anywhere, by design.
pub struct Stream {
    generator: ChaCha20Rng,
    /// Bits drawn but not yet handed out, in the low end.
    reservoir: u64,
    left: u32,
    generation: u64,
    origin: Origin,
}

impl Stream {
    pub(crate) fn new(mut key: [u8; 32], nonce: u64, origin: Origin) -> Stream {
        let mut generator = ChaCha20Rng::from_seed(key);
        key.zeroize();
        generator.set_stream(nonce);
        Stream { generator, reservoir: 0, left: 0, generation: fork::generation(), origin }
    }

    /// Where its entropy came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// 64 fresh bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.part_from_parent();
        self.generator.next_u64()
    }

    /// Fresh bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.part_from_parent();
        self.generator.fill_bytes(bytes);
    }

    /// In a forked child, and only there, leaves the parent's keystream.
    #[inline]
    fn part_from_parent(&mut self) {
        if self.generation != fork::generation() {
            self.leave();
        }
    }

    #[cold]
    fn leave(&mut self) {
        self.generation = fork::generation();
        match self.origin {
            Origin::Seeded => {}
            Origin::System => {
                let root = fresh_root().expect("a forked child must have entropy of its own, or stop");
                *self = Stream::new(root, 0, Origin::System);
            }
        }
    }
}

impl Bits for Stream {
    #[inline]
    fn bits(&mut self, count: u32) -> u64 {
        debug_assert!(count <= 64);
        self.part_from_parent();
        if count > self.left {
            return self.refill(count);
        }
        // A refill takes at least one bit of its word, so `left` and here `count` are below 64.
        let taken = self.reservoir & ((1 << count) - 1);
        self.reservoir >>= count;
        self.left -= count;
        taken
    }
}

impl Stream {
    /// What is left becomes the low bits, a new word gives the rest.
    #[inline]
    fn refill(&mut self, count: u32) -> u64 {
        let word = self.generator.next_u64();
        let missing = count - self.left;
        let taken = (self.reservoir & mask(self.left)) | ((word & mask(missing)) << self.left);
        self.reservoir = word.checked_shr(missing).unwrap_or(0);
        self.left = 64 - missing;
        taken
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.reservoir.zeroize();
    }
}

/// The lowest `count` bits set, `count` ≤ 64.
#[inline]
fn mask(count: u32) -> u64 {
    if count == 64 { u64::MAX } else { (1 << count) - 1 }
}
