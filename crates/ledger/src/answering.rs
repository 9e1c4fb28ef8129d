//! Who is answering a request: a lock of the operating system beside the ledger, held from the charge to the answer.
//!
//! A lock ends with the process that holds it, however that ends, so that a request whose process died differs from one that is being
//! answered. The lock says nothing about the budget: what is charged is in the ledger alone.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::ErrorKind,
    path::{Path, PathBuf},
};
use veracity_core::Error;

/// The right to answer one entry. Dropped, it is free, and its file is gone.
#[derive(Debug)]
pub(crate) struct Answering {
    /// Holds the lock.
    _file: File,
    path: PathBuf,
}

impl Answering {
    /// Takes the right to answer an entry of a ledger; nothing where another holds it.
    pub fn begin(ledger: &Path, entry: u64) -> Result<Option<Answering>, Error> {
        let path = beside(ledger, entry);
        let cannot = |error| Error::cannot("create and lock a file next to", "ledger", ledger, error);
        loop {
            let made = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            // A file that another user's process left can be locked without writing to it.
            let opened = made.or_else(|error| match error.kind() {
                ErrorKind::PermissionDenied => File::open(&path).map_err(|_| error),
                _ => Err(error),
            });
            let file = opened.map_err(cannot)?;
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(cannot(error)),
                Ok(()) => {}
            }
            // Who held it before may have removed the name between the two steps.
            if is_named(&file, &path).map_err(cannot)? {
                return Ok(Some(Answering { _file: file, path }));
            }
        }
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        // By its name first, so that no process locks a file that is about to go. If it stays, the next who asks finds it unlocked.
        let _ = fs::remove_file(&self.path);
    }
}

fn beside(ledger: &Path, entry: u64) -> PathBuf {
    let mut name = ledger.as_os_str().to_owned();
    name.push(format!("-{entry}.answering"));
    name.into()
}

#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let about = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((named.dev(), named.ino()) == (about.dev(), about.ino())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere a file that is open keeps its name.
#[cfg(not(unix))]
fn is_named(_file: &File, _path: &Path) -> std::io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_answered_by_one_at_a_time() {
        let ledger = std::env::temp_dir().join(format!("veracity-answering-{}", std::process::id()));
        let first = Answering::begin(&ledger, 7).unwrap().unwrap();
        assert!(Answering::begin(&ledger, 7).unwrap().is_none());
        let other = Answering::begin(&ledger, 8).unwrap();
        assert!(other.is_some());
        drop(first);
        let again = Answering::begin(&ledger, 7).unwrap();
        assert!(again.is_some());
        drop((again, other));
        assert!(!beside(&ledger, 7).exists() && !beside(&ledger, 8).exists());
        // What a process that was killed leaves is no lock.
        fs::write(beside(&ledger, 9), "").unwrap();
        assert!(Answering::begin(&ledger, 9).unwrap().is_some());
    }
}
