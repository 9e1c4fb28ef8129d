//! Which ledgers this process has open.
//!
//! On Unix a process loses all its locks on a file when it closes any handle of that file. So the beginning of a ledger is read by a
//! handle of our own only while no connection of this process has the file open.

use std::{
    fs::Metadata,
    sync::{Mutex, PoisonError},
};
use veracity_core::Error;

/// A file: its device, its number there, and how often this process has it open.
type OpenCount = ((u64, u64), usize);

static OPEN: Mutex<Vec<OpenCount>> = Mutex::new(Vec::new());

/// One use of a file by this process. Dropped, it is over.
#[derive(Debug)]
pub(crate) struct Presence(Option<(u64, u64)>);

impl Presence {
    /// Notes that a file is open, after a `check` of its beginning where this process has not opened it yet.
    pub fn enter(about: &Metadata, check: impl FnOnce() -> Result<(), Error>) -> Result<Presence, Error> {
        let Some(file) = number_of(about) else {
            check()?;
            return Ok(Presence(None));
        };
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        match open.iter_mut().find(|(known, _)| *known == file) {
            Some((_, times)) => *times += 1,
            None => {
                check()?;
                open.push((file, 1));
            }
        }
        Ok(Presence(Some(file)))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = open.iter().position(|(known, _)| Some(*known) == self.0) {
            open[at].1 -= 1;
            if open[at].1 == 0 {
                open.swap_remove(at);
            }
        }
    }
}

#[cfg(unix)]
fn number_of(about: &Metadata) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    Some((about.dev(), about.ino()))
}

/// Elsewhere locks belong to handles.
#[cfg(not(unix))]
fn number_of(_: &Metadata) -> Option<(u64, u64)> {
    None
}
