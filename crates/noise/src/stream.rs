//! One stream of random bits: a ChaCha12 keystream, read by words or by few bits at a time.

use crate::{
    Bits, Origin,
    entropy::fresh_root,
    fork,
    keystream::{BLOCK_WORDS, blocks},
};
use std::fmt;
use zeroize::Zeroize;

/// The number of the first block for continuations.
pub(crate) const CONTINUATIONS: u64 = 1 << 63;
/// Words that are made at once: eight blocks.
const AHEAD: usize = 8 * BLOCK_WORDS;

/// 64 further bits of a radius and of its angle, each read after its word.
#[derive(Clone, Copy)]
pub(crate) struct Continuation {
    pub radius: u64,
    pub angle: u64,
}

impl Continuation {
    /// Of the first words of a block.
    pub fn new(words: &[u32; BLOCK_WORDS]) -> Continuation {
        let both = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        Continuation { radius: both(words[0], words[1]), angle: both(words[2], words[3]) }
    }
}

/// A stream of random bits. It cannot be copied, printed or saved; the keystream is wiped when it is dropped.
///
/// A stream of system entropy that finds itself in a forked child takes a fresh key before it draws, so that child and
/// parent differ. A seeded stream repeats itself anywhere, by design.
///
/// # Examples
///
/// ```
/// use veracity_noise::{Bits, Entropy, Key, Purpose};
///
/// let mut stream = Entropy::seeded(3).stream(Purpose::Split, Key::default());
/// let dice: Vec<u64> = (0..1000).map(|_| stream.bits(3)).collect();
/// assert!(dice.iter().all(|&bits| bits < 8));
/// // The state is not shown.
/// assert_eq!(format!("{stream:?}"), "Stream { origin: Seeded, .. }");
/// ```
pub struct Stream {
    key: [u32; 8],
    nonce: u64,
    /// The number of the first block that was not made yet.
    next_block: u64,
    /// Words of the keystream, made ahead, of which `used` were handed out.
    ahead: [u32; AHEAD],
    used: usize,
    /// Bits drawn but not yet handed out, in the low end.
    reservoir: u64,
    left: u32,
    generation: u64,
    origin: Origin,
}

impl Stream {
    pub(crate) fn new(mut key: [u8; 32], nonce: u64, origin: Origin) -> Stream {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        key.zeroize();
        Stream {
            key: words,
            nonce,
            next_block: 0,
            ahead: [0; AHEAD],
            used: AHEAD,
            reservoir: 0,
            left: 0,
            generation: fork::generation(),
            origin,
        }
    }

    /// Where its entropy came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// 64 fresh bits.
    #[inline]
    pub fn word(&mut self) -> u64 {
        self.part_from_parent();
        self.next_word()
    }

    /// Fresh bytes. They end on a whole number of 32-bit words; what is left of the last one is skipped.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        let (words, rest) = bytes.as_chunks_mut::<4>();
        match words.len() {
            0 => {}
            1..=AHEAD => self.fill_by::<AHEAD>(words),
            _ => self.fill_by::<{ 8 * AHEAD }>(words),
        }
        if !rest.is_empty() {
            let mut last = [0];
            self.fill_words(&mut last);
            rest.copy_from_slice(&last[0].to_le_bytes()[..rest.len()]);
            wipe(&mut last);
        }
    }

    /// Fresh words as bytes, so many at a time.
    fn fill_by<const WORDS: usize>(&mut self, bytes: &mut [[u8; 4]]) {
        let mut some = [0; WORDS];
        for bytes in bytes.chunks_mut(WORDS) {
            self.fill_words(&mut some[..bytes.len()]);
            for (bytes, word) in bytes.iter_mut().zip(some) {
                *bytes = word.to_le_bytes();
            }
        }
        wipe(&mut some);
    }

    /// Fresh words of 32 bits.
    pub(crate) fn fill_words(&mut self, words: &mut [u32]) {
        self.part_from_parent();
        let (first, words) = words.split_at_mut(words.len().min(AHEAD - self.used));
        first.copy_from_slice(&self.ahead[self.used..][..first.len()]);
        self.used += first.len();
        let (whole, last) = words.split_at_mut(words.len() / AHEAD * AHEAD);
        blocks(&self.key, self.nonce, self.next_block, whole);
        self.next_block = self.next_block.wrapping_add((whole.len() / BLOCK_WORDS) as u64);
        if !last.is_empty() {
            self.make_ahead();
            last.copy_from_slice(&self.ahead[..last.len()]);
            self.used = last.len();
        }
    }

    /// The number of the first of so many whole blocks, which count as handed out; nothing where words that were made ahead come
    /// before them. Who takes them makes them, by [`Stream::key`].
    pub(crate) fn take_blocks(&mut self, count: usize) -> Option<u64> {
        self.part_from_parent();
        if self.used < AHEAD {
            return None;
        }
        let first = self.next_block;
        self.next_block = first.wrapping_add(count as u64);
        Some(first)
    }

    /// The key and the nonce of its blocks.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn key(&self) -> (&[u32; 8], u64) {
        (&self.key, self.nonce)
    }

    /// How many words of 32 bits were handed out.
    pub(crate) fn position(&mut self) -> u64 {
        self.part_from_parent();
        (self.next_block * BLOCK_WORDS as u64 + self.used as u64) - AHEAD as u64
    }

    /// The bits by which the word at a position and its partner go on. They come from a part of the keystream that is never read in
    /// order: blocks from 2⁶³ on, one for each position. So whoever draws a later word need not know which earlier ones asked for more.
    pub(crate) fn continuation(&self, position: u64) -> Continuation {
        let mut words = [0; BLOCK_WORDS];
        blocks(&self.key, self.nonce, CONTINUATIONS | position, &mut words);
        let found = Continuation::new(&words);
        wipe(&mut words);
        found
    }

    #[inline]
    fn next_word(&mut self) -> u64 {
        let [low, high] = [self.next_half(), self.next_half()];
        u64::from(high) << 32 | u64::from(low)
    }

    #[inline]
    fn next_half(&mut self) -> u32 {
        if self.used == AHEAD {
            self.make_ahead();
        }
        let half = self.ahead[self.used];
        self.used += 1;
        half
    }

    #[cold]
    fn make_ahead(&mut self) {
        blocks(&self.key, self.nonce, self.next_block, &mut self.ahead);
        self.next_block = self.next_block.wrapping_add((AHEAD / BLOCK_WORDS) as u64);
        self.used = 0;
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
        let word = self.next_word();
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
        wipe(&mut self.key);
        wipe(&mut self.ahead);
    }
}

/// Zeroes words so that no compiler leaves it out; all at once, where `zeroize` goes one by one.
pub(crate) fn wipe(words: &mut [u32]) {
    words.fill(0);
    zeroize::optimization_barrier(words);
}

/// The lowest `count` bits set, `count` ≤ 64.
#[inline]
fn mask(count: u32) -> u64 {
    if count == 64 { u64::MAX } else { (1 << count) - 1 }
}
