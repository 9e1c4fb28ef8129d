//! Whether this process is a copy: a forked child inherits every stream, and must not repeat its parent's noise.
//!
//! The C library calls a handler in every child; the handler counts. A stream that sees another count than at its birth
//! takes fresh entropy before it draws; a key that sees another count than at its birth is mixed with the [`salt`] of the
//! process. A counter costs one load per draw, where asking for the process id costs a system call. Children made by a
//! bare `clone` system call, past the C library, are not seen.

use crate::entropy::fresh_root;
use std::sync::atomic::{AtomicU64, Ordering};
use veracity_core::Refusal;
use zeroize::Zeroize;

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// The salt of this process, the generation it is meant for, and the generation for which someone began to write it.
static SALT: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
static SALTED: AtomicU64 = AtomicU64::new(0);
static CLAIMED: AtomicU64 = AtomicU64::new(0);

/// A process, among one and its forked children. What one has drawn ahead, no other may use: the same noise would be added twice.
///
/// # Examples
///
/// ```
/// use veracity_noise::Process;
///
/// assert_eq!(Process::current(), Process::current());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process(u64);

impl Process {
    /// The one that asks.
    #[inline]
    pub fn current() -> Process {
        Process(generation())
    }
}

/// How many forks lie between this process and the one that first asked.
#[inline]
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
}

/// 256 bits that this process shares with no other, neither its parent nor its children: the same at every call, so that
/// within a forked child too the same key gives the same bits.
///
/// No lock guards them: a lock that some thread of the parent held at the fork would stay locked in the child for ever. A
/// claim names its generation, so one that a parent left unfinished means nothing in a child.
///
/// # Assumes  The process is a forked child: its generation is at least 1
#[cold]
pub(crate) fn salt() -> Result<[u64; 4], Refusal> {
    let generation = generation();
    debug_assert!(generation >= 1);
    if SALTED.load(Ordering::Acquire) != generation {
        let mut fresh = fresh_root()?;
        let seen = CLAIMED.load(Ordering::Relaxed);
        let claims = seen != generation
            && CLAIMED.compare_exchange(seen, generation, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if claims {
            for (word, bytes) in SALT.iter().zip(fresh.as_chunks::<8>().0) {
                word.store(u64::from_le_bytes(*bytes), Ordering::Relaxed);
            }
            SALTED.store(generation, Ordering::Release);
        }
        fresh.zeroize();
        // Another thread has the claim and nothing left to do but four stores.
        while SALTED.load(Ordering::Acquire) != generation {
            std::hint::spin_loop();
        }
    }
    Ok([0, 1, 2, 3].map(|i| SALT[i].load(Ordering::Relaxed)))
}

/// Has children counted from now on. Called before the first stream exists, so no stream misses a fork.
#[cfg(unix)]
#[allow(unsafe_code)]
pub(crate) fn watch() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    extern "C" fn in_child() {
        GENERATION.fetch_add(1, Ordering::Relaxed);
    }
    ONCE.call_once(|| {
        // SAFETY: the handler is a plain function that lives as long as the program and only adds to an atomic, which is
        // allowed between fork and exec.
        let failed = unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        assert_eq!(failed, 0, "out of memory: forks cannot be detected, so noise could repeat");
    });
}

/// Nothing to watch where processes cannot be copied.
#[cfg(not(unix))]
pub(crate) fn watch() {}
