//! Being asked to stop while commands run: they have process groups of their own, so Ctrl-C does not reach them by itself.
//!
//! A signal is only noted here. Whoever waits for a command looks at the note, ends the command's group, and nothing of an
//! interrupted trial is kept.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether someone has asked to stop since [`install_handlers`].
pub fn is_asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// From now on SIGINT, SIGTERM and SIGHUP end the commands that run and then the audit; a second one ends the program at once.
/// A signal that the program was told to ignore, as by nohup, stays ignored.
#[cfg(unix)]
#[allow(unsafe_code)]
pub fn install_handlers() {
    extern "C" fn note(signal: libc::c_int) {
        if ASKED.swap(true, Ordering::Relaxed) {
            // SAFETY: `_exit` may be called in a signal handler; it touches nothing of ours.
            unsafe { libc::_exit(128 + signal) }
        }
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler is a plain function that lives as long as the program, and does what handlers may do: it swaps
        // an atomic, or exits.
        unsafe {
            if libc::signal(signal, note as extern "C" fn(libc::c_int) as libc::sighandler_t) == libc::SIG_IGN
            {
                libc::signal(signal, libc::SIG_IGN);
            }
        }
    }
}

/// Elsewhere commands end with the console that they share.
#[cfg(not(unix))]
pub fn install_handlers() {}
