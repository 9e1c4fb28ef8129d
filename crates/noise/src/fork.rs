//! Whether this process is a copy: a forked child inherits every stream, and must not repeat its parent's noise.
//!
//! The C library calls a handler in every child; the handler counts. A stream that sees another count than at its birth
//! takes fresh entropy before it draws. A counter costs one load per draw, where asking for the process id costs a system
//! call. Children made by a bare `clone` system call, past the C library, are not seen.

use std::sync::atomic::{AtomicU64, Ordering};

static GENERATION: AtomicU64 = AtomicU64::new(0);

/// How many forks lie between this process and the one that first asked.
#[inline]
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Relaxed)
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
        assert_eq!(failed, 0, "forks cannot be watched, so noise could repeat: out of memory");
    });
}

/// Nothing to watch where processes cannot be copied.
#[cfg(not(unix))]
pub(crate) fn watch() {}
