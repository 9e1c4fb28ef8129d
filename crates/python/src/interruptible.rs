//! Work without the interpreter's lock, which Ctrl-C can leave.
//!
//! [`interruptible`] runs the work on a thread of its own while the caller waits without the lock and looks for signals. Python
//! hands signals to its main thread alone, so a call from another thread works where it is. Nothing outlives a fork: each call
//! has a new thread.

use crate::errors::Error;
use pyo3::{prelude::*, sync::PyOnceLock};
use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

/// How often a waiting call looks for signals.
const LOOK: Duration = Duration::from_millis(50);
/// As large as that of a main thread: nested mechanisms are walked by recursion.
const STACK: usize = 8 << 20;

/// Does `work` without the lock. On Ctrl-C the exception is raised at once; the work, which cannot be seen any more, ends by itself.
///
/// A panic of the work is an [`Error`], never an abort.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if !is_main_thread(py)? {
        return in_place(py, work);
    }
    let (done, mut wait) = channel();
    let run = move || {
        // An interrupted caller does not wait for the result.
        let _ = done.send(work());
    };
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(run)
        .map_err(|error| Error::new_err(format!("cannot start a thread ({error})")))?;
    loop {
        let found;
        (found, wait) = py.detach(move || (wait.recv_timeout(LOOK), wait));
        match found {
            Ok(found) => return Ok(found),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            // The thread is gone without a result: it panicked.
            Err(RecvTimeoutError::Disconnected) => return Err(broken()),
        }
    }
}

/// Does `work` without the lock, where it is: for what is known to take some milliseconds at most.
pub fn in_place<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|_| broken())
}

fn broken() -> PyErr {
    Error::new_err("internal error: the computation failed; please report the call")
}

/// Whether Python hands signals to this thread. After a fork that is whichever thread forked, so it is asked each time.
fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    static CURRENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static MAIN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let current = CURRENT.import(py, "threading", "current_thread")?.call0()?;
    let main = MAIN.import(py, "threading", "main_thread")?.call0()?;
    Ok(current.is(&main))
}
