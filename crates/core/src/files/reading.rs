//! Reads small text files, up to a maximum length.

use crate::files::Error;
use std::{fs::File, io::Read, path::Path};

/// The longest plan or claim that is read.
pub const LONGEST_TEXT: u64 = 1 << 20;

/// Reads a file of at most [`LONGEST_TEXT`] bytes, or fails with one line in which `what` names it.
///
/// # Errors
/// As [`read_text_within`].
pub fn read_text(what: &str, path: &Path) -> Result<String, Error> {
    read_text_within(what, path, LONGEST_TEXT)
}

/// Reads a file of at most `longest` bytes, an integer number of MiB.
///
/// # Errors
/// Fails where the file cannot be read; refuses folders, files that are too long or empty, and bytes that are not UTF-8.
pub fn read_text_within(what: &str, path: &Path, longest: u64) -> Result<String, Error> {
    let unreadable = |error| Error::unreadable(what, path, error);
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(Error::file(what, path, "a file, found a directory"));
    }
    let mut bytes = Vec::new();
    file.take(longest + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > longest {
        return Err(Error::file(what, path, format!("a file of at most {} MiB", longest >> 20)));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Error::file(what, path, "a file with content, found an empty one"));
    }
    String::from_utf8(bytes)
        .map_err(|_| Error::file(what, path, "UTF-8 text, found bytes that are not UTF-8"))
}
