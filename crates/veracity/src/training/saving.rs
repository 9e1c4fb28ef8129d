//! Files that are there whole or not at all: written beside their place, forced to disk, then renamed.

use crate::Refusal;
use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
};

/// Writes a file whole. Where that fails, what was there before is still there, and nothing else.
pub fn write_whole(what: &'static str, path: &Path, bytes: &[u8]) -> Result<(), Refusal> {
    Staged::new(what, path, bytes)?.settle()
}

/// A file that is whole and on disk, beside its place. Dropped, it is gone.
#[derive(Debug)]
pub struct Staged {
    what: &'static str,
    beside: PathBuf,
    path: PathBuf,
}

impl Staged {
    /// Writes the file beside its place; a full disk shows here. `what` names it in a refusal.
    pub fn new(what: &'static str, path: &Path, bytes: &[u8]) -> Result<Staged, Refusal> {
        let staged = Staged { what, beside: beside(path), path: path.to_owned() };
        let write = || {
            let mut file = File::create(&staged.beside)?;
            file.write_all(bytes)?;
            file.sync_all()
        };
        write().map_err(|error| staged.refuse(&error))?;
        Ok(staged)
    }

    /// Moves the file to its place.
    pub fn settle(self) -> Result<(), Refusal> {
        fs::rename(&self.beside, &self.path).map_err(|error| self.refuse(&error))?;
        // The name is on disk once its folder is.
        match self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            Some(folder) => {
                File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| self.refuse(&error))
            }
            None => Ok(()),
        }
    }

    fn refuse(&self, error: &std::io::Error) -> Refusal {
        let (what, path) = (self.what, self.path.display());
        Refusal::NoAnswer(format!("{what} is {path}, expected a path that can be written ({error})"))
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        // Gone already where it was moved; nothing more can be done where it cannot be removed.
        let _ = fs::remove_file(&self.beside);
    }
}

/// Removes what killed processes left beside files of these names. What cannot be removed stays: it is in nobody's way.
pub(super) fn sweep(folder: &Path, names: &[&str]) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let found = entry.file_name();
        let found = found.to_string_lossy();
        let is_part = |name: &&str| {
            let rest = found.strip_prefix('.').and_then(|rest| rest.strip_prefix(*name));
            let number =
                rest.and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.strip_suffix(".part"));
            number
                .is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        };
        if names.iter().any(is_part) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// The same folder, so that renaming is one step; the process's number, so that two runs do not meet.
fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.part", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_left_alone() {
        let room = std::env::temp_dir().join(format!("veracity-saving-{}", std::process::id()));
        fs::create_dir_all(&room).unwrap();
        let path = room.join("file");
        write_whole("file", &path, b"one").unwrap();
        write_whole("file", &path, b"two").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        // A folder in the way cannot be renamed over.
        let folder = room.join("folder");
        fs::create_dir_all(folder.join("full")).unwrap();
        let refused = write_whole("model", &folder, b"three").unwrap_err().to_string();
        assert!(refused.starts_with("model is ") && !refused.contains('\n'), "{refused}");
        assert_eq!(fs::read_dir(&room).unwrap().count(), 2, "a part was left behind");
        assert!(write_whole("file", &room.join("nowhere/file"), b"").is_err());
        // Staged and thought better of: the old one stays, and nothing is left.
        drop(Staged::new("file", &path, b"four").unwrap());
        assert_eq!((fs::read(&path).unwrap(), fs::read_dir(&room).unwrap().count()), (b"two".to_vec(), 2));
        // What a killed process left goes, and nothing else.
        let (part, alike) = (room.join(".file.123.part"), room.join(".file.mine.part"));
        for path in [&part, &alike] {
            fs::write(path, b"half").unwrap();
        }
        sweep(&room, &["file"]);
        assert!(!part.exists() && alike.exists() && path.exists());
        fs::remove_dir_all(room).unwrap();
    }
}
