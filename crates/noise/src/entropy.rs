//! Entropy enters once, at the edge of the program, and is drawn through streams that are named by purpose and keyed by
//! (run, trial, step).
//!
//! Every key is a chain of ChaCha20 blocks from one 256-bit root: root → purpose → run → trial; the step is the nonce. So
//! the same key gives the same bits in any order, on any machine, in any shard, and no two keys share a stream. The one
//! exception is meant: in a forked child, keys of system entropy lead to other streams than in its parent.

use crate::{Stream, fork};
use chacha20::{
    ChaCha20Rng,
    rand_core::{Rng, SeedableRng},
};
use std::{
    fmt,
    io::{self, Read, Write},
};
use veracity_core::{Origin, Refusal};
use zeroize::Zeroize;

/// What a stream is for. Streams of different purposes are independent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// Which records enter a batch.
    Batch,
    /// Noise that protects.
    Noise,
    /// Initial parameters.
    Init,
    /// What an auditor plants.
    Canary,
    /// How records or runs are divided.
    Split,
    /// What a client reports.
    Report,
    /// A simulated attack.
    Attack,
    /// Noise on what is learned of the records before training.
    Preprocess,
    /// What ties a checkpoint to the records and the root of its run.
    Checkpoint,
    /// Which rows of a person are kept.
    Persons,
}

impl Purpose {
    /// A code that never changes: it is part of every stream's key.
    fn code(self) -> u64 {
        match self {
            Purpose::Batch => 1,
            Purpose::Noise => 2,
            Purpose::Init => 3,
            Purpose::Canary => 4,
            Purpose::Split => 5,
            Purpose::Report => 6,
            Purpose::Attack => 7,
            Purpose::Preprocess => 8,
            Purpose::Checkpoint => 9,
            Purpose::Persons => 10,
        }
    }
}

/// Which run, which trial of it, which step of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Key {
    /// The run.
    pub run: u64,
    /// The trial within the run: one model of a cohort, one client, one repetition.
    pub trial: u64,
    /// The step within the trial.
    pub step: u64,
}

/// The root of all randomness of a program. It is never printed or compared, and wiped when dropped. The one way to save it
/// is in the checkpoint of a run that may be killed: see [`RootAside`].
///
/// # Examples
///
/// The bits depend on the seed, the purpose and the key, not on what was drawn before:
///
/// ```
/// use veracity_noise::{Entropy, Key, Purpose};
///
/// let entropy = Entropy::seeded(42);
/// let key = |step| Key { step, ..Key::default() };
/// let later = entropy.stream(Purpose::Noise, key(9)).word();
/// let sooner = entropy.stream(Purpose::Noise, key(8)).word();
/// assert_ne!(sooner, later);
/// assert_ne!(sooner, entropy.stream(Purpose::Batch, key(8)).word());
/// assert_eq!(sooner, Entropy::seeded(42).stream(Purpose::Noise, key(8)).word());
/// ```
pub struct Entropy {
    root: [u8; 32],
    origin: Origin,
    /// The generation of the process in which the root was drawn.
    generation: u64,
}

impl Entropy {
    /// Fresh entropy of the operating system.
    ///
    /// # Errors
    /// Fails where the operating system gives no entropy.
    pub fn system() -> Result<Entropy, Refusal> {
        fork::watch();
        let generation = fork::generation();
        Ok(Entropy { root: fresh_root()?, origin: Origin::System, generation })
    }

    /// Entropy that anyone who knows the seed can repeat. What is drawn from it is not for release.
    pub fn seeded(seed: u64) -> Entropy {
        let mut root = [0; 32];
        root[..8].copy_from_slice(&seed.to_le_bytes());
        root[8..].copy_from_slice(b"veracity.seeded.entropy1");
        Entropy { root, origin: Origin::Seeded, generation: fork::generation() }
    }

    /// The root, for the checkpoint of a run that may be killed and must resume with the same bits. Refused for a seed,
    /// which is its own record, and in a forked child, where the root is its parent's and does not lead to the child's streams.
    ///
    /// # Errors
    /// Refuses seeded entropy and that of a parent process.
    ///
    /// # Examples
    ///
    /// A checkpoint keeps the root, so that a resumed run draws what it would have drawn:
    ///
    /// ```
    /// use veracity_noise::{Entropy, Key, Purpose, RootAside};
    ///
    /// let entropy = Entropy::system()?;
    /// let mut file = Vec::new();
    /// entropy.lay_aside()?.write(&mut file)?;
    ///
    /// let resumed = Entropy::resume(&RootAside::read(&mut file.as_slice())?);
    /// let draw = |entropy: &Entropy| entropy.stream(Purpose::Noise, Key::default()).word();
    /// assert_eq!(draw(&resumed), draw(&entropy));
    /// // A seed is not laid aside: it is given again.
    /// assert!(Entropy::seeded(1).lay_aside().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lay_aside(&self) -> Result<RootAside, Refusal> {
        match self.origin {
            Origin::System if self.generation == fork::generation() => Ok(RootAside(self.root)),
            Origin::System => Err(Refusal::Invalid(
                "entropy belongs to the parent process, so this process cannot save it".into(),
            )),
            Origin::Seeded => Err(Refusal::Invalid(
                "entropy is seeded, so it cannot be saved; pass the seed again to resume".into(),
            )),
        }
    }

    /// The entropy of a checkpoint, to resume its run: of the same origin, with the same streams.
    pub fn resume(aside: &RootAside) -> Entropy {
        fork::watch();
        Entropy { root: aside.0, origin: Origin::System, generation: fork::generation() }
    }

    /// Where it came from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// The key from which a device derives those of a run's trials: the chain root → purpose → run, whose next link is the trial.
    /// Refused for system entropy: whoever has it can take noise off, and a device keeps no secrets.
    ///
    /// # Errors
    /// Refuses system entropy.
    pub fn run_key(&self, purpose: Purpose, run: u64) -> Result<[u32; 8], Refusal> {
        if self.origin.is_releasable() {
            return Err(Refusal::Invalid(
                "a device key needs seeded entropy, because noise drawn on a device is not for release"
                    .into(),
            ));
        }
        let mut key = self.root;
        for label in [purpose.code(), run] {
            key = derive(&mut key, label);
        }
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(key.as_chunks::<4>().0) {
            *word = u32::from_le_bytes(*bytes);
        }
        key.zeroize();
        Ok(words)
    }

    /// The stream of a purpose and a key.
    pub fn stream(&self, purpose: Purpose, key: Key) -> Stream {
        self.family(purpose, key.run, key.trial).stream(key.step)
    }

    /// All streams of a purpose, run and trial: what they share is derived once.
    pub fn family(&self, purpose: Purpose, run: u64, trial: u64) -> Family {
        let mut key = self.root;
        for label in [purpose.code(), run, trial] {
            key = derive(&mut key, label);
        }
        Family { key, origin: self.origin, generation: self.generation }
    }
}

impl fmt::Debug for Entropy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Entropy").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Drop for Entropy {
    fn drop(&mut self) {
        self.root.zeroize();
    }
}

/// The root of system entropy on its way to or from the checkpoint of a run that may be killed.
///
/// It is a secret: whoever has it and what was released can take the noise off. So it has no other use, shows nothing of itself
/// but to the file, and is wiped when dropped.
pub struct RootAside([u8; 32]);

impl RootAside {
    /// Writes the root, 32 bytes.
    ///
    /// # Errors
    /// Fails where the bytes cannot be written.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.0)
    }

    /// Reads a root, 32 bytes. One that was wiped is none.
    ///
    /// # Errors
    /// Fails where the bytes cannot be read or are all zero.
    pub fn read(from: &mut impl Read) -> io::Result<RootAside> {
        let mut aside = RootAside([0; 32]);
        from.read_exact(&mut aside.0)?;
        if aside.0 == [0; 32] {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(aside)
    }
}

impl fmt::Debug for RootAside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RootAside").finish_non_exhaustive()
    }
}

impl Drop for RootAside {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The streams of one purpose, run and trial, one for each step.
pub struct Family {
    key: [u8; 32],
    origin: Origin,
    /// That of the entropy it came from.
    generation: u64,
}

impl Family {
    /// The stream of a step.
    pub fn stream(&self, step: u64) -> Stream {
        let inherited = self.generation != fork::generation();
        let key = match self.origin {
            Origin::System if inherited => self.key_of_child(),
            Origin::System | Origin::Seeded => self.key,
        };
        Stream::new(key, step, self.origin)
    }

    /// What the key becomes in a forked child: a chain from the child's own salt, with the parent's key for labels. The
    /// parent knows every label and not the root; two families of one child share the root and no label.
    #[cold]
    fn key_of_child(&self) -> [u8; 32] {
        let salt = fork::salt().expect("a forked child must have entropy of its own, or stop");
        let mut key = [0; 32];
        for (bytes, word) in key.as_chunks_mut::<8>().0.iter_mut().zip(salt) {
            *bytes = word.to_le_bytes();
        }
        for label in self.key.as_chunks::<8>().0 {
            key = derive(&mut key, u64::from_le_bytes(*label));
        }
        key
    }
}

impl fmt::Debug for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Family").field("origin", &self.origin).finish_non_exhaustive()
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        self.key.zeroize();
    }
}

/// 256 bits of the operating system.
#[cfg(not(all(target_arch = "wasm32", target_os = "unknown")))]
pub(crate) fn fresh_root() -> Result<[u8; 32], Refusal> {
    let mut root = [0; 32];
    getrandom::fill(&mut root).map_err(|error| {
        Refusal::Invalid(format!("the operating system provides no entropy ({error}); nothing was released"))
    })?;
    Ok(root)
}

/// There is no operating system: nothing that is drawn here is released.
#[cfg(all(target_arch = "wasm32", target_os = "unknown"))]
pub(crate) fn fresh_root() -> Result<[u8; 32], Refusal> {
    Err(Refusal::Invalid(
        "a browser provides no system entropy; use a seed, and do not release the result".into(),
    ))
}

/// The child of a key under a label: the first 32 bytes of its keystream with the label as nonce. The parent is wiped.
fn derive(parent: &mut [u8; 32], label: u64) -> [u8; 32] {
    let mut generator = ChaCha20Rng::from_seed(*parent);
    parent.zeroize();
    generator.set_stream(label);
    let mut child = [0; 32];
    generator.fill_bytes(&mut child);
    child
}
